create or replace function etl_page.estimate(query text, after text[], upper text, page_size bigint, by_time boolean)
    returns json
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
    set enable_seqscan = on
    set plan_cache_mode = auto
as $$
declare
    plan json;
    before text[] := etl_query.session_state(current_setting('search_path'));
begin
    begin
        perform set_config('transaction_read_only', 'on', true);
        execute 'explain (format json) ' || query into plan using
            case when by_time then after[1]::timestamptz end, after[2], case when by_time then upper::timestamptz end,
            page_size, after, upper;
    exception
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    -- All names have their schema: the query may have changed the search_path.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
    return plan;
end
$$;

comment on function etl_page.estimate is 'The plan of what etl_page.read would execute. Parameters as there';

alter function etl_page.estimate owner to vitrina_query;
