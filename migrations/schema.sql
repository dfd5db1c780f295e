-- The database after all migrations; scripts/schema wrote it with PostgreSQL 15

CREATE SCHEMA analytics;

COMMENT ON SCHEMA analytics IS 'Vitrina: the marts that pipelines write';

CREATE SCHEMA etl;

COMMENT ON SCHEMA etl IS 'Vitrina: pipelines, runs, checkpoints and the log of status changes';

CREATE SCHEMA etl_hook;

COMMENT ON SCHEMA etl_hook IS 'Vitrina: the function that calls those of the operator''s, under vitrina_hook; vitrina_hook cannot name it';

CREATE SCHEMA etl_mart;

COMMENT ON SCHEMA etl_mart IS 'Vitrina: the functions that execute with the rights to write marts; vitrina_mart cannot name them';

CREATE SCHEMA etl_page;

COMMENT ON SCHEMA etl_page IS 'Vitrina: the functions that execute users'' queries, and what pages call';

CREATE SCHEMA etl_query;

COMMENT ON SCHEMA etl_query IS 'Vitrina: what etl_page.read asks before and after a query, under the role of the query';

CREATE SCHEMA etl_swap;

COMMENT ON SCHEMA etl_swap IS 'Vitrina: rows that runs with full_strategy `swap` have gathered so far';

CREATE FUNCTION etl.announce_report() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform pg_notify('vitrina_reports', new.id::text);
    return null;
end
$$;

COMMENT ON FUNCTION etl.announce_report() IS 'Announces the end of a report';

CREATE FUNCTION etl.call_hooks(hook_run uuid, hook_event text, details jsonb, letters bigint[]) RETURNS TABLE(hook text, state text, message text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    run record;
    letter bigint;
    event jsonb;
begin
    select r.started_at,
           jsonb_build_object('event', hook_event, 'pipeline', r.inputs -> 'name', 'pipeline_id', r.pipeline_id, 'run_id', r.id) as who,
           jsonb_build_object(
               'mode', r.mode, 'status', r.status, 'trigger', r.trigger, 'rows_read', r.rows_read,
               'rows_written', r.rows_written, 'rows_rejected', r.rows_rejected, 'rows_removed', r.rows_removed,
               'batches', r.batches) as counts,
           array(select jsonb_array_elements_text(r.inputs #> array['options', 'hooks', hook_event])) as hooks
    into run
    from etl.etl_runs r
    where r.id = hook_run
    -- As batches do, the run before whatever hooks lock: the end of a run would else wait for a batch that waits for its hooks.
    for no key update;
    -- A run that was begun before is resumed.
    if not found or cardinality(run.hooks) = 0 or hook_event = 'before_run' and run.started_at is not null then
        return;
    end if;
    -- What the transaction did before is not the hooks' doing.
    set constraints all immediate;
    <<calls>>
    foreach letter in array coalesce(letters, array[null]::bigint[]) loop
        event := run.who || case
            when letter is null then run.counts
            else (select jsonb_build_object('batch', l.batch, 'row', l.row, 'reason', l.error)
                  from etl.etl_dead_letters l where l.id = letter)
        end || details;
        foreach hook in array run.hooks loop
            -- Nothing repeats the end of a run that failed, so a deadlock is tried again here.
            for attempt in 1 .. case when hook_event = 'on_failure' then 3 else 1 end loop
                select c.state, c.message into state, message from etl_hook.call(hook, event) c;
                exit when state is null or state !~ '^40|^55P03';
            end loop;
            if state is not null then
                return next;
                -- A statement is cancelled for its time once: what follows would have no limit.
                exit calls when hook_event <> 'on_failure' or state = '57014';
            end if;
        end loop;
    end loop;
    -- As it was: the log's entry gets its id with the commit.
    set constraints etl.etl_transitions_in_commit_order deferred;
end
$$;

COMMENT ON FUNCTION etl.call_hooks(hook_run uuid, hook_event text, details jsonb, letters bigint[]) IS 'Calls the hooks that a run has for an event, and returns those that failed. The first one that fails is the last one that is called, except for on_failure';

CREATE FUNCTION etl.catalog_of(relations text[]) RETURNS text
    LANGUAGE plpgsql STABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_material TO 'off'
    AS $$
begin
    return (
        with recursive own (oid) as (
            -- By name: a table may have taken the place of another one. Not by a cast, which asks for rights on the schema.
            select c.oid
            from unnest(relations) t
            join pg_namespace n on n.nspname = (parse_ident(t))[1]
            join pg_class c on c.relnamespace = n.oid and c.relname = (parse_ident(t))[2]
            union
            -- A view reads tables, a partitioned table has parts.
            select coalesce(d.refobjid, i.inhrelid)
            from own o
            left join pg_rewrite w on w.ev_class = o.oid
            left join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
                and d.refclassid = 'pg_class'::regclass and d.refobjid <> o.oid
            left join pg_inherits i on i.inhparent = o.oid
            where coalesce(d.refobjid, i.inhrelid) is not null
        ),
        entry (catalog, id, place, version) as (
            select 'class', c.oid, 0, c.xmin from own o join pg_class c on c.oid = o.oid
            union all
            select 'attribute', a.attrelid, a.attnum, a.xmin from own o join pg_attribute a on a.attrelid = o.oid
            where a.attnum > 0
            union all
            select 'default', d.oid, 0, d.xmin from own o join pg_attrdef d on d.adrelid = o.oid
            union all
            select 'index', i.indexrelid, 0, i.xmin from own o join pg_index i on i.indrelid = o.oid
            union all
            select 'constraint', k.oid, 0, k.xmin from own o join pg_constraint k on k.conrelid = o.oid
            union all
            select 'trigger', t.oid, 0, t.xmin from own o join pg_trigger t on t.tgrelid = o.oid
            union all
            select 'rule', w.oid, 0, w.xmin from own o join pg_rewrite w on w.ev_class = o.oid
        )
        select coalesce(sum(hashtextextended(concat_ws(' ', e.catalog, e.id, e.place, e.version), 0)), 0)::text from entry e
    );
end
$$;

COMMENT ON FUNCTION etl.catalog_of(relations text[]) IS 'A fingerprint of the catalog''s entries for tables and views, and for what they read or consist of: another one means that something about them was changed';

CREATE FUNCTION etl.clock() RETURNS timestamp with time zone
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$select pg_catalog.clock_timestamp()$$;

COMMENT ON FUNCTION etl.clock() IS 'The clock that keys come from';

CREATE FUNCTION etl.files_of(target text) RETURNS jsonb
    LANGUAGE sql STABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    with recursive mart as (
        select c.oid, c.relkind
        from pg_namespace n
        join pg_class c on c.relnamespace = n.oid and c.relname = substr(target, length('analytics.') + 1)
        where n.nspname = 'analytics' and target like 'analytics.%'
    ),
    parts as (
        select oid, relkind from mart
        union all
        select c.oid, c.relkind
        from parts p
        join pg_inherits i on i.inhparent = p.oid and p.relkind = 'p'
        join pg_class c on c.oid = i.inhrelid
    )
    select jsonb_build_object(
        'table', mart.oid,
        'files', (
            select coalesce(jsonb_object_agg(p.oid, pg_relation_filenode(p.oid)) filter (where p.relkind <> 'p'), '{}')
            from parts p
        )
    )
    from mart
$$;

COMMENT ON FUNCTION etl.files_of(target text) IS 'The table behind the name of a mart, and the file of each of its parts: others once it was created anew, truncated or rewritten';

CREATE FUNCTION etl.hook_problem(hook text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select case
        when f.name is null then 'is not on the list of functions that hooks may call'
        when p.oid is null then 'was dropped, renamed or created anew since it was put on the list'
        when p.proowner <> f.owner_oid then 'has another owner than when it was put on the list'
        when not has_schema_privilege('vitrina_hook', p.pronamespace, 'usage')
          or not has_function_privilege('vitrina_hook', p.oid, 'execute') then 'may not be called by the role vitrina_hook'
    end
    from (select hook) as wanted (name)
    left join etl.etl_hook_functions f on f.name = wanted.name
    left join (pg_proc p join pg_namespace n on n.oid = p.pronamespace)
        on p.oid = f.function_oid and p.prokind = 'f' and p.pronargs = 1 and p.proargtypes[0] = 'jsonb'::regtype
        and concat_ws('.', n.nspname, p.proname) = f.name
$$;

COMMENT ON FUNCTION etl.hook_problem(hook text) IS 'Why hooks may not call a function by this name; NULL where they may';

CREATE FUNCTION etl.is_other_mart(noted jsonb, now jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select noted -> 'table' <> now -> 'table'
        or exists (select from jsonb_each(nullif(noted -> 'files', 'null')) part where now -> 'files' -> part.key <> part.value)
$$;

COMMENT ON FUNCTION etl.is_other_mart(noted jsonb, now jsonb) IS 'Whether rows may be gone from a mart since its files were noted: it is another table, or a part has another file. Parts that came or went are not counted';

CREATE FUNCTION etl.log_in_commit_order() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    place bigint;
    epoch_by xid;
begin
    if tg_relid is distinct from 'etl.etl_transitions'::regclass then
        raise exception 'etl.log_in_commit_order serves etl.etl_transitions alone' using errcode = 'insufficient_privilege';
    end if;
    lock table etl.etl_log_turn in share update exclusive mode;
    select e.written_by into epoch_by from etl.etl_log_epoch e where e.only_row and e.written_by = e.xmin;
    if epoch_by is null then
        epoch_by := pg_current_xact_id()::xid;
        -- The clock is past every id that was given before; the other bound is for a clock that was set back.
        perform setval('etl.etl_transitions_id_seq', greatest(
            (select last_value + 1000000 from etl.etl_transitions_id_seq),
            (extract(epoch from clock_timestamp()) * 1000000)::bigint
        ));
        insert into etl.etl_log_epoch (written_by) values (epoch_by)
        on conflict (only_row) do update set written_by = excluded.written_by;
    end if;
    update etl.etl_transitions set id = default where id = new.id returning id into place;
    -- Ids only: a payload has at most 8,000 bytes, and readers take the entries from the table.
    perform pg_notify('vitrina_events', json_build_object('id', place, 'pipeline_id', new.pipeline_id)::text);
    -- A transaction that wrote rows too asks to wait for the disk (`store::wait_for_disk`).
    -- The first entry of an epoch waits too, or a second crash would begin the same epoch again.
    if current_setting('vitrina.wait_for_disk', true) is distinct from 'on' then
        perform set_config(
            'synchronous_commit', case when epoch_by = pg_current_xact_id()::xid then 'local' else 'off' end, true
        );
    end if;
    return null;
end
$$;

COMMENT ON FUNCTION etl.log_in_commit_order() IS 'Gives an entry of the log its id within the commit, and announces it';

CREATE FUNCTION etl.mark_session(work uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    mark bigint := hashtextextended(work::text, 0) & ~65535::bigint;
begin
    for attempt in 1..16 loop
        if pg_try_advisory_xact_lock_shared(mark | floor(random() * 65536)::bigint) then
            return;
        end if;
    end loop;
    -- Without a mark the session could not be found and ended.
    raise exception using errcode = '55P03', message = 'another session holds the advisory locks by which Vitrina finds its own statements';
end
$$;

COMMENT ON FUNCTION etl.mark_session(work uuid) IS 'Marks the transaction as one that works for a run, a report or a description';

CREATE FUNCTION etl.note_files(noted jsonb, now jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select case
        when noted is null or now is null then coalesce(noted, now)
        else noted || jsonb_build_object('files', came.files || coalesce(nullif(noted -> 'files', 'null'), '{}'))
    end
    from (
        select coalesce(jsonb_object_agg(part, part::oid), '{}')
        from jsonb_object_keys(nullif(now -> 'files', 'null')) part
    ) came (files)
$$;

COMMENT ON FUNCTION etl.note_files(noted jsonb, now jsonb) IS 'What is noted of a mart that a run has written meanwhile: the files of before, and the first ones of parts that came since';

CREATE FUNCTION etl.note_walk(walk jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return (
        select jsonb_agg(
            c.walked || jsonb_build_object('found', (
                select concat_ws(' collation ', format_type(a.atttypid, a.atttypmod), nullif(a.attcollation, 0))
                from pg_attribute a
                where a.attrelid = (c.walked ->> 'relation')::oid and a.attnum = (c.walked ->> 'number')::smallint
            ))
            order by c.place)
        from jsonb_array_elements(walk) with ordinality as c (walked, place)
    );
end
$$;

COMMENT ON FUNCTION etl.note_walk(walk jsonb) IS 'The columns that a run walks by, each with the type and collation that the catalog has for it now; null where it is no column of a table';

CREATE FUNCTION etl.prune_log(kept interval, most bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- Intervals compare with months of 30 days, so what counts is the time. In UTC every day has 24 hours.
    horizon constant timestamptz := (now() at time zone 'UTC' - kept) at time zone 'UTC';
    removed bigint;
    greatest_id bigint;
begin
    if (horizon <= now() - interval '24 hours') is not true then
        raise exception 'the log is kept for a day at least' using errcode = 'invalid_parameter_value';
    end if;
    if (most > 0) is not true then
        raise exception 'one entry at least is removed at a time' using errcode = 'invalid_parameter_value';
    end if;
    with old as (
        select t.id
        from etl.etl_transitions t
        -- Ids grow with time: everything old is before the first entry that is not, and only that part is read. An entry of
        -- the future, from a clock that was wrong, says nothing about those after it.
        where t.id < coalesce(
                  (select l.id from etl.etl_transitions l where l.at between horizon and now() order by l.id limit 1),
                  9223372036854775807
              )
          and t.at < horizon
          and not exists (
              select from etl.etl_runs r where r.id = t.run_id and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
          )
          -- The last entry of a pipeline stays, unless the pipeline was deleted.
          and (exists (select from etl.etl_transitions l where l.pipeline_id = t.pipeline_id and l.id > t.id)
               or not exists (select from etl.etl_pipelines p where p.id = t.pipeline_id))
        order by t.id
        limit most
        for update of t skip locked
    ), gone as (
        delete from etl.etl_transitions t using old where t.id = old.id returning t.id
    )
    select count(*), max(gone.id) into removed, greatest_id from gone;
    if removed > 0 then
        insert into etl.etl_log_removed as r (up_to) values (greatest_id)
        on conflict (only_row) do update set up_to = greatest(r.up_to, excluded.up_to);
    end if;
    return removed;
end
$$;

COMMENT ON FUNCTION etl.prune_log(kept interval, most bigint) IS 'Removes up to `most` entries of the log that are older than `kept`, oldest first, and returns how many. A pipeline keeps its last entry, and an unfinished run all of its entries';

CREATE FUNCTION etl.read_horizon(beginning_run uuid, patience interval) RETURNS TABLE(clock timestamp with time zone, upper timestamp with time zone, checkpoint_key text, horizon timestamp with time zone, server text, this_server text, passed text[], passed_from timestamp with time zone[], unseen text[], unseen_from timestamp with time zone, due text[], due_noted text[], due_from timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
    run record;
    pids integer[];
    starts timestamptz[];
    hidden integer[];
begin
    select r.pipeline_id, r.requested_at, s.checkpoint_key, s.horizon, s.server, etl.clock() as clock,
           etl.this_server() as this_server,
           (select min(w.from_key) from etl.etl_rereads w where w.pipeline_id = r.pipeline_id) as owed_from
    into run
    from etl.etl_runs r
    left join etl.etl_state s on s.pipeline_id = r.pipeline_id
    where r.id = beginning_run;
    clock := run.clock;
    this_server := run.this_server;
    checkpoint_key := run.checkpoint_key;
    horizon := run.horizon;
    server := run.server;

    -- The order matters: a transaction that is prepared meanwhile is in pg_prepared_xacts before it leaves pg_stat_activity.
    with other as materialized (
        select o.*, not o.has_written and o.xact_start < clock - patience as is_passed from etl.other_sessions o
    )
    select least(run.requested_at, clock, min(o.xact_start) filter (where not o.is_passed)),
           array_agg(o.pid) filter (where o.is_passed or o.xact_start < run.horizon),
           array_agg(o.xact_start) filter (where o.is_passed or o.xact_start < run.horizon),
           array_agg(o.pid) filter (where o.is_hidden)
    into upper, pids, starts, hidden
    from other o;

    if pids is not null then
        select array_agg(l.virtualtransaction), array_agg(c.started) into passed, passed_from
        from unnest(pids, starts) as c (pid, started)
        join pg_locks l on l.pid = c.pid and l.locktype = 'virtualxid' and l.virtualxid = l.virtualtransaction
        where c.started < greatest(upper, horizon)
          and not exists (select from etl.etl_rereads w
                          where w.pipeline_id = run.pipeline_id and w.transaction = l.virtualtransaction
                            and (w.server = run.this_server or w.transaction like '-1/%'));
    end if;

    if hidden is not null or exists (select from pg_prepared_xact()) then
        select array_agg(distinct l.virtualtransaction) into unseen
        from pg_locks l
        where (l.pid = any (hidden) and l.locktype = 'virtualxid' and l.virtualxid = l.virtualtransaction
               or l.pid is null and l.locktype = 'transactionid'
                  and l.transactionid in (select p.transaction from pg_prepared_xacts p where p.database = current_database()))
          and not exists (select from etl.etl_rereads w
                          where w.pipeline_id = run.pipeline_id and w.transaction = l.virtualtransaction
                            and (w.server = run.this_server or w.transaction like '-1/%'));
        -- It began after the last bound was taken, or it was seen then: a reader that was passed may have been prepared.
        unseen_from := case when horizon is null then '1000-01-01 00:00+00' else least(horizon, run.owed_from) end;
    end if;

    if run.owed_from is not null then
        select array_agg(w.transaction), array_agg(w.xmin::text), min(w.from_key) into due, due_noted, due_from
        from etl.etl_rereads w
        where w.pipeline_id = run.pipeline_id
          -- Another server has ended them, and gives their names to other transactions. A prepared one that outlived that is called by its
          -- own number from then on (`-1/941`), by every server.
          and (w.server <> run.this_server and w.transaction not like '-1/%'
               or not exists (select from pg_locks l where l.virtualtransaction = w.transaction));
    end if;
    return next;
end
$$;

COMMENT ON FUNCTION etl.read_horizon(beginning_run uuid, patience interval) IS 'Up to where a run that begins may read by the clock. `passed` are transactions that the bound leaves behind, with their starts; `unseen` those whose starts cannot be seen, which began at `unseen_from` or later; `due` are passed ones that have ended, as they are noted in the rows of `due_noted`, and `due_from` is the smallest of their starts';

CREATE FUNCTION etl.refuse_batch(code text, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = code, message = reason;
end
$$;

COMMENT ON FUNCTION etl.refuse_batch(code text, reason text) IS 'Fails with this code and reason';

CREATE FUNCTION etl.run_batch(batch_run uuid, batch_range integer, batch_number bigint, batch_job text, worker text, statement text, page_size bigint, by_time boolean, next_job text) RETURNS TABLE(rows_read bigint, rows_written bigint, last text[], goes_on boolean, run_rows_read bigint, run_rows_written bigint, run_rows_total bigint, run_seconds double precision)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION etl.run_batch(batch_run uuid, batch_range integer, batch_number bigint, batch_job text, worker text, statement text, page_size bigint, by_time boolean, next_job text) IS 'Fence, page, counters, position, checkpoint and the job that goes on, all or nothing. Raises VT001, VT002 or VT003 where the batch may not commit';

CREATE FUNCTION etl.run_duration_bounds() RETURNS double precision[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select array[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200]
$$;

COMMENT ON FUNCTION etl.run_duration_bounds() IS 'Upper bounds, in seconds, of the classes that run durations are counted in; one more class follows the last. Changing them spoils etl_run_totals.durations';

CREATE FUNCTION etl.sessions_of(work uuid) RETURNS SETOF integer
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT a.pid
    FROM pg_stat_activity a
   WHERE ((a.datname = current_database()) AND (a.usename = SESSION_USER) AND (a.pid <> pg_backend_pid()) AND ((a.application_name = ('vitrina-worker '::text || sessions_of.work)) OR (a.pid IN ( SELECT l.pid
            FROM pg_locks l
           WHERE ((l.locktype = 'advisory'::text) AND (l.mode = 'ShareLock'::text) AND l.granted AND (l.objsubid = 1) AND (l.database = ( SELECT d.oid
                    FROM pg_database d
                   WHERE (d.datname = current_database()))) AND (((((l.classid)::bigint << 32) | (l.objid)::bigint) >> 16) = (hashtextextended((sessions_of.work)::text, (0)::bigint) >> 16)))))));
END;

COMMENT ON FUNCTION etl.sessions_of(work uuid) IS 'The sessions of this account that work for a run, a report or a description, by their name or mark. Those of other accounts are left alone, whatever they call themselves';

CREATE FUNCTION etl.sink_of(inputs jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select case
        when target like 'es:%' then 'elasticsearch'
        when target like '%:%' then split_part(target, ':', 1)
        else 'postgres'
    end
    from coalesce(inputs #>> '{tasks,-1,target_table}', inputs ->> 'target_table') as target
$$;

COMMENT ON FUNCTION etl.sink_of(inputs jsonb) IS 'The label `sink` of a run with these inputs';

CREATE FUNCTION etl.stage_page() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    page oid := to_regclass('pg_temp.vitrina_page');
    refused oid := to_regclass('pg_temp.vitrina_refused');
begin
    if page is null and refused is null then
        create temporary table pg_temp.vitrina_page (place bigint not null, doc json not null) on commit delete rows;
        create temporary table pg_temp.vitrina_refused (place bigint not null, error text not null) on commit delete rows;
        grant select on pg_temp.vitrina_page to vitrina_mart;
        grant select, insert on pg_temp.vitrina_refused to vitrina_mart;
    elsif (
        select count(*) from pg_class c
        where c.oid in (page, refused) and c.relkind = 'r' and pg_get_userbyid(c.relowner) = current_user
          and not c.relhastriggers and not c.relhasrules and not c.relrowsecurity
    ) <> 2 then
        -- A trigger of a mart may make temporary tables, whose triggers would execute with the rights of the session.
        raise exception using errcode = 'VT006', message = 'a trigger of the mart made tables of the names in which pages are put down';
    end if;
end
$$;

COMMENT ON FUNCTION etl.stage_page() IS 'Makes the tables in which a session puts a page down, unless it has them';

CREATE FUNCTION etl.storable(doc text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    -- An escape becomes the text that it is: \u0000 → \\u0000. An even number of backslashes before it is text already.
    mended constant text := regexp_replace(
        doc, '(?<!\\)((?:\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\\\u\2', 'g');
begin
    return doc::jsonb;
exception
    when data_exception then
        begin
            return mended::jsonb;
        exception
            when data_exception then
                -- What is left are numbers with more digits than there are.
                return (
                    select jsonb_object_agg(e.key, case
                        when length(e.value::text) < 100000 and e.value::text !~ '[eE][+-]?[0-9]{4}' then e.value::jsonb
                        else to_jsonb(e.value::text)
                    end)
                    from json_each(mended::json) e
                );
        end;
end
$$;

COMMENT ON FUNCTION etl.storable(doc text) IS 'A row as jsonb; what no jsonb can hold is the text that it is';

CREATE FUNCTION etl.sum_up_run() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION etl.sum_up_run() IS 'Adds a run that has ended to etl_run_totals';

CREATE FUNCTION etl.this_server() RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select pg_catalog.concat_ws(
        ' ', pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8),
        pg_catalog.to_char(pg_catalog.timezone('UTC', pg_catalog.pg_postmaster_start_time()), 'YYYY-MM-DD HH24:MI:SS.US+00'))
$$;

COMMENT ON FUNCTION etl.this_server() IS 'The server: its timeline and when it was started';

CREATE FUNCTION etl_hook.call(hook text, event jsonb) RETURNS TABLE(state text, message text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET enable_seqscan TO 'on'
    SET plan_cache_mode TO 'auto'
    AS $_$
declare
    holdings cursor for
        select array(
                   select format('%s %s %s %s', d.classid, d.objid, d.objsubid, d.deptype)
                   from pg_shdepend d
                   where d.refclassid = 'pg_authid'::regclass and d.refobjid = 'vitrina_hook'::regrole
                     and d.dbid = (select b.oid from pg_database b where b.datname = current_database())
                   order by 1
               ) || array(
                   select format('%s %s', s.setdatabase, s.setconfig)
                   from pg_db_role_setting s
                   where s.setrole = 'vitrina_hook'::regrole
                   order by 1
               );
    held text[];
    holds text[];
    before text[] := etl_query.session_state(current_setting('search_path'));
    problem text := etl.hook_problem(hook);
begin
    if problem is not null then
        return query select 'VT008', format('it %s: `vitrina hooks allow %s` puts it there as it is now', problem, hook);
        return;
    end if;
    open holdings;
    fetch holdings into held;
    close holdings;
    begin
        execute format('select %I.%I($1)', split_part(hook, '.', 1), split_part(hook, '.', 2)) using event;
        set constraints all immediate;
        -- All names have their schema: the function may have changed the search_path.
        perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
        open holdings;
        fetch holdings into holds;
        close holdings;
        if holds <> held then
            raise exception using errcode = 'serialization_failure',
                message = 'what the role vitrina_hook owns, may use or has set is not what it was before the function was called';
        end if;
        return;
    exception
        when query_canceled or assert_failure or others then
            return query select sqlstate, left(sqlerrm, 1000);
    end;
    -- What is prepared outlives the subtransaction and the transaction. The services prepare nothing in SQL, and what has the name of
    -- a statement of theirs would be executed with their rights.
    if etl_query.has_prepared() then
        execute (select string_agg(format('deallocate %I', p.name), '; ') from pg_prepared_statement() as p where p.from_sql);
    end if;
    perform etl_query.set_back_session(before, current_setting('search_path'), true);
end
$_$;

ALTER FUNCTION etl_hook.call(hook text, event jsonb) OWNER TO vitrina_hook;

COMMENT ON FUNCTION etl_hook.call(hook text, event jsonb) IS 'Calls a function of the list with an event. Returns a row if it failed: its code and message; its own work is undone then';

CREATE FUNCTION etl_mart.compare(statement text, parameters text[]) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET enable_seqscan TO 'on'
    SET plan_cache_mode TO 'auto'
    AS $$
declare
    found jsonb;
    before text[] := etl_query.session_state(current_setting('search_path'));
begin
    begin
        perform set_config('vitrina.in_page', 'on', true), set_config('transaction_read_only', 'on', true);
        execute statement into found using
            null::timestamptz, null::text, 'infinity'::timestamptz, 9223372036854775807, parameters, 'infinity'::text;
    exception
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    -- All names have their schema: the query may have changed the search_path.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
    return found;
end
$$;

ALTER FUNCTION etl_mart.compare(statement text, parameters text[]) OWNER TO vitrina_mart;

COMMENT ON FUNCTION etl_mart.compare(statement text, parameters text[]) IS 'Executes a statement of Vitrina''s own that compares marts with their sources, and returns its answer. A user''s query stands in it only as an argument of etl_page.read, as one page without bounds; the parameters follow two that are null, in $5';

CREATE FUNCTION etl_mart.create_gathering(name text, mart text, columns text[], key text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    execute format(
        'create table if not exists etl_swap.%I as select %s from analytics.%I with no data',
        name, (select string_agg(format('%I', c), ', ' order by place) from unnest(columns) with ordinality as l (c, place)), mart);
    execute format(
        'create unique index if not exists %I on etl_swap.%I (%s)',
        name || '_key', name, (select string_agg(format('%I', k), ', ' order by place) from unnest(key) with ordinality as l (k, place)));
end
$$;

ALTER FUNCTION etl_mart.create_gathering(name text, mart text, columns text[], key text[]) OWNER TO vitrina_mart;

COMMENT ON FUNCTION etl_mart.create_gathering(name text, mart text, columns text[], key text[]) IS 'Makes the table in which a run with full_strategy `swap` gathers its rows: these columns of the mart, unique by its key';

CREATE FUNCTION etl_mart.create_mart(mart text, columns text[], types oid[], key text[]) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    statement text := etl_page.mart_ddl(mart, columns, types, key);
begin
    execute statement;
    return statement;
end
$$;

ALTER FUNCTION etl_mart.create_mart(mart text, columns text[], types oid[], key text[]) OWNER TO vitrina_mart;

COMMENT ON FUNCTION etl_mart.create_mart(mart text, columns text[], types oid[], key text[]) IS 'Creates the mart that etl_page.mart_ddl describes, and returns the statement';

CREATE FUNCTION etl_mart.drop_gathering(name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    execute format('drop table if exists etl_swap.%I', name);
end
$$;

ALTER FUNCTION etl_mart.drop_gathering(name text) OWNER TO vitrina_mart;

COMMENT ON FUNCTION etl_mart.drop_gathering(name text) IS 'Removes such a table';

CREATE FUNCTION etl_mart.run(statement text, after text[], upper text, page_size bigint, by_time boolean DEFAULT false) RETURNS TABLE(rows_read bigint, rows_written bigint, last text[], more boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET enable_seqscan TO 'on'
    SET plan_cache_mode TO 'auto'
    AS $$
declare
    before text[] := etl_query.session_state(current_setting('search_path'));
begin
    begin
        perform set_config('vitrina.in_page', 'on', true);
        return query execute statement using
            case when by_time then after[1]::timestamptz end, after[2], case when by_time then upper::timestamptz end,
            page_size, after, upper;
    exception
        -- Of etl_page.write_rows.
        when sqlstate 'VT004' then
            raise;
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
end
$$;

ALTER FUNCTION etl_mart.run(statement text, after text[], upper text, page_size bigint, by_time boolean) OWNER TO vitrina_mart;

COMMENT ON FUNCTION etl_mart.run(statement text, after text[], upper text, page_size bigint, by_time boolean) IS 'Executes a statement of Vitrina''s own that writes marts: a page, what ends a full run, a repair or a replay. A user''s query stands in it only as an argument of etl_page.read, whose parameters it passes on';

CREATE FUNCTION etl_page.describe(query text) RETURNS TABLE(tree text, names text[], types oid[], type_names text[], declared text[], collations text[])
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$
declare
    before text[] := etl_query.session_state(current_setting('search_path'));
    done boolean := false;
begin
    begin
        execute 'create temporary view vitrina_judged as select * from (' || query || E'\n) as source';
        -- Looked at before the text is read again: a literal that executes something while it is read could exchange the view.
        select w.ev_action::text into tree from pg_rewrite w where w.ev_class = 'pg_temp.vitrina_judged'::regclass;
        select coalesce(array_agg(a.attname::text order by a.attnum), '{}'),
               coalesce(array_agg(a.atttypid order by a.attnum), '{}'),
               coalesce(array_agg(format_type(a.atttypid, null) order by a.attnum), '{}'),
               coalesce(array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum), '{}'),
               coalesce(array_agg(case when c.oid is null then '.' else format('%I.%I', n.nspname, c.collname) end order by a.attnum), '{}')
        into names, types, type_names, declared, collations
        from pg_attribute a
        join pg_type t on t.oid = a.atttypid
        left join pg_collation c on c.oid = a.attcollation and a.attcollation <> t.typcollation
        left join pg_namespace n on n.oid = c.collnamespace
        where a.attrelid = 'pg_temp.vitrina_judged'::regclass;
        -- Once more in other brackets: a text that closes our bracket and continues behind it is not valid in both.
        execute 'create temporary view vitrina_bracketed as select * from ((' || query || E'\n)) as source';
        -- Rolls the view back, with all effects of literals that were evaluated while the query was parsed.
        done := true;
        raise exception using errcode = 'VT005', message = 'described';
    exception
        when sqlstate 'VT005' then
            if not done then
                perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            end if;
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    -- All names have their schema: the query may have changed the search_path.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
    return next;
end
$$;

ALTER FUNCTION etl_page.describe(query text) OWNER TO vitrina_query;

COMMENT ON FUNCTION etl_page.describe(query text) IS 'How the server reads a query, without planning or executing it: its tree as pg_rewrite stores that of a view, and its columns; a collation that is their type''s own is `.`';

CREATE FUNCTION etl_page.estimate(query text, after text[], upper text, page_size bigint, by_time boolean) RETURNS json
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET enable_seqscan TO 'on'
    SET plan_cache_mode TO 'auto'
    AS $$
declare
    plan json;
    before text[] := etl_query.session_state(current_setting('search_path'));
begin
    begin
        perform set_config('transaction_read_only', 'on', true);
        execute 'explain (format json) ' || query into plan using
            case when by_time then after[1]::timestamptz end, after[2], case when by_time then upper::timestamptz end,
            page_size, after, upper;
    exception
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    -- All names have their schema: the query may have changed the search_path.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
    return plan;
end
$$;

ALTER FUNCTION etl_page.estimate(query text, after text[], upper text, page_size bigint, by_time boolean) OWNER TO vitrina_query;

COMMENT ON FUNCTION etl_page.estimate(query text, after text[], upper text, page_size bigint, by_time boolean) IS 'The plan of what etl_page.read would execute. Parameters as there';

CREATE FUNCTION etl_page.keep_temporary_schema() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    create temporary table vitrina_first ();
    drop table pg_temp.vitrina_first;
end
$$;

ALTER FUNCTION etl_page.keep_temporary_schema() OWNER TO vitrina_query;

COMMENT ON FUNCTION etl_page.keep_temporary_schema() IS 'Makes the session''s schema for temporary objects, for good. etl_page.describe would make it and undo that each time, and whatever is undone in pg_namespace costs the session all its plans';

CREATE FUNCTION etl_page.mart_ddl(mart text, columns text[], types oid[], key text[]) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select format(
        E'create table analytics.%I (\n%s,\n    constraint %I primary key (%s)\n)',
        mart,
        string_agg(
            format(
                '    %I %s%s',
                c.name,
                -- Without their length these two would hold a single character.
                case c.type
                    when 'character'::regtype then 'text'
                    when 'bit'::regtype then 'bit varying'
                    when 'character[]'::regtype then 'text[]'
                    when 'bit[]'::regtype then 'bit varying[]'
                    else format_type(c.type, null)
                end,
                case when c.name = any (key) then ' not null' end
            ),
            E',\n' order by c.place
        ),
        left(mart, 58) || '_pkey',
        (select string_agg(format('%I', k.name), ', ' order by k.place)
         from unnest(key) with ordinality as k (name, place))
    )
    from unnest(columns, types) with ordinality as c (name, type, place)
$$;

COMMENT ON FUNCTION etl_page.mart_ddl(mart text, columns text[], types oid[], key text[]) IS 'The statement that creates analytics.<mart> with these columns, their types by oid, and this primary key';

CREATE FUNCTION etl_page.read(query text, after text[], upper text, page_size bigint, by_time boolean) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER ROWS 1e+06
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET enable_seqscan TO 'on'
    SET plan_cache_mode TO 'auto'
    AS $$
declare
    before text[] := etl_query.session_state(current_setting('search_path'));
    -- Read before the query executes. Its settings are reset before the next one.
    outermost boolean := current_setting('vitrina.in_page', true) is distinct from 'on';
begin
    -- A block with a handler is a subtransaction, and a subtransaction can be read-only within one that writes.
    begin
        perform set_config('transaction_read_only', 'on', true);
        -- A timestamp arrives as such: read from text within the query it would be no constant, and «:after_key is null
        -- or …» could not be decided when the query is planned.
        return query execute query using
            case when by_time then after[1]::timestamptz end, after[2], case when by_time then upper::timestamptz end,
            page_size, after, upper;
    exception
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    -- All names have their schema: the query may have changed the search_path.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), outermost);
end
$$;

ALTER FUNCTION etl_page.read(query text, after text[], upper text, page_size bigint, by_time boolean) OWNER TO vitrina_query;

COMMENT ON FUNCTION etl_page.read(query text, after text[], upper text, page_size bigint, by_time boolean) IS 'Executes a select that was built around a judged query, and returns its rows. $1 and $2 are the key and id after which a page begins, $3 its bound, $4 its size; $5 and $6 are where it begins and its bound as text';

CREATE FUNCTION etl_page.write_rows(statement text, first bigint, last bigint, most_refused bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    written bigint;
    middle bigint;
begin
    begin
        execute statement into written using first, last;
        -- Deferred constraints are checked here: at the commit it would not be known which row broke them.
        set constraints all immediate;
        return written;
    exception
        when data_exception or integrity_constraint_violation then
            if first >= last then
                -- Stored messages have a limited length: the code, by which viewers are not shown the message, is never cut off.
                insert into pg_temp.vitrina_refused (place, error)
                values (first, format('%s (SQLSTATE %s)', left(sqlerrm, 3000), sqlstate));
                if (select count(*) from pg_temp.vitrina_refused) > most_refused then
                    raise exception using errcode = 'VT004', message = sqlerrm, detail = sqlstate;
                end if;
                return 0;
            end if;
    end;
    middle := first + (last - first) / 2;
    return etl_page.write_rows(statement, first, middle, most_refused)
         + etl_page.write_rows(statement, middle + 1, last, most_refused);
end
$$;

COMMENT ON FUNCTION etl_page.write_rows(statement text, first bigint, last bigint, most_refused bigint) IS 'Writes the rows at the places first to last. Raises VT004 once more rows are refused than may be: with the message for the last one, and as detail its code';

CREATE FUNCTION etl_query.blame_query(before text[], path text, state text, message text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if etl_query.session_state(path) <> before or etl_query.has_prepared() then
        perform etl_query.refuse_session();
    end if;
    if state ~ '^(VT|08|28|57P|53300)' and state not in ('VT006', 'VT007') then
        raise exception using errcode = 'VT007', message = format('%s (raised by the query as %s)', message, state);
    end if;
end
$$;

COMMENT ON FUNCTION etl_query.blame_query(before text[], path text, state text, message text) IS 'After a query has failed: fails in another way if it changed its session, or failed with a SQLSTATE that says something about Vitrina or its connection';

CREATE FUNCTION etl_query.has_prepared() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from pg_prepared_statement() as p where p.from_sql);
end
$$;

COMMENT ON FUNCTION etl_query.has_prepared() IS 'Whether a statement was prepared in SQL, as the services never do: it may have the name of one of theirs. Asked once per page, because the server copies the texts of all prepared statements for that';

CREATE FUNCTION etl_query.refuse_session() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception using errcode = 'VT006', message = 'a function that the query calls, a trigger of the mart, or a hook changed its session: settings or prepared statements';
end
$$;

COMMENT ON FUNCTION etl_query.refuse_session() IS 'Fails because a query, a trigger of a mart, or a hook changed its session';

CREATE FUNCTION etl_query.session_state(path text) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return array[path,
        -- What transactions of the services set for themselves (`set_back_session`).
        current_setting('application_name'), current_setting('statement_timeout'), current_setting('lock_timeout'),
        current_setting('idle_in_transaction_session_timeout'), current_setting('max_parallel_workers_per_gather'),
        current_setting('synchronous_commit'),
        current_setting('timezone'), current_setting('datestyle'), current_setting('intervalstyle'),
        current_setting('extra_float_digits'), current_setting('bytea_output'), current_setting('xmlbinary'),
        current_setting('client_encoding'), current_setting('row_security'), current_setting('session_replication_role'),
        current_setting('transform_null_equals')];
end
$$;

COMMENT ON FUNCTION etl_query.session_state(path text) IS 'The settings of a session that the statements around a query depend on';

CREATE FUNCTION etl_query.set_back_session(before text[], path text, outermost boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if etl_query.session_state(path) <> before or outermost and etl_query.has_prepared() then
        perform etl_query.refuse_session();
    end if;
    -- A cursor `with hold` would be executed at the commit, with the rights of the session.
    execute 'close all';
    -- A `set` hidden behind a `set local` would take effect at the commit. This replaces it.
    reset all;
    perform set_config('search_path', before[1], true),
            set_config('application_name', before[2], true),
            set_config('statement_timeout', before[3], true),
            set_config('lock_timeout', before[4], true),
            set_config('idle_in_transaction_session_timeout', before[5], true),
            set_config('max_parallel_workers_per_gather', before[6], true),
            set_config('synchronous_commit', before[7], true);
end
$$;

COMMENT ON FUNCTION etl_query.set_back_session(before text[], path text, outermost boolean) IS 'Fails if the session is not as it was before a query; the outermost function looks at prepared statements too. Closes the query''s cursors. Sets all settings back to those that the session began with, and for the rest of the transaction to those that it had set for itself: what follows in the statement executes with the rights to write marts';

CREATE TABLE etl.etl_calls (
    pipeline_id uuid NOT NULL,
    step text NOT NULL,
    call_key bytea NOT NULL,
    input bytea NOT NULL,
    state text NOT NULL,
    idempotency_key uuid NOT NULL,
    together smallint NOT NULL,
    run_id uuid NOT NULL,
    key_fingerprint text,
    external_id text,
    status smallint,
    answer text,
    error text,
    attempts integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    sent_at timestamp with time zone,
    next_look_at timestamp with time zone,
    deadline_at timestamp with time zone,
    leased_until timestamp with time zone,
    answered_at timestamp with time zone,
    CONSTRAINT etl_calls_error_check CHECK ((length(error) <= 4000)),
    CONSTRAINT etl_calls_key_check CHECK (((octet_length(call_key) = 32) AND (octet_length(input) = 32))),
    CONSTRAINT etl_calls_state_check CHECK ((state = ANY (ARRAY['SENDING'::text, 'SUBMITTED'::text, 'WAITING'::text, 'DONE'::text, 'REFUSED'::text, 'FAILED'::text])))
)
WITH (fillfactor='80');

COMMENT ON TABLE etl.etl_calls IS 'Calls of steps and their answers; removed VITRINA_CALLS_KEPT_DAYS after the answer';

COMMENT ON COLUMN etl.etl_calls.call_key IS 'SHA-256 of the entity, where the step names one, or else of the input';

COMMENT ON COLUMN etl.etl_calls.input IS 'SHA-256 of the request as it would be sent, without its key';

COMMENT ON COLUMN etl.etl_calls.state IS 'SENDING: on its way, or lost with its worker; SUBMITTED: accepted, polled until its end; WAITING: tried again later; DONE: answered; REFUSED: the input is at fault; FAILED: given up for its run';

COMMENT ON COLUMN etl.etl_calls.idempotency_key IS 'Sent with every attempt of the same input';

COMMENT ON COLUMN etl.etl_calls.together IS 'How many inputs were sent in one request; they share its idempotency_key';

COMMENT ON COLUMN etl.etl_calls.run_id IS 'The run or report that made it last; attempts are counted within that';

COMMENT ON COLUMN etl.etl_calls.answer IS 'JSON as the service wrote it, the part for this input';

COMMENT ON COLUMN etl.etl_calls.leased_until IS 'Until then the run that sends it is given time to note the answer';

CREATE TABLE etl.etl_dead_letters (
    id bigint NOT NULL,
    pipeline_id uuid NOT NULL,
    run_id uuid NOT NULL,
    batch bigint NOT NULL,
    key jsonb NOT NULL,
    "row" jsonb NOT NULL,
    error text NOT NULL,
    error_class text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    replayed_at timestamp with time zone,
    CONSTRAINT etl_dead_letters_class_check CHECK ((error_class = ANY (ARRAY['Transient'::text, 'RateLimited'::text, 'Quota'::text, 'Fatal'::text, 'Row'::text])))
);

COMMENT ON TABLE etl.etl_dead_letters IS 'Rows that could not be written, with the reason, until they are replayed';

COMMENT ON COLUMN etl.etl_dead_letters.key IS 'The key columns of the row, by name';

COMMENT ON COLUMN etl.etl_dead_letters."row" IS 'The row as it should have been written';

ALTER TABLE etl.etl_dead_letters ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME etl.etl_dead_letters_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE etl.etl_functions (
    name text NOT NULL,
    checksum text NOT NULL,
    definition text NOT NULL,
    revision bigint NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE etl.etl_functions IS 'The files of migrations/functions that this database has';

COMMENT ON COLUMN etl.etl_functions.checksum IS 'Of the file: one that has not changed is not applied again';

COMMENT ON COLUMN etl.etl_functions.definition IS 'What the server said of the function, its owner and its triggers, when the file was applied: one that was changed since is applied again';

COMMENT ON COLUMN etl.etl_functions.revision IS 'Counts the changes of all files; a program knows by it whether the database is behind or ahead';

CREATE TABLE etl.etl_hook_functions (
    name text NOT NULL,
    function_oid oid NOT NULL,
    owner_oid oid NOT NULL,
    added_by text NOT NULL,
    added_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT etl_hook_functions_name_check CHECK ((name ~ '^[a-z_][a-z0-9_]{0,62}\.[a-z_][a-z0-9_]{0,62}$'::text))
);

COMMENT ON TABLE etl.etl_hook_functions IS 'Functions of the database that hooks of pipelines may call; `vitrina hooks` writes the list as the owner';

COMMENT ON COLUMN etl.etl_hook_functions.function_oid IS 'What stood under the name then: a function that was dropped and created anew has another one, and is not called';

COMMENT ON COLUMN etl.etl_hook_functions.owner_oid IS 'Whose it was then: a function that was given to another owner is not called';

CREATE TABLE etl.etl_installation (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    single boolean DEFAULT true NOT NULL,
    CONSTRAINT etl_installation_single_check CHECK (single)
);

COMMENT ON TABLE etl.etl_installation IS 'Who we are. Indexes are marked with this id: several installations may share an Elasticsearch, and each cleans up its own';

CREATE TABLE etl.etl_limits (
    name text NOT NULL,
    tokens integer NOT NULL,
    period_seconds numeric NOT NULL,
    burst integer NOT NULL,
    spent_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    rests_until timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT etl_limits_burst_check CHECK (((burst >= 1) AND (burst <= 1000000))),
    CONSTRAINT etl_limits_name_check CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT etl_limits_period_check CHECK (((period_seconds >= 0.001) AND (period_seconds <= (86400)::numeric))),
    CONSTRAINT etl_limits_tokens_check CHECK (((tokens >= 1) AND (tokens <= 1000000)))
)
WITH (fillfactor='50');

COMMENT ON TABLE etl.etl_limits IS 'Token buckets by name, shared by all workers: `tokens` in each `period_seconds`, and up to `burst` at once';

COMMENT ON COLUMN etl.etl_limits.spent_until IS 'When the bucket will be full again less one period of a token: later than now by as much as was taken ahead';

COMMENT ON COLUMN etl.etl_limits.rests_until IS 'A service without keys asked for a pause until then';

CREATE UNLOGGED TABLE etl.etl_log_epoch (
    only_row boolean DEFAULT true NOT NULL,
    written_by xid NOT NULL,
    CONSTRAINT etl_log_epoch_only_row_check CHECK (only_row)
);

COMMENT ON TABLE etl.etl_log_epoch IS 'Its row says that no entry of the log was lost since it was written; without it, ids of the log begin a new epoch';

COMMENT ON COLUMN etl.etl_log_epoch.written_by IS 'The transaction that wrote the row; another one if a dump brought it back';

CREATE TABLE etl.etl_log_removed (
    only_row boolean DEFAULT true NOT NULL,
    up_to bigint NOT NULL,
    CONSTRAINT etl_log_removed_only_row_check CHECK (only_row)
);

COMMENT ON TABLE etl.etl_log_removed IS 'No row while nothing was removed from etl_transitions';

COMMENT ON COLUMN etl.etl_log_removed.up_to IS 'The greatest id that was removed. Entries with smaller ids may still be there';

CREATE TABLE etl.etl_log_turn (
);

COMMENT ON TABLE etl.etl_log_turn IS 'Always empty: the transaction that appends to etl_transitions locks it until its commit';

CREATE TABLE etl.etl_pipeline_tasks (
    pipeline_id uuid NOT NULL,
    order_index integer NOT NULL,
    task_type text NOT NULL,
    body text NOT NULL,
    target_table text,
    options jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT etl_pipeline_tasks_body_check CHECK ((body <> ''::text)),
    CONSTRAINT etl_pipeline_tasks_options_check CHECK ((jsonb_typeof(options) = 'object'::text)),
    CONSTRAINT etl_pipeline_tasks_order_check CHECK ((order_index >= 1)),
    CONSTRAINT etl_pipeline_tasks_type_check CHECK ((task_type = ANY (ARRAY['SQL'::text, 'RUST'::text, 'PYTHON'::text])))
);

COMMENT ON TABLE etl.etl_pipeline_tasks IS 'A pipeline''s plan, in order: the SQL reader first, then registered transforms. Wins over source_query';

COMMENT ON COLUMN etl.etl_pipeline_tasks.body IS 'The query of an SQL step, the registered name of a transform';

CREATE TABLE etl.etl_pipelines (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    type text DEFAULT 'SQL'::text NOT NULL,
    mode text NOT NULL,
    source_query text,
    target_table text NOT NULL,
    batch_size integer DEFAULT 1000 NOT NULL,
    incremental_key text,
    incremental_id_key text,
    enabled boolean DEFAULT true NOT NULL,
    status text DEFAULT 'IDLE'::text NOT NULL,
    options jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    checkpoint_epoch bigint DEFAULT 0 NOT NULL,
    has_removed_rows boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT etl_pipelines_batch_size_check CHECK (((batch_size >= 1) AND (batch_size <= 1000000))),
    CONSTRAINT etl_pipelines_incremental_check CHECK (((mode = 'full'::text) OR ((incremental_key IS NOT NULL) AND (incremental_id_key IS NOT NULL)))),
    CONSTRAINT etl_pipelines_mode_check CHECK ((mode = ANY (ARRAY['full'::text, 'incremental'::text]))),
    CONSTRAINT etl_pipelines_name_check CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,99}$'::text)),
    CONSTRAINT etl_pipelines_options_check CHECK ((jsonb_typeof(options) = 'object'::text)),
    CONSTRAINT etl_pipelines_status_check CHECK ((status = ANY (ARRAY['IDLE'::text, 'RUN_REQUESTED'::text, 'RUNNING'::text, 'PAUSE_REQUESTED'::text, 'PAUSED'::text, 'FAILED'::text]))),
    CONSTRAINT etl_pipelines_type_check CHECK ((type = ANY (ARRAY['SQL'::text, 'RUST'::text, 'PYTHON'::text])))
)
WITH (fillfactor='50');

COMMENT ON TABLE etl.etl_pipelines IS 'What should run: a query, a target and how to walk from one to the other';

COMMENT ON COLUMN etl.etl_pipelines.status IS 'Changed only by the lifecycle; setting RUN_REQUESTED by hand is picked up by recovery';

COMMENT ON COLUMN etl.etl_pipelines.version IS 'Grows with every change of the configuration, its tasks included; the API''s ETag';

COMMENT ON COLUMN etl.etl_pipelines.checkpoint_epoch IS 'Grows whenever the checkpoint is forgotten; a run of an earlier epoch moves no checkpoint';

COMMENT ON COLUMN etl.etl_pipelines.has_removed_rows IS 'Whether runs or repairs removed rows of the target since the checkpoint was forgotten: it says nothing about those rows to another query';

CREATE TABLE etl.etl_pool_keys (
    pool text NOT NULL,
    fingerprint text NOT NULL,
    used_at timestamp with time zone,
    rests_until timestamp with time zone,
    strikes integer DEFAULT 0 NOT NULL,
    refused_at timestamp with time zone,
    refused_reason text,
    CONSTRAINT etl_pool_keys_fingerprint_check CHECK ((fingerprint ~ '^[0-9a-f]{16}$'::text))
)
WITH (fillfactor='50');

COMMENT ON TABLE etl.etl_pool_keys IS 'What became of the keys of VITRINA_KEYS_<POOL>; never a key itself';

COMMENT ON COLUMN etl.etl_pool_keys.fingerprint IS 'The beginning of the SHA-256 of pool and key';

COMMENT ON COLUMN etl.etl_pool_keys.strikes IS 'How often the service asked this key to slow down since it last answered';

COMMENT ON COLUMN etl.etl_pool_keys.refused_at IS 'The service does not accept the key: it is not used until it is cleared';

CREATE TABLE etl.etl_reports (
    id uuid NOT NULL,
    pipeline_id uuid NOT NULL,
    request jsonb NOT NULL,
    kind text GENERATED ALWAYS AS ((request ->> 'kind'::text)) STORED NOT NULL,
    status text DEFAULT 'QUEUED'::text NOT NULL,
    result jsonb,
    error text,
    error_class text,
    attempts integer DEFAULT 0 NOT NULL,
    job_id text,
    requested_by text NOT NULL,
    correlation_id text NOT NULL,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    CONSTRAINT etl_reports_error_check CHECK ((length(error) <= 4000)),
    CONSTRAINT etl_reports_error_class_check CHECK ((error_class = ANY (ARRAY['Transient'::text, 'RateLimited'::text, 'Quota'::text, 'Fatal'::text, 'Row'::text]))),
    CONSTRAINT etl_reports_finished_check CHECK (((finished_at IS NOT NULL) = (status = ANY (ARRAY['DONE'::text, 'FAILED'::text])))),
    CONSTRAINT etl_reports_kind_check CHECK ((kind = ANY (ARRAY['reconcile'::text, 'preview'::text, 'replay'::text]))),
    CONSTRAINT etl_reports_result_check CHECK (((result IS NOT NULL) = (status = 'DONE'::text))),
    CONSTRAINT etl_reports_status_check CHECK ((status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text, 'DONE'::text, 'FAILED'::text])))
);

COMMENT ON TABLE etl.etl_reports IS 'What clients want to know about a pipeline, found out by a worker; removed a while after its end';

COMMENT ON COLUMN etl.etl_reports.request IS 'What is wanted, by its `kind`';

COMMENT ON COLUMN etl.etl_reports.job_id IS 'Its job in apalis.jobs';

CREATE TABLE etl.etl_rereads (
    pipeline_id uuid NOT NULL,
    transaction text NOT NULL,
    from_key timestamp with time zone NOT NULL,
    server text DEFAULT etl.this_server() NOT NULL
);

COMMENT ON TABLE etl.etl_rereads IS 'Keys that must be read again: the walk passed the start of a transaction that may still write, or the clock went back';

COMMENT ON COLUMN etl.etl_rereads.transaction IS 'The transaction that was passed, as pg_locks.virtualtransaction says it: its rows are read again once it has ended. Empty: at once';

COMMENT ON COLUMN etl.etl_rereads.from_key IS 'Its rows have this key or a greater one';

COMMENT ON COLUMN etl.etl_rereads.server IS 'The server that called it so, as etl.this_server says it: another one gives the same name to another transaction';

CREATE TABLE etl.etl_run_keys (
    pipeline_id uuid NOT NULL,
    idempotency_key text NOT NULL,
    run_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE etl.etl_run_keys IS 'Which run a client''s Idempotency-Key was answered with: repeating the request finds it again';

CREATE TABLE etl.etl_run_ranges (
    run_id uuid NOT NULL,
    range_no integer NOT NULL,
    after text[],
    upper text,
    next_batch bigint DEFAULT 0 NOT NULL,
    job_id text,
    finished_at timestamp with time zone,
    horizon timestamp with time zone,
    server text,
    walks_by jsonb
)
WITH (fillfactor='70');

COMMENT ON TABLE etl.etl_run_ranges IS 'A run walks one or more key ranges; each is a chain of batches with its own position';

COMMENT ON COLUMN etl.etl_run_ranges.after IS 'The last row that was written: the values of the columns the run walks by, as text; null before the first batch';

COMMENT ON COLUMN etl.etl_run_ranges.upper IS 'The run reads rows whose first column is below this (mode incremental): above it, rows may still be committed late';

COMMENT ON COLUMN etl.etl_run_ranges.next_batch IS 'The fence: a batch may commit only by moving this from its own number to the next';

COMMENT ON COLUMN etl.etl_run_ranges.job_id IS 'The live job of the chain in apalis.jobs';

COMMENT ON COLUMN etl.etl_run_ranges.horizon IS 'The time behind `upper`, where keys come from the clock: every transaction that began before it had ended, but for those in etl_rereads';

COMMENT ON COLUMN etl.etl_run_ranges.server IS 'The server whose clock that is';

COMMENT ON COLUMN etl.etl_run_ranges.walks_by IS 'The columns that the run walks by, with their types; before it has begun those of its checkpoint. `found` is what the catalog said of the column when that was noted: a column that is retyped gives its keys another order or other values, and `after` says nothing any more';

CREATE TABLE etl.etl_run_steps (
    run_id uuid NOT NULL,
    place integer NOT NULL,
    step text NOT NULL,
    blocks bigint DEFAULT 0 NOT NULL,
    rows_in bigint DEFAULT 0 NOT NULL,
    rows_out bigint DEFAULT 0 NOT NULL,
    rejected bigint DEFAULT 0 NOT NULL,
    dropped bigint DEFAULT 0 NOT NULL,
    duration_us bigint DEFAULT 0 NOT NULL,
    calls_made bigint DEFAULT 0 NOT NULL,
    calls_saved bigint DEFAULT 0 NOT NULL,
    waited_us bigint DEFAULT 0 NOT NULL,
    waited_for text,
    concurrency integer
)
WITH (fillfactor='70');

COMMENT ON TABLE etl.etl_run_steps IS 'What the steps of a run did. Rows are those of committed batches; blocks, time, calls and waits those of all batches';

COMMENT ON COLUMN etl.etl_run_steps.place IS 'The step''s place in the plan, by `order_index`';

COMMENT ON COLUMN etl.etl_run_steps.calls_saved IS 'Calls that were not made because their answers were known';

COMMENT ON COLUMN etl.etl_run_steps.waited_us IS 'How long the step waited for limits and keys, the rests of its job included';

COMMENT ON COLUMN etl.etl_run_steps.waited_for IS 'The limit or pool of keys that it waited for last';

COMMENT ON COLUMN etl.etl_run_steps.concurrency IS 'How many calls it may make at once, where the plan says that';

CREATE TABLE etl.etl_run_totals (
    pipeline_id uuid NOT NULL,
    mode text NOT NULL,
    sink text NOT NULL,
    status text NOT NULL,
    runs bigint NOT NULL,
    rows_read bigint NOT NULL,
    rows_written bigint NOT NULL,
    rows_rejected bigint NOT NULL,
    rows_removed bigint DEFAULT 0 NOT NULL,
    batches bigint NOT NULL,
    attempts bigint NOT NULL,
    seconds double precision NOT NULL,
    durations bigint[] NOT NULL,
    last_finished_at timestamp with time zone NOT NULL,
    last_requested_at timestamp with time zone NOT NULL,
    last_started_at timestamp with time zone,
    last_upper text,
    gaps double precision[] DEFAULT '{}'::double precision[] NOT NULL
);

COMMENT ON TABLE etl.etl_run_totals IS 'What the ended runs of a pipeline did, summed up. Goes with its pipeline, not with its runs: a counter never goes back';

COMMENT ON COLUMN etl.etl_run_totals.attempts IS 'Batches that failed, those of runs that went on included';

COMMENT ON COLUMN etl.etl_run_totals.durations IS 'Runs by their duration, in the classes of etl.run_duration_bounds()';

COMMENT ON COLUMN etl.etl_run_totals.last_upper IS 'The bound that the last incremental run read up to';

COMMENT ON COLUMN etl.etl_run_totals.gaps IS 'Seconds between the ends of the last runs, latest first, for what is usual';

CREATE TABLE etl.etl_runs (
    id uuid NOT NULL,
    pipeline_id uuid NOT NULL,
    mode text NOT NULL,
    status text DEFAULT 'QUEUED'::text NOT NULL,
    trigger text NOT NULL,
    requested_by text NOT NULL,
    correlation_id text NOT NULL,
    inputs jsonb NOT NULL,
    target text GENERATED ALWAYS AS (COALESCE((inputs #>> '{tasks,-1,target_table}'::text[]), (inputs ->> 'target_table'::text))) STORED,
    checkpoint_epoch bigint DEFAULT 0 NOT NULL,
    target_id text,
    target_files jsonb,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    rows_read bigint DEFAULT 0 NOT NULL,
    rows_written bigint DEFAULT 0 NOT NULL,
    rows_rejected bigint DEFAULT 0 NOT NULL,
    rows_removed bigint DEFAULT 0 NOT NULL,
    rows_total bigint,
    batches bigint DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    error text,
    error_class text,
    checkpoint_from jsonb,
    checkpoint_to jsonb,
    leaves jsonb,
    code text[],
    CONSTRAINT etl_runs_error_check CHECK ((length(error) <= 4000)),
    CONSTRAINT etl_runs_error_class_check CHECK ((error_class = ANY (ARRAY['Transient'::text, 'RateLimited'::text, 'Quota'::text, 'Fatal'::text, 'Row'::text]))),
    CONSTRAINT etl_runs_finished_check CHECK (((finished_at IS NOT NULL) = (status = ANY (ARRAY['SUCCESS'::text, 'FAILED'::text, 'CANCELLED'::text])))),
    CONSTRAINT etl_runs_mode_check CHECK ((mode = ANY (ARRAY['full'::text, 'incremental'::text]))),
    CONSTRAINT etl_runs_status_check CHECK ((status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text, 'PAUSED'::text, 'SUCCESS'::text, 'FAILED'::text, 'CANCELLED'::text]))),
    CONSTRAINT etl_runs_trigger_check CHECK ((trigger = ANY (ARRAY['API'::text, 'AGAIN'::text, 'RECOVERY'::text, 'SCHEDULE'::text, 'CHANGE'::text, 'CHAIN'::text, 'BACKFILL'::text, 'SQL'::text])))
)
WITH (fillfactor='70');

COMMENT ON TABLE etl.etl_runs IS 'Every attempt to run a pipeline, with what it did';

COMMENT ON COLUMN etl.etl_runs.inputs IS 'The configuration the run was requested with, for `again`';

COMMENT ON COLUMN etl.etl_runs.target IS 'What the run writes: the target of the last step, or else of the pipeline';

COMMENT ON COLUMN etl.etl_runs.checkpoint_epoch IS 'The pipeline''s epoch when the run was requested, for a repeated run that of the repeated one';

COMMENT ON COLUMN etl.etl_runs.target_id IS 'The very index that the run writes, as `<cluster>/<index>` by their UUIDs; for a mart the table of etl_swap in which it gathers its rows, null if it writes them page by page. A checkpoint belongs to the index of the run that wrote it';

COMMENT ON COLUMN etl.etl_runs.target_files IS 'The mart''s table and files when the run began, of etl.files_of: once it has others, a checkpoint of the run says nothing about what is in it';

COMMENT ON COLUMN etl.etl_runs.rows_removed IS 'Rows that were removed from the target because the query does not return them any more';

COMMENT ON COLUMN etl.etl_runs.rows_total IS 'The planner''s estimate, for progress; null until it is known';

COMMENT ON COLUMN etl.etl_runs.leaves IS 'The checkpoint that a full run of an incremental pipeline leaves if it succeeds: the last row that was settled before its first page';

COMMENT ON COLUMN etl.etl_runs.code IS 'The code that its steps in Python began with, and the fingerprints of the keys of `hash`; null where it has no such steps';

CREATE TABLE etl.etl_source_grants (
    schema_name text NOT NULL,
    table_name text NOT NULL,
    object oid NOT NULL,
    noted_in text NOT NULL
);

COMMENT ON TABLE etl.etl_source_grants IS 'The source schemas and their tables as the last migration found them: what was taken from vitrina_query since is not given back, and what is no longer listed is taken away';

COMMENT ON COLUMN etl.etl_source_grants.table_name IS 'Empty for the schema itself';

COMMENT ON COLUMN etl.etl_source_grants.noted_in IS 'The oids of the schema etl and of this table: in a restored database they are others, and objects are known by their names';

CREATE TABLE etl.etl_state (
    pipeline_id uuid NOT NULL,
    checkpoint_key text NOT NULL,
    checkpoint_id text,
    run_id uuid NOT NULL,
    batch bigint NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    horizon timestamp with time zone,
    server text,
    walks_by jsonb
);

COMMENT ON TABLE etl.etl_state IS 'How far a pipeline is durably written: the key and id of the last row, as text in the server''s exact form. No id: before the first row with that key';

COMMENT ON COLUMN etl.etl_state.horizon IS 'Where keys come from the clock: rows up to the checkpoint were complete when they were read if their transactions began before this. Rows of later ones are read again';

COMMENT ON COLUMN etl.etl_state.server IS 'The server whose clock that was: its timeline and when it was started';

COMMENT ON COLUMN etl.etl_state.walks_by IS 'The columns that the key and the id are of, as in etl_run_ranges';

CREATE TABLE etl.etl_targets (
    target text NOT NULL,
    key text[] NOT NULL,
    options jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT etl_targets_key_check CHECK (((cardinality(key) >= 1) AND (cardinality(key) <= 16))),
    CONSTRAINT etl_targets_options_check CHECK ((jsonb_typeof(options) = 'object'::text)),
    CONSTRAINT etl_targets_target_check CHECK ((target ~ '^(analytics\.[a-z_][a-z0-9_]{0,62}|[a-z]{1,16}:[a-z0-9][a-z0-9_.-]{0,199})$'::text))
);

COMMENT ON TABLE etl.etl_targets IS 'The whitelist: the only tables and indexes that a pipeline may write';

COMMENT ON COLUMN etl.etl_targets.target IS '`analytics.<table>` or `es:<index>`';

COMMENT ON COLUMN etl.etl_targets.key IS 'Columns that identify a row of the target';

CREATE TABLE etl.etl_transitions (
    id bigint NOT NULL,
    pipeline_id uuid NOT NULL,
    pipeline text NOT NULL,
    run_id uuid,
    from_status text NOT NULL,
    to_status text NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    correlation_id text,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT etl_transitions_from_check CHECK ((from_status = ANY (ARRAY['IDLE'::text, 'RUN_REQUESTED'::text, 'RUNNING'::text, 'PAUSE_REQUESTED'::text, 'PAUSED'::text, 'FAILED'::text]))),
    CONSTRAINT etl_transitions_to_check CHECK ((to_status = ANY (ARRAY['IDLE'::text, 'RUN_REQUESTED'::text, 'RUNNING'::text, 'PAUSE_REQUESTED'::text, 'PAUSED'::text, 'FAILED'::text])))
);

COMMENT ON TABLE etl.etl_transitions IS 'Append-only log of status changes. Ids appear in commit order, so a reader resumes by `id > last seen`. No foreign key: the log outlives a deleted pipeline';

COMMENT ON COLUMN etl.etl_transitions.id IS 'Given at the commit: the one that the insert drew is not seen by anyone. Greater than every id that was ever shown';

ALTER TABLE etl.etl_transitions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME etl.etl_transitions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE etl.etl_worker_keys (
    worker text NOT NULL,
    pool text NOT NULL,
    fingerprint text NOT NULL,
    published_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT etl_worker_keys_fingerprint_check CHECK ((fingerprint ~ '^[0-9a-f]{16}$'::text))
);

COMMENT ON TABLE etl.etl_worker_keys IS 'The pools of one key that workers have, with the beginning of the SHA-256 of pool and key; never a key itself';

CREATE TABLE etl.etl_worker_steps (
    worker text NOT NULL,
    name text NOT NULL,
    kind text DEFAULT 'PYTHON'::text NOT NULL,
    version text NOT NULL,
    declaration jsonb NOT NULL,
    published_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT etl_worker_steps_kind_check CHECK ((kind = 'PYTHON'::text)),
    CONSTRAINT etl_worker_steps_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 63)))
);

COMMENT ON TABLE etl.etl_worker_steps IS 'Steps in code that workers have and plans may name; one row for each worker and step';

COMMENT ON COLUMN etl.etl_worker_steps.version IS 'Tells the code from any other';

COMMENT ON COLUMN etl.etl_worker_steps.declaration IS 'What it does to columns, the schema of its options, and whether it is pure';

CREATE SEQUENCE etl.etl_write_numbers
    START WITH 2147483648
    INCREMENT BY 2
    MINVALUE 2147483648
    MAXVALUE 8796093022206
    CACHE 1;

COMMENT ON SEQUENCE etl.etl_write_numbers IS 'Tells which of two writes to one document is the newer: a number is taken before the rows are read. The documents'' versions are made of it';

CREATE VIEW etl.other_sessions AS
 SELECT a.pid,
    a.xact_start,
    (a.backend_xid IS NOT NULL) AS has_written,
    ((a.xact_start IS NULL) AND ((a.query = '<insufficient privilege>'::text) OR (a.state = 'disabled'::text) OR ((a.state IS NULL) AND (current_setting('track_activities'::text) = 'off'::text)))) AS is_hidden
   FROM pg_stat_activity a
  WHERE ((a.datname = current_database()) AND (a.pid <> pg_backend_pid()) AND (a.backend_type IS DISTINCT FROM 'autovacuum worker'::text) AND (a.backend_type IS DISTINCT FROM 'parallel worker'::text) AND (NOT ((a.application_name ~ '^vitrina-(worker|api)'::text) AND (a.usename = SESSION_USER))));

COMMENT ON VIEW etl.other_sessions IS 'Sessions of this database that may write to a source; Vitrina''s own never do';

COMMENT ON COLUMN etl.other_sessions.has_written IS 'Without an id its transaction has only read so far';

COMMENT ON COLUMN etl.other_sessions.is_hidden IS 'Whether this account cannot see since when it has a transaction, if it has one';

CREATE VIEW etl.other_transactions AS
 SELECT o.pid,
    o.xact_start,
    o.has_written
   FROM etl.other_sessions o
  WHERE (o.xact_start IS NOT NULL);

COMMENT ON VIEW etl.other_transactions IS 'Transactions of such sessions that are open now';

ALTER TABLE ONLY etl.etl_calls
    ADD CONSTRAINT etl_calls_pkey PRIMARY KEY (pipeline_id, step, call_key);

ALTER TABLE ONLY etl.etl_dead_letters
    ADD CONSTRAINT etl_dead_letters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY etl.etl_functions
    ADD CONSTRAINT etl_functions_pkey PRIMARY KEY (name);

ALTER TABLE ONLY etl.etl_hook_functions
    ADD CONSTRAINT etl_hook_functions_pkey PRIMARY KEY (name);

ALTER TABLE ONLY etl.etl_installation
    ADD CONSTRAINT etl_installation_pkey PRIMARY KEY (single);

ALTER TABLE ONLY etl.etl_limits
    ADD CONSTRAINT etl_limits_pkey PRIMARY KEY (name);

ALTER TABLE ONLY etl.etl_log_epoch
    ADD CONSTRAINT etl_log_epoch_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY etl.etl_log_removed
    ADD CONSTRAINT etl_log_removed_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY etl.etl_pipeline_tasks
    ADD CONSTRAINT etl_pipeline_tasks_pkey PRIMARY KEY (pipeline_id, order_index);

ALTER TABLE ONLY etl.etl_pipelines
    ADD CONSTRAINT etl_pipelines_name_key UNIQUE (name);

ALTER TABLE ONLY etl.etl_pipelines
    ADD CONSTRAINT etl_pipelines_pkey PRIMARY KEY (id);

ALTER TABLE ONLY etl.etl_pool_keys
    ADD CONSTRAINT etl_pool_keys_pkey PRIMARY KEY (pool, fingerprint);

ALTER TABLE ONLY etl.etl_reports
    ADD CONSTRAINT etl_reports_pkey PRIMARY KEY (id);

ALTER TABLE ONLY etl.etl_rereads
    ADD CONSTRAINT etl_rereads_pkey PRIMARY KEY (pipeline_id, transaction);

ALTER TABLE ONLY etl.etl_run_keys
    ADD CONSTRAINT etl_run_keys_pkey PRIMARY KEY (pipeline_id, idempotency_key);

ALTER TABLE ONLY etl.etl_run_ranges
    ADD CONSTRAINT etl_run_ranges_pkey PRIMARY KEY (run_id, range_no);

ALTER TABLE ONLY etl.etl_run_steps
    ADD CONSTRAINT etl_run_steps_pkey PRIMARY KEY (run_id, place);

ALTER TABLE ONLY etl.etl_run_totals
    ADD CONSTRAINT etl_run_totals_pkey PRIMARY KEY (pipeline_id, mode, sink, status);

ALTER TABLE ONLY etl.etl_runs
    ADD CONSTRAINT etl_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY etl.etl_source_grants
    ADD CONSTRAINT etl_source_grants_pkey PRIMARY KEY (schema_name, table_name);

ALTER TABLE ONLY etl.etl_state
    ADD CONSTRAINT etl_state_pkey PRIMARY KEY (pipeline_id);

ALTER TABLE ONLY etl.etl_targets
    ADD CONSTRAINT etl_targets_pkey PRIMARY KEY (target);

ALTER TABLE ONLY etl.etl_transitions
    ADD CONSTRAINT etl_transitions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY etl.etl_worker_keys
    ADD CONSTRAINT etl_worker_keys_pkey PRIMARY KEY (worker, pool);

ALTER TABLE ONLY etl.etl_worker_steps
    ADD CONSTRAINT etl_worker_steps_pkey PRIMARY KEY (worker, name);

CREATE INDEX etl_calls_created_idx ON etl.etl_calls USING btree (created_at);

CREATE UNIQUE INDEX etl_dead_letters_open_idx ON etl.etl_dead_letters USING btree (pipeline_id, md5((key)::text)) WHERE (replayed_at IS NULL);

CREATE INDEX etl_dead_letters_pipeline_idx ON etl.etl_dead_letters USING btree (pipeline_id, id);

CREATE INDEX etl_pipeline_tasks_target_idx ON etl.etl_pipeline_tasks USING btree (target_table);

CREATE INDEX etl_reports_finished_idx ON etl.etl_reports USING btree (finished_at);

CREATE INDEX etl_reports_pipeline_idx ON etl.etl_reports USING btree (pipeline_id);

CREATE INDEX etl_reports_unfinished_idx ON etl.etl_reports USING btree (id) WHERE (status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text]));

CREATE INDEX etl_run_keys_run_idx ON etl.etl_run_keys USING btree (run_id);

CREATE INDEX etl_run_ranges_job_idx ON etl.etl_run_ranges USING btree (job_id);

CREATE INDEX etl_runs_history_idx ON etl.etl_runs USING btree (pipeline_id, requested_at DESC, id DESC);

CREATE UNIQUE INDEX etl_runs_one_active_idx ON etl.etl_runs USING btree (pipeline_id) WHERE (status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text, 'PAUSED'::text]));

CREATE UNIQUE INDEX etl_runs_one_per_target_idx ON etl.etl_runs USING btree (target) WHERE (status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text, 'PAUSED'::text]));

CREATE INDEX etl_transitions_pipeline_idx ON etl.etl_transitions USING btree (pipeline_id, id);

CREATE TRIGGER etl_reports_announce AFTER UPDATE OF status ON etl.etl_reports FOR EACH ROW WHEN ((new.status = ANY (ARRAY['DONE'::text, 'FAILED'::text]))) EXECUTE FUNCTION etl.announce_report();

CREATE TRIGGER etl_runs_sum_up AFTER UPDATE OF finished_at ON etl.etl_runs FOR EACH ROW WHEN (((old.finished_at IS NULL) AND (new.finished_at IS NOT NULL))) EXECUTE FUNCTION etl.sum_up_run();

CREATE CONSTRAINT TRIGGER etl_transitions_in_commit_order AFTER INSERT ON etl.etl_transitions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION etl.log_in_commit_order();

ALTER TABLE ONLY etl.etl_calls
    ADD CONSTRAINT etl_calls_pipeline_fkey FOREIGN KEY (pipeline_id) REFERENCES etl.etl_pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_dead_letters
    ADD CONSTRAINT etl_dead_letters_pipeline_fkey FOREIGN KEY (pipeline_id) REFERENCES etl.etl_pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_pipeline_tasks
    ADD CONSTRAINT etl_pipeline_tasks_pipeline_fkey FOREIGN KEY (pipeline_id) REFERENCES etl.etl_pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_pipeline_tasks
    ADD CONSTRAINT etl_pipeline_tasks_target_fkey FOREIGN KEY (target_table) REFERENCES etl.etl_targets(target);

ALTER TABLE ONLY etl.etl_pipelines
    ADD CONSTRAINT etl_pipelines_target_fkey FOREIGN KEY (target_table) REFERENCES etl.etl_targets(target);

ALTER TABLE ONLY etl.etl_reports
    ADD CONSTRAINT etl_reports_pipeline_fkey FOREIGN KEY (pipeline_id) REFERENCES etl.etl_pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_rereads
    ADD CONSTRAINT etl_rereads_pipeline_fkey FOREIGN KEY (pipeline_id) REFERENCES etl.etl_pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_run_keys
    ADD CONSTRAINT etl_run_keys_run_fkey FOREIGN KEY (run_id) REFERENCES etl.etl_runs(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_run_ranges
    ADD CONSTRAINT etl_run_ranges_run_fkey FOREIGN KEY (run_id) REFERENCES etl.etl_runs(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_run_steps
    ADD CONSTRAINT etl_run_steps_run_fkey FOREIGN KEY (run_id) REFERENCES etl.etl_runs(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_run_totals
    ADD CONSTRAINT etl_run_totals_pipeline_fkey FOREIGN KEY (pipeline_id) REFERENCES etl.etl_pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_runs
    ADD CONSTRAINT etl_runs_pipeline_fkey FOREIGN KEY (pipeline_id) REFERENCES etl.etl_pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY etl.etl_state
    ADD CONSTRAINT etl_state_pipeline_fkey FOREIGN KEY (pipeline_id) REFERENCES etl.etl_pipelines(id) ON DELETE CASCADE;

