create or replace function etl_query.set_back_session(before text[], path text, outermost boolean) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    if etl_query.session_state(path) <> before or outermost and etl_query.has_prepared() then
        perform etl_query.refuse_session();
    end if;
    -- A cursor `with hold` would be executed at the commit, with the rights of the session.
    execute 'close all';
    -- A `set` hidden behind a `set local` would take effect at the commit. This replaces it.
    reset all;
    perform set_config('search_path', before[1], true),
            set_config('application_name', before[2], true),
            set_config('statement_timeout', before[3], true),
            set_config('lock_timeout', before[4], true),
            set_config('idle_in_transaction_session_timeout', before[5], true),
            set_config('max_parallel_workers_per_gather', before[6], true),
            set_config('synchronous_commit', before[7], true);
end
$$;

comment on function etl_query.set_back_session is
    'Fails if the session is not as it was before a query; the outermost function looks at prepared statements too. Closes the query''s cursors. Sets all settings back to those that the session began with, and for the rest of the transaction to those that it had set for itself: what follows in the statement executes with the rights to write marts';
