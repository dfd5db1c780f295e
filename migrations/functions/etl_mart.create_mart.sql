-- A mart from the columns of a query, for deployments that allow it (VITRINA_CREATE_TARGETS).
--
-- The table is made by vitrina_mart and belongs to it: creating a mart asks for no other right than writing one does. Names
-- are quoted and types come from the server's own catalog (etl_page.mart_ddl), so no text of a client ever becomes SQL here.
create or replace function etl_mart.create_mart(mart text, columns text[], types oid[], key text[]) returns text
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    statement text := etl_page.mart_ddl(mart, columns, types, key);
begin
    execute statement;
    return statement;
end
$$;

comment on function etl_mart.create_mart is 'Creates the mart that etl_page.mart_ddl describes, and returns the statement';

alter function etl_mart.create_mart owner to vitrina_mart;
