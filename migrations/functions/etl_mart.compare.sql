-- Read-only by a subtransaction, like etl_page.read: a comparison cannot write marts.
create or replace function etl_mart.compare(statement text, parameters text[])
    returns jsonb
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
    set enable_seqscan = on
    set plan_cache_mode = auto
as $$
declare
    found jsonb;
    before text[] := etl_query.session_state(current_setting('search_path'));
begin
    begin
        perform set_config('vitrina.in_page', 'on', true), set_config('transaction_read_only', 'on', true);
        execute statement into found using
            null::timestamptz, null::text, 'infinity'::timestamptz, 9223372036854775807, parameters, 'infinity'::text;
    exception
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    -- All names have their schema: the query may have changed the search_path.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
    return found;
end
$$;

comment on function etl_mart.compare is
    'Executes a statement of Vitrina''s own that compares marts with their sources, and returns its answer. A user''s query stands in it only as an argument of etl_page.read, as one page without bounds; the parameters follow two that are null, in $5';

alter function etl_mart.compare owner to vitrina_mart;
