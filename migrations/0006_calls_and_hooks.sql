-- What steps ask of services outside, what that is limited by, and what follows from a run.
--
-- A call is a durable fact: a row is written before the request is sent and again when its answer has come. So retries, crashes
-- and later runs find the answer and do not ask (and pay) again.

create table etl.etl_limits (
    name           text        not null,
    tokens         integer     not null,
    period_seconds numeric     not null,
    burst          integer     not null,
    spent_until    timestamptz not null default '-infinity',
    rests_until    timestamptz,
    updated_at     timestamptz not null default now(),

    constraint etl_limits_pkey primary key (name),
    constraint etl_limits_name_check check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
    constraint etl_limits_tokens_check check (tokens between 1 and 1000000),
    constraint etl_limits_period_check check (period_seconds between 0.001 and 86400),
    constraint etl_limits_burst_check check (burst between 1 and 1000000)
)
with (fillfactor = 50);

comment on table etl.etl_limits is
    'Token buckets by name, shared by all workers: `tokens` in each `period_seconds`, and up to `burst` at once';
comment on column etl.etl_limits.spent_until is
    'When the bucket will be full again less one period of a token: later than now by as much as was taken ahead';
comment on column etl.etl_limits.rests_until is 'A service without keys asked for a pause until then';

create table etl.etl_pool_keys (
    pool           text        not null,
    fingerprint    text        not null,
    used_at        timestamptz,
    rests_until    timestamptz,
    strikes        integer     not null default 0,
    refused_at     timestamptz,
    refused_reason text,

    constraint etl_pool_keys_pkey primary key (pool, fingerprint),
    constraint etl_pool_keys_fingerprint_check check (fingerprint ~ '^[0-9a-f]{16}$')
)
with (fillfactor = 50);

comment on table etl.etl_pool_keys is 'What became of the keys of VITRINA_KEYS_<POOL>; never a key itself';
comment on column etl.etl_pool_keys.fingerprint is 'The beginning of the SHA-256 of pool and key';
comment on column etl.etl_pool_keys.strikes is 'How often the service asked this key to slow down since it last answered';
comment on column etl.etl_pool_keys.refused_at is 'The service does not accept the key: it is not used until it is cleared';

create table etl.etl_calls (
    pipeline_id     uuid        not null,
    step            text        not null,
    call_key        bytea       not null,
    input           bytea       not null,
    state           text        not null,
    idempotency_key uuid        not null,
    together        smallint    not null,
    run_id          uuid        not null,
    key_fingerprint text,
    external_id     text,
    status          smallint,
    answer          text,
    error           text,
    attempts        integer     not null default 0,
    created_at      timestamptz not null default now(),
    sent_at         timestamptz,
    next_look_at    timestamptz,
    deadline_at     timestamptz,
    leased_until    timestamptz,
    answered_at     timestamptz,

    constraint etl_calls_pkey primary key (pipeline_id, step, call_key),
    constraint etl_calls_pipeline_fkey
        foreign key (pipeline_id) references etl.etl_pipelines (id) on delete cascade,
    constraint etl_calls_key_check check (octet_length(call_key) = 32 and octet_length(input) = 32),
    constraint etl_calls_state_check check (state in ('SENDING', 'SUBMITTED', 'WAITING', 'DONE', 'REFUSED', 'FAILED')),
    constraint etl_calls_error_check check (length(error) <= 4000)
)
with (fillfactor = 80);

create index etl_calls_created_idx on etl.etl_calls (created_at);

comment on table etl.etl_calls is 'Calls of steps and their answers; removed VITRINA_CALLS_KEPT_DAYS after the answer';
comment on column etl.etl_calls.call_key is 'SHA-256 of the entity, where the step names one, or else of the input';
comment on column etl.etl_calls.input is 'SHA-256 of the request as it would be sent, without its key';
comment on column etl.etl_calls.state is
    'SENDING: on its way, or lost with its worker; SUBMITTED: accepted, polled until its end; WAITING: tried again later; DONE: answered; REFUSED: the input is at fault; FAILED: given up for its run';
comment on column etl.etl_calls.run_id is 'The run or report that made it last; attempts are counted within that';
comment on column etl.etl_calls.idempotency_key is 'Sent with every attempt of the same input';
comment on column etl.etl_calls.together is 'How many inputs were sent in one request; they share its idempotency_key';
comment on column etl.etl_calls.answer is 'JSON as the service wrote it, the part for this input';
comment on column etl.etl_calls.leased_until is 'Until then the run that sends it is given time to note the answer';

create table etl.etl_run_steps (
    run_id      uuid    not null,
    place       integer not null,
    step        text    not null,
    blocks      bigint  not null default 0,
    rows_in     bigint  not null default 0,
    rows_out    bigint  not null default 0,
    rejected    bigint  not null default 0,
    dropped     bigint  not null default 0,
    duration_us bigint  not null default 0,
    calls_made  bigint  not null default 0,
    calls_saved bigint  not null default 0,
    waited_us   bigint  not null default 0,
    waited_for  text,
    concurrency integer,

    constraint etl_run_steps_pkey primary key (run_id, place),
    constraint etl_run_steps_run_fkey foreign key (run_id) references etl.etl_runs (id) on delete cascade
)
with (fillfactor = 70);

comment on table etl.etl_run_steps is
    'What the steps of a run did. Rows are those of committed batches; blocks, time, calls and waits those of all batches';
comment on column etl.etl_run_steps.place is 'The step''s place in the plan, by `order_index`';
comment on column etl.etl_run_steps.calls_saved is 'Calls that were not made because their answers were known';
comment on column etl.etl_run_steps.waited_us is 'How long the step waited for limits and keys, the rests of its job included';
comment on column etl.etl_run_steps.waited_for is 'The limit or pool of keys that it waited for last';
comment on column etl.etl_run_steps.concurrency is 'How many calls it may make at once, where the plan says that';

-- A run is executed by one version of its steps' code, and with one key.
alter table etl.etl_runs add column code text[];

comment on column etl.etl_runs.code is
    'The code that its steps in Python began with, and the fingerprints of the keys of `hash`; null where it has no such steps';

create table etl.etl_worker_keys (
    worker       text        not null,
    pool         text        not null,
    fingerprint  text        not null,
    published_at timestamptz not null default now(),

    constraint etl_worker_keys_pkey primary key (worker, pool),
    constraint etl_worker_keys_fingerprint_check check (fingerprint ~ '^[0-9a-f]{16}$')
);

comment on table etl.etl_worker_keys is
    'The pools of one key that workers have, with the beginning of the SHA-256 of pool and key; never a key itself';

-- Hooks call functions of the operator's under a role that has no other rights than to call those.
do $$
begin
    if not exists (select from pg_roles where rolname = 'vitrina_hook') then
        create role vitrina_hook nologin;
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;

grant vitrina_hook to current_user;

create schema if not exists etl_hook;

comment on schema etl_hook is 'Vitrina: the function that calls those of the operator''s, under vitrina_hook; vitrina_hook cannot name it';

create table etl.etl_hook_functions (
    name         text        not null,
    function_oid oid         not null,
    owner_oid    oid         not null,
    added_by     text        not null,
    added_at     timestamptz not null default now(),

    constraint etl_hook_functions_pkey primary key (name),
    constraint etl_hook_functions_name_check check (name ~ '^[a-z_][a-z0-9_]{0,62}\.[a-z_][a-z0-9_]{0,62}$')
);

comment on table etl.etl_hook_functions is
    'Functions of the database that hooks of pipelines may call; `vitrina hooks` writes the list as the owner';
comment on column etl.etl_hook_functions.function_oid is
    'What stood under the name then: a function that was dropped and created anew has another one, and is not called';
comment on column etl.etl_hook_functions.owner_oid is 'Whose it was then: a function that was given to another owner is not called';
