-- Whose rows may still become visible: asked when a run begins, when it ends, and by the gauge of the horizon's lag.

create view etl.other_transactions as
select a.xact_start, a.backend_xid is not null as has_written
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.xact_start is not null
  and a.backend_type in ('client backend', 'background worker')
  and not (a.application_name ~ '^vitrina-(worker|api)' and a.usename = session_user);

comment on view etl.other_transactions is
    'Transactions of this database that are open now and may write to a source; Vitrina''s own never do';
comment on column etl.other_transactions.has_written is 'Without an id it has only read so far';
