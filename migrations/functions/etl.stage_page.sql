-- Where a worker puts a page down before it is written: tables of its session, emptied by every commit.
create or replace function etl.stage_page() returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    if to_regclass('pg_temp.vitrina_page') is null then
        create temporary table pg_temp.vitrina_page (place bigint not null, doc json not null) on commit delete rows;
        create temporary table pg_temp.vitrina_refused (place bigint not null, error text not null) on commit delete rows;
        grant select on pg_temp.vitrina_page to vitrina_mart;
        grant select, insert on pg_temp.vitrina_refused to vitrina_mart;
    end if;
end
$$;

comment on function etl.stage_page is 'Makes the tables in which a session puts a page down, unless it has them';
