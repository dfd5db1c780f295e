-- Runs take from milliseconds to hours.
create or replace function etl.run_duration_bounds() returns double precision[]
    language sql
    immutable
    parallel safe
    set search_path = pg_catalog, pg_temp
as $$
    select array[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200]
$$;

comment on function etl.run_duration_bounds is
    'Upper bounds, in seconds, of the classes that run durations are counted in; one more class follows the last. Changing them spoils etl_run_totals.durations';
