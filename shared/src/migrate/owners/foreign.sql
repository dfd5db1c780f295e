ours as (select n.oid, n.nspname, n.nspowner from pg_namespace n where n.nspname = any ($1)),
owned as (
    select 0 as place, format('schema %s', o.nspname) as what, o.nspname, o.nspowner as owner from ours o
    union all
    select 1, pg_describe_object(d.classid, d.objid, 0), o.nspname, s.refobjid
    from ours o
    join pg_depend d on d.refclassid = 'pg_namespace'::regclass and d.refobjid = o.oid
    join pg_shdepend s on s.classid = d.classid and s.objid = d.objid and s.objsubid = 0 and s.deptype = 'o'
    where s.dbid = (select oid from pg_database where datname = current_database())
)
select o.what, o.nspname::text as schema, r.rolname::text as owner
from owned o
join pg_roles r on r.oid = o.owner
where o.owner not in (select t.oid from trusted t) and r.rolname is distinct from $2
  and not (o.place = 1 and o.nspname in ('etl_page', 'etl_mart', 'etl_swap', 'etl_hook')
           and r.rolname in ('vitrina_query', 'vitrina_mart', 'vitrina_hook'))
order by o.place, o.what collate "C"
