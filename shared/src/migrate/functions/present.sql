with present as (
    select format('%s.%s', n.nspname, p.proname) as name,
           concat_ws(
               E'\n', pg_get_functiondef(p.oid), case when p.proowner <> n.nspowner then p.proowner::regrole::text end,
               (select string_agg(concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled), E'\n' order by t.tgname)
                from pg_trigger t where t.tgfoid = p.oid),
               (select string_agg(format('default of %s.%I', a.attrelid::regclass, a.attname), E'\n' order by a.attrelid, a.attnum)
                from pg_depend d
                join pg_attrdef f on d.classid = 'pg_attrdef'::regclass and f.oid = d.objid
                join pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
                where d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid)
           ) as definition,
           concat_ws(
               '; ',
               (select string_agg(format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass), '; ')
                from pg_trigger t where t.tgfoid = p.oid),
               (select string_agg(format('alter table %s alter column %I drop default', a.attrelid::regclass, a.attname), '; ')
                from pg_depend d
                join pg_attrdef f on d.classid = 'pg_attrdef'::regclass and f.oid = d.objid
                join pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
                where d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid),
               format('drop routine %s', p.oid::regprocedure)
           ) as removal
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('etl', 'etl_hook', 'etl_mart', 'etl_page', 'etl_query') and p.prokind <> 'a'
    union all
    select format('%s.%s', n.nspname, c.relname),
           concat_ws(E'\n', pg_get_viewdef(c.oid), case when c.relowner <> n.nspowner then c.relowner::regrole::text end),
           format('drop view %s', c.oid::regclass)
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('etl', 'etl_hook', 'etl_mart', 'etl_page', 'etl_query') and c.relkind = 'v'
),
named as (
    select p.name, count(*) as objects, string_agg(p.definition, E'\n' order by p.definition) as definition,
           string_agg(p.removal, '; ') as removal
    from present p
    group by p.name
)
