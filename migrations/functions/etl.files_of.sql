create or replace function etl.files_of(target text) returns jsonb
    language sql
    stable
    strict
    set search_path = pg_catalog, pg_temp
as $$
    select jsonb_build_object(
        'table', c.oid,
        'files', case c.relkind
            when 'p' then (
                select coalesce(jsonb_object_agg(p.relid::oid, pg_relation_filenode(p.relid)), '{}')
                from pg_partition_tree(c.oid) p
                where p.isleaf
            )
            else jsonb_build_object(c.oid, pg_relation_filenode(c.oid))
        end
    )
    from pg_namespace n
    join pg_class c on c.relnamespace = n.oid and c.relname = substr(target, length('analytics.') + 1)
    where n.nspname = 'analytics' and target like 'analytics.%'
$$;

comment on function etl.files_of is
    'The table behind the name of a mart, and the file of each of its parts: others once it was created anew, truncated or rewritten';
