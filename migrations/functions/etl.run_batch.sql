-- One batch is one statement, and so one transaction: either all of it happened or none, whichever process dies.
create or replace function etl.run_batch(
    batch_run uuid,
    batch_range integer,
    batch_number bigint,
    batch_job text,
    worker text,
    statement text,
    page_size bigint,
    by_time boolean,
    -- The worker of the next batch: this one with the job it has, or, by a new job of this id, the first that takes it.
    next_job text
)
    returns table (
        rows_read bigint,
        rows_written bigint,
        last text[],
        goes_on boolean,
        run_rows_read bigint,
        run_rows_written bigint,
        run_rows_total bigint,
        run_seconds double precision
    )
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    range record;
    run record;
    page record;
    front record;
    -- The last row up to which the run has read everything, if this batch moves it.
    reached text[];
    run_status text;
    job_status text;
    -- Asked for by `store::wait_for_disk`; read before the page, which can set it.
    waits_for_disk boolean := current_setting('vitrina.wait_for_disk', true) is not distinct from 'on';
begin
    -- A cancellation finds the run's statement by this name and mark (`store::backends`).
    perform set_config('application_name', 'vitrina-worker ' || batch_run, true), etl.mark_session(batch_run);

    -- The fence: the session that has the row with this number owns the batch. A late twin waits here for the row and then fails.
    select g.after, g.upper, g.walks_by, g.horizon, g.server into range
    from etl.etl_run_ranges g
    where g.run_id = batch_run and g.range_no = batch_range and g.next_batch = batch_number and g.finished_at is null
    for no key update;
    if not found then
        perform etl.refuse_batch('VT001', format('batch %s was committed by another worker', batch_number));
    end if;

    -- Asked after the session has its name: a run that was cancelled before is seen here, and a later cancellation sees
    -- the name. The job is asked for before the page: a worker whose job was given away would execute a page that its successor
    -- waits for. It is not locked, so that it can be given away while the page is executed; whichever commits first has the
    -- batch by the fence.
    select r.status, j.status into run_status, job_status
    from etl.etl_runs r
    left join apalis.jobs j on j.id = batch_job and j.lock_by = worker and j.status in ('Queued', 'Running')
    where r.id = batch_run;
    if run_status is distinct from 'RUNNING' then
        perform etl.refuse_batch('VT002', 'the run was ended');
    end if;
    if job_status is null then
        perform etl.refuse_batch('VT001', 'the job was given to another worker');
    end if;

    select * into page from etl_mart.run(statement, range.after, range.upper, page_size, by_time);
    if page.more is null then
        perform etl.refuse_batch('VT003', format(
            'the query returned a row that is not after :after_key, :after_id = %s: it would never come to an end',
            coalesce(range.after::text, 'the beginning')));
    end if;
    -- The page holds its tables by now. A column that was retyped or collated otherwise since the run began has keys of another
    -- order, or other keys. This is the question whether `etl.note_walk` would still note the same, without the objects that it
    -- builds: every batch asks it.
    if exists (
        select
        from jsonb_to_recordset(range.walks_by) as c (relation oid, number smallint, found text)
        where c.found is distinct from (
            select concat_ws(' collation ', format_type(a.atttypid, a.atttypmod), nullif(a.attcollation, 0))
            from pg_attribute a
            where a.attrelid = c.relation and a.attnum = c.number)
    ) then
        perform etl.refuse_batch('42804', 'a column that the run walks by was retyped, or its table replaced');
    end if;

    -- Counters. The row is locked only from here to the commit, so that ending a run never waits for a page.
    update etl.etl_runs r
    set rows_read = r.rows_read + page.rows_read,
        rows_written = r.rows_written + page.rows_written,
        batches = r.batches + 1,
        checkpoint_to = case
            when r.mode = 'incremental' and page.last[1] is not null and batch_range = 0
            then jsonb_build_object('key', page.last[1], 'id', page.last[2])
            else r.checkpoint_to
        end
    where r.id = batch_run and r.status = 'RUNNING'
    returning r.pipeline_id, r.mode, r.checkpoint_epoch, r.rows_read, r.rows_written, r.rows_total, r.started_at into run;
    if not found then
        perform etl.refuse_batch('VT002', 'the run was ended');
    end if;

    goes_on := page.more
        and exists (select from etl.etl_pipelines p where p.id = run.pipeline_id and p.status = 'RUNNING');

    update etl.etl_run_ranges g
    set next_batch = batch_number + 1,
        after = coalesce(page.last, g.after),
        job_id = case when goes_on then coalesce(next_job, g.job_id) else g.job_id end,
        finished_at = case when not page.more then now() end
    where g.run_id = batch_run and g.range_no = batch_range;

    -- The checkpoint is the last row that was read before the first gap. Ranges are numbered in the order of their keys, and one
    -- that has read no row yet stands before the first id of a key. The run's row is locked, so no other batch of the run moves
    -- anything between this look and the commit. The first range needs no look before its end: nothing is before it.
    reached := page.last;
    if batch_range > 0 or not page.more then
        select g.range_no, g.after into front
        from etl.etl_run_ranges g
        where g.run_id = batch_run and g.after[2] is not null
          and not exists (
              select from etl.etl_run_ranges o
              where o.run_id = batch_run and o.range_no < g.range_no and o.finished_at is null)
        order by g.range_no desc
        limit 1;
        if front.range_no is distinct from batch_range then
            reached := case when front.range_no > batch_range then front.after end;
        end if;
        if run.mode = 'incremental' and reached[1] is not null and front.range_no > 0 then
            update etl.etl_runs r
            set checkpoint_to = jsonb_build_object('key', reached[1], 'id', reached[2])
            where r.id = batch_run;
        end if;
    end if;

    -- A page of NULL keys is before every key: there is no checkpoint yet. A checkpoint that was forgotten after the run was
    -- requested is not the run's any more: moving it would skip the rows that it was forgotten for.
    if run.mode = 'incremental' and reached[1] is not null then
        -- A transaction publishes its start a moment after it took it, and may have been missed when the bound was taken.
        -- Nothing shows that there was none: its session may have gone since.
        insert into etl.etl_state as s (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch, horizon, server, walks_by)
        select p.id, reached[1], reached[2], batch_run, batch_number, range.horizon - interval '1 second', range.server,
               range.walks_by
        from etl.etl_pipelines p
        where p.id = run.pipeline_id and p.checkpoint_epoch = run.checkpoint_epoch
        on conflict (pipeline_id) do update
        set checkpoint_key = excluded.checkpoint_key, checkpoint_id = excluded.checkpoint_id,
            run_id = excluded.run_id, batch = excluded.batch, updated_at = now(),
            horizon = excluded.horizon, server = excluded.server, walks_by = excluded.walks_by;
    end if;

    -- A crash of the server takes back the newest batches as a whole, rows and position, and the run repeats them. So a batch
    -- waits for the disk only if another worker goes on after it, or if it has effects outside of the database. The worker waits
    -- for all others at once before it ends the run (`run/finish.rs`).
    if (not goes_on or next_job is null) and not waits_for_disk then
        perform set_config('synchronous_commit', 'off', true);
    end if;

    -- A batch that does not go on keeps its job: the worker decides what the pipeline's status becomes, and finishes the job with
    -- that. A worker that goes on itself keeps it too. The job says which range is walked, and the range how far: a job that
    -- comes back to the queue goes on where the range stands.
    if goes_on and next_job is null then
        if job_status = 'Queued' then
            update apalis.jobs j set status = 'Running' where j.id = batch_job and j.lock_by = worker and j.status = 'Queued';
        end if;
    elsif goes_on then
        update apalis.jobs j
        set status = 'Done', done_at = now(), lock_at = coalesce(j.lock_at, now())
        where j.id = batch_job and j.lock_by = worker and j.status in ('Queued', 'Running');
        if not found then
            perform etl.refuse_batch('VT001', 'the job was given to another worker');
        end if;
        insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
        select next_job, j.job_type,
               convert_to((convert_from(j.job, 'UTF8')::jsonb
                   || jsonb_build_object('batch', batch_number + 1, 'after', to_jsonb(page.last), 'attempt', 0, 'lost', 0,
                       'queued_us', (extract(epoch from clock_timestamp()) * 1000000)::bigint))::text, 'UTF8'),
               'Pending', 0, j.max_attempts,
               -- Only a job that is due is announced.
               now() - interval '1 second', j.priority
        from apalis.jobs j
        where j.id = batch_job;
    end if;

    rows_read := page.rows_read;
    rows_written := page.rows_written;
    last := page.last;
    run_rows_read := run.rows_read;
    run_rows_written := run.rows_written;
    run_rows_total := run.rows_total;
    run_seconds := extract(epoch from clock_timestamp() - run.started_at);
    return next;
end
$$;

comment on function etl.run_batch is
    'Fence, page, counters, position, checkpoint and the job that goes on, all or nothing. Raises VT001, VT002 or VT003 where the batch may not commit';
