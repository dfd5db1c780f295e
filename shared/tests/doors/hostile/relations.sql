--- relations: spelling
-- rel-only-parens: relation
select name, setting from only (pg_catalog.pg_settings)
-- rel-only-parens-alias: relation
select s.name from only (pg_catalog.pg_settings) as s
-- rel-only-parens-spaced: relation
select * from ONLY/**/( pg_catalog . pg_roles )
-- rel-only-plain: relation
select * from only pg_catalog.pg_roles
-- rel-only-cte-named-only: relation
with "only" as (select 1) select rolname from only pg_roles
-- rel-only-cte-named-only-parens: relation
with "only" as (select 1 as x) select rolname from only (pg_roles)
-- rel-only-cte-join: relation
with "only" as (select 1 as x) select r.rolname from "only" o, only pg_roles r
-- rel-only-private: relation
select * from only private.secrets
-- rel-only-private-parens: relation
select * from only (private.secrets)
-- rel-star-suffix: relation
select * from private.secrets *
-- rel-star-suffix-alias: relation
select s.secret from private.secrets * s
-- rel-table-command: relation
table private.secrets
-- rel-table-command-parens: relation
(table private.secrets)
-- rel-table-in-union: relation
select 1 as a, 'a' as b union all table private.secrets
-- rel-table-in-cte: relation
with t as (table private.secrets) select * from t
-- rel-table-in-subquery: relation
select * from (table private.secrets) t
-- rel-table-only: relation
table only private.secrets
-- rel-table-only-parens: relation
table only (private.secrets)
-- rel-quoted: relation
select * from "private"."secrets"
-- rel-upper: relation
select * from PRIVATE.SECRETS
-- rel-spaced: relation
select * from private . /* x */ secrets
-- rel-line-comment: relation
select * from private. -- content.
secrets
-- rel-unicode: relation
select * from U&"priv\0061te".secrets
-- rel-unicode-both: relation
select * from U&"\0070rivate".U&"secret\0073"
-- rel-unicode-uescape: relation
select * from U&"priv!0061te" uescape '!' .secrets
-- rel-unicode-six-digits: relation
select * from u&"\+000070rivate".secrets
-- rel-three-part: relation
select * from __database__.private.secrets
-- rel-three-part-quoted: relation
select * from "__database__"."private"."secrets"
-- rel-three-part-star: relation
select __database__.private.secrets.* from private.secrets
-- rel-qualified-column: relation
select private.secrets.secret from private.secrets
-- rel-whole-row: relation
select s from private.secrets s
-- rel-whole-row-json: relation
select row_to_json(s) from private.secrets s
-- rel-functional-column: relation
select secret(s) from private.secrets s
-- rel-attribute-column: relation
select (s).secret from private.secrets s
-- rel-star-of-row: relation
select (s).* from private.secrets s
-- rel-alias-shadows: relation
select film_work.* from private.secrets as film_work
-- rel-alias-like-allowed: relation
select content.secret from private.secrets as content
-- rel-column-aliases: relation
select a, b from private.secrets as content (a, b)
-- rel-long-name-cut: relation
select * from private."secrets" as aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa

--- relations: places
-- rel-lateral: relation
select f.id, r.rolname from content.film_work f, lateral (select * from pg_roles) r
-- rel-cross-join: relation
select f.title, s.secret from content.film_work f cross join private.secrets s
-- rel-natural-join: relation
select * from content.codes g natural join private.secrets s
-- rel-join-using: relation
select * from content.codes join private.secrets using (id)
-- rel-join-using-alias: relation
select u.id from content.codes join private.secrets using (id) as u
-- rel-join-parens: relation
select title, secret from (content.film_work f cross join private.secrets s)
-- rel-join-nested-parens: relation
select j.* from ((content.codes c join private.secrets s on true) join content.genre g on true) as j (a, b, c, d, e, f, g, h)
-- rel-semi-join: relation
select id from content.codes where id in (select id from private.secrets)
-- rel-anti-join: relation
select id from content.codes where not exists (select from private.secrets s where s.id = codes.id)
-- rel-scalar-subquery: relation
select (select secret from private.secrets)
-- rel-array-subquery: relation
select array(select secret from private.secrets)
-- rel-any-subquery: relation
select id from content.film_work where title = any (select secret from private.secrets)
-- rel-row-subquery: relation
select id from content.film_work where (title, type) = (select secret, secret from private.secrets)
-- rel-in-order-by: relation
select id from content.film_work order by (select secret from private.secrets)
-- rel-in-group-by: relation
select count(*) from content.film_work group by (select secret from private.secrets)
-- rel-in-having: relation
select type from content.film_work group by type having type < (select secret from private.secrets)
-- rel-in-limit: relation
select id from content.film_work limit (select count(*) from private.secrets)
-- rel-in-offset: relation
select id from content.film_work offset (select count(*) from private.secrets)
-- rel-in-window: relation
select count(*) over (order by (select secret from private.secrets)) from content.film_work
-- rel-in-window-frame: relation
select count(*) over (order by id rows (select count(*) from private.secrets) preceding) from content.film_work
-- rel-in-filter: relation
select count(*) filter (where exists (select from private.secrets)) from content.film_work
-- rel-in-case: relation
select case when exists (select from private.secrets) then 1 end
-- rel-in-values: relation
values ((select secret from private.secrets))
-- rel-in-array: relation
select array[(select secret from private.secrets)]
-- rel-in-subscript: relation
select (array[1, 2])[(select count(*) from private.secrets)::int]
-- rel-in-tablesample-arg: relation
select id from content.film_work tablesample bernoulli ((select count(*) from private.secrets))
-- rel-tablesample: relation
select * from private.secrets tablesample bernoulli (100)
-- rel-in-function-arg: relation
select upper((select secret from private.secrets))
-- rel-in-from-function-arg: relation
select * from generate_series(1, (select count(*) from private.secrets)) g
-- rel-in-rows-from: relation
select * from rows from (generate_series(1, (select count(*) from private.secrets)), unnest(array[1])) as t (a, b)
-- rel-in-join-on: relation
select f.id from content.film_work f join content.genre g on f.title = (select secret from private.secrets)
-- rel-in-distinct-on: relation
select distinct on ((select secret from private.secrets)) id from content.film_work
-- rel-in-xmltable: relation
select * from xmltable('/a' passing (select ('<a>' || secret || '</a>')::xml from private.secrets) columns x text path '.')
-- rel-in-cte: relation
with t as (select * from private.secrets) select * from t
-- rel-in-cte-unused: relation
with t as (select * from private.secrets) select 1 as one
-- rel-in-cte-nested: relation
with t as (with u as (select * from private.secrets) select * from u) select * from t
-- rel-in-cte-of-subquery: relation
select * from (with t as (select * from private.secrets) select * from t) q
-- rel-in-cte-recursive: relation
with recursive t (n) as (select 1 union all select n + 1 from t, private.secrets where n < 3) select * from t
-- rel-in-cte-of-set-operation: relation
(with t as (select secret from private.secrets) select secret from t) union all select 'x'
-- rel-cte-out-of-scope: relation
select * from (with pg_roles as (select 1 as x) select * from pg_roles) q, pg_roles r
-- rel-cte-before-itself: relation
with pg_roles as (select rolname from pg_roles) select * from pg_roles
-- rel-cte-forward: relation
with a as (select rolname from pg_roles), pg_roles as (select 1) select * from a
-- rel-cte-other-case: relation
with "PG_ROLES" as (select 1) select * from PG_ROLES
-- rel-cte-qualified-beats: relation
with secrets as (select 1) select * from private.secrets
-- rel-cte-of-union-arm: relation
(with pg_roles as (select 'x'::name as rolname) select rolname from pg_roles) union all select rolname from pg_roles
-- rel-cte-in-lateral: relation
select q.* from content.genre g, lateral (with t as (select * from private.secrets) select * from t) q
-- rel-union: relation
select title from content.film_work union select secret from private.secrets
-- rel-intersect: relation
select title from content.film_work intersect all select secret from private.secrets
-- rel-except-nested: relation
select title from content.film_work except (select secret from private.secrets union select 'x')
-- rel-never-executed: relation
select * from private.secrets where false
-- rel-limit-zero: relation
select * from private.secrets limit 0
-- rel-only-counted: relation
select count(*) from private.secrets
-- rel-no-columns: relation
select 1 as one from private.secrets

--- relations: which
-- rel-pg-temp: relation
select * from pg_temp.judged
-- rel-mart: relation
select * from analytics.canary
-- rel-mart-film-dim: relation
select * from analytics.film_dim
-- rel-pipelines: relation
select * from etl.etl_pipelines
-- rel-runs: relation
select * from etl.etl_runs
-- rel-transitions: relation
select * from etl.etl_transitions
-- rel-dead-letters: relation
select * from etl.etl_dead_letters
-- rel-other-transactions: relation
select * from etl.other_transactions
-- rel-jobs: relation
select * from apalis.jobs
-- rel-workers: relation
select * from apalis.workers
-- rel-pg-authid: relation
select rolname, rolpassword from pg_catalog.pg_authid
-- rel-pg-shadow: relation
select * from pg_shadow
-- rel-pg-class: relation
select relname from pg_class
-- rel-pg-proc: relation
select prosrc from pg_proc
-- rel-pg-attribute: relation
select attname from pg_catalog.pg_attribute
-- rel-pg-settings: relation
select * from pg_settings
-- rel-pg-stat-activity: relation
select query from pg_stat_activity
-- rel-pg-stats: relation
select tablename, most_common_vals::text from pg_stats
-- rel-pg-statistic: relation
select starelid from pg_statistic
-- rel-pg-locks: relation
select * from pg_locks
-- rel-pg-largeobject: relation
select * from pg_largeobject
-- rel-pg-file-settings: relation
select * from pg_file_settings
-- rel-pg-hba: relation
select * from pg_hba_file_rules
-- rel-pg-cursors: relation
select * from pg_cursors
-- rel-pg-prepared: relation
select * from pg_prepared_statements
-- rel-pg-views: relation
select definition from pg_views
-- rel-pg-database: relation
select datname from pg_database
-- rel-pg-user-mappings: relation
select * from pg_user_mappings
-- rel-pg-timezone-names: relation
select * from pg_timezone_names
-- rel-pg-enum: relation
select enumlabel from pg_enum
-- rel-pg-replication-slots: relation
select * from pg_replication_slots
-- rel-pg-sequences: relation
select last_value from pg_sequences
-- rel-sequence-itself: relation
select last_value from private.numbers
-- rel-toast: relation
select 1 as one from pg_toast.pg_toast_2604
-- rel-information-schema-tables: relation
select table_name from information_schema.tables
-- rel-information-schema-columns: relation
select column_name from information_schema.columns
-- rel-information-schema-routines: relation
select routine_definition from information_schema.routines
-- rel-information-schema-upper: relation
select 1 as one from INFORMATION_SCHEMA."views"
-- rel-unqualified-catalog: relation
select rolname from pg_roles

--- views that lead out of the source schemas, or do what a query may not
-- view-settings: relation
select * from content.settings
-- view-roles: relation
select * from content.roles
-- view-secrets: word
select * from content.secrets
-- view-secrets-only: word
select * from only content.secrets
-- view-secrets-nested: word
select * from content.secrets_nested
-- view-secrets-nested-twice: word
select * from ugc.secrets_nested_twice
-- view-secrets-in-where: word
select * from content.secrets_in_where
-- view-marts: word
select * from content.marts
-- view-pipelines: relation
select count(*) from content.pipelines
-- view-in-subquery: word
select f.id from content.film_work f where exists (select from content.secrets s where s.id > 0)
-- view-in-cte: word
with s as (select * from content.secrets) select * from s
-- view-whole-row: word
select s from content.secrets s
-- view-in-lateral: word
select q.secret from content.genre g, lateral (select * from content.secrets_nested) q
-- view-harming: function
select * from content.harming limit 1
-- view-harming-nested: function
select * from content.harming_nested limit 1
-- view-harming-other-column: function
select id from content.harming
-- view-sleeping: function
select id from content.sleeping
-- view-attribute: function
select * from content.attribute
-- view-casting: type
select * from content.casting limit 1
-- view-summing: function
select * from content.summing
-- view-operating: function
select * from content.operating limit 1
-- view-naming: type
select * from content.naming limit 1
-- view-peeking: function
select * from content.peeking_view
-- view-locking: lock
select * from content.locking
-- view-locking-nested: lock
select * from content.locking_inside
-- view-locking-in-exists: lock
select id from content.genre where exists (select from content.locking)
