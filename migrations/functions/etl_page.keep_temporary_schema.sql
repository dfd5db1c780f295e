create or replace function etl_page.keep_temporary_schema() returns void
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
begin
    create temporary table vitrina_first ();
    drop table pg_temp.vitrina_first;
end
$$;

comment on function etl_page.keep_temporary_schema is
    'Makes the session''s schema for temporary objects, for good. etl_page.describe would make it and undo that each time, and whatever is undone in pg_namespace costs the session all its plans';

alter function etl_page.keep_temporary_schema owner to vitrina_query;
