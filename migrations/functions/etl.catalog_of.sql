-- Called for every job, so it is in PL/pgSQL: a session keeps its plan. Its relations are few and each has indexes in the catalog,
-- which the planner cannot know: any other join than from row to row reads whole catalogs.
--
-- Every change of a table replaces rows of the catalog, which have another xmin then; vacuum and analyze change them in place. A
-- foreign key that refers to a table is seen by the triggers that it makes there: no index leads from the table to the constraint.
create or replace function etl.catalog_of(relations text[]) returns text
    language plpgsql
    stable
    strict
    set search_path = pg_catalog, pg_temp
    set enable_seqscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set enable_material = off
as $$
begin
    return (
        with recursive own (oid) as (
            -- By name: a table may have taken the place of another one. Not by a cast, which asks for rights on the schema.
            select c.oid
            from unnest(relations) t
            join pg_namespace n on n.nspname = (parse_ident(t))[1]
            join pg_class c on c.relnamespace = n.oid and c.relname = (parse_ident(t))[2]
            union
            -- A view reads tables, a partitioned table has parts.
            select coalesce(d.refobjid, i.inhrelid)
            from own o
            left join pg_rewrite w on w.ev_class = o.oid
            left join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
                and d.refclassid = 'pg_class'::regclass and d.refobjid <> o.oid
            left join pg_inherits i on i.inhparent = o.oid
            where coalesce(d.refobjid, i.inhrelid) is not null
        ),
        entry (catalog, id, place, version) as (
            select 'class', c.oid, 0, c.xmin from own o join pg_class c on c.oid = o.oid
            union all
            select 'attribute', a.attrelid, a.attnum, a.xmin from own o join pg_attribute a on a.attrelid = o.oid
            where a.attnum > 0
            union all
            select 'default', d.oid, 0, d.xmin from own o join pg_attrdef d on d.adrelid = o.oid
            union all
            select 'index', i.indexrelid, 0, i.xmin from own o join pg_index i on i.indrelid = o.oid
            union all
            select 'constraint', k.oid, 0, k.xmin from own o join pg_constraint k on k.conrelid = o.oid
            union all
            select 'trigger', t.oid, 0, t.xmin from own o join pg_trigger t on t.tgrelid = o.oid
            union all
            select 'rule', w.oid, 0, w.xmin from own o join pg_rewrite w on w.ev_class = o.oid
        )
        select coalesce(sum(hashtextextended(concat_ws(' ', e.catalog, e.id, e.place, e.version), 0)), 0)::text from entry e
    );
end
$$;

comment on function etl.catalog_of is
    'A fingerprint of the catalog''s entries for tables and views, and for what they read or consist of: another one means that something about them was changed';
