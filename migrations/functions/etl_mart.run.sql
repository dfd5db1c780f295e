create or replace function etl_mart.run(statement text, after text[], upper text, page_size bigint, by_time boolean default false)
    returns table (rows_read bigint, rows_written bigint, last text[], more boolean)
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
    set enable_seqscan = on
    set plan_cache_mode = auto
as $$
declare
    before text[] := etl_query.session_state(current_setting('search_path'));
begin
    begin
        perform set_config('vitrina.in_page', 'on', true);
        return query execute statement using
            case when by_time then after[1]::timestamptz end, after[2], case when by_time then upper::timestamptz end,
            page_size, after, upper;
    exception
        -- Of etl_page.write_rows.
        when sqlstate 'VT004' then
            raise;
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
end
$$;

comment on function etl_mart.run is
    'Executes a statement of Vitrina''s own that writes marts: a page, what ends a full run, a repair or a replay. A user''s query stands in it only as an argument of etl_page.read, whose parameters it passes on';

alter function etl_mart.run owner to vitrina_mart;
