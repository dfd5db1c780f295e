create or replace function etl.is_other_mart(noted jsonb, now jsonb) returns boolean
    language sql
    immutable
    strict
    set search_path = pg_catalog, pg_temp
as $$
    select noted -> 'table' <> now -> 'table'
        or exists (select from jsonb_each(nullif(noted -> 'files', 'null')) part where now -> 'files' -> part.key <> part.value)
$$;

comment on function etl.is_other_mart is
    'Whether rows may be gone from a mart since its files were noted: it is another table, or a part has another file. Parts that came or went are not counted';
