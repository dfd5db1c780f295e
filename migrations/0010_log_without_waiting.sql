-- Whoever logs a status change keeps all others from logging until its commit. A commit that waits for the disk would
-- make them wait for it too, one after the other: a hundred requests at once would need a hundred waits. So such a commit
-- does not wait; who must know that it is on disk waits afterwards, beside the others (`store::flush`).

create or replace function etl.log_in_commit_order() returns trigger
    language plpgsql
    set search_path = pg_catalog
as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('etl.etl_transitions', 0));
    perform set_config('synchronous_commit', 'off', true);
    return null;
end
$$;
