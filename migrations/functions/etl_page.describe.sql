create or replace function etl_page.describe(query text)
    returns table (tree text, names text[], types oid[], type_names text[], declared text[], collations text[])
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    set standard_conforming_strings = on
as $$
declare
    before text[] := etl_query.session_state(current_setting('search_path'));
    done boolean := false;
begin
    begin
        execute 'create temporary view vitrina_judged as select * from (' || query || E'\n) as source';
        -- Looked at before the text is read again: a literal that executes something while it is read could exchange the view.
        select w.ev_action::text into tree from pg_rewrite w where w.ev_class = 'pg_temp.vitrina_judged'::regclass;
        select coalesce(array_agg(a.attname::text order by a.attnum), '{}'),
               coalesce(array_agg(a.atttypid order by a.attnum), '{}'),
               coalesce(array_agg(format_type(a.atttypid, null) order by a.attnum), '{}'),
               coalesce(array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum), '{}'),
               coalesce(array_agg(case when c.oid is null then '.' else format('%I.%I', n.nspname, c.collname) end order by a.attnum), '{}')
        into names, types, type_names, declared, collations
        from pg_attribute a
        join pg_type t on t.oid = a.atttypid
        left join pg_collation c on c.oid = a.attcollation and a.attcollation <> t.typcollation
        left join pg_namespace n on n.oid = c.collnamespace
        where a.attrelid = 'pg_temp.vitrina_judged'::regclass;
        -- Once more in other brackets: a text that closes our bracket and continues behind it is not valid in both.
        execute 'create temporary view vitrina_bracketed as select * from ((' || query || E'\n)) as source';
        -- Rolls the view back, with all effects of literals that were evaluated while the query was parsed.
        done := true;
        raise exception using errcode = 'VT005', message = 'described';
    exception
        when sqlstate 'VT005' then
            if not done then
                perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            end if;
        when others then
            perform etl_query.blame_query(before, pg_catalog.current_setting('search_path'), sqlstate, sqlerrm);
            raise;
    end;
    -- All names have their schema: the query may have changed the search_path.
    perform etl_query.set_back_session(before, pg_catalog.current_setting('search_path'), true);
    return next;
end
$$;

comment on function etl_page.describe is
    'How the server reads a query, without planning or executing it: its tree as pg_rewrite stores that of a view, and its columns; a collation that is their type''s own is `.`';

alter function etl_page.describe owner to vitrina_query;
