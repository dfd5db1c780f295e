-- A query can change the name of its session. It cannot let go of a lock that lasts as long as the transaction. The lock is
-- shared and only tried for: no account can make Vitrina wait by it, and what cannot be marked is not executed.
create or replace function etl.mark_session(work uuid) returns void
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
