-- Temporary tables in which a worker stages a page before it is written; every commit empties them.
create or replace function etl.stage_page() returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    page oid := to_regclass('pg_temp.vitrina_page');
    refused oid := to_regclass('pg_temp.vitrina_refused');
begin
    if page is null and refused is null then
        create temporary table pg_temp.vitrina_page (place bigint not null, doc json not null) on commit delete rows;
        create temporary table pg_temp.vitrina_refused (place bigint not null, error text not null) on commit delete rows;
        grant select on pg_temp.vitrina_page to vitrina_mart;
        grant select, insert on pg_temp.vitrina_refused to vitrina_mart;
    elsif (
        select count(*) from pg_class c
        where c.oid in (page, refused) and c.relkind = 'r' and pg_get_userbyid(c.relowner) = current_user
          and not c.relhastriggers and not c.relhasrules and not c.relrowsecurity
    ) <> 2 then
        -- A trigger of a mart may make temporary tables, whose triggers would execute with the rights of the session.
        raise exception using errcode = 'VT006', message = 'a trigger of the mart made tables of the names in which pages are put down';
    end if;
end
$$;

comment on function etl.stage_page is 'Makes the tables in which a session puts a page down, unless it has them';
