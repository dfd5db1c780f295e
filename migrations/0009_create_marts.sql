-- A mart from the columns of a query, for deployments that allow it (VITRINA_CREATE_TARGETS).
--
-- The table is made by vitrina_mart and belongs to it: creating a mart asks for no other right than writing one does.
-- Names are quoted and types come from the server's own catalog, so no text of a client ever becomes SQL here.

grant create on schema analytics to vitrina_mart;

set role vitrina_mart;

create function etl_page.mart_ddl(mart text, columns text[], types oid[], key text[]) returns text
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $$
    select format(
        E'create table analytics.%I (\n%s,\n    constraint %I primary key (%s)\n)',
        mart,
        string_agg(
            format(
                '    %I %s%s',
                c.name,
                -- Without their length these two would hold a single character.
                case c.type
                    when 'character'::regtype then 'text'
                    when 'bit'::regtype then 'bit varying'
                    when 'character[]'::regtype then 'text[]'
                    when 'bit[]'::regtype then 'bit varying[]'
                    else format_type(c.type, null)
                end,
                case when c.name = any (key) then ' not null' end
            ),
            E',\n' order by c.place
        ),
        left(mart, 58) || '_pkey',
        (select string_agg(format('%I', k.name), ', ' order by k.place)
         from unnest(key) with ordinality as k (name, place))
    )
    from unnest(columns, types) with ordinality as c (name, type, place)
$$;

comment on function etl_page.mart_ddl is
    'The statement that creates analytics.<mart> with these columns, their types by oid, and this primary key';

create function etl_page.create_mart(mart text, columns text[], types oid[], key text[]) returns text
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

comment on function etl_page.create_mart is 'Creates the mart that etl_page.mart_ddl describes, and returns the statement';

reset role;

-- The functions are complete: from here on neither role can plant another one beside them.
revoke create on schema etl_page from vitrina_query, vitrina_mart;
revoke create on schema etl_query from vitrina_query;
revoke usage on schema etl_page from vitrina_query;
