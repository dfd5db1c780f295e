-- Announces the end of a report to requests that wait for it. The id only: the truth is in the table.
create or replace function etl.announce_report() returns trigger
    language plpgsql
    set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_notify('vitrina_reports', new.id::text);
    return null;
end
$$;

comment on function etl.announce_report is 'Announces the end of a report';

-- An unchanged trigger is left alone: creating it again takes a lock that runs would have to wait for.
do $$
begin
    if not exists (
        select from pg_trigger t
        where t.tgrelid = 'etl.etl_reports'::regclass and t.tgname = 'etl_reports_announce' and t.tgenabled = 'O'
          and pg_get_triggerdef(t.oid) = 'CREATE TRIGGER etl_reports_announce AFTER UPDATE OF status ON etl.etl_reports'
              ' FOR EACH ROW WHEN ((new.status = ANY (ARRAY[''DONE''::text, ''FAILED''::text]))) EXECUTE FUNCTION etl.announce_report()'
    ) then
        create or replace trigger etl_reports_announce
            after update of status on etl.etl_reports
            for each row when (new.status in ('DONE', 'FAILED'))
            execute function etl.announce_report();
        alter table etl.etl_reports enable trigger etl_reports_announce;
    end if;
end
$$;
