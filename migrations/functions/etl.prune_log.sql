-- With its owner's rights: for everyone else the log is append-only, and by this function it loses only what is old.
create or replace function etl.prune_log(kept interval, most bigint) returns bigint
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    -- Intervals compare with months of 30 days, so what counts is the time. In UTC every day has 24 hours.
    horizon constant timestamptz := (now() at time zone 'UTC' - kept) at time zone 'UTC';
    removed bigint;
    greatest_id bigint;
begin
    if (horizon <= now() - interval '24 hours') is not true then
        raise exception 'the log is kept for a day at least' using errcode = 'invalid_parameter_value';
    end if;
    if (most > 0) is not true then
        raise exception 'one entry at least is removed at a time' using errcode = 'invalid_parameter_value';
    end if;
    with old as (
        select t.id
        from etl.etl_transitions t
        -- Ids grow with time: everything old is before the first entry that is not, and only that part is read. An entry of
        -- the future, from a clock that was wrong, says nothing about those after it.
        where t.id < coalesce(
                  (select l.id from etl.etl_transitions l where l.at between horizon and now() order by l.id limit 1),
                  9223372036854775807
              )
          and t.at < horizon
          and not exists (
              select from etl.etl_runs r where r.id = t.run_id and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
          )
          -- The last entry of a pipeline stays, unless the pipeline was deleted.
          and (exists (select from etl.etl_transitions l where l.pipeline_id = t.pipeline_id and l.id > t.id)
               or not exists (select from etl.etl_pipelines p where p.id = t.pipeline_id))
        order by t.id
        limit most
        for update of t skip locked
    ), gone as (
        delete from etl.etl_transitions t using old where t.id = old.id returning t.id
    )
    select count(*), max(gone.id) into removed, greatest_id from gone;
    if removed > 0 then
        insert into etl.etl_log_removed as r (up_to) values (greatest_id)
        on conflict (only_row) do update set up_to = greatest(r.up_to, excluded.up_to);
    end if;
    return removed;
end
$$;

comment on function etl.prune_log is
    'Removes up to `most` entries of the log that are older than `kept`, oldest first, and returns how many. A pipeline keeps its last entry, and an unfinished run all of its entries';
