create or replace function etl.hook_problem(hook text) returns text
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $$
    select case
        when f.name is null then 'is not on the list of functions that hooks may call'
        when p.oid is null then 'was dropped, renamed or created anew since it was put on the list'
        when p.proowner <> f.owner_oid then 'has another owner than when it was put on the list'
        when not has_schema_privilege('vitrina_hook', p.pronamespace, 'usage')
          or not has_function_privilege('vitrina_hook', p.oid, 'execute') then 'may not be called by the role vitrina_hook'
    end
    from (select hook) as wanted (name)
    left join etl.etl_hook_functions f on f.name = wanted.name
    left join (pg_proc p join pg_namespace n on n.oid = p.pronamespace)
        on p.oid = f.function_oid and p.prokind = 'f' and p.pronargs = 1 and p.proargtypes[0] = 'jsonb'::regtype
        and concat_ws('.', n.nspname, p.proname) = f.name
$$;

comment on function etl.hook_problem is 'Why hooks may not call a function by this name; NULL where they may';
