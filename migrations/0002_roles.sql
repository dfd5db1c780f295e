-- Who may do what. Roles belong to the whole server, so another database's migration may have made them already.
--
--   vitrina_query   reads the source schemas and nothing else: a user's query is judged, and executed, under it alone
--   vitrina_mart    writes the marts: it takes the rows that etl_page.read returns, and never executes a user's query
--   vitrina_app     the services' account: the control plane's tables, and the functions of etl_page
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
