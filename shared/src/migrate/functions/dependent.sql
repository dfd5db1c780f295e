with recursive ours as (
    select 'pg_proc'::regclass::oid as class, p.oid as id, null::oid as row_type, format('%s.%s', n.nspname, p.proname) as name
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('etl', 'etl_hook', 'etl_mart', 'etl_page', 'etl_query')
    union all
    select 'pg_class'::regclass, c.oid, c.reltype, format('%s.%s', n.nspname, c.relname)
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('etl', 'etl_hook', 'etl_mart', 'etl_page', 'etl_query') and c.relkind = 'v'
),
hit (class, id, row_type, name, depth) as (
    select o.class, o.id, o.row_type, o.name, 0 from ours o where o.name = $1
    union
    select o.class, o.id, o.row_type, o.name, h.depth + 1
    from hit h
    join pg_depend d on d.refclassid = h.class and d.refobjid = h.id
                     or d.refclassid = 'pg_type'::regclass and d.refobjid = h.row_type
    left join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid
    join ours o on o.class = d.classid and o.id = d.objid or o.class = 'pg_class'::regclass and o.id = w.ev_class
    where o.name <> h.name
)
select h.name
from hit h
where h.name <> $1 and h.name in (select f.name from etl.etl_functions f)
group by h.name
order by max(h.depth) desc
