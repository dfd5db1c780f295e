-- A function of the operator's executes here under vitrina_hook, and nowhere else. Its name comes from a pipeline, and is looked up
-- on the list of the database's owner before anything is called by it.
--
-- The block with a handler is a subtransaction: what the function did before it failed is undone, its settings included. Nothing that
-- the function does keeps the transaction from its commit, which may be that of a run's end. Deferred constraints are checked
-- within, so that they fail the hook and not the commit. This is no wall: a trigger that defers constraints again and writes is
-- executed at the commit, with the rights of the services (docs/SECURITY.md).
--
-- A function without `security definer` is executed as the owner of this one, and could drop it, or leave objects and settings
-- that are the role's. So what the role owns and may use is compared. It also differs if somebody granted the role something
-- meanwhile, which is why the failure has a code of those that are tried again.
create or replace function etl_hook.call(hook text, event jsonb)
    returns table (state text, message text)
    language plpgsql
    volatile
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
    -- The services' sessions look rows up by key (`database::BY_KEY`); the function's queries are planned as ever.
    set enable_seqscan = on
    set plan_cache_mode = auto
as $$
declare
    holdings cursor for
        select array(
                   select format('%s %s %s %s', d.classid, d.objid, d.objsubid, d.deptype)
                   from pg_shdepend d
                   where d.refclassid = 'pg_authid'::regclass and d.refobjid = 'vitrina_hook'::regrole
                     and d.dbid = (select b.oid from pg_database b where b.datname = current_database())
                   order by 1
               ) || array(
                   select format('%s %s', s.setdatabase, s.setconfig)
                   from pg_db_role_setting s
                   where s.setrole = 'vitrina_hook'::regrole
                   order by 1
               );
    held text[];
    holds text[];
    before text[] := etl_query.session_state(current_setting('search_path'));
    problem text := etl.hook_problem(hook);
begin
    if problem is not null then
        return query select 'VT008', format('it %s: `vitrina hooks allow %s` puts it there as it is now', problem, hook);
        return;
    end if;
    open holdings;
    fetch holdings into held;
    close holdings;
    begin
        execute format('select %I.%I($1)', split_part(hook, '.', 1), split_part(hook, '.', 2)) using event;
        set constraints all immediate;
        -- All names have their schema: the function may have changed the search_path.
        perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
        open holdings;
        fetch holdings into holds;
        close holdings;
        if holds <> held then
            raise exception using errcode = 'serialization_failure',
                message = 'what the role vitrina_hook owns, may use or has set is not what it was before the function was called';
        end if;
        return;
    exception
        when query_canceled or assert_failure or others then
            return query select sqlstate, left(sqlerrm, 1000);
    end;
    -- What is prepared outlives the subtransaction and the transaction. The services prepare nothing in SQL, and what has the name of
    -- a statement of theirs would be executed with their rights.
    if etl_query.has_prepared() then
        execute (select string_agg(format('deallocate %I', p.name), '; ') from pg_prepared_statement() as p where p.from_sql);
    end if;
    perform etl_query.set_back_session(before, current_setting('search_path'), true);
end
$$;

comment on function etl_hook.call is
    'Calls a function of the list with an event. Returns a row if it failed: its code and message; its own work is undone then';

alter function etl_hook.call owner to vitrina_hook;
