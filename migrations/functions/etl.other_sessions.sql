-- Sessions whose rows may still become visible. Read when a run begins, when it ends, and by the gauge of the horizon's lag.
create or replace view etl.other_sessions as
select a.pid, a.xact_start, a.backend_xid is not null as has_written,
       -- Without pg_read_all_stats, or where a session does not track what it does, its transactions have no start.
       a.xact_start is null
           and (a.query = '<insufficient privilege>' or a.state = 'disabled'
                or a.state is null and current_setting('track_activities') = 'off') as is_hidden
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid()
  -- Background workers are called by what they do (`pg_cron`, for instance). These two write no rows of their own: what a
  -- parallel worker does is its leader's.
  and a.backend_type is distinct from 'autovacuum worker' and a.backend_type is distinct from 'parallel worker'
  and not (a.application_name ~ '^vitrina-(worker|api)' and a.usename = session_user);

comment on view etl.other_sessions is
    'Sessions of this database that may write to a source; Vitrina''s own never do';
comment on column etl.other_sessions.has_written is 'Without an id its transaction has only read so far';
comment on column etl.other_sessions.is_hidden is 'Whether this account cannot see since when it has a transaction, if it has one';
