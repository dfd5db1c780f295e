create or replace function etl.this_server() returns text
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $$
    select pg_catalog.concat_ws(
        ' ', pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8),
        pg_catalog.to_char(pg_catalog.timezone('UTC', pg_catalog.pg_postmaster_start_time()), 'YYYY-MM-DD HH24:MI:SS.US+00'))
$$;

comment on function etl.this_server is 'The server: its timeline and when it was started';

-- An unchanged default is left alone: setting it again takes a lock that runs would have to wait for.
do $$
begin
    if not exists (
        select from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
        where d.adrelid = 'etl.etl_rereads'::regclass and a.attname = 'server'
          and pg_get_expr(d.adbin, d.adrelid) = 'etl.this_server()'
    ) then
        alter table etl.etl_rereads alter column server set default etl.this_server();
    end if;
end
$$;
