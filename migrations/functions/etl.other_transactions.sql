create or replace view etl.other_transactions as
select o.pid, o.xact_start, o.has_written
from etl.other_sessions o
where o.xact_start is not null;

comment on view etl.other_transactions is 'Transactions of such sessions that are open now';
