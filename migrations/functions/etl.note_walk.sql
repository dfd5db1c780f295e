create or replace function etl.note_walk(walk jsonb) returns jsonb
    language sql
    stable
    strict
    set search_path = pg_catalog, pg_temp
as $$
    select jsonb_agg(
        c.walked || jsonb_build_object(
            'found', etl.type_of_column((c.walked ->> 'relation')::oid, (c.walked ->> 'number')::smallint))
        order by c.place)
    from jsonb_array_elements(walk) with ordinality as c (walked, place)
$$;

comment on function etl.note_walk is
    'The columns that a run walks by, each with the type that the catalog has for it now; null where it is no column of a table';
