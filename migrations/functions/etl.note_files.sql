-- A table's first file has the table's own number, so a part that came while the run wrote is noted with that, whatever file it
-- has by now: it may have been truncated since.
create or replace function etl.note_files(noted jsonb, now jsonb) returns jsonb
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $$
    select case
        when noted is null or now is null then coalesce(noted, now)
        else noted || jsonb_build_object('files', came.files || coalesce(nullif(noted -> 'files', 'null'), '{}'))
    end
    from (
        select coalesce(jsonb_object_agg(part, part::oid), '{}')
        from jsonb_object_keys(nullif(now -> 'files', 'null')) part
    ) came (files)
$$;

comment on function etl.note_files is
    'What is noted of a mart that a run has written meanwhile: the files of before, and the first ones of parts that came since';
