-- Applied after every migration, because tables and source schemas come and go. Repeating it changes nothing.
-- The list of source schemas arrives in the setting `vitrina.source_schemas`; warnings leave in `vitrina.warnings`, a line each,
-- because notices of the server are never logged.

set local search_path = pg_catalog, pg_temp;

do $$
declare
    listed text[] := string_to_array(current_setting('vitrina.source_schemas'), ',');
    here text := format('%s %s', 'etl'::regnamespace::oid, 'etl.etl_source_grants'::regclass::oid);
    source record;
    gone record;
    given record;
    membership record;
    bound record;
    warnings text[] := '{}';
begin
    for membership in
        select * from (values ('pg_read_all_stats', 'vitrina_app', true),
                              -- Queries are read and marts are written by the functions of etl_page alone.
                              ('vitrina_query', 'vitrina_app', false), ('vitrina_mart', 'vitrina_app', false),
                              ('vitrina_query', 'vitrina_mart', false),
                              -- The operator's functions are called by etl_hook.call alone.
                              ('vitrina_hook', 'vitrina_app', false), ('vitrina_query', 'vitrina_hook', false),
                              ('vitrina_mart', 'vitrina_hook', false))
            as m (granted, member, wanted)
        where m.wanted <> exists (
            select from pg_auth_members a
            where a.roleid = m.granted::regrole and a.member = m.member::regrole
        )
    loop
        if membership.wanted then
            execute format('grant %I to %I', membership.granted, membership.member);
        else
            execute format('revoke %I from %I', membership.granted, membership.member);
        end if;
    end loop;

    -- Queries are judged as temporary views, and pages are put down in temporary tables.
    execute format('grant temporary on database %I to vitrina_query, vitrina_app', current_database());

    -- What a statement of the services may take from the server, unless the operator has decided otherwise.
    -- A session of theirs that needs more time says so itself.
    for bound in
        select *
        from (values ('statement_timeout', '10min'), ('work_mem', '32MB'), ('temp_file_limit', '10GB'),
                      ('search_path', 'pg_catalog, apalis, pg_temp')) as b (name, value)
        where not exists (
            select from pg_db_role_setting s, unnest(s.setconfig) as entry
            where s.setrole = 'vitrina_app'::regrole and starts_with(entry, b.name || '=')
        )
    loop
        begin
            -- A list of schemas is no single value.
            execute format(case bound.name when 'search_path' then 'alter role vitrina_app set %I = %s'
                           else 'alter role vitrina_app set %I = %L' end, bound.name, bound.value);
        exception
            when insufficient_privilege then
                warnings := warnings || format(
                    'this account may not bound %1$s for vitrina_app: a superuser does it with: alter role vitrina_app set %1$s = %2$L',
                    bound.name, bound.value);
        end;
    end loop;

    -- What a migration has given before is not given again, because an operator may have revoked it. A table that is new since is
    -- given, unless it was from its beginning (by default privileges) and is not any more.
    for gone in
        select g.schema_name as name from etl.etl_source_grants g
        join pg_namespace n on n.nspname = g.schema_name
        where g.table_name = '' and g.schema_name <> all (listed)
    loop
        warnings := warnings || format(
            'the schema %s is not in VITRINA_SOURCE_SCHEMAS any more: queries may not read it from now on', gone.name);
        begin
            execute format('revoke usage on schema %I from vitrina_query, vitrina_mart', gone.name);
            execute format('revoke select on all tables in schema %I from vitrina_query', gone.name);
            for given in
                select d.defaclrole::regrole as role from pg_default_acl d
                where d.defaclnamespace = to_regnamespace(quote_ident(gone.name)) and d.defaclobjtype = 'r'
                  and exists (select from aclexplode(d.defaclacl) as a where a.grantee = 'vitrina_query'::regrole)
            loop
                execute format('alter default privileges for role %s in schema %I revoke select on tables from vitrina_query',
                               given.role, gone.name);
            end loop;
        exception
            when insufficient_privilege then
                warnings := warnings || format(
                    'this account may not take the schema %1$s from vitrina_query (%2$s): its owner does it with: revoke usage on schema %1$I from vitrina_query, vitrina_mart',
                    gone.name, sqlerrm);
        end;
    end loop;

    for source in
        select n.oid, n.nspname as name, not exists (
                   select from etl.etl_source_grants g
                   where g.schema_name = n.nspname and g.table_name = '' and (g.object = n.oid or g.noted_in <> here)
               ) as is_new
        from pg_namespace n where n.nspname = any (listed)
    loop
        if source.is_new then
            execute format('grant usage on schema %I to vitrina_query, vitrina_mart', source.name);
        end if;
        for given in
            select c.relname as name from pg_class c
            where c.relnamespace = source.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
              and (source.is_new or not exists (
                  select from etl.etl_source_grants g
                  where case when g.noted_in = here then g.object = c.oid and g.table_name <> ''
                             else g.schema_name = source.name and g.table_name = c.relname end
              ) and not exists (
                  select from pg_default_acl d, aclexplode(d.defaclacl) as a
                  where d.defaclrole = c.relowner and d.defaclnamespace = source.oid and d.defaclobjtype = 'r'
                    and a.grantee = 'vitrina_query'::regrole and a.privilege_type = 'SELECT'
              ))
        loop
            execute format('grant select on %I.%I to vitrina_query', source.name, given.name);
        end loop;
        if source.is_new then
            execute format('alter default privileges in schema %I grant select on tables to vitrina_query', source.name);
        end if;
    end loop;

    delete from etl.etl_source_grants;
    insert into etl.etl_source_grants (schema_name, table_name, object, noted_in)
    select n.nspname, '', n.oid, here from pg_namespace n where n.nspname = any (listed)
    union all
    select n.nspname, c.relname, c.oid, here
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (listed) and c.relkind in ('r', 'p', 'v', 'm', 'f');
    perform set_config('vitrina.warnings', array_to_string(warnings, E'\n'), true);
end
$$;

-- The services look at the marts' definitions; their rows are read and written by vitrina_mart alone. It also makes tables: marts
-- from the columns of a query, and those in which runs with full_strategy `swap` gather their rows.
grant usage on schema analytics to vitrina_mart, vitrina_app;
grant create on schema analytics to vitrina_mart;
grant usage, create on schema etl_swap to vitrina_mart;
grant select, insert, update, delete on all tables in schema analytics to vitrina_mart;
alter default privileges in schema analytics grant select, insert, update, delete on tables to vitrina_mart;

-- Each function may be called only by the roles that need it. The owner of one is the role that it executes under, so the right
-- is taken from owners too: what executes under a role cannot call further functions with its rights.
do $$
declare
    given record;
begin
    for given in
        select p.oid::regprocedure as signature, string_agg(distinct coalesce(quote_ident(r.rolname), 'public'), ', ') as names
        from pg_proc p
        cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
        left join pg_roles r on r.oid = a.grantee
        where p.pronamespace::regnamespace::text in ('etl', 'etl_hook', 'etl_mart', 'etl_page', 'etl_query')
          and (a.grantee <> p.proowner or r.rolname in ('vitrina_query', 'vitrina_mart', 'vitrina_hook'))
        group by p.oid
    loop
        execute format('revoke all on function %s from %s', given.signature, given.names);
    end loop;
end
$$;
grant execute on all functions in schema etl to vitrina_app;
-- A trigger fires without that right. With it, an account could attach the function to a table of its own.
do $$
declare
    fired record;
begin
    for fired in select p.oid::regprocedure as signature from pg_proc p
        where p.pronamespace = 'etl'::regnamespace and p.prorettype = 'trigger'::regtype
    loop
        execute format('revoke execute on function %s from vitrina_app', fired.signature);
    end loop;
end
$$;
grant execute on all functions in schema etl_query to vitrina_query, vitrina_mart, vitrina_hook;
grant execute on function
    etl_page.read, etl_page.describe, etl_page.keep_temporary_schema, etl_page.estimate, etl_page.mart_ddl
    to vitrina_app;
grant execute on function etl_page.read, etl_page.write_rows, etl_page.mart_ddl to vitrina_mart;
grant execute on all functions in schema etl_mart, etl_hook to vitrina_app;
grant execute on function etl.hook_problem to vitrina_hook;

-- An owner of functions cannot name them, and so neither change them nor give them away: vitrina_query owns those that execute
-- queries (etl_page), vitrina_mart those that write marts (etl_mart), vitrina_hook the one that calls functions of the operator's
-- (etl_hook); it reads the list of them.
grant usage on schema etl_query to vitrina_query, vitrina_mart, vitrina_hook;
grant usage on schema etl_page to vitrina_app, vitrina_mart;
grant usage on schema etl_mart, etl_hook to vitrina_app;
grant usage on schema etl to vitrina_hook;
grant select on etl.etl_hook_functions to vitrina_hook;
revoke all on schema etl, etl_page, etl_mart from vitrina_query;
revoke all on schema etl, etl_mart from vitrina_mart;
revoke all on schema etl_hook, etl_page, etl_mart from vitrina_hook;
revoke create on schema etl_query, etl_page from public, vitrina_query, vitrina_mart;

grant usage on schema etl to vitrina_app;
grant select, insert, update, delete on all tables in schema etl to vitrina_app;
grant usage on all sequences in schema etl to vitrina_app;
grant select, update on sequence etl.etl_write_numbers to vitrina_app;
revoke insert, update, delete on etl.etl_installation from vitrina_app;
-- The log is append-only for the services too: they remove what is old by `etl.prune_log`. What was migrated is not theirs to say.
revoke update, delete on etl.etl_transitions from vitrina_app;
revoke insert, update, delete on etl.etl_log_removed from vitrina_app;
revoke insert, update, delete on etl._sqlx_migrations, etl.etl_functions, etl.etl_source_grants, etl.etl_hook_functions, etl.other_sessions, etl.other_transactions from vitrina_app;
revoke all on etl.etl_log_turn from vitrina_app;
revoke insert, update, delete on etl.etl_log_epoch from vitrina_app;

grant usage on schema apalis to vitrina_app;
grant select, insert, update, delete on apalis.jobs, apalis.workers to vitrina_app;
grant select on apalis._sqlx_migrations to vitrina_app;
