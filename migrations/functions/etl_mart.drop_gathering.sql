create or replace function etl_mart.drop_gathering(name text) returns void
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
begin
    execute format('drop table if exists etl_swap.%I', name);
end
$$;

comment on function etl_mart.drop_gathering is 'Removes such a table';

alter function etl_mart.drop_gathering owner to vitrina_mart;
