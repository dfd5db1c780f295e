-- Who may do what, and where.
--
--   vitrina_query   reads the source schemas and nothing else: a user's query is judged, and executed, under it alone
--   vitrina_mart    writes the marts: it takes the rows that etl_page.read returns, and never executes a user's query
--   vitrina_app     the services' account: the control plane's tables, and the functions of etl_page and etl_mart
--
-- Roles belong to the whole server, so another database's migration may have made them already. The account has no password
-- here: the operator gives it one. What is granted stands in repeatable/grants.sql.

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

-- The functions that execute queries and write marts belong to these two: only a member can give a function to them.
grant vitrina_query, vitrina_mart to current_user;

create schema if not exists etl;
create schema if not exists etl_query;
create schema if not exists etl_page;
create schema if not exists etl_mart;
create schema if not exists etl_swap;
create schema if not exists analytics;

comment on schema etl is 'Vitrina: pipelines, runs, checkpoints and the log of status changes';
comment on schema etl_page is 'Vitrina: the functions that execute users'' queries, and what pages call';
comment on schema etl_mart is 'Vitrina: the functions that execute with the rights to write marts; vitrina_mart cannot name them';
comment on schema etl_query is 'Vitrina: what etl_page.read asks before and after a query, under the role of the query';
comment on schema etl_swap is 'Vitrina: rows that runs with full_strategy `swap` have gathered so far';
comment on schema analytics is 'Vitrina: the marts that pipelines write';

create table etl.etl_functions (
    name       text        not null,
    checksum   text        not null,
    definition text        not null,
    revision   bigint      not null,
    applied_at timestamptz not null default now(),

    constraint etl_functions_pkey primary key (name)
);

comment on table etl.etl_functions is 'The files of migrations/functions that this database has';
comment on column etl.etl_functions.checksum is 'Of the file: one that has not changed is not applied again';
comment on column etl.etl_functions.definition is
    'What the server said of the function, its owner and its triggers, when the file was applied: one that was changed since is applied again';
comment on column etl.etl_functions.revision is 'Counts the changes of all files; a program knows by it whether the database is behind or ahead';

create table etl.etl_source_grants (
    schema_name text not null,
    table_name  text not null,
    object      oid  not null,
    noted_in    text not null,

    constraint etl_source_grants_pkey primary key (schema_name, table_name)
);

comment on table etl.etl_source_grants is
    'The source schemas and their tables as the last migration found them: what was taken from vitrina_query since is not given back, and what is no longer listed is taken away';
comment on column etl.etl_source_grants.table_name is 'Empty for the schema itself';
comment on column etl.etl_source_grants.noted_in is
    'The oids of the schema etl and of this table: in a restored database they are others, and objects are known by their names';
