create or replace function etl.sessions_of(work uuid) returns setof integer
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
                 -- The rest of the mark is random.
                 and ((l.classid::bigint << 32) | l.objid::bigint) >> 16 = hashtextextended(work::text, 0) >> 16));
end;

comment on function etl.sessions_of is
    'The sessions of this account that work for a run, a report or a description, by their name or mark. Those of other accounts are left alone, whatever they call themselves';
