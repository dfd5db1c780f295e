-- Reports: what clients want to know about a pipeline and a worker finds out, because the API reads no source itself.
-- A report is queued with its job in one transaction, and ends with it in one.

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

-- The end of a report, for whoever waits for it. The id only: the truth is in the table.
create function etl.announce_report() returns trigger
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_notify('vitrina_reports', new.id::text);
    return null;
end
$$;

create trigger etl_reports_announce
    after update of status on etl.etl_reports
    for each row when (new.status in ('DONE', 'FAILED'))
    execute function etl.announce_report();
