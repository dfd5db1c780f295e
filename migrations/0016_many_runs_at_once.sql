-- A hundred runs at once spend their time in the server. Three things cost it more than the work itself.

-- Vitrina looks its own rows up by their keys. A plan that was made while a table had a page or two would scan the table,
-- and still does when it has thousands, until the server has looked at it again. So the sessions that look rows up are told
-- not to (`database::BY_KEY`), and the functions within them that execute users' statements plan as ever.

-- A change of status moved the pipeline's row to another page and wrote to three indexes, because one of them was about
-- the status. There are never so many pipelines that it is worth that.
drop index etl.etl_pipelines_status_idx;
alter table etl.etl_pipelines set (fillfactor = 50);

-- A run's row is changed three times at least.
alter table etl.etl_runs set (fillfactor = 70);
alter table etl.etl_run_ranges set (fillfactor = 70);
