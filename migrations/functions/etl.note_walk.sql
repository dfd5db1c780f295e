-- Called whenever a run begins or goes on, so it is in PL/pgSQL: a session keeps its plan. `etl.run_batch` compares with the same text of a type.
create or replace function etl.note_walk(walk jsonb) returns jsonb
    language plpgsql
    stable
    strict
    set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select jsonb_agg(
            c.walked || jsonb_build_object('found', (
                select concat_ws(' collation ', format_type(a.atttypid, a.atttypmod), nullif(a.attcollation, 0))
                from pg_attribute a
                where a.attrelid = (c.walked ->> 'relation')::oid and a.attnum = (c.walked ->> 'number')::smallint
            ))
            order by c.place)
        from jsonb_array_elements(walk) with ordinality as c (walked, place)
    );
end
$$;

comment on function etl.note_walk is
    'The columns that a run walks by, each with the type and collation that the catalog has for it now; null where it is no column of a table';
