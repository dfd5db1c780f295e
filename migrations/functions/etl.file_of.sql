create or replace function etl.file_of(target text) returns text
    language sql
    stable
    strict
    set search_path = pg_catalog, pg_temp
as $$
    select concat_ws('/', c.oid, pg_relation_filenode(c.oid))
    from pg_namespace n
    join pg_class c on c.relnamespace = n.oid and c.relname = substr(target, length('analytics.') + 1)
    where n.nspname = 'analytics' and target like 'analytics.%'
$$;

comment on function etl.file_of is
    'The table and the file behind the name of a mart. Another one means that the table was created anew, truncated or rewritten';
