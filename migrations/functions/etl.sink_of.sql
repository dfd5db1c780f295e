-- The label `sink` of a run's metrics: the scheme of its target, with a long name for `es` (`domain::ELASTICSEARCH`). The last
-- step's target wins, as it does for the run.
create or replace function etl.sink_of(inputs jsonb) returns text
    language sql
    immutable
    parallel safe
    set search_path = pg_catalog, pg_temp
as $$
    select case
        when target like 'es:%' then 'elasticsearch'
        when target like '%:%' then split_part(target, ':', 1)
        else 'postgres'
    end
    from coalesce(inputs #>> '{tasks,-1,target_table}', inputs ->> 'target_table') as target
$$;

comment on function etl.sink_of is 'The label `sink` of a run with these inputs';
