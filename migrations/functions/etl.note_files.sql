create or replace function etl.note_files(noted jsonb, now jsonb) returns jsonb
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $$
    select case
        when noted is null or now is null then coalesce(noted, now)
        else noted || jsonb_build_object('files', (now -> 'files') || coalesce(nullif(noted -> 'files', 'null'), '{}'))
    end
$$;

comment on function etl.note_files is
    'What is noted of a mart that a run has written meanwhile: the files of before, and those of parts that came since';
