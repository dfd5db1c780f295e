-- Applied after every migration, because tables and source schemas come and go. Repeating it changes nothing.
-- The list of source schemas arrives in the setting `vitrina.source_schemas`.

do $$
declare
    source text;
    membership record;
begin
    for membership in
        select * from (values ('vitrina_query', 'vitrina_mart'), ('vitrina_mart', 'vitrina_app'),
                              ('pg_read_all_stats', 'vitrina_app')) as m (granted, member)
    loop
        if not exists (
            select from pg_auth_members m
            where m.roleid = membership.granted::regrole and m.member = membership.member::regrole
        ) then
            execute format('grant %I to %I', membership.granted, membership.member);
        end if;
    end loop;

    foreach source in array string_to_array(current_setting('vitrina.source_schemas'), ',')
    loop
        if exists (select from pg_namespace where nspname = source) then
            execute format('grant usage on schema %I to vitrina_query', source);
            execute format('grant select on all tables in schema %I to vitrina_query', source);
            execute format('alter default privileges in schema %I grant select on tables to vitrina_query', source);
        end if;
    end loop;
end
$$;

grant usage on schema analytics to vitrina_mart;
grant select, insert, update, delete on all tables in schema analytics to vitrina_mart;
alter default privileges in schema analytics grant select, insert, update, delete on tables to vitrina_mart;

grant usage on schema etl to vitrina_app;
grant select, insert, update, delete on all tables in schema etl to vitrina_app;
grant usage on all sequences in schema etl to vitrina_app;
-- The log is append-only for the services too, and what was migrated is not theirs to say.
revoke update, delete on etl.etl_transitions from vitrina_app;
revoke insert, update, delete on etl._sqlx_migrations, etl.other_transactions from vitrina_app;

grant usage on schema apalis to vitrina_app;
grant select, insert, update, delete on apalis.jobs, apalis.workers to vitrina_app;
grant select on apalis._sqlx_migrations to vitrina_app;
