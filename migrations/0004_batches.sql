-- One batch is one statement, and so one transaction: either all of it happened or none, whatever dies.

-- A user's query executes under vitrina_query in etl_page.read, and nowhere else. That function has its owner's rights, so no
-- setting of the session leads to another role; and it makes itself read-only, so that nothing that is called within it can
-- write. The statements that write marts are Vitrina's own: they execute under vitrina_mart and select from etl_page.read.
--
-- The function is volatile: its query sees what is committed when it has its locks, not when the statement around it began. A
-- table that was truncated and filled while the query waited for it would otherwise be read as empty. The locks are kept
-- until the transaction ends, because large values of the rows are still read from the table when the rows are written.
--
-- A function that a query calls, or a trigger of a mart, may change its session all the same. One that changed a setting which
-- the statements around it depend on, or a prepared statement, fails (VT006): the first is undone with the transaction, and for
-- the second the services close the connection. A setting can also be changed behind one that lasts until the commit, where
-- that check does not see it: so afterwards all settings are set back to those that the session began with. Their own SQLSTATE
-- is never taken for one of Vitrina's or of a lost connection (VT007). A prepared statement matters only to the statement that the
-- services send next, so the outermost function looks at them.
grant vitrina_query, vitrina_mart to current_user;
create schema if not exists etl_page;
create schema if not exists etl_swap authorization vitrina_mart;
comment on schema etl_page is 'Vitrina: the functions that execute users'' queries and write marts';
comment on schema etl_swap is 'Vitrina: rows that runs with full_strategy `swap` have gathered so far';
grant usage, create on schema etl_page to vitrina_query, vitrina_mart;
-- What the query's role itself may call. The functions of etl_page it cannot even name.
create schema if not exists etl_query;
comment on schema etl_query is 'Vitrina: what etl_page.read asks before and after a query, under the role of the query';
grant usage, create on schema etl_query to vitrina_query;

set role vitrina_query;

-- These are called for every page, so they are in PL/pgSQL: a session keeps its plans. Their caller hands its path over, because
-- in here it is another.
create function etl_query.session_state(path text) returns text[]
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
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

comment on function etl_query.session_state is
    'The settings of a session that the statements around a query depend on';

create function etl_query.refuse_session() returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = 'VT006', message = 'a function that the query calls, or a trigger of the mart, changed its session: settings or prepared statements';
end
$$;

comment on function etl_query.refuse_session is 'Fails because a query, or a trigger of a mart, changed its session';

create function etl_query.has_prepared() returns boolean
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (select from pg_prepared_statement() as p where p.from_sql);
end
$$;

comment on function etl_query.has_prepared is
    'Whether a statement was prepared in SQL, as the services never do: it may have the name of one of theirs. Asked once per page, because the server copies the texts of all prepared statements for that';

create function etl_query.set_back_session(before text[], path text, outermost boolean) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    if etl_query.session_state(path) <> before or outermost and etl_query.has_prepared() then
        perform etl_query.refuse_session();
    end if;
    -- A cursor `with hold` would be executed at the commit, with the rights of the session.
    execute 'close all';
    -- What `set` has put behind a `set local` would come out at the commit. This takes its place.
    execute 'reset all';
    perform set_config('search_path', before[1], true),
            set_config('application_name', before[2], true),
            set_config('statement_timeout', before[3], true),
            set_config('lock_timeout', before[4], true),
            set_config('idle_in_transaction_session_timeout', before[5], true),
            set_config('max_parallel_workers_per_gather', before[6], true),
            set_config('synchronous_commit', before[7], true);
end
$$;

comment on function etl_query.set_back_session is
    'Fails if the session is not as it was before a query; prepared statements are looked at by the outermost function. Closes the query''s cursors. Sets all settings back to those that the session began with, and for the rest of the transaction to those that it had set for itself';

create function etl_query.blame_query(before text[], path text, state text, message text) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    if etl_query.session_state(path) <> before or etl_query.has_prepared() then
        perform etl_query.refuse_session();
    end if;
    if state ~ '^(VT|08|28|57P|53300)' and state not in ('VT006', 'VT007') then
        raise exception using errcode = 'VT007', message = format('%s (raised by the query as %s)', message, state);
    end if;
end
$$;

comment on function etl_query.blame_query is
    'After a query has failed: fails in another way if it changed its session, or failed with a SQLSTATE that says something about Vitrina or its connection';

create function etl_page.read(query text, after text[], upper text, page_size bigint, by_time boolean)
    returns setof record
    language plpgsql
    volatile
    security definer
    -- Nobody knows how many rows a query returns. The planner must not take them for few, or it would look each of them
    -- up in a list.
    rows 1000000
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
    -- The services' sessions look rows up by key (`database::BY_KEY`); a user's query is planned as ever.
    set enable_seqscan = on
    set plan_cache_mode = auto
as $$
declare
    before text[] := etl_query.session_state(current_setting('search_path'));
    -- Asked before the query executes. What it sets is set back before the next one.
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
    -- Written with schemas throughout: the path may be the query's by now.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), outermost);
end
$$;

comment on function etl_page.read is
    'Executes a select that was built around a judged query, and returns its rows. $1 and $2 are the key and id after which a page begins, $3 its bound, $4 its size; $5 and $6 are where it begins and its bound as text';

create function etl_page.estimate(query text, after text[], upper text, page_size bigint, by_time boolean)
    returns json
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
    set enable_seqscan = on
    set plan_cache_mode = auto
as $$
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
    -- Written with schemas throughout: the path may be the query's by now.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
    return plan;
end
$$;

create function etl_page.keep_temporary_schema() returns void
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
begin
    create temporary table vitrina_first ();
    drop table pg_temp.vitrina_first;
end
$$;

comment on function etl_page.keep_temporary_schema is
    'Makes the session''s schema for temporary objects, for good. etl_page.describe would make it and undo that each time, and whatever is undone in pg_namespace costs the session all its plans';

create function etl_page.describe(query text)
    returns table (tree text, names text[], types oid[], type_names text[], declared text[], collations text[])
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
as $$
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
        -- Once more in other brackets: a text that closes a bracket of ours and goes on behind it cannot be read in both.
        execute 'create temporary view vitrina_bracketed as select * from ((' || query || E'\n)) as source';
        -- The view has said everything. With it goes whatever a literal of the query has set off while it was read.
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
    -- Written with schemas throughout: the path may be the query's by now.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
    return next;
end
$$;

comment on function etl_page.describe is
    'How the server reads a query, without planning or executing it: its tree as pg_rewrite stores that of a view, and its columns; a collation that is their type''s own is `.`';

comment on function etl_page.estimate is 'The plan of what etl_page.read would execute. Parameters as there';

reset role;
set role vitrina_mart;

create function etl_page.run(statement text, after text[], upper text, page_size bigint, by_time boolean default false)
    returns table (rows_read bigint, rows_written bigint, last text[], more boolean)
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
    set enable_seqscan = on
    set plan_cache_mode = auto
as $$
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

comment on function etl_page.run is
    'Executes a statement of Vitrina''s own that reads and writes marts; a user''s query stands in it only as an argument of etl_page.read, whose parameters it passes on';

create function etl_page.create_gathering(name text, mart text, columns text[], key text[]) returns void
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
begin
    execute format(
        'create table if not exists etl_swap.%I as select %s from analytics.%I with no data',
        name, (select string_agg(format('%I', c), ', ' order by place) from unnest(columns) with ordinality as l (c, place)), mart);
    execute format(
        'create unique index if not exists %I on etl_swap.%I (%s)',
        name || '_key', name, (select string_agg(format('%I', k), ', ' order by place) from unnest(key) with ordinality as l (k, place)));
end
$$;

comment on function etl_page.create_gathering is
    'Makes the table in which a run with full_strategy `swap` gathers its rows: these columns of the mart, unique by its key';

create function etl_page.drop_gathering(name text) returns void
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
begin
    execute format('drop table if exists etl_swap.%I', name);
end
$$;

comment on function etl_page.drop_gathering is 'Removes such a table';

reset role;

-- A batch that may not commit. The worker knows by the code what to do about it.
--   VT001  another worker has taken it over
--   VT002  its run was ended
--   VT003  its page did not get further
create function etl.refuse_batch(code text, reason text) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = code, message = reason;
end
$$;

-- A query can change the name of its session. It cannot let go of a lock that lasts as long as the transaction. The lock is
-- shared and only tried for: no account can make Vitrina wait by it, and what cannot be marked is not executed.
create function etl.mark_session(work uuid) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    if not pg_try_advisory_xact_lock_shared(hashtextextended(work::text, 0)) then
        -- Nobody could find the session to end it.
        raise exception using errcode = '55P03', message = 'another session holds the advisory lock by which Vitrina finds its own statements';
    end if;
end
$$;

comment on function etl.mark_session is 'Marks the transaction as one that works for a run, a report or a description';

create function etl.sessions_of(work uuid) returns setof integer
    language sql
    stable
    set search_path = pg_catalog, pg_temp
begin atomic
    select a.pid
    from pg_stat_activity a
    where a.datname = current_database() and a.usename = session_user and a.pid <> pg_backend_pid()
      and (a.application_name = 'vitrina-worker ' || work
           or a.pid in (
               select l.pid
               from pg_locks l
               where l.locktype = 'advisory' and l.mode = 'ShareLock' and l.granted and l.objsubid = 1
                 and l.database = (select d.oid from pg_database d where d.datname = current_database())
                 and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(work::text, 0)));
end;

comment on function etl.sessions_of is
    'The sessions of this account that work for a run, a report or a description, by their name or mark. Those of other accounts are left alone, whatever they call themselves';

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
    set search_path = pg_catalog, pg_temp
as $$
declare
    range etl.etl_run_ranges;
    run etl.etl_runs;
    page record;
begin
    -- A cancellation finds the run's statement by this name and mark (`store::backends`).
    perform set_config('application_name', 'vitrina-worker ' || batch_run, true), etl.mark_session(batch_run);

    -- The fence: whoever moves the number first owns the batch. A late twin waits here for the row and then fails.
    update etl.etl_run_ranges g
    set next_batch = g.next_batch + 1
    where g.run_id = batch_run and g.range_no = batch_range and g.next_batch = batch_number and g.finished_at is null
    returning * into range;
    if not found then
        perform etl.refuse_batch('VT001', format('batch %s was committed by another worker', batch_number));
    end if;

    -- Asked after the session has its name: a run that was cancelled before is seen here, and a later cancellation sees
    -- the name.
    if not exists (select from etl.etl_runs r where r.id = batch_run and r.status = 'RUNNING') then
        perform etl.refuse_batch('VT002', 'the run was ended');
    end if;

    select * into page from etl_page.run(statement, range.after, range.upper, page_size, by_time);
    if page.more is null then
        perform etl.refuse_batch('VT003', format(
            'the query returned a row that is not after :after_key, :after_id = %s: it would never come to an end',
            coalesce(range.after::text, 'the beginning')));
    end if;
    -- The page holds its tables by now. A column that was retyped since the run began has keys of another order, or other keys.
    if exists (
        select
        from jsonb_to_recordset(range.walks_by) as w (relation oid, number smallint, found text)
        where (select format_type(a.atttypid, a.atttypmod) from pg_attribute a
               where a.attrelid = w.relation and a.attnum = w.number) is distinct from w.found
    ) then
        perform etl.refuse_batch('42804', 'a column that the run walks by was retyped');
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

    -- A page of NULL keys is before every key: there is no checkpoint yet. A checkpoint that was forgotten after the run was
    -- requested is not the run's any more: moving it would skip the rows that it was forgotten for.
    if run.mode = 'incremental' and page.last[1] is not null then
        -- A transaction publishes its start a moment after it took it, and may have been missed when the bound was taken.
        -- Nothing shows that there was none: its session may have gone since.
        insert into etl.etl_state as s (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch, horizon, server, walks_by)
        select p.id, page.last[1], page.last[2], batch_run, batch_number, range.horizon - interval '1 second', range.server,
               range.walks_by
        from etl.etl_pipelines p
        where p.id = run.pipeline_id and p.checkpoint_epoch = run.checkpoint_epoch
        on conflict (pipeline_id) do update
        set checkpoint_key = excluded.checkpoint_key, checkpoint_id = excluded.checkpoint_id,
            run_id = excluded.run_id, batch = excluded.batch, updated_at = now(),
            horizon = excluded.horizon, server = excluded.server, walks_by = excluded.walks_by;
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
                   || jsonb_build_object('batch', batch_number + 1, 'after', to_jsonb(page.last), 'attempt', 0, 'lost', 0,
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
