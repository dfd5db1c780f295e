-- Steps that workers bring with them: their code is in a directory of the worker, and never in the database.
--
-- A worker says what it has when it starts, so that a plan can be checked where it is saved, and a job goes to a worker that can
-- do it. A row counts while its worker is alive (`apalis.workers`); rows of workers that are gone are removed with those.

create table etl.etl_worker_steps (
    worker       text        not null,
    name         text        not null,
    kind         text        not null default 'PYTHON',
    version      text        not null,
    declaration  jsonb       not null,
    published_at timestamptz not null default now(),

    constraint etl_worker_steps_pkey primary key (worker, name),
    constraint etl_worker_steps_name_check check (octet_length(name) between 1 and 63),
    constraint etl_worker_steps_kind_check check (kind in ('PYTHON'))
);

comment on table etl.etl_worker_steps is 'Steps in code that workers have and plans may name; one row for each worker and step';
comment on column etl.etl_worker_steps.version is 'Tells the code from any other';
comment on column etl.etl_worker_steps.declaration is
    'What it does to columns, the schema of its options, and whether it is pure';

-- Until now PYTHON was another word for RUST: both named transforms that every deployment has.
update etl.etl_pipeline_tasks set task_type = 'RUST' where task_type = 'PYTHON';
update etl.etl_pipelines set type = 'RUST' where type = 'PYTHON';

-- What runs were requested with: unfinished ones go on, and others may be repeated.
update etl.etl_runs r
set inputs = r.inputs
    || case when r.inputs ->> 'type' = 'PYTHON' then '{"type": "RUST"}' else '{}' end::jsonb
    || case when jsonb_typeof(r.inputs -> 'tasks') = 'array' then jsonb_build_object('tasks', (
           select coalesce(jsonb_agg(
               task.own || case when task.own ->> 'task_type' = 'PYTHON' then '{"task_type": "RUST"}' else '{}' end::jsonb
               order by task.place), '[]')
           from jsonb_array_elements(r.inputs -> 'tasks') with ordinality as task (own, place)))
       else '{}' end
where r.inputs ->> 'type' = 'PYTHON' or r.inputs -> 'tasks' @> '[{"task_type": "PYTHON"}]';
