-- What happened: the log of status changes, and what ended runs did, summed up.
--
-- Entries of the log have ids in commit order. Their writers take turns only within the commit itself, and that commit does not
-- wait for the disk; callers that need durability wait for the flush afterwards (`store::flush`,
-- functions/etl.log_in_commit_order.sql).

create table etl.etl_transitions (
    id             bigint      generated always as identity,
    pipeline_id    uuid        not null,
    pipeline       text        not null,
    run_id         uuid,
    from_status    text        not null,
    to_status      text        not null,
    actor          text        not null,
    reason         text        not null,
    correlation_id text,
    at             timestamptz not null default clock_timestamp(),

    constraint etl_transitions_pkey primary key (id),
    constraint etl_transitions_from_check
        check (from_status in ('IDLE', 'RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED', 'PAUSED', 'FAILED')),
    constraint etl_transitions_to_check
        check (to_status in ('IDLE', 'RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED', 'PAUSED', 'FAILED'))
);

create index etl_transitions_pipeline_idx on etl.etl_transitions (pipeline_id, id);

comment on table etl.etl_transitions is
    'Append-only log of status changes. Ids appear in commit order, so a reader resumes by `id > last seen`. '
    'No foreign key: the log outlives a deleted pipeline';
comment on column etl.etl_transitions.id is 'Given at the commit: the one that the insert drew is not seen by anyone. Greater than every id that was ever shown';

-- A commit that does not wait for the disk can be lost in a crash after its entry was shown, and the sequence goes back with
-- it. A failover to a replica that lagged, or a restored backup, goes back too. A client that resumes by the id it saw last
-- would then miss every entry up to that id. So each such event begins a new epoch, whose ids follow all that were given before.
--
-- The row of this table says that no commit was lost since it was written. PostgreSQL itself empties unlogged tables whenever
-- it may have lost commits: after a crash, in a promoted replica, in a restored base backup. A dump does bring the row back,
-- but not in the transaction that the row names.
create unlogged table etl.etl_log_epoch (
    only_row   boolean not null default true,
    written_by xid     not null,

    constraint etl_log_epoch_pkey primary key (only_row),
    constraint etl_log_epoch_only_row_check check (only_row)
);

insert into etl.etl_log_epoch (written_by) values (pg_current_xact_id()::xid);

comment on table etl.etl_log_epoch is
    'Its row says that no entry of the log was lost since it was written; without it, ids of the log begin a new epoch';
comment on column etl.etl_log_epoch.written_by is 'The transaction that wrote the row; another one if a dump brought it back';

-- Writers of the log take turns by a lock on this empty table. An advisory lock would do as well, but every account of the
-- database can hold one.
create table etl.etl_log_turn ();

comment on table etl.etl_log_turn is 'Always empty: the transaction that appends to etl_transitions locks it until its commit';

-- Old entries are removed (functions/etl.prune_log.sql). A client that resumes by an id below this one may have missed some.
create table etl.etl_log_removed (
    only_row boolean not null default true,
    up_to    bigint  not null,

    constraint etl_log_removed_pkey primary key (only_row),
    constraint etl_log_removed_only_row_check check (only_row)
);

comment on table etl.etl_log_removed is 'No row while nothing was removed from etl_transitions';
comment on column etl.etl_log_removed.up_to is 'The greatest id that was removed. Entries with smaller ids may still be there';

-- Counters for monitoring must never go back, and must not be lost with the process that counted: they are counted here, in the
-- transaction that ends a run (functions/etl.sum_up_run.sql), and outlive the runs themselves. What an unfinished run has done
-- so far stands in etl_runs; both together are what was ever done.
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
