-- A user's query executes here under vitrina_query, and nowhere else. The function has its owner's rights, so no setting of
-- the session leads to another role; and it makes its subtransaction read-only, so that no function called within it can
-- write. The statements that write marts are Vitrina's own: they execute under vitrina_mart (etl_mart.run) and select from
-- this function.
--
-- The function is volatile: its query sees what is committed when it has its locks, not when the statement around it began. A
-- table that was truncated and filled while the query waited for it would otherwise be read as empty. The locks are kept
-- until the transaction ends, because large values of the rows are still read from the table when the rows are written.
--
-- A function that a query calls, or a trigger of a mart, may still change its session. If it changed a setting that the
-- surrounding statements depend on, or a prepared statement, the statement fails (VT006): the first is undone with the
-- transaction, and for the second the services close the connection. A setting can also be changed behind one that lasts
-- until the commit, where that check does not see it: so afterwards all settings are reset to those of the session's
-- beginning. Their own SQLSTATE is never taken for one of Vitrina's or of a lost connection (VT007). A prepared statement
-- matters only to the statement that the services send next, so the outermost function looks at them.
create or replace function etl_page.read(query text, after text[], upper text, page_size bigint, by_time boolean)
    returns setof record
    language plpgsql
    volatile
    security definer
    -- The number of rows of a query is unknown. The planner must not expect few, or it would search a list for each of
    -- them.
    rows 1000000
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
    -- The services' sessions look rows up by key (`database::BY_KEY`); a user's query is planned as ever.
    set enable_seqscan = on
    set plan_cache_mode = auto
as $$
declare
    before text[] := etl_query.session_state(current_setting('search_path'));
    -- Read before the query executes. Its settings are reset before the next one.
    outermost boolean := current_setting('vitrina.in_page', true) is distinct from 'on';
begin
    -- A block with a handler is a subtransaction, and a subtransaction can be read-only within one that writes.
    begin
        perform set_config('transaction_read_only', 'on', true);
        -- A timestamp arrives as such: read from text within the query it would be no constant, and «:after_key is null
        -- or …» could not be decided when the query is planned.
        return query execute query using
            case when by_time then after[1]::timestamptz end, after[2], case when by_time then upper::timestamptz end,
            page_size, after, upper;
    exception
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    -- All names have their schema: the query may have changed the search_path.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), outermost);
end
$$;

comment on function etl_page.read is
    'Executes a select that was built around a judged query, and returns its rows. $1 and $2 are the key and id after which a page begins, $3 its bound, $4 its size; $5 and $6 are where it begins and its bound as text';

alter function etl_page.read owner to vitrina_query;
