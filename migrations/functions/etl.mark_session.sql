-- A query can change the name of its session. It cannot let go of a lock that lasts as long as the transaction. The lock is
-- shared and taken without waiting: no account can make Vitrina wait by it, and a session that cannot be marked executes
-- nothing. Every account sees all locks and can take them too, so a part of the key is random: one mark does not reveal the
-- next.
create or replace function etl.mark_session(work uuid) returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
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

comment on function etl.mark_session is 'Marks the transaction as one that works for a run, a report or a description';
