-- Whoever logs a status change keeps all others from logging until its commit, so that ids appear in commit order. When
-- that began with the insert, it lasted for the client's way to its commit and for the disk: a hundred requests at once
-- queued up for it. Now an entry gets its id within the commit itself, and that commit does not wait for the disk; who
-- must know that it is there waits afterwards, beside the others (`store::flush`).

drop trigger etl_transitions_in_commit_order on etl.etl_transitions;
drop trigger etl_transitions_announce on etl.etl_transitions;
drop function etl.log_in_commit_order();
drop function etl.announce_transition();

-- A commit that does not wait for the disk can be lost in a crash after its entry was shown, and the sequence goes back with
-- it. A failover to a replica that lagged, or a restored backup, goes back too. A client that resumes by the id it saw last
-- would then miss every entry up to that id. So each such event begins a new epoch, whose ids follow all that were given before.
--
-- The row of this table says that no commit was lost since it was written. PostgreSQL itself empties unlogged tables whenever
-- it may have lost commits: after a crash, in a promoted replica, in a restored base backup. A dump does bring the row back,
-- but not in the transaction that the row names.
create unlogged table etl.etl_log_epoch (
    only_row   boolean not null default true,
    written_by xid     not null,

    constraint etl_log_epoch_pkey primary key (only_row),
    constraint etl_log_epoch_only_row_check check (only_row)
);

insert into etl.etl_log_epoch (written_by) values (pg_current_xact_id()::xid);

comment on table etl.etl_log_epoch is
    'Its row says that no entry of the log was lost since it was written; without it, ids of the log begin a new epoch';
comment on column etl.etl_log_epoch.written_by is 'The transaction that wrote the row; another one if a dump brought it back';

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
    epoch_by xid;
begin
    if tg_relid is distinct from 'etl.etl_transitions'::regclass then
        raise exception 'etl.log_in_commit_order serves etl.etl_transitions alone' using errcode = 'insufficient_privilege';
    end if;
    lock table etl.etl_log_turn in share update exclusive mode;
    select e.written_by into epoch_by from etl.etl_log_epoch e where e.only_row and e.written_by = e.xmin;
    if epoch_by is null then
        epoch_by := pg_current_xact_id()::xid;
        -- The clock leads past everything that was given before; the other bound holds where the clock was set back.
        perform setval('etl.etl_transitions_id_seq', greatest(
            (select last_value + 1000000 from etl.etl_transitions_id_seq),
            (extract(epoch from clock_timestamp()) * 1000000)::bigint
        ));
        insert into etl.etl_log_epoch (written_by) values (epoch_by)
        on conflict (only_row) do update set written_by = excluded.written_by;
    end if;
    update etl.etl_transitions set id = default where id = new.id returning id into place;
    -- Ids only: a payload has 8,000 bytes, and whoever is woken reads the truth from the table.
    perform pg_notify('vitrina_events', json_build_object('id', place, 'pipeline_id', new.pipeline_id)::text);
    -- A transaction that wrote rows too says that it wants to wait (`store::wait_for_disk`).
    -- The first entry of an epoch waits too, or a second crash would begin the same epoch again.
    if current_setting('vitrina.wait_for_disk', true) is distinct from 'on' then
        perform set_config(
            'synchronous_commit', case when epoch_by = pg_current_xact_id()::xid then 'local' else 'off' end, true
        );
    end if;
    return null;
end
$$;

create constraint trigger etl_transitions_in_commit_order
    after insert on etl.etl_transitions
    deferrable initially deferred
    for each row execute function etl.log_in_commit_order();

comment on column etl.etl_transitions.id is 'Given at the commit: the one that the insert drew is not seen by anyone. Greater than every id that was ever shown';
