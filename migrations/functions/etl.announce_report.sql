-- The end of a report, for whoever waits for it. The id only: the truth is in the table.
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

create or replace trigger etl_reports_announce
    after update of status on etl.etl_reports
    for each row when (new.status in ('DONE', 'FAILED'))
    execute function etl.announce_report();
