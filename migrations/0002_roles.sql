-- Who may do what. Roles belong to the whole server, so another database's migration may have made them already.
--
--   vitrina_query   reads the source schemas and nothing else: users' queries are described and read under it
--   vitrina_mart    that, and writes the marts: a page is pushed down as one INSERT … SELECT under it
--   vitrina_app     the services' account: both of the above, and the control plane's tables
--
-- The account has no password here: the operator gives it one. What is granted stands in repeatable/grants.sql.

do $$
declare
    wanted record;
begin
    for wanted in
        select * from (values ('vitrina_query', 'nologin'), ('vitrina_mart', 'nologin'), ('vitrina_app', 'login'))
            as r (name, login)
    loop
        begin
            if not exists (select from pg_roles where rolname = wanted.name) then
                execute format('create role %I %s', wanted.name, wanted.login);
            end if;
        exception
            when duplicate_object or unique_violation then null;
        end;
    end loop;
end
$$;
