-- The control plane: what may be written, what should run, what ran, and how far it is.
-- Text with a named check stands where an enum type could: a new value is then one small migration.

create table etl.etl_targets (
    target     text        not null,
    key        text[]      not null,
    options    jsonb       not null default '{}',
    created_at timestamptz not null default now(),

    constraint etl_targets_pkey primary key (target),
    constraint etl_targets_target_check check (target ~ '^(analytics\.[a-z_][a-z0-9_]{0,62}|[a-z]{1,16}:[a-z0-9][a-z0-9_.-]{0,199})$'),
    constraint etl_targets_key_check check (cardinality(key) between 1 and 16),
    constraint etl_targets_options_check check (jsonb_typeof(options) = 'object')
);

comment on table etl.etl_targets is 'The whitelist: the only tables and indexes that a pipeline may write';
comment on column etl.etl_targets.target is '`analytics.<table>` or `es:<index>`';
comment on column etl.etl_targets.key is 'Columns that identify a row of the target';

-- A change of status keeps the row on its page: half of the page is left free, and no index is about the status. There are
-- never so many pipelines that one would be worth it.
create table etl.etl_pipelines (
    id                 uuid        not null default gen_random_uuid(),
    name               text        not null,
    description        text        not null default '',
    type               text        not null default 'SQL',
    mode               text        not null,
    source_query       text,
    target_table       text        not null,
    batch_size         integer     not null default 1000,
    incremental_key    text,
    incremental_id_key text,
    enabled            boolean     not null default true,
    status             text        not null default 'IDLE',
    options            jsonb       not null default '{}',
    version            bigint      not null default 1,
    checkpoint_epoch   bigint      not null default 0,
    has_removed_rows   boolean     not null default false,
    created_at         timestamptz not null default now(),
    updated_at         timestamptz not null default now(),

    constraint etl_pipelines_pkey primary key (id),
    constraint etl_pipelines_name_key unique (name),
    constraint etl_pipelines_name_check check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,99}$'),
    constraint etl_pipelines_type_check check (type in ('SQL', 'RUST', 'PYTHON')),
    constraint etl_pipelines_mode_check check (mode in ('full', 'incremental')),
    constraint etl_pipelines_batch_size_check check (batch_size between 1 and 1000000),
    constraint etl_pipelines_status_check
        check (status in ('IDLE', 'RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED', 'PAUSED', 'FAILED')),
    constraint etl_pipelines_options_check check (jsonb_typeof(options) = 'object'),
    constraint etl_pipelines_incremental_check
        check (mode = 'full' or (incremental_key is not null and incremental_id_key is not null)),
    constraint etl_pipelines_target_fkey foreign key (target_table) references etl.etl_targets (target)
)
with (fillfactor = 50);

comment on table etl.etl_pipelines is 'What should run: a query, a target and how to walk from one to the other';
comment on column etl.etl_pipelines.status is 'Changed only by the lifecycle; setting RUN_REQUESTED by hand is picked up by recovery';
comment on column etl.etl_pipelines.version is 'Grows with every change of the configuration, its tasks included; the API''s ETag';
comment on column etl.etl_pipelines.checkpoint_epoch is 'Grows whenever the checkpoint is forgotten; a run of an earlier epoch moves no checkpoint';
comment on column etl.etl_pipelines.has_removed_rows is 'Whether runs or repairs removed rows of the target since the checkpoint was forgotten: it says nothing about those rows to another query';

create table etl.etl_pipeline_tasks (
    pipeline_id  uuid    not null,
    order_index  integer not null,
    task_type    text    not null,
    body         text    not null,
    target_table text,
    options      jsonb   not null default '{}',

    constraint etl_pipeline_tasks_pkey primary key (pipeline_id, order_index),
    constraint etl_pipeline_tasks_pipeline_fkey
        foreign key (pipeline_id) references etl.etl_pipelines (id) on delete cascade,
    constraint etl_pipeline_tasks_target_fkey foreign key (target_table) references etl.etl_targets (target),
    constraint etl_pipeline_tasks_order_check check (order_index >= 1),
    constraint etl_pipeline_tasks_type_check check (task_type in ('SQL', 'RUST', 'PYTHON')),
    constraint etl_pipeline_tasks_body_check check (body <> ''),
    constraint etl_pipeline_tasks_options_check check (jsonb_typeof(options) = 'object')
);

create index etl_pipeline_tasks_target_idx on etl.etl_pipeline_tasks (target_table);

comment on table etl.etl_pipeline_tasks is 'A pipeline''s plan, in order: the SQL reader first, then registered transforms. Wins over source_query';
comment on column etl.etl_pipeline_tasks.body is 'The query of an SQL step, the registered name of a transform';

-- A run's row is changed three times at least.
create table etl.etl_runs (
    id              uuid        not null,
    pipeline_id     uuid        not null,
    mode            text        not null,
    status          text        not null default 'QUEUED',
    trigger         text        not null,
    requested_by    text        not null,
    correlation_id  text        not null,
    inputs          jsonb       not null,
    target          text        generated always as (
                                    coalesce(inputs #>> '{tasks,-1,target_table}', inputs ->> 'target_table')) stored,
    checkpoint_epoch bigint     not null default 0,
    target_id       text,
    target_files    jsonb,
    requested_at    timestamptz not null default now(),
    started_at      timestamptz,
    finished_at     timestamptz,
    rows_read       bigint      not null default 0,
    rows_written    bigint      not null default 0,
    rows_rejected   bigint      not null default 0,
    rows_removed    bigint      not null default 0,
    rows_total      bigint,
    batches         bigint      not null default 0,
    attempts        integer     not null default 0,
    error           text,
    error_class     text,
    checkpoint_from jsonb,
    checkpoint_to   jsonb,
    leaves          jsonb,

    constraint etl_runs_pkey primary key (id),
    constraint etl_runs_pipeline_fkey
        foreign key (pipeline_id) references etl.etl_pipelines (id) on delete cascade,
    constraint etl_runs_mode_check check (mode in ('full', 'incremental')),
    constraint etl_runs_status_check
        check (status in ('QUEUED', 'RUNNING', 'PAUSED', 'SUCCESS', 'FAILED', 'CANCELLED')),
    constraint etl_runs_trigger_check
        check (trigger in ('API', 'AGAIN', 'RECOVERY', 'SCHEDULE', 'CHANGE', 'CHAIN', 'BACKFILL', 'SQL')),
    constraint etl_runs_error_class_check
        check (error_class in ('Transient', 'RateLimited', 'Quota', 'Fatal', 'Row')),
    constraint etl_runs_error_check check (length(error) <= 4000),
    constraint etl_runs_finished_check
        check ((finished_at is not null) = (status in ('SUCCESS', 'FAILED', 'CANCELLED')))
)
with (fillfactor = 70);

-- The database itself refuses a second unfinished run of a pipeline.
create unique index etl_runs_one_active_idx on etl.etl_runs (pipeline_id)
    where status in ('QUEUED', 'RUNNING', 'PAUSED');
-- And a second unfinished run on a target, whatever pipeline it belongs to: two of them would write older rows over newer
-- ones, and a full run would remove what the other one wrote meanwhile.
create unique index etl_runs_one_per_target_idx on etl.etl_runs (target)
    where status in ('QUEUED', 'RUNNING', 'PAUSED');
create index etl_runs_history_idx on etl.etl_runs (pipeline_id, requested_at desc, id desc);

comment on table etl.etl_runs is 'Every attempt to run a pipeline, with what it did';
comment on column etl.etl_runs.inputs is 'The configuration the run was requested with, for `again`';
comment on column etl.etl_runs.target is 'What the run writes: the target of the last step, or else of the pipeline';
comment on column etl.etl_runs.checkpoint_epoch is 'The pipeline''s epoch when the run was requested, for a repeated run that of the repeated one';
comment on column etl.etl_runs.rows_removed is 'Rows that were removed from the target because the query does not return them any more';
comment on column etl.etl_runs.leaves is 'The checkpoint that a full run of an incremental pipeline leaves if it succeeds: the last row that was settled before its first page';
comment on column etl.etl_runs.target_id is
    'The very index that the run writes, as `<cluster>/<index>` by their UUIDs; for a mart the table of etl_swap in which it gathers its rows, null if it writes them page by page. A checkpoint belongs to the index of the run that wrote it';
comment on column etl.etl_runs.target_files is
    'The mart''s table and files when the run began, of etl.files_of: once it has others, a checkpoint of the run says nothing about what is in it';
comment on column etl.etl_runs.rows_total is 'The planner''s estimate, for progress; null until it is known';

create table etl.etl_run_keys (
    pipeline_id     uuid        not null,
    idempotency_key text        not null,
    run_id          uuid        not null,
    created_at      timestamptz not null default now(),

    constraint etl_run_keys_pkey primary key (pipeline_id, idempotency_key),
    constraint etl_run_keys_run_fkey foreign key (run_id) references etl.etl_runs (id) on delete cascade
);

create index etl_run_keys_run_idx on etl.etl_run_keys (run_id);

comment on table etl.etl_run_keys is 'Which run a client''s Idempotency-Key was answered with: repeating the request finds it again';

create table etl.etl_run_ranges (
    run_id      uuid    not null,
    range_no    integer not null,
    after       text[],
    upper       text,
    next_batch  bigint  not null default 0,
    job_id      text,
    finished_at timestamptz,
    horizon     timestamptz,
    server      text,
    walks_by    jsonb,

    constraint etl_run_ranges_pkey primary key (run_id, range_no),
    constraint etl_run_ranges_run_fkey foreign key (run_id) references etl.etl_runs (id) on delete cascade
)
with (fillfactor = 70);

create index etl_run_ranges_job_idx on etl.etl_run_ranges (job_id);

comment on table etl.etl_run_ranges is 'A run walks one or more key ranges; each is a chain of batches with its own position';
comment on column etl.etl_run_ranges.after is 'The last row that was written: the values of the columns the run walks by, as text; null before the first batch';
comment on column etl.etl_run_ranges.upper is 'The run reads rows whose first column is below this (mode incremental): above it, rows may still be committed late';
comment on column etl.etl_run_ranges.horizon is 'The time behind `upper`, where keys come from the clock: every transaction that began before it had ended, but for those in etl_rereads';
comment on column etl.etl_run_ranges.server is 'The server whose clock that is';
comment on column etl.etl_run_ranges.walks_by is 'The columns that the run walks by, with their types; before it has begun those of its checkpoint. `found` is what the catalog said of the column when that was noted: a column that is retyped gives its keys another order or other values, and `after` says nothing any more';
comment on column etl.etl_run_ranges.next_batch is 'The fence: a batch may commit only by moving this from its own number to the next';
comment on column etl.etl_run_ranges.job_id is 'The live job of the chain in apalis.jobs';

create table etl.etl_state (
    pipeline_id    uuid        not null,
    checkpoint_key text        not null,
    checkpoint_id  text,
    run_id         uuid        not null,
    batch          bigint      not null,
    updated_at     timestamptz not null default now(),
    horizon        timestamptz,
    server         text,
    walks_by       jsonb,

    constraint etl_state_pkey primary key (pipeline_id),
    constraint etl_state_pipeline_fkey
        foreign key (pipeline_id) references etl.etl_pipelines (id) on delete cascade
);

comment on table etl.etl_state is 'How far a pipeline is durably written: the key and id of the last row, as text in the server''s exact form. No id: before the first row with that key';
comment on column etl.etl_state.horizon is 'Where keys come from the clock: rows up to the checkpoint were complete when they were read if their transactions began before this. Rows of later ones are read again';
comment on column etl.etl_state.server is 'The server whose clock that was: its timeline and when it was started';
comment on column etl.etl_state.walks_by is 'The columns that the key and the id are of, as in etl_run_ranges';

create table etl.etl_rereads (
    pipeline_id uuid        not null,
    transaction text        not null,
    from_key    timestamptz not null,
    server      text        not null,

    constraint etl_rereads_pkey primary key (pipeline_id, transaction),
    constraint etl_rereads_pipeline_fkey
        foreign key (pipeline_id) references etl.etl_pipelines (id) on delete cascade
);

comment on table etl.etl_rereads is
    'Keys that must be read again: the walk passed the start of a transaction that may still write, or the clock went back';
comment on column etl.etl_rereads.transaction is
    'The transaction that was passed, as pg_locks.virtualtransaction says it: its rows are read again once it has ended. Empty: at once';
comment on column etl.etl_rereads.server is
    'The server that called it so, as etl.this_server says it: another one gives the same name to another transaction';
comment on column etl.etl_rereads.from_key is 'Its rows have this key or a greater one';
