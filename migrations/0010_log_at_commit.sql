-- Whoever logs a status change keeps all others from logging until its commit, so that ids appear in commit order. When
-- that began with the insert, it lasted for the client's way to its commit and for the disk: a hundred requests at once
-- queued up for it. Now an entry gets its id within the commit itself, and that commit does not wait for the disk; who
-- must know that it is there waits afterwards, beside the others (`store::flush`).

drop trigger etl_transitions_in_commit_order on etl.etl_transitions;
drop trigger etl_transitions_announce on etl.etl_transitions;
drop function etl.log_in_commit_order();
drop function etl.announce_transition();

-- Writers of the log take turns by a lock on this empty table. An advisory lock would do as well, but every account of the
-- database can hold one.
create table etl.etl_log_turn ();

comment on table etl.etl_log_turn is 'Always empty: the transaction that appends to etl_transitions locks it until its commit';

-- With its owner's rights: for everyone else the log is append-only. A trigger of another table must not get here, since
-- comparing that table's columns may call functions of its owner.
create function etl.log_in_commit_order() returns trigger
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    place bigint;
begin
    if tg_relid is distinct from 'etl.etl_transitions'::regclass then
        raise exception 'etl.log_in_commit_order serves etl.etl_transitions alone' using errcode = 'insufficient_privilege';
    end if;
    lock table etl.etl_log_turn in share update exclusive mode;
    update etl.etl_transitions set id = default where id = new.id returning id into place;
    -- Ids only: a payload has 8,000 bytes, and whoever is woken reads the truth from the table.
    perform pg_notify('vitrina_events', json_build_object('id', place, 'pipeline_id', new.pipeline_id)::text);
    -- A transaction that wrote rows too says that it wants to wait (`store::wait_for_disk`).
    if current_setting('vitrina.wait_for_disk', true) is distinct from 'on' then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    return null;
end
$$;

create constraint trigger etl_transitions_in_commit_order
    after insert on etl.etl_transitions
    deferrable initially deferred
    for each row execute function etl.log_in_commit_order();

comment on column etl.etl_transitions.id is 'Given at the commit: the one that the insert drew is not seen by anyone';
