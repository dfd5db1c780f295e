-- The label `sink` of a run's metrics. The last step's target wins, as it does for the run.
create or replace function etl.sink_of(inputs jsonb) returns text
    language sql
    immutable
    parallel safe
    set search_path = pg_catalog, pg_temp
as $$
    select case
        when coalesce(inputs #>> '{tasks,-1,target_table}', inputs ->> 'target_table') like 'es:%' then 'elasticsearch'
        else 'postgres'
    end
$$;

comment on function etl.sink_of is 'The label `sink` of a run with these inputs';
