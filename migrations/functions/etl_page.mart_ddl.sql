create or replace function etl_page.mart_ddl(mart text, columns text[], types oid[], key text[]) returns text
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
