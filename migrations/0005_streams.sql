-- Pages whose rows pass through a worker: to a transform, to a sink elsewhere, or one by one where some are refused.

set role vitrina_mart;

-- Writes rows of pg_temp.vitrina_page. Where the server refuses one, it is looked for by halving and put aside.
create function etl_page.write_rows(statement text, first bigint, last bigint, most_refused bigint) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    written bigint;
    middle bigint;
begin
    begin
        execute statement into written using first, last;
        return written;
    exception
        when data_exception or integrity_constraint_violation then
            if first >= last then
                -- Messages are stored up to a length: the code, by which viewers are not shown the words, is never cut off.
                insert into pg_temp.vitrina_refused (place, error)
                values (first, format('%s (SQLSTATE %s)', left(sqlerrm, 3000), sqlstate));
                if (select count(*) from pg_temp.vitrina_refused) > most_refused then
                    raise exception using errcode = 'VT004', message = sqlerrm, detail = sqlstate;
                end if;
                return 0;
            end if;
    end;
    middle := first + (last - first) / 2;
    return etl_page.write_rows(statement, first, middle, most_refused)
         + etl_page.write_rows(statement, middle + 1, last, most_refused);
end
$$;

comment on function etl_page.write_rows is
    'Writes the rows at the places first to last. Raises VT004 once more rows are refused than may be: with the message for the last one, and as detail its code';

reset role;

-- Where a worker puts a page down before it is written: tables of its session, emptied by every commit.
create function etl.stage_page() returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    page oid := to_regclass('pg_temp.vitrina_page');
    refused oid := to_regclass('pg_temp.vitrina_refused');
begin
    if page is null and refused is null then
        create temporary table pg_temp.vitrina_page (place bigint not null, doc json not null) on commit delete rows;
        create temporary table pg_temp.vitrina_refused (place bigint not null, error text not null) on commit delete rows;
        grant select on pg_temp.vitrina_page to vitrina_mart;
        grant select, insert on pg_temp.vitrina_refused to vitrina_mart;
    elsif (
        select count(*) from pg_class c
        where c.oid in (page, refused) and c.relkind = 'r' and pg_get_userbyid(c.relowner) = current_user
          and not c.relhastriggers and not c.relhasrules and not c.relrowsecurity
    ) <> 2 then
        -- A trigger of a mart may make temporary tables, whose triggers would execute with the rights of the session.
        raise exception using errcode = 'VT006', message = 'a trigger of the mart made tables of the names in which pages are put down';
    end if;
end
$$;

comment on function etl.stage_page is 'Makes the tables in which a session puts a page down, unless it has them';

-- One open letter per row: whoever is refused again and again is not told of again and again.
create unique index etl_dead_letters_open_idx on etl.etl_dead_letters (pipeline_id, md5(key::text))
    where replayed_at is null;

comment on column etl.etl_dead_letters.key is 'The key columns of the row, by name';
comment on column etl.etl_dead_letters.row is 'The row as it should have been written';
