-- What the queue's own table lacks for us, applied after every migration of the queue.
--
-- Every worker asks with each heartbeat which jobs it holds, and one of them looks for jobs that no worker may take. Finished
-- jobs stay for an hour and are by far the most; pending ones may be many. These indexes have next to no rows.
do $$
begin
    if to_regclass('apalis.vitrina_jobs_held') is null then
        create index vitrina_jobs_held on apalis.jobs (lock_by) where status in ('Queued', 'Running');
    end if;
    if to_regclass('apalis.vitrina_jobs_exhausted') is null then
        create index vitrina_jobs_exhausted on apalis.jobs (job_type) where status = 'Pending' and attempts >= max_attempts;
    end if;
    if to_regclass('apalis.vitrina_jobs_foreign') is null then
        create index vitrina_jobs_foreign on apalis.jobs (job_type)
            where status = 'Pending' and id !~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$';
    end if;
end
$$;
