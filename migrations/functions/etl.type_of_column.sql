-- The collation by its id: one of the same name may be another one.
create or replace function etl.type_of_column(relation oid, number smallint) returns text
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $$
    select concat_ws(' collated by ', format_type(a.atttypid, a.atttypmod), nullif(a.attcollation, '0'))
    from pg_attribute a
    where a.attrelid = relation and a.attnum = number
$$;

comment on function etl.type_of_column is 'What the order of a column''s values depends on: its type, length or precision, and collation';
