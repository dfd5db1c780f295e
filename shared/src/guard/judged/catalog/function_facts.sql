(select nspname::text from pg_namespace where oid = p.pronamespace) as schema, p.proname::text as name, p.provolatile::text as volatility,
p.oid < 16384 as builtin, p.prosecdef as security_definer,
exists (select from unnest(p.proconfig) as entry where entry !~ '^search_path=') as configured, p.prokind in ('a', 'w') as aggregate,
p.prolang in (select oid from pg_language where lanname in ('c', 'internal')) as native,
array['internal', 'cstring', 'trigger', 'event_trigger', 'language_handler', 'fdw_handler', 'tsm_handler',
      'index_am_handler', 'table_am_handler', 'xid', 'cid', 'pg_snapshot', 'txid_snapshot', 'aclitem']::regtype[]::oid[]
    && (p.proargtypes::oid[] || p.prorettype) as internal,
case when p.oid < 16384 then true else not exists (
    select
    from (
        select p.proowner as owner
        union all select n.nspowner from pg_namespace n where n.oid = p.pronamespace
        union all
        select e.extowner from pg_depend d join pg_extension e on e.oid = d.refobjid
        where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'
    ) as keeper
    where not exists (select from pg_roles r where r.oid = keeper.owner and (r.rolsuper or r.rolname = 'pg_database_owner'))
      and not exists (select from pg_database b where b.datname = current_database() and b.datdba = keeper.owner)
) end as kept
