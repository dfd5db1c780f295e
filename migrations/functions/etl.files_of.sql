-- Reads catalogs alone and locks no part of the mart: the end of a run asks for it, and must not wait for a page or for a
-- change of a table. `pg_partition_tree` would lock every part.
create or replace function etl.files_of(target text) returns jsonb
    language sql
    stable
    strict
    set search_path = pg_catalog, pg_temp
as $$
    with recursive mart as (
        select c.oid, c.relkind
        from pg_namespace n
        join pg_class c on c.relnamespace = n.oid and c.relname = substr(target, length('analytics.') + 1)
        where n.nspname = 'analytics' and target like 'analytics.%'
    ),
    parts as (
        select oid, relkind from mart
        union all
        select c.oid, c.relkind
        from parts p
        join pg_inherits i on i.inhparent = p.oid and p.relkind = 'p'
        join pg_class c on c.oid = i.inhrelid
    )
    select jsonb_build_object(
        'table', mart.oid,
        'files', (
            select coalesce(jsonb_object_agg(p.oid, pg_relation_filenode(p.oid)) filter (where p.relkind <> 'p'), '{}')
            from parts p
        )
    )
    from mart
$$;

comment on function etl.files_of is
    'The table behind the name of a mart, and the file of each of its parts: others once it was created anew, truncated or rewritten';
