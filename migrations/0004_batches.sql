-- One batch is one statement, and so one transaction: either all of it happened or none, whatever dies.

-- What runs users' queries runs with the rights of vitrina_mart and nobody else's: it reads the source schemas and
-- writes the marts. A function with its owner's rights also keeps the query from changing its role.
grant vitrina_mart to current_user;
create schema if not exists etl_page authorization vitrina_mart;
comment on schema etl_page is 'Vitrina: runs users'' queries with the rights of vitrina_mart';

set role vitrina_mart;

create function etl_page.run(statement text, after text[], upper text, page_size bigint, by_time boolean default false)
    returns table (rows_read bigint, rows_written bigint, last text[], more boolean)
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
as $$
begin
    -- A timestamp arrives as such: read from text within the query it would be no constant, and «:after_key is null or …»
    -- could not be decided when the query is planned.
    return query execute statement using
        case when by_time then after[1]::timestamptz end, after[2], case when by_time then upper::timestamptz end,
        page_size, after, upper;
end
$$;

comment on function etl_page.run is
    'Executes the statement of one page, which was built from a guarded query. $1 and $2 are the key and id after which the page begins, $3 its bound, $4 its size; $5 and $6 are where it begins and its bound as text';

create function etl_page.execute(statement text) returns void
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
begin
    execute statement;
end
$$;

comment on function etl_page.execute is 'Makes and removes the tables in which a run with full_strategy `swap` gathers its rows';

revoke execute on function etl_page.run, etl_page.execute from public;
grant usage on schema etl_page to vitrina_app;
grant execute on function etl_page.run, etl_page.execute to vitrina_app;

reset role;

-- A batch that may not commit. The worker knows by the code what to do about it.
--   VT001  another worker has taken it over
--   VT002  its run was ended
--   VT003  its page did not get further
create function etl.refuse_batch(code text, reason text) returns void
    language plpgsql
as $$
begin
    raise exception using errcode = code, message = reason;
end
$$;

create function etl.run_batch(
    batch_run uuid,
    batch_range integer,
    batch_number bigint,
    batch_job text,
    worker text,
    statement text,
    page_size bigint,
    by_time boolean,
    next_job text,
    keep boolean
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
as $$
declare
    range etl.etl_run_ranges;
    run etl.etl_runs;
    page record;
begin
    -- The fence: whoever moves the number first owns the batch. A late twin waits here for the row and then fails.
    update etl.etl_run_ranges g
    set next_batch = g.next_batch + 1
    where g.run_id = batch_run and g.range_no = batch_range and g.next_batch = batch_number and g.finished_at is null
    returning * into range;
    if not found then
        perform etl.refuse_batch('VT001', format('batch %s was committed by another worker', batch_number));
    end if;

    select * into page from etl_page.run(statement, range.after, range.upper, page_size, by_time);
    if page.more is null then
        perform etl.refuse_batch('VT003', format(
            'the query returned a row that is not after :after_key, :after_id = %s: it would never come to an end',
            coalesce(range.after::text, 'the beginning')));
    end if;

    -- Counters. The row is locked only from here to the commit, so that ending a run never waits for a page.
    update etl.etl_runs r
    set rows_read = r.rows_read + page.rows_read,
        rows_written = r.rows_written + page.rows_written,
        batches = r.batches + 1,
        checkpoint_to = case
            when r.mode = 'incremental' and page.last[1] is not null
            then jsonb_build_object('key', page.last[1], 'id', page.last[2])
            else r.checkpoint_to
        end
    where r.id = batch_run and r.status = 'RUNNING'
    returning * into run;
    if not found then
        perform etl.refuse_batch('VT002', 'the run was ended');
    end if;

    goes_on := page.more
        and exists (select from etl.etl_pipelines p where p.id = run.pipeline_id and p.status = 'RUNNING');

    update etl.etl_run_ranges g
    set after = coalesce(page.last, g.after),
        job_id = case when goes_on then next_job else g.job_id end,
        finished_at = case when not page.more then now() end
    where g.run_id = batch_run and g.range_no = batch_range;

    -- A page of NULL keys is before every key: there is no checkpoint yet.
    if run.mode = 'incremental' and page.last[1] is not null then
        insert into etl.etl_state as s (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch)
        values (run.pipeline_id, page.last[1], page.last[2], batch_run, batch_number)
        on conflict (pipeline_id) do update
        set checkpoint_key = excluded.checkpoint_key, checkpoint_id = excluded.checkpoint_id,
            run_id = excluded.run_id, batch = excluded.batch, updated_at = now();
    end if;

    -- What follows the last batch commits right after it, and waits for the disk for both.
    if not goes_on then
        perform set_config('synchronous_commit', 'off', true);
    end if;

    -- The next job of the chain, kept by this worker or given to whoever comes. A batch that does not go on keeps
    -- its job: the worker decides what the pipeline's status becomes, and finishes the job with that.
    if goes_on then
        update apalis.jobs j
        set status = 'Done', done_at = now(), lock_at = coalesce(j.lock_at, now())
        where j.id = batch_job and j.lock_by = worker and j.status in ('Queued', 'Running');
        if not found then
            perform etl.refuse_batch('VT001', 'the job was given to another worker');
        end if;
        insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority, lock_by, lock_at)
        select next_job, j.job_type,
               convert_to((convert_from(j.job, 'UTF8')::jsonb
                   || jsonb_build_object('batch', batch_number + 1, 'after', to_jsonb(page.last), 'attempt', 0,
                       'queued_us', case when not keep then (extract(epoch from clock_timestamp()) * 1000000)::bigint end))::text, 'UTF8'),
               case when keep then 'Running' else 'Pending' end, 0, j.max_attempts,
               -- Only a job that is due is announced: whoever is kept out need not be woken.
               case when keep then now() + interval '1 second' else now() - interval '1 second' end, j.priority,
               case when keep then worker end, case when keep then now() end
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
    'Fence, page, counters, position, checkpoint and the chain''s next job, all or nothing. Raises VT001, VT002 or VT003 where the batch may not commit';
