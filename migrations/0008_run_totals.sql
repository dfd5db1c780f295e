-- What ended runs did, summed up. Counters for whoever watches must never go back, and must not be lost with the process
-- that counted: so they are counted here, in the transaction that ends a run, and outlive the runs themselves. What an
-- unfinished run has done so far stands in etl_runs; both together are what was ever done.

-- Runs take from milliseconds to hours.
create function etl.run_duration_bounds() returns double precision[]
    language sql
    immutable
    parallel safe
    set search_path = pg_catalog, pg_temp
as $$
    select array[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200]
$$;

comment on function etl.run_duration_bounds is
    'Upper bounds, in seconds, of the classes that run durations are counted in; one more class follows the last. Changing them spoils etl_run_totals.durations';

create function etl.count_duration(seconds double precision) returns bigint[]
    language sql
    immutable
    parallel safe
    set search_path = pg_catalog, pg_temp
as $$
    select array_agg(coalesce(seconds > coalesce(below, '-infinity') and seconds <= upto, false)::integer::bigint order by upto)
    from (
        select bound as upto, lag(bound) over (order by bound) as below
        from unnest(etl.run_duration_bounds() || 'infinity'::double precision) as bound
    ) as class
$$;

comment on function etl.count_duration is 'One run of this duration: 1 in its class, 0 in all others; 0 everywhere for null, a run that never began';

-- Where a run writes, as the label `sink` of its metrics says it. The last step's target wins, as it does for the run.
create function etl.sink_of(inputs jsonb) returns text
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

create table etl.etl_run_totals (
    pipeline_id       uuid        not null,
    mode              text        not null,
    sink              text        not null,
    status            text        not null,
    runs              bigint      not null,
    rows_read         bigint      not null,
    rows_written      bigint      not null,
    rows_rejected     bigint      not null,
    rows_removed      bigint      not null default 0,
    batches           bigint      not null,
    attempts          bigint      not null,
    seconds           double precision   not null,
    durations         bigint[]           not null,
    last_finished_at  timestamptz        not null,
    last_requested_at timestamptz        not null,
    last_started_at   timestamptz,
    last_upper        text,
    gaps              double precision[] not null default '{}',

    constraint etl_run_totals_pkey primary key (pipeline_id, mode, sink, status),
    constraint etl_run_totals_pipeline_fkey
        foreign key (pipeline_id) references etl.etl_pipelines (id) on delete cascade
);

comment on table etl.etl_run_totals is
    'What the ended runs of a pipeline did, summed up. Goes with its pipeline, not with its runs: a counter never goes back';
comment on column etl.etl_run_totals.attempts is 'Batches that failed, those of runs that went on included';
comment on column etl.etl_run_totals.durations is 'Runs by their duration, in the classes of etl.run_duration_bounds()';
comment on column etl.etl_run_totals.last_upper is 'The bound that the last incremental run read up to';
comment on column etl.etl_run_totals.gaps is 'Seconds between the ends of the last runs, latest first, for what is usual';

create function etl.sum_up_run() returns trigger
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    took double precision := extract(epoch from new.finished_at - new.started_at);
begin
    insert into etl.etl_run_totals as t (
        pipeline_id, mode, sink, status, runs, rows_read, rows_written, rows_rejected, rows_removed, batches, attempts,
        seconds, durations, last_finished_at, last_requested_at, last_started_at, last_upper)
    select new.pipeline_id, new.mode, etl.sink_of(new.inputs), new.status, 1, new.rows_read, new.rows_written,
           new.rows_rejected, new.rows_removed, new.batches, new.attempts, coalesce(took, 0), etl.count_duration(took),
           new.finished_at, new.requested_at, new.started_at,
           (select min(g.upper) from etl.etl_run_ranges g where g.run_id = new.id)
    on conflict (pipeline_id, mode, sink, status) do update
    set runs = t.runs + 1,
        rows_read = t.rows_read + excluded.rows_read,
        rows_written = t.rows_written + excluded.rows_written,
        rows_rejected = t.rows_rejected + excluded.rows_rejected,
        rows_removed = t.rows_removed + excluded.rows_removed,
        batches = t.batches + excluded.batches,
        attempts = t.attempts + excluded.attempts,
        seconds = t.seconds + excluded.seconds,
        durations = (select array_agg(u.a + u.b order by u.n)
                     from unnest(t.durations, excluded.durations) with ordinality as u (a, b, n)),
        gaps = (extract(epoch from excluded.last_finished_at - t.last_finished_at)::double precision || t.gaps)[1:8],
        last_finished_at = excluded.last_finished_at,
        last_requested_at = excluded.last_requested_at,
        last_started_at = excluded.last_started_at,
        last_upper = excluded.last_upper;
    return null;
end
$$;

-- Batches do not set finished_at, so they do not even ask whether this trigger has something to do.
create trigger etl_runs_sum_up
    after update of finished_at on etl.etl_runs
    for each row when (old.finished_at is null and new.finished_at is not null)
    execute function etl.sum_up_run();

with ended as (
    select r.*, etl.sink_of(r.inputs) as sink, extract(epoch from r.finished_at - r.started_at)::double precision as took
    from etl.etl_runs r
    where r.finished_at is not null
),
class as (
    select e.pipeline_id, e.mode, e.sink, e.status, u.n, sum(u.one)::bigint as runs
    from ended e, unnest(etl.count_duration(e.took)) with ordinality as u (one, n)
    group by e.pipeline_id, e.mode, e.sink, e.status, u.n
)
insert into etl.etl_run_totals (
    pipeline_id, mode, sink, status, runs, rows_read, rows_written, rows_rejected, rows_removed, batches, attempts,
    seconds, durations, last_finished_at, last_requested_at, last_started_at)
select e.pipeline_id, e.mode, e.sink, e.status, count(*), sum(e.rows_read), sum(e.rows_written), sum(e.rows_rejected),
       sum(e.rows_removed), sum(e.batches), sum(e.attempts), coalesce(sum(e.took), 0),
       (select array_agg(c.runs order by c.n) from class c
        where (c.pipeline_id, c.mode, c.sink, c.status) = (e.pipeline_id, e.mode, e.sink, e.status)),
       max(e.finished_at), max(e.requested_at), max(e.started_at)
from ended e
group by e.pipeline_id, e.mode, e.sink, e.status;
