-- A function of its own: a test can turn this clock back, and no other.
create or replace function etl.clock() returns timestamptz
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as 'select pg_catalog.clock_timestamp()';

comment on function etl.clock is 'The clock that keys come from';
