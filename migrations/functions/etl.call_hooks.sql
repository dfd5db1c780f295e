-- The hooks of one event of a run, in the transaction that records the event. `details` is what the event adds to the run, or says
-- otherwise; `letters` are the rows of an event that has rows.
create or replace function etl.call_hooks(hook_run uuid, hook_event text, details jsonb, letters bigint[])
    returns table (hook text, state text, message text)
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
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

comment on function etl.call_hooks is
    'Calls the hooks that a run has for an event, and returns those that failed. The first one that fails is the last one that is called, except for on_failure';
