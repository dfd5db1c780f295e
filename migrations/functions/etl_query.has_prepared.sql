create or replace function etl_query.has_prepared() returns boolean
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (select from pg_prepared_statement() as p where p.from_sql);
end
$$;

comment on function etl_query.has_prepared is
    'Whether a statement was prepared in SQL, as the services never do: it may have the name of one of theirs. Asked once per page, because the server copies the texts of all prepared statements for that';
