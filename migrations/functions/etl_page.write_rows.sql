-- Writes rows of pg_temp.vitrina_page. A row that the server refuses is found by halving the page, and put aside.
create or replace function etl_page.write_rows(statement text, first bigint, last bigint, most_refused bigint) returns bigint
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
declare
    written bigint;
    middle bigint;
begin
    begin
        execute statement into written using first, last;
        -- Deferred constraints are checked here: at the commit it would not be known which row broke them.
        set constraints all immediate;
        return written;
    exception
        when data_exception or integrity_constraint_violation then
            if first >= last then
                -- Stored messages have a limited length: the code, by which viewers are not shown the message, is never cut off.
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
