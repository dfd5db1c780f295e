create or replace function etl_query.blame_query(before text[], path text, state text, message text) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    if etl_query.session_state(path) <> before or etl_query.has_prepared() then
        perform etl_query.refuse_session();
    end if;
    if state ~ '^(VT|08|28|57P|53300)' and state not in ('VT006', 'VT007') then
        raise exception using errcode = 'VT007', message = format('%s (raised by the query as %s)', message, state);
    end if;
end
$$;

comment on function etl_query.blame_query is
    'After a query has failed: fails in another way if it changed its session, or failed with a SQLSTATE that says something about Vitrina or its connection';
