-- A query can change the name of its session. It cannot let go of a lock that lasts as long as the transaction. The lock is
-- shared and only tried for: no account can make Vitrina wait by it.
create or replace function etl.mark_session(work uuid) returns boolean
    language sql
    set search_path = pg_catalog, pg_temp
begin atomic
    select pg_try_advisory_xact_lock_shared(hashtextextended(work::text, 0));
end;

comment on function etl.mark_session is 'Marks the transaction as one that works for a run, a report or a description';
