--- attribute calls: one-argument functions without parentheses after their name
-- attr-ts-stat: function
select gen_random_uuid() as id, (('select to_tsvector(''a'')'::text).ts_stat).word as title
-- attr-ts-stat-star: function
select (('select to_tsvector(secret) from private.secrets'::text).ts_stat).*
-- attr-sleep: function
select (0.01::float8).pg_sleep::text
-- attr-sleep-quoted: function
select (0.01::float8)."pg_sleep"::text
-- attr-sleep-upper: function
select (0.01::float8).PG_SLEEP::text
-- attr-sleep-spaced: function
select (0.01::float8) . /* x */ pg_sleep::text
-- attr-sleep-unicode-name: function
select (0.01::float8).U&"pg\005fsleep"::text
-- attr-sleep-unicode-uescape: function
select ((0.01::float8).U&"pg!005fsleep" UESCAPE '!')::text
-- attr-lo-create: function
select (0::oid).lo_create
-- attr-lo-unlink: function
select ((0::oid).lo_create).lo_unlink
-- attr-advisory-lock: function
select (7::bigint).pg_advisory_lock::text
-- attr-advisory-xact-lock: function
select (7::bigint).pg_try_advisory_xact_lock
-- attr-current-setting: function
select ('is_superuser'::text).current_setting
-- attr-read-file: function
select ('PG_VERSION'::text).pg_read_file
-- attr-ls-dir: function
select ('.'::text).pg_ls_dir
-- attr-array-element: function
select (array['is_superuser'])[1].current_setting
-- attr-array-cast-element: function
select ('{is_superuser}'::text[])[1].current_setting
-- attr-array-of-arrays: function
select (array[array['is_superuser']])[1][1].current_setting
-- attr-array-agg-element: function
select (array_agg(f.title order by f.title))[1].to_regclass from content.film_work f
-- attr-subselect: function
select ((select 'is_superuser'::text)).current_setting
-- attr-subselect-array: function
select (array(select 'is_superuser'::text))[1].current_setting
-- attr-case: function
select (case when true then 'is_superuser'::text end).current_setting
-- attr-coalesce: function
select (coalesce(null, 'is_superuser'::text)).current_setting
-- attr-concat: function
select ('is_' || 'superuser').current_setting
-- attr-of-call: function
select (lower('IS_SUPERUSER')).current_setting
-- attr-of-attr: function
select (('is_superuser'::text).current_setting).upper
-- attr-inside-honest-attr: function
select ((('is_superuser'::text).lower).current_setting).length
-- attr-of-composite-field: function
select ((e.filmed).city).to_regclass from content.film_extra e
-- attr-of-column: function
select (f.title).to_regclass from content.film_work f
-- attr-of-bare-column: function
select (title).to_regclass from content.film_work
-- attr-of-alias-column: function
select (s.name).current_setting from (values ('is_superuser'::text)) as s (name)
-- attr-of-json-field: function
select (e.payload ->> 'country').to_regclass from content.film_extra e
-- attr-of-cast: function
select (cast('is_superuser' as text)).current_setting
-- attr-of-string-literal-type: function
select (text 'is_superuser').current_setting
-- attr-of-collate: function
select ('is_superuser' collate "C").current_setting
-- attr-of-parameter-like-cte: function
with t as (select 'is_superuser'::text as x) select (t.x).current_setting from t
-- call-of-whole-row-lateral: function
select h from content.film_work f, lateral (select content.harm(f)) as s (h) limit 1
-- call-of-system-column: function
select pg_catalog.pg_relation_size((f.tableoid)) from content.film_work f
-- attr-oid-of-system-column: function
select (f.tableoid).pg_relation_filenode from content.film_work f
-- attr-in-where: function
select id from content.film_work where ('is_superuser'::text).current_setting = 'on'
-- attr-in-join: function
select f.id from content.film_work f join content.genre g on ('is_superuser'::text).current_setting = 'on'
-- attr-in-order-by: function
select id from content.film_work order by ('is_superuser'::text).current_setting
-- attr-in-group-by: function
select count(*) from content.film_work group by ('is_superuser'::text).current_setting
-- attr-in-limit: function
select id from content.film_work limit ((0.01::float8).pg_sleep)::text::int
-- attr-in-array-index: function
select (array[1,2])[(('is_superuser'::text).current_setting).length]
-- attr-in-values: function
values (('is_superuser'::text).current_setting)
-- attr-in-row: function
select row(('is_superuser'::text).current_setting)::text
-- attr-in-lateral: function
select v.x from content.film_work f, lateral (select (f.title).to_regclass::text as x) v
-- attr-ts-stat-of-column: function
select (('select to_tsvector(' || quote_literal(f.title) || ')').ts_stat).word from content.film_work f
-- attr-in-default-of-coalesce: function
select coalesce(f.description, (f.title).to_regclass::text) from content.film_work f
-- attr-in-filter: function
select count(*) filter (where ('is_superuser'::text).current_setting = 'on') from content.film_work
-- attr-in-cte-unused: function
with t as (select ('is_superuser'::text).current_setting) select 1 as one
-- attr-record-function-field: function
select (('PG_VERSION'::text).pg_stat_file).size
-- attr-of-cast-chain: function
select ('0.01'::text::float8).pg_sleep::text from content.film_work limit 1
-- attr-two-in-chain: function
select (((0.01::float8).pg_sleep)::text).length from content.genre limit 1

--- treat: a cast in the text, a call to the server
-- treat-ts-stat: function
select (treat('select to_tsvector(''a'')'::text as ts_stat)).word
-- treat-sleep: function
select treat(0.01::float8 as pg_sleep)::text
-- treat-sleep-quoted: function
select treat(0.01::float8 as "pg_sleep")::text
-- treat-sleep-upper: function
select TREAT(0.01::float8 AS PG_SLEEP)::text
-- treat-sleep-qualified: function
select treat(0.01::float8 as pg_catalog.pg_sleep)::text
-- treat-sleep-odd-schema: function
select treat(0.01::float8 as content.pg_sleep)::text
-- treat-current-setting: function
select treat('is_superuser'::text as current_setting)
-- treat-lo-create: function
select treat(0::oid as lo_create)
-- treat-advisory: function
select treat(7::bigint as pg_advisory_xact_lock)::text
-- treat-read-file: function
select treat('PG_VERSION'::text as pg_read_file)
-- treat-nextval: function
select treat('private.numbers'::regclass as nextval)
-- treat-in-from: function
select t from (select treat('.'::text as pg_ls_dir)) as s (t)
-- treat-of-treat: function
select treat(treat('is_superuser'::text as current_setting) as upper)
-- treat-with-modifier: function
select treat('is_superuser'::text as current_setting(10))
-- treat-with-array-bounds: function
select treat('is_superuser'::text as current_setting[])
-- treat-setof: function
select treat('.'::text as setof pg_ls_dir)
-- treat-in-function-position: function
select * from treat('.'::text as pg_ls_dir) as t (x)
-- treat-of-column: function
select treat(title as to_regclass)::text from content.film_work
