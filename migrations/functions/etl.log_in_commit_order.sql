-- With its owner's rights: for everyone else the log is append-only. A trigger of another table must not get here, since
-- comparing that table's columns may call functions of its owner.
create or replace function etl.log_in_commit_order() returns trigger
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

comment on function etl.log_in_commit_order is 'Gives an entry of the log its id within the commit, and announces it';

-- An unchanged trigger is left alone: creating it again takes a lock that runs would have to wait for.
do $$
begin
    if not exists (
        select from pg_trigger t
        where t.tgrelid = 'etl.etl_transitions'::regclass and t.tgname = 'etl_transitions_in_commit_order' and t.tgenabled = 'O'
          and pg_get_triggerdef(t.oid) = 'CREATE CONSTRAINT TRIGGER etl_transitions_in_commit_order AFTER INSERT ON etl.etl_transitions'
              ' DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION etl.log_in_commit_order()'
    ) then
        drop trigger if exists etl_transitions_in_commit_order on etl.etl_transitions;
        create constraint trigger etl_transitions_in_commit_order
            after insert on etl.etl_transitions
            deferrable initially deferred
            for each row execute function etl.log_in_commit_order();
    end if;
end
$$;
