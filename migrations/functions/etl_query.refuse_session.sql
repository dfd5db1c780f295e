create or replace function etl_query.refuse_session() returns void
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = 'VT006', message = 'a function that the query calls, a trigger of the mart, or a hook changed its session: settings or prepared statements';
end
$$;

comment on function etl_query.refuse_session is 'Fails because a query, a trigger of a mart, or a hook changed its session';
