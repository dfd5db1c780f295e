create or replace function etl.read_horizon(beginning_run uuid, patience interval)
    returns table (
        clock timestamptz,
        upper timestamptz,
        checkpoint_key text,
        horizon timestamptz,
        server text,
        this_server text,
        passed text[],
        passed_from timestamptz[],
        unseen text[],
        unseen_from timestamptz,
        due text[],
        due_noted text[],
        due_from timestamptz
    )
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
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

comment on function etl.read_horizon is
    'Up to where a run that begins may read by the clock. `passed` are transactions that the bound leaves behind, with their starts; `unseen` those whose starts cannot be seen, which began at `unseen_from` or later; `due` are passed ones that have ended, as they are noted in the rows of `due_noted`, and `due_from` is the smallest of their starts';
