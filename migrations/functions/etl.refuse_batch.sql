-- Refuses to commit a batch. The worker decides by the code what to do.
--   VT001  another worker has taken it over
--   VT002  its run was ended
--   VT003  its page did not get further
create or replace function etl.refuse_batch(code text, reason text) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = code, message = reason;
end
$$;

comment on function etl.refuse_batch is 'Fails with this code and reason';
