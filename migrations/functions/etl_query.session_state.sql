-- These are called for every page, so they are in PL/pgSQL: a session keeps its plans. Their caller hands its path over, because
-- in here it is another.
create or replace function etl_query.session_state(path text) returns text[]
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    return array[path,
        -- What transactions of the services set for themselves (`set_back_session`).
        current_setting('application_name'), current_setting('statement_timeout'), current_setting('lock_timeout'),
        current_setting('idle_in_transaction_session_timeout'), current_setting('max_parallel_workers_per_gather'),
        current_setting('synchronous_commit'),
        current_setting('timezone'), current_setting('datestyle'), current_setting('intervalstyle'),
        current_setting('extra_float_digits'), current_setting('bytea_output'), current_setting('xmlbinary'),
        current_setting('client_encoding'), current_setting('row_security'), current_setting('session_replication_role'),
        current_setting('transform_null_equals')];
end
$$;

comment on function etl_query.session_state is
    'The settings of a session that the statements around a query depend on';
