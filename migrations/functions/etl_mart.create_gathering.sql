create or replace function etl_mart.create_gathering(name text, mart text, columns text[], key text[]) returns void
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
begin
    execute format(
        'create table if not exists etl_swap.%I as select %s from analytics.%I with no data',
        name, (select string_agg(format('%I', c), ', ' order by place) from unnest(columns) with ordinality as l (c, place)), mart);
    execute format(
        'create unique index if not exists %I on etl_swap.%I (%s)',
        name || '_key', name, (select string_agg(format('%I', k), ', ' order by place) from unnest(key) with ordinality as l (k, place)));
end
$$;

comment on function etl_mart.create_gathering is
    'Makes the table in which a run with full_strategy `swap` gathers its rows: these columns of the mart, unique by its key';

alter function etl_mart.create_gathering owner to vitrina_mart;
