-- What workers have to tell: reports that clients asked for, and rows that could not be written. At the end what indexes need.
--
-- The API reads no source itself, so a worker finds out what a client wants to know about a pipeline. A report is queued with
-- its job in one transaction, and ends with it in one.

create table etl.etl_reports (
    id             uuid        not null,
    pipeline_id    uuid        not null,
    request        jsonb       not null,
    kind           text        not null generated always as (request ->> 'kind') stored,
    status         text        not null default 'QUEUED',
    result         jsonb,
    error          text,
    error_class    text,
    attempts       integer     not null default 0,
    job_id         text,
    requested_by   text        not null,
    correlation_id text        not null,
    requested_at   timestamptz not null default now(),
    started_at     timestamptz,
    finished_at    timestamptz,

    constraint etl_reports_pkey primary key (id),
    constraint etl_reports_pipeline_fkey
        foreign key (pipeline_id) references etl.etl_pipelines (id) on delete cascade,
    constraint etl_reports_kind_check check (kind in ('reconcile', 'preview', 'replay')),
    constraint etl_reports_status_check check (status in ('QUEUED', 'RUNNING', 'DONE', 'FAILED')),
    constraint etl_reports_error_class_check
        check (error_class in ('Transient', 'RateLimited', 'Quota', 'Fatal', 'Row')),
    constraint etl_reports_error_check check (length(error) <= 4000),
    constraint etl_reports_finished_check check ((finished_at is not null) = (status in ('DONE', 'FAILED'))),
    constraint etl_reports_result_check check ((result is not null) = (status = 'DONE'))
);

create index etl_reports_pipeline_idx on etl.etl_reports (pipeline_id);
create index etl_reports_unfinished_idx on etl.etl_reports (id) where status in ('QUEUED', 'RUNNING');
create index etl_reports_finished_idx on etl.etl_reports (finished_at);

comment on table etl.etl_reports is 'What clients want to know about a pipeline, found out by a worker; removed a while after its end';
comment on column etl.etl_reports.request is 'What is wanted, by its `kind`';
comment on column etl.etl_reports.job_id is 'Its job in apalis.jobs';

create table etl.etl_dead_letters (
    id          bigint      generated always as identity,
    pipeline_id uuid        not null,
    run_id      uuid        not null,
    batch       bigint      not null,
    key         jsonb       not null,
    row         jsonb       not null,
    error       text        not null,
    error_class text        not null,
    created_at  timestamptz not null default now(),
    replayed_at timestamptz,

    constraint etl_dead_letters_pkey primary key (id),
    constraint etl_dead_letters_pipeline_fkey
        foreign key (pipeline_id) references etl.etl_pipelines (id) on delete cascade,
    constraint etl_dead_letters_class_check
        check (error_class in ('Transient', 'RateLimited', 'Quota', 'Fatal', 'Row'))
);

create index etl_dead_letters_pipeline_idx on etl.etl_dead_letters (pipeline_id, id);
-- One open letter per row: a row that is refused again and again has one.
create unique index etl_dead_letters_open_idx on etl.etl_dead_letters (pipeline_id, md5(key::text))
    where replayed_at is null;

comment on table etl.etl_dead_letters is 'Rows that could not be written, with the reason, until they are replayed';
comment on column etl.etl_dead_letters.key is 'The key columns of the row, by name';
comment on column etl.etl_dead_letters.row is 'The row as it should have been written';

create table etl.etl_installation (
    id     uuid    not null default gen_random_uuid(),
    single boolean not null default true,

    constraint etl_installation_pkey primary key (single),
    constraint etl_installation_single_check check (single)
);

comment on table etl.etl_installation is
    'Who we are. Indexes are marked with this id: several installations may share an Elasticsearch, and each cleans up its own';

insert into etl.etl_installation default values;

-- Two at a time: one for a page, and one for the page that is read ahead of its turn.
create sequence etl.etl_write_numbers as bigint increment by 2 minvalue 2147483648 maxvalue 8796093022206;

comment on sequence etl.etl_write_numbers is
    'Tells which of two writes to one document is the newer: a number is taken before the rows are read. The documents'' versions are made of it';
