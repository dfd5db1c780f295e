create or replace function etl.sum_up_run() returns trigger
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    took   double precision := extract(epoch from new.finished_at - new.started_at);
    bounds double precision[] := etl.run_duration_bounds();
    counts bigint[] := array_fill(0::bigint, array[cardinality(bounds) + 1]);
    class  integer;
begin
    -- The first class whose bound is not below; a run that never began is in none.
    if took is not null then
        class := (select count(*) + 1 from unnest(bounds) as bound where bound < took);
        counts[class] := 1;
    end if;
    insert into etl.etl_run_totals as t (
        pipeline_id, mode, sink, status, runs, rows_read, rows_written, rows_rejected, rows_removed, batches, attempts,
        seconds, durations, last_finished_at, last_requested_at, last_started_at, last_upper)
    values (
        new.pipeline_id, new.mode, etl.sink_of(new.inputs), new.status, 1, new.rows_read, new.rows_written,
        new.rows_rejected, new.rows_removed, new.batches, new.attempts, coalesce(took, 0), counts,
        new.finished_at, new.requested_at, new.started_at,
        -- A full run of an incremental pipeline has a bound too: the horizon when it began.
        (select g.upper from etl.etl_run_ranges g where g.run_id = new.id order by g.range_no desc limit 1))
    on conflict (pipeline_id, mode, sink, status) do update
    set runs = t.runs + 1,
        rows_read = t.rows_read + excluded.rows_read,
        rows_written = t.rows_written + excluded.rows_written,
        rows_rejected = t.rows_rejected + excluded.rows_rejected,
        rows_removed = t.rows_removed + excluded.rows_removed,
        batches = t.batches + excluded.batches,
        attempts = t.attempts + excluded.attempts,
        seconds = t.seconds + excluded.seconds,
        durations = case when class is null then t.durations
            else t.durations[:class - 1] || t.durations[class] + 1 || t.durations[class + 1:] end,
        gaps = (extract(epoch from excluded.last_finished_at - t.last_finished_at)::double precision || t.gaps)[1:8],
        last_finished_at = excluded.last_finished_at,
        last_requested_at = excluded.last_requested_at,
        last_started_at = excluded.last_started_at,
        last_upper = excluded.last_upper;
    return null;
end
$$;

comment on function etl.sum_up_run is 'Adds a run that has ended to etl_run_totals';

-- Batches do not set finished_at, so the trigger does not fire for them.
-- An unchanged trigger is left alone: creating it again takes a lock that runs would have to wait for.
do $$
begin
    if not exists (
        select from pg_trigger t
        where t.tgrelid = 'etl.etl_runs'::regclass and t.tgname = 'etl_runs_sum_up' and t.tgenabled = 'O'
          and pg_get_triggerdef(t.oid) = 'CREATE TRIGGER etl_runs_sum_up AFTER UPDATE OF finished_at ON etl.etl_runs FOR EACH ROW'
              ' WHEN (((old.finished_at IS NULL) AND (new.finished_at IS NOT NULL))) EXECUTE FUNCTION etl.sum_up_run()'
    ) then
        create or replace trigger etl_runs_sum_up
            after update of finished_at on etl.etl_runs
            for each row when (old.finished_at is null and new.finished_at is not null)
            execute function etl.sum_up_run();
        alter table etl.etl_runs enable trigger etl_runs_sum_up;
    end if;
end
$$;
