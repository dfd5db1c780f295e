--- Queries that a guard must refuse, each against the scene in scene.sql.
---
--- An entry is a line `-- <name>: <reason>` and the query below it, up to the next such line or a heading (`---`).
--- Reasons: function (calls one that is not allowed), relation (reads one outside of content and ugc), type (a reg* type, or a
--- domain whose check calls a function that is not allowed), lock (takes row locks), statement (not one select), syntax (cannot
--- be read), word (the operator's word: a view or a function of a source schema does what its owner says, but writes nothing),
--- bomb (may be accepted, but must be bounded).
---
--- Characters that would not survive in a file stand for themselves in angle brackets: <NUL> <CR> <FF> <TAB> <NBSP> (U+00A0)
--- <NEL> (U+0085) <LSEP> (U+2028) <ZWSP> (U+200B) <IDSP> (U+3000) <BOM> (U+FEFF). __database__ is the name of the database.

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

--- calls, in every spelling
-- call-plain: function
select current_setting('is_superuser')
-- call-qualified: function
select pg_catalog.current_setting('is_superuser')
-- call-quoted: function
select "current_setting"('is_superuser')
-- call-both-quoted: function
select "pg_catalog"."current_setting"('is_superuser')
-- call-upper: function
select PG_CATALOG.CURRENT_SETTING('is_superuser')
-- call-spaced: function
select pg_catalog . current_setting ( 'is_superuser' )
-- call-comment-between: function
select current_setting/* ( */('is_superuser')
-- call-line-comment-between: function
select current_setting -- (
('is_superuser')
-- call-three-part: function
select __database__.pg_catalog.current_setting('is_superuser')
-- call-unicode: function
select U&"\0063urrent_setting"('is_superuser')
-- call-unicode-schema: function
select U&"pg\005fcatalog".current_setting('is_superuser')
-- call-unicode-six: function
select U&"\+000063urrent_setting"('is_superuser')
-- call-unicode-uescape: function
select U&"!0063urrent_setting" uescape '!' ('is_superuser')
-- call-named-args: function
select * from pg_catalog.pg_stat_get_activity(pid => null)
-- call-named-args-old: function
select * from pg_catalog.pg_stat_get_activity(pid := null)
-- call-mixed-args: function
select * from pg_catalog.query_to_xml('select 1', nulls => true, tableforest => true, targetns => '')
-- call-variadic: function
select pg_catalog.satisfies_hash_partition(1259::oid, 1, 0, variadic array[1])
-- call-content-volatile: function
select content.harm('x')
-- call-content-volatile-unknown-literal: function
select content.harm('x'::text)
-- call-content-nullary: function
select content.harm()
-- call-content-variadic: function
select content.harm(variadic array['a', 'b'])
-- call-content-variadic-spread: function
select content.harm('a', 'b', 'c')
-- call-content-of-row: function
select content.harm(f) from content.film_work f limit 1
-- call-content-of-row-star: function
select content.harm(f.*) from content.film_work f limit 1
-- call-content-definer-volatile: function
select content.harm_definer('x')
-- call-content-definer-stable: function
select content.peek()
-- call-content-definer-immutable: function
select content.peek_quietly(1)
-- call-content-set-returning: function
select content.harm_rows(2)
-- call-ugc: function
select ugc.harm('x')
-- call-private: function
select private.reveal()
-- call-etl-page: function
select etl_page.mart_ddl('x', array['a'], array[25::oid], array['a'])
-- call-etl: function
select etl.storable('{}')
-- call-etl-bounds: function
select etl.run_duration_bounds()
-- call-information-schema: function
select information_schema._pg_truetypid(null, null)
-- call-information-schema-expand: function
select * from information_schema._pg_expandarray(array[1, 2])
-- call-crosstab: function
select * from content.crosstab('select 1, 2, 3') as t (a int, b int)
-- call-crosstab-secret: function
select * from content.crosstab('select secret, ''k''::text, secret from private.secrets') as t (a text, b text)
-- call-connectby: function
select * from content.connectby('private.secrets', 'secret', 'secret', 'CANARY-private', 0) as t (a text, b text, level int)
-- call-xpath-table: function
select * from content.xpath_table('id', 'secret', 'private.secrets', '/x', 'true') as t (id int, x text)
-- call-dblink: function
select * from content.dblink('dbname=doors', 'select secret from private.secrets') as t (secret text)

--- calls, in every place
-- place-from: function
select * from current_setting('is_superuser')
-- place-from-alias: function
select x from current_setting('is_superuser') as t (x)
-- place-from-lateral: function
select * from content.film_work f, lateral current_setting('is_superuser') s
-- place-from-left-join-lateral: function
select * from content.film_work f left join lateral pg_ls_dir('.') d on true
-- place-from-ordinality: function
select * from pg_ls_dir('.') with ordinality as t (name, n)
-- place-rows-from: function
select * from rows from (generate_series(1, 2), pg_ls_dir('.')) as t (a, b)
-- place-rows-from-ordinality: function
select * from rows from (pg_ls_dir('.'), generate_series(1, 2)) with ordinality as t (a, b, n)
-- place-rows-from-coldef: function
select * from rows from (json_to_record('{}') as (a int), pg_ls_dir('.')) as t
-- place-from-coldef: function
select * from content.crosstab('select 1, 2, 3') t (a int, b int)
-- place-srf-in-list: function
select pg_ls_dir('.'), generate_series(1, 3)
-- place-where: function
select id from content.film_work where content.harm(title) is not null
-- place-where-exists: function
select id from content.film_work where exists (select content.harm('x'))
-- place-where-in: function
select id from content.film_work where title in (content.harm('x'), 'y')
-- place-where-any: function
select id from content.film_work where title = any (array[content.harm('x')])
-- place-where-between: function
select id from content.film_work where title between content.harm('a') and 'b'
-- place-where-like: function
select id from content.film_work where title like content.harm('a%')
-- place-where-escape: function
select id from content.film_work where title like 'a%' escape content.harm('x')
-- place-where-similar: function
select id from content.film_work where title similar to content.harm('a')
-- place-where-is-distinct: function
select id from content.film_work where title is distinct from content.harm('a')
-- place-where-row-in: function
select id from content.film_work where (title, type) in (select content.harm('a'), 'b')
-- place-on: function
select f.id from content.film_work f join content.genre g on content.harm(g.name) = f.title
-- place-order-by: function
select id from content.film_work order by content.harm(title)
-- place-order-by-desc: function
select id from content.film_work order by content.harm(title) desc nulls last
-- place-group-by: function
select count(*) from content.film_work group by content.harm(title)
-- place-grouping-sets: function
select count(*) from content.film_work group by grouping sets ((content.harm(title)), ())
-- place-rollup: function
select count(*) from content.film_work group by rollup (content.harm(type))
-- place-cube: function
select count(*) from content.film_work group by cube (content.harm(type), rating)
-- place-having: function
select type from content.film_work group by type having content.harm(type) is not null
-- place-limit: function
select id from content.film_work limit content.harm(3)
-- place-offset: function
select id from content.film_work offset content.harm(3)
-- place-fetch-first: function
select id from content.film_work fetch first (content.harm(3)) rows only
-- place-fetch-with-ties: function
select id from content.film_work order by id fetch first (content.harm(3)) rows with ties
-- place-window-partition: function
select count(*) over (partition by content.harm(title)) from content.film_work
-- place-window-order: function
select count(*) over (order by content.harm(title)) from content.film_work
-- place-window-frame-start: function
select count(*) over (order by id rows content.harm(1) preceding) from content.film_work
-- place-window-frame-end: function
select count(*) over (order by id rows between current row and content.harm(1) following) from content.film_work
-- place-window-frame-range: function
select sum(score) over (order by score::int range between content.harm(1) preceding and current row) from ugc.ratings
-- place-window-named: function
select count(*) over w from content.film_work window w as (order by content.harm(title))
-- place-window-named-unused: function
select 1 as one from content.film_work window w as (order by content.harm(title))
-- place-window-argument: function
select lag(title, content.harm(1)) over (order by id) from content.film_work
-- place-filter: function
select count(*) filter (where content.harm(title) is not null) from content.film_work
-- place-within-group: function
select percentile_disc(0.5) within group (order by content.harm(title)) from content.film_work
-- place-within-group-direct: function
select percentile_cont((content.harm(0) * 0.0)::float8) within group (order by rating) from content.film_work
-- place-aggregate-order-by: function
select string_agg(title, ',' order by content.harm(title)) from content.film_work
-- place-aggregate-distinct: function
select count(distinct content.harm(title)) from content.film_work
-- place-tablesample: function
select id from content.film_work tablesample bernoulli (content.harm(5))
-- place-tablesample-repeatable: function
select id from content.film_work tablesample system (50) repeatable (content.harm(5))
-- place-tablesample-method: function
select id from content.film_work tablesample content.system_rows (5)
-- place-values: function
values (content.harm('x'))
-- place-values-in-from: function
select * from (values (1, content.harm('x'))) as t (a, b)
-- place-case-when: function
select case when content.harm(title) is not null then 1 end from content.film_work
-- place-case-then: function
select case when true then content.harm('x') end
-- place-case-else: function
select case when false then 'a' else content.harm('x') end
-- place-case-operand: function
select case content.harm('x') when 'x' then 1 end
-- place-subscript: function
select (array[1, 2, 3])[content.harm(1)]
-- place-slice: function
select (array[1, 2, 3])[content.harm(1):2]
-- place-jsonb-subscript: function
select (payload)[content.harm('country')] from content.film_extra
-- place-array: function
select array[content.harm('x')]
-- place-array-subquery: function
select array(select content.harm('x'))
-- place-row: function
select row(1, content.harm('x'))::text
-- place-greatest: function
select greatest('a', content.harm('x'))
-- place-coalesce: function
select coalesce(null, content.harm('x'))
-- place-nullif: function
select nullif(content.harm('x'), 'y')
-- place-distinct-on: function
select distinct on (content.harm(title)) id from content.film_work
-- place-union: function
select 'a' union all select content.harm('x')
-- place-except: function
select content.harm('x') except select 'a'
-- place-cte: function
with t as (select content.harm('x')) select * from t
-- place-cte-unused: function
with t as (select content.harm('x')) select 1 as one
-- place-cte-materialized: function
with t as materialized (select content.harm('x')) select * from t
-- place-cte-recursive-start: function
with recursive t (n) as (select content.harm(1) union all select n + 1 from t where n < 3) select * from t
-- place-cte-recursive-step: function
with recursive t (n) as (select 1 union all select content.harm(n) + 9 from t where n < 3) select * from t
-- place-cte-search: function
with recursive t (n, x) as (select 1, content.harm('x') union all select n + 1, x from t where n < 3) search depth first by n set o select n from t
-- place-cte-cycle: function
with recursive t (n) as (select 1 union all select content.harm(n) + n from t where n < 3) cycle n set c using p select n from t
-- place-cte-cycle-mark: function
with recursive t (n) as (select 1 union all select n + 1 from t where n < 3) cycle n set c to 'y' default 'n' using p select n from t, content.harm('x')
-- place-cte-named-like-function: function
with current_setting as (select 1 as x) select current_setting('is_superuser') from current_setting
-- place-xmltable-document: function
select * from xmltable('/a' passing (content.harm('<a/>')::xml) columns x text path '.')
-- place-xmltable-row-path: function
select * from xmltable(content.harm('/a') passing ('<a/>'::xml) columns x text path '.')
-- place-xmltable-column-path: function
select * from xmltable('/a' passing ('<a/>'::xml) columns x text path content.harm('.'))
-- place-xmltable-default: function
select * from xmltable('/a' passing ('<a/>'::xml) columns x text path 'b' default content.harm('.'))
-- place-xmltable-namespace: function
select * from xmltable(xmlnamespaces(content.harm('u') as n), '/a' passing ('<a/>'::xml) columns x text path '.')
-- place-xmlelement: function
select xmlelement(name a, xmlattributes(content.harm('x') as b), content.harm('y'))
-- place-xmlforest: function
select xmlforest(content.harm('x') as a)
-- place-xmlpi: function
select xmlpi(name php, content.harm('x'))
-- place-xmlparse: function
select xmlparse(document content.harm('<a/>'))
-- place-xmlserialize: function
select xmlserialize(content content.harm('<a/>')::xml as text)
-- place-xmlexists: function
select xmlexists(content.harm('/a') passing ('<a/>'::xml))
-- place-extract: function
select extract(year from now() + content.harm(1) * interval '1 day')
-- place-overlay: function
select overlay('abc' placing content.harm('x') from 1)
-- place-position: function
select position(content.harm('x') in 'axb')
-- place-substring: function
select substring('abc' from content.harm(1) for 2)
-- place-trim: function
select trim(both content.harm('x') from 'xabcx')
-- place-at-time-zone: function
select now() at time zone content.harm('UTC')
-- place-collation-for: function
select collation for (content.harm('x'))
-- place-json-build: function
select jsonb_build_object('a', content.harm('x'))
-- place-interval-arithmetic: function
select interval '1 day' * content.harm(1)
-- place-cast-operand: function
select cast(content.harm('1') as int)
-- place-field-of-call: function
select (content.text_as_place('x')).city
-- place-star-of-call: function
select (content.text_as_place('x')).*
-- place-star-of-call-in-from: function
select p.* from content.film_work f, lateral content.text_as_place(f.title) p
-- place-is-null: function
select content.harm('x') is null
-- place-is-true: function
select ugc.harm('x') is true
-- place-boolean-where: function
select 1 as one where ugc.harm('x')
-- place-not: function
select not ugc.harm('x')
-- place-in-nested-subqueries: function
select (select (select (select content.harm('x'))))
-- place-in-unused-column: function
select q.a from (select 1 as a, content.harm('x') as b) q
-- place-in-false-branch: function
select 1 as one where false and content.harm('x') is null
-- place-argument-of-honest: function
select upper(lower(content.harm('x')))
-- place-argument-default: function
select content.film_count(content.harm('movie'))
-- place-string-concatenation-of-many: function
select 'a' || 'b' || content.harm('c') || 'd'

--- what executes text, reads what it names, or administers: the calls that count most
-- text-ts-stat: function
select * from ts_stat('select to_tsvector(secret) from private.secrets')
-- text-ts-stat-weights: function
select * from ts_stat('select to_tsvector(secret) from private.secrets', 'ab')
-- text-ts-stat-of-column: function
select s.word from content.film_work f, lateral ts_stat('select to_tsvector(' || quote_literal(f.title) || ')') s
-- text-ts-stat-sets-role: function
select * from ts_stat('select to_tsvector(set_config(''role'', ''none'', true))')
-- text-ts-stat-nested: function
select * from ts_stat('select to_tsvector(word) from ts_stat(''select to_tsvector(secret) from private.secrets'')')
-- text-ts-rewrite: function
select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, ''b''::tsquery from private.secrets')
-- text-query-to-xml: function
select query_to_xml('select * from private.secrets', true, true, '')
-- text-query-to-xml-xpath: function
select xpath('//secret/text()', query_to_xml('select * from private.secrets', true, false, ''))
-- text-query-to-xmlschema: function
select query_to_xmlschema('select * from private.secrets', true, true, '')
-- text-table-to-xml: function
select table_to_xml('private.secrets', true, true, '')
-- text-schema-to-xml: function
select schema_to_xml('private', true, true, '')
-- text-database-to-xml: function
select database_to_xmlschema(true, true, '')
-- text-cursor-to-xml: function
select cursor_to_xml('c', 1, true, true, '')
-- text-set-config-role: function
select set_config('role', 'none', false)
-- text-set-config-in-where: function
select id from content.film_work where set_config('role', 'none', true) is null
-- text-set-config-read-only: function
select set_config('default_transaction_read_only', 'on', false)
-- text-record-in: function
select record_in('(x,1)'::cstring, (to_regtype('content.has_checked'))::oid, -1)::text
-- text-domain-in: function
select domain_in('x'::cstring, to_regtype('content.checked')::oid, -1) is null
-- text-array-in-by-oid: function
select array_in('{x}'::cstring, to_regtype('content.checked')::oid, -1) is null
-- text-regclassin: function
select regclassin('private.secrets'::cstring)::oid
-- text-regclass-function: function
select regclass('private.secrets'::text)::oid
-- text-regclass-attribute: function
select ('private.secrets'::text).regclass
-- text-to-regclass: function
select to_regclass('private.secrets')::oid
-- text-getpgusername: function
select getpgusername()
-- text-notify: function
select pg_notify('vitrina_events', 'x')::text
-- text-terminate: function
select pg_terminate_backend(0)
-- text-lo-from-bytea: function
select lo_from_bytea(0, '\x00')
-- text-setseed: function
select setseed(0.5)::text
-- text-nextval: function
select nextval('private.numbers')
-- text-setval: function
select setval('private.numbers', 9)
-- text-read-file-range: function
select pg_read_file('PG_VERSION', 0, 10, true)
-- text-logical-emit: function
select pg_logical_emit_message(false, 'x', 'y')
-- text-current-query: function
select current_query()

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

--- types that look names up
-- type-regclass: type
select 'private.secrets'::regclass
-- type-regclass-text: type
select 'private.secrets'::regclass::text
-- type-regclass-oid: type
select 'private.secrets'::regclass::oid
-- type-regclass-number: type
select 1259::regclass
-- type-regclass-number-text: type
select 1259::oid::regclass::text
-- type-regclass-cast: type
select cast('private.secrets' as regclass)
-- type-regclass-literal: type
select regclass 'private.secrets'
-- type-regclass-qualified: type
select pg_catalog.regclass 'private.secrets'
-- type-regclass-quoted: type
select 'private.secrets'::"regclass"
-- type-regclass-both-quoted: type
select 'private.secrets'::"pg_catalog"."regclass"
-- type-regclass-array: type
select '{private.secrets}'::regclass[]
-- type-regclass-array-element: type
select ('{private.secrets}'::regclass[])[1]::oid
-- type-regclass-array-constructor: type
select array['private.secrets']::regclass[]
-- type-regclass-array-of-text: function
select array_agg(title)::regclass[] from content.film_work where false
-- type-regclass-null: type
select null::regclass
-- type-regclass-in-where: type
select id from content.film_work where tableoid = 'content.film_work'::regclass
-- type-regclass-of-tableoid: type
select tableoid::regclass from content.film_work
-- type-regclass-of-tableoid-text: type
select f.tableoid::regclass::text from content.film_work f
-- type-regclass-of-column: type
select id::int::regclass from content.codes
-- type-regclass-compared: type
select 1259::oid = 'pg_class'::regclass
-- type-regclass-in-list: type
select id from content.film_work where tableoid in ('pg_class'::regclass, 'pg_proc'::regclass)
-- type-regclass-in-cte-column: type
with t (r) as (values (1259::oid::regclass)) select r::text from t
-- type-regclass-json-record: type
select * from json_to_record('{"a":"private.secrets"}') as t (a regclass)
-- type-regclass-jsonb-recordset: type
select a::oid from jsonb_to_recordset('[{"a":"private.secrets"}]') as t (a regclass)
-- type-regclass-xmltable: type
select * from xmltable('/a' passing '<a>pg_class</a>' columns x regclass path '.')
-- type-regclass-populate: type
select (json_populate_record(null::content.has_relation, '{"relation":"private.secrets"}')).relation::oid
-- type-regclass-composite-literal: type
select ('(pg_class)'::content.has_relation).relation::oid
-- type-regclass-composite-row: type
select row(1259::oid::regclass)::content.has_relation
-- type-regclass-domain: type
select 1259::oid::regclass::content.named_relation
-- type-regclass-domain-literal: type
select 'private.secrets'::content.named_relation
-- type-regclass-in-values: type
values ('private.secrets'::regclass)
-- type-regclass-in-record-function: type
select * from rows from (json_to_record('{"a":"pg_class"}') as (a regclass)) as t
-- type-catalog-row: type
select (json_populate_record(null::pg_catalog.pg_type, '{"typinput":"pg_sleep"}')).typinput::oid
-- type-catalog-row-array: type
select json_populate_recordset(null::pg_catalog.pg_aggregate, '[{"aggfnoid":"pg_sleep"}]')::text
-- type-regproc: type
select 'pg_sleep'::regproc
-- type-regproc-number: type
select 1::oid::regproc::text
-- type-regprocedure: type
select 'pg_sleep(double precision)'::regprocedure
-- type-regoper: type
select '||/'::regoper
-- type-regoperator: type
select '+(integer,integer)'::regoperator
-- type-regtype: type
select 'content.checked'::regtype
-- type-regtype-number: type
select 25::oid::regtype::text
-- type-regnamespace: type
select 'private'::regnamespace
-- type-regnamespace-number: type
select 2200::oid::regnamespace::text
-- type-regrole: type
select 'vitrina_app'::regrole
-- type-regrole-number: type
select 10::oid::regrole::text
-- type-regcollation: type
select '"C"'::regcollation
-- type-regdictionary-of-number: type
select 3765::oid::regdictionary::text
-- type-regconfig-of-number: type
select 3748::oid::regconfig::text
-- type-regconfig-of-text: type
select title::regconfig from content.film_work where false
-- type-regproc-of-text: type
select title::regproc from content.film_work where false
-- type-regtype-of-text: type
select title::regtype from content.film_work where false
-- type-regrole-of-text: type
select title::regrole from content.film_work where false
-- type-regnamespace-of-text: type
select title::regnamespace from content.film_work where false
-- type-regprocedure-of-text: type
select title::regprocedure from content.film_work where false
-- type-regoperator-of-text: type
select title::regoperator from content.film_work where false
-- type-regcollation-of-text: type
select title::regcollation from content.film_work where false
-- type-regclass-of-varchar: function
select title::text::regclass from content.film_work where false
-- type-regclass-of-concatenation: function
select ('private.' || 'secrets')::regclass
-- type-regclass-of-subquery: function
select (select 'private.secrets'::text)::regclass

--- domains whose checks do more than check
-- domain-cast: type
select 'x'::content.checked
-- domain-cast-spelled: type
select cast('x' as content.checked)
-- domain-literal: type
select content.checked 'x'
-- domain-quoted: type
select 'x'::"content"."checked"
-- domain-of-column: type
select title::content.checked from content.film_work limit 1
-- domain-of-domain: type
select 'x'::content.checked_twice
-- domain-of-number: type
select 1::content.checked_number
-- domain-of-null: type
select null::content.checked
-- domain-in-where: type
select id from content.film_work where title::content.checked = 'x'
-- domain-operator-check: type
select 'x'::content.by_operator
-- domain-definer-check: type
select 'x'::content.peeking
-- domain-array-literal: type
select '{x,y}'::content.checked[]
-- domain-array-constructor: type
select array['x', 'y']::content.checked[]
-- domain-array-of-array: type
select array_agg(title)::content.checked[] from content.film_work
-- domain-array-of-element: type
select array['x'::content.checked]
-- domain-array-through-text: type
select ('{' || 'x' || '}')::content.checked[]
-- domain-composite-literal: type
select '(x,1)'::content.has_checked
-- domain-composite-row: type
select row('x', 1)::content.has_checked
-- domain-composite-through-text: type
select ('(' || title || ',1)')::content.has_checked from content.film_work limit 1
-- domain-composite-nested: type
select '("(x,1)")'::content.has_checked_inside
-- domain-composite-nested-row: type
select row(row('x', 1))::content.has_checked_inside
-- domain-composite-array: type
select '{"(x,1)"}'::content.has_checked[]
-- domain-table-row: type
select '(1,x)'::content.checked_notes
-- domain-table-row-populate: type
select * from json_populate_record(null::content.checked_notes, '{"id":1,"note":"x"}')
-- domain-populate: type
select json_populate_record(null::content.has_checked, '{"note":"x"}')
-- domain-populate-jsonb: type
select * from jsonb_populate_record(null::content.has_checked, '{"note":"x"}')
-- domain-populate-set: type
select * from json_populate_recordset(null::content.has_checked, '[{"note":"x"}]')
-- domain-populate-array: type
select * from jsonb_populate_recordset(null::content.has_checked_inside, '[{"inner_one":{"note":"x"}}]')
-- domain-populate-attribute: type
select (jsonb_populate_record(null::content.has_checked, '{"note":"x"}')).note
-- domain-populate-domain: type
select jsonb_populate_record(row(null, 1)::content.has_checked, '{"note":"x"}')
-- domain-to-record: type
select * from json_to_record('{"a":"x"}') as t (a content.checked)
-- domain-to-record-array: type
select * from jsonb_to_record('{"a":["x"]}') as t (a content.checked[])
-- domain-to-recordset: type
select * from jsonb_to_recordset('[{"a":"x"}]') as t (a content.checked)
-- domain-to-record-composite: type
select * from json_to_record('{"a":{"note":"x"}}') as t (a content.has_checked)
-- domain-rows-from: type
select * from rows from (jsonb_to_record('{"a":"x"}') as (a content.checked), generate_series(1, 1)) as t
-- domain-xmltable: type
select * from xmltable('/a' passing '<a>x</a>' columns x content.checked path '.')
-- domain-leaves-role-array: type
select '{x}'::content.leaving[]
-- domain-leaves-role-composite: type
select '(x)'::content.has_leaving
-- domain-leaves-role-composite-array: type
select '{(x)}'::content.has_leaving[]
-- domain-leaves-role-cast: type
select 'x'::content.leaving
-- domain-definer-array-literal: type
select '{x}'::content.checked_definer[]
-- domain-definer-composite-literal: type
select '(x)'::content.has_checked_definer
-- domain-definer-array-typed: type
select content.has_checked_definer '(x)'
-- domain-range: type
select '[1,2)'::content.checked_range
-- domain-range-constructor: type
select content.checked_range(1, 2)
-- domain-in-cte-column: type
with t (x) as (select 'x'::content.checked) select x from t
-- domain-in-union: type
select 'x'::content.checked union all select 'y'
-- domain-in-case: type
select case when true then 'x'::content.checked end
-- domain-in-recursion: type
with recursive t (x) as (select 'x'::content.checked union all select (x || 'y')::content.checked from t where length(x) < 3) select * from t
-- domain-in-array-subquery: type
select array(select title::content.checked from content.film_work limit 1)
-- domain-in-function-argument: type
select upper('x'::content.checked)

--- casts that call functions
-- cast-explicit: function
select row('x')::content.code::int
-- cast-explicit-spelled: function
select cast(row('x')::content.code as int)
-- cast-of-column: function
select code::int from content.codes
-- cast-to-text: function
select code::text from content.codes
-- cast-implicit-argument-in-where: function
select title from content.film_work, content.codes c where starts_with(title, c.code)
-- cast-implicit-argument: function
select upper(code) from content.codes
-- cast-implicit-operator: function
select code = 'x'::text from content.codes
-- cast-implicit-in-join: function
select c.id from content.codes c join content.genre g on g.name = c.code
-- cast-implicit-like: function
select id from content.codes where code like 'o%'
-- cast-implicit-regex: function
select id from content.codes where code ~ 'o'
-- cast-implicit-any: function
select id from content.codes where code = any (array['one', 'two'])
-- cast-implicit-in-list: function
select id from content.codes where code in ('one'::text, 'two'::text)
-- cast-implicit-aggregate: function
select string_agg(code, ',') from content.codes
-- cast-implicit-honest-function: function
select content.film_count(code) from content.codes
-- cast-implicit-lateral: function
select c.id, p from content.codes c, lateral regexp_split_to_table(c.code, 'n') p
-- cast-array: function
select array[row('x')::content.code]::text[]
-- cast-array-of-column: function
select array_agg(code)::int[] from content.codes
-- cast-explicit-from-text: function
select ('x'::text)::content.place
-- cast-explicit-from-text-column: function
select (title::content.place).city from content.film_work limit 1
-- cast-functional-content: function
select content.code_as_int(code) from content.codes
-- cast-attribute-content: function
select codes.code from content.codes where content.code_as_text(code) = 'one'

--- operators over functions
-- op-infix: function
select 'a' operator(content.<!>) 'b'
-- op-infix-quoted: function
select 'a'::text operator("content".<!>) 'b'::text
-- op-infix-spaced: function
select 'a' operator ( content . <!> ) 'b'
-- op-prefix: function
select operator(content.!!) 'a'::text
-- op-of-columns: function
select title operator(content.<!>) type from content.film_work limit 1
-- op-any-array: function
select 'a' operator(content.<!>) any (array['b', 'c'])
-- op-all-array: function
select 'a' operator(content.<!>) all (array['b', 'c'])
-- op-any-subquery: function
select 'a' operator(content.<!>) any (select title from content.film_work)
-- op-all-subquery: function
select 'a' operator(content.<!>) all (select title from content.film_work limit 1)
-- op-some-subquery: function
select 'a' operator(content.<!>) some (select title from content.film_work)
-- op-in-where: function
select id from content.film_work where title operator(content.<!>) 'x'
-- op-in-join: function
select f.id from content.film_work f join content.genre g on f.title operator(content.<!>) g.name
-- op-in-order-by: function
select id from content.film_work order by title operator(content.<!>) 'x'
-- op-in-filter: function
select count(*) filter (where title operator(content.<!>) 'x') from content.film_work
-- op-in-case: function
select case when 'a' operator(content.<!>) 'b' then 1 end
-- op-overloaded-equals: function
select 'a'::text operator(content.=) 1
-- op-order-by-using: function
select id from content.codes order by id using operator(content.<&)
-- op-aggregate-order-by-using: function
select array_agg(id order by id using operator(content.<&)) from content.codes
-- op-within-group-using: function
select percentile_disc(0.5) within group (order by id using operator(content.<&)) from content.codes
-- op-window-order-using: function
select row_number() over (order by id using operator(content.<&)) from content.codes
-- op-in-subscript: function
select (array['a'])[('a' operator(content.<!>) 'b')::int]
-- op-in-limit: function
select id from content.codes limit ('a' operator(content.<!>) 'b')::int

--- aggregates, by the functions they are made of
-- agg-step: function
select content.agg_step(score) from ugc.ratings
-- agg-step-quoted: function
select "content"."agg_step"(score::int) from ugc.ratings
-- agg-step-all: function
select content.agg_step(all score) from ugc.ratings
-- agg-step-distinct: function
select content.agg_step(distinct score) from ugc.ratings
-- agg-step-order-by: function
select content.agg_step(score order by id desc) from ugc.ratings
-- agg-step-filter: function
select content.agg_step(score) filter (where score > 5) from ugc.ratings
-- agg-step-group-by: function
select film_id, content.agg_step(score) from ugc.ratings group by film_id
-- agg-step-having: function
select film_id from ugc.ratings group by film_id having content.agg_step(score) > 3
-- agg-step-order-of-query: function
select film_id from ugc.ratings group by film_id order by content.agg_step(score)
-- agg-step-window: function
select content.agg_step(score) over (order by id) from ugc.ratings
-- agg-step-window-filter: function
select content.agg_step(score) filter (where score > 3) over (partition by film_id) from ugc.ratings
-- agg-step-outer: function
select (select content.agg_step(r.score) from content.genre limit 1) from ugc.ratings r
-- agg-step-lateral: function
select a.t from content.film_work f, lateral (select content.agg_step(score) as t from ugc.ratings r where r.film_id = f.id) a
-- agg-end: function
select content.agg_end(score) from ugc.ratings
-- agg-end-empty: function
select content.agg_end(1) where false
-- agg-combine: function
select content.agg_combine(score) from ugc.ratings
-- agg-moving-window: function
select content.agg_moving(score) over (order by id rows between 1 preceding and current row) from ugc.ratings
-- agg-moving-plain: function
select content.agg_moving(score) from ugc.ratings
-- agg-inverse-window: function
select content.agg_inverse(score) over (order by id rows between 1 preceding and current row) from ugc.ratings
-- agg-moving-end-window: function
select content.agg_moving_end(score) over (order by id rows between 1 preceding and current row) from ugc.ratings
-- agg-ordered-set: function
select content.agg_ordered() within group (order by score::int) from ugc.ratings
-- agg-ordered-set-filter: function
select content.agg_ordered() within group (order by score::int) filter (where score > 2) from ugc.ratings
-- agg-variadic: function
select content.agg_any(variadic array[1, 2]) from content.genre
-- agg-variadic-spread: function
select content.agg_any(1, 2, 3) from content.genre
-- agg-definer: function
select content.agg_definer(score) from ugc.ratings
-- agg-start-type: type
select content.agg_start(score) from ugc.ratings

--- what executes without standing in the query's tree
-- hidden-argument-default: function
select content.with_default(1)
-- hidden-argument-default-named: function
select content.with_default(a => 1)
-- hidden-argument-default-from: function
select * from content.with_default(1)
-- hidden-argument-default-attribute: function
select content.with_default(c.id) from content.codes c
-- hidden-argument-default-reads: function
select content.with_peeking_default(1)
-- hidden-overload-by-key-type: function
select r.id, r.modified, content.pick(:after_key) as picked from ugc.ratings r where r.modified < :upper limit :limit
-- hidden-overload-by-id-type: function
select r.id, r.modified, content.pick(:after_id) as picked from ugc.ratings r limit :limit
-- hidden-overload-by-limit-type: function
select r.id, r.modified, content.pick(:limit) as picked from ugc.ratings r limit :limit
-- hidden-overload-by-upper-type: function
select r.id, r.modified from ugc.ratings r where content.pick(:upper) is null limit :limit
-- hidden-body-liar-atomic: word
select content.liar_atomic('x')
-- hidden-function-sets: function
select content.settles(1)
-- hidden-json-cast: function
select to_json(coin) from content.coins
-- hidden-json-cast-jsonb: function
select to_jsonb(coin) from content.coins
-- hidden-json-cast-attribute: function
select (coin).to_json from content.coins
-- hidden-json-cast-row: function
select row_to_json(c) from content.coins c
-- hidden-json-cast-row-attribute: function
select c.row_to_json from content.coins c
-- hidden-json-cast-agg: function
select json_agg(coin) from content.coins
-- hidden-json-cast-jsonb-agg: function
select jsonb_agg(c) from content.coins c
-- hidden-json-cast-object-agg: function
select json_object_agg(id, coin) from content.coins
-- hidden-json-cast-build: function
select jsonb_build_object('coin', coin) from content.coins
-- hidden-json-cast-build-array: function
select json_build_array(1, coin) from content.coins
-- hidden-json-cast-array: function
select array_to_json(array_agg(coin)) from content.coins
-- hidden-json-cast-constructed: function
select to_json('heads'::content.coin)
-- hidden-json-cast-anonymous-row: function
select row_to_json(row(1, coin)) from content.coins
-- hidden-json-cast-subquery: function
select row_to_json(q) from (select id, coin from content.coins) q
-- hidden-order-by: function
select id from content.graded order by grade
-- hidden-order-by-desc: function
select grade from content.graded order by 1 desc
-- hidden-order-by-using: function
select id from content.graded order by grade using operator(content.<)
-- hidden-order-by-using-int: function
select id from content.graded order by id using operator(content.<#)
-- hidden-distinct: function
select distinct grade from content.graded
-- hidden-distinct-on: function
select distinct on (grade) id from content.graded
-- hidden-group-by: function
select grade, count(*) from content.graded group by grade
-- hidden-union: function
select grade from content.graded union select grade from content.graded
-- hidden-except: function
select grade from content.graded except select row(1)::content.grade
-- hidden-partition-by: function
select count(*) over (partition by grade) from content.graded
-- hidden-window-order: function
select rank() over (order by grade) from content.graded
-- hidden-aggregate-order: function
select array_agg(id order by grade) from content.graded
-- hidden-aggregate-distinct: function
select count(distinct grade) from content.graded
-- hidden-within-group: function
select percentile_disc(0.5) within group (order by grade) from content.graded
-- hidden-mode: function
select mode() within group (order by grade) from content.graded
-- hidden-greatest: function
select greatest(a.grade, b.grade) from content.graded a, content.graded b
-- hidden-least: function
select least(grade, row(2)::content.grade) from content.graded
-- hidden-row-compare: function
select row(a.grade, a.grade) operator(content.<) row(b.grade, b.grade) from content.graded a, content.graded b
-- hidden-array-less: function
select array[a.grade] < array[b.grade] from content.graded a, content.graded b
-- hidden-array-order: function
select array_agg(grade) as g from content.graded group by id order by g
-- hidden-record-less: function
select row(a.grade)::record < row(b.grade)::record from content.graded a, content.graded b
-- hidden-whole-row-less: function
select a < b from content.graded a, content.graded b
-- hidden-whole-row-distinct: function
select distinct g from content.graded g
-- hidden-whole-row-group: function
select count(*) from content.graded g group by g
-- hidden-width-bucket: function
select width_bucket(grade, array[row(1)::content.grade, row(2)::content.grade]) from content.graded
-- hidden-range: function
select content.grade_range(row(1)::content.grade, row(2)::content.grade)
-- hidden-range-literal: function
select '["(1)","(2)")'::content.grade_range
-- hidden-range-contains: function
select content.grade_range(row(1)::content.grade, null) @> grade from content.graded
-- hidden-in-subquery: function
select id from content.graded where grade operator(content.=) any (select grade from content.graded)
-- hidden-hash-join: function
select a.id from content.graded a join content.graded b on a.grade operator(content.=) b.grade
-- hidden-min-of-array: function
select min(array[grade]) from content.graded
-- hidden-recursive-union: function
with recursive t (g) as (select grade from content.graded union select g from t) select * from t
-- hidden-row-compare-int: function
select row(id, id) operator(content.<#) row(2, 2) from content.graded
-- hidden-multirange: function
select range_agg(content.grade_range(row(1)::content.grade, grade)) from content.graded where (grade).mark > 1
-- hidden-hash-record: function
select hash_record(row(grade)) from content.graded
-- hidden-hash-array: function
select hash_array(array[grade]) from content.graded
-- hidden-btree-record: function
select btrecordcmp(a, b) from content.graded a, content.graded b
-- hidden-array-equal: function
select array[a.token] = array[b.token] from content.tokens a, content.tokens b
-- hidden-array-not-equal: function
select array[token] <> array[row(1)::content.token] from content.tokens
-- hidden-array-is-distinct: function
select array[token] is distinct from array[row(9)::content.token] from content.tokens
-- hidden-array-overlap: function
select array[token] && array[row(1)::content.token] from content.tokens
-- hidden-array-contains: function
select array_agg(token) @> array[row(1)::content.token] from content.tokens
-- hidden-array-position: function
select array_position(array[row(1)::content.token], token) from content.tokens
-- hidden-array-positions: function
select array_positions(array_agg(token), row(1)::content.token) from content.tokens
-- hidden-array-remove: function
select array_remove(array_agg(token), row(1)::content.token) from content.tokens
-- hidden-array-replace: function
select array_replace(array_agg(token), row(1)::content.token, row(2)::content.token) from content.tokens
-- hidden-array-in-list: function
select id from content.tokens where array[token] in (array[row(1)::content.token], array[row(2)::content.token])
-- hidden-record-equal: function
select row(a.token)::record = row(b.token)::record from content.tokens a, content.tokens b
-- hidden-whole-row-equal: function
select a = b as same from content.tokens a, content.tokens b
-- hidden-whole-row-nullif: function
select nullif(a, a) from content.tokens a
-- hidden-case-of-array: function
select case array[token] when array[row(1)::content.token] then 1 end from content.tokens
-- hidden-cycle: function
with recursive t (g) as (select array[token] from content.tokens union all select g from t) cycle g set c using p select g, c from t
-- hidden-distinct-of-token: function
select distinct token from content.tokens
-- hidden-subquery-order: function
select q::text as t from (select grade from content.graded) q order by q
-- hidden-between: function
select id from content.graded g where array[g.grade] between array[row(1)::content.grade] and array[row(2)::content.grade]
-- hidden-greatest-of-arrays: function
select greatest(array[a.grade], array[b.grade]) from content.graded a, content.graded b
-- hidden-greatest-of-rows: function
select greatest(row(a.grade), row(b.grade))::text as g from content.graded a, content.graded b

--- the operator's word: not in the tree and hard to see elsewhere, so that the role and the read-only transaction must hold; the names start with `word-`
-- word-liar: word
select content.liar('x')
-- word-liar-inlined: word
select content.liar_inlined('x')
-- word-runs-text: word
select content.runs('select secret from private.secrets')
-- word-policy: word
select * from content.policed
-- word-heir: word
select * from content.inherited
-- word-partition: word
select * from content.split
-- word-foreign-table: word
select line from content.passwords

--- row locks
-- lock-update: lock
select id from content.film_work for update
-- lock-no-key-update: lock
select id from content.film_work for no key update
-- lock-share: lock
select id from content.film_work for share
-- lock-key-share: lock
select id from content.film_work for key share
-- lock-skip: lock
select id from content.film_work for update skip locked
-- lock-nowait: lock
select id from content.film_work for share nowait
-- lock-of: lock
select f.id from content.film_work f join content.genre g on true for update of f
-- lock-two: lock
select f.id from content.film_work f join content.genre g on true for update of f for share of g
-- lock-before-limit: lock
select id from content.film_work for update limit 1
-- lock-comment: lock
select id from content.film_work for/* x */update
-- lock-upper: lock
select id from content.film_work FOR KEY SHARE
-- lock-parens: lock
(select id from content.film_work for update)
-- lock-subquery: lock
select id from (select id from content.film_work for update) q
-- lock-subquery-alias-named-lock: lock
select id from (select id from content.film_work for update) as update
-- lock-lateral: lock
select q.id from content.genre g, lateral (select id from content.film_work for key share) q
-- lock-scalar: lock
select (select id from content.film_work limit 1 for update)
-- lock-exists: lock
select 1 as one where exists (select from content.film_work for share)
-- lock-in: lock
select id from content.genre where id in (select genre_id from content.genre_film_work for update)
-- lock-array: lock
select array(select id from content.film_work for update)
-- lock-cte: lock
with t as (select id from content.film_work for update) select * from t
-- lock-cte-unused: lock
with t as (select id from content.film_work for update) select 1 as one
-- lock-cte-nested: lock
with t as (with u as (select id from content.film_work for share) select * from u) select * from t
-- lock-pushed-into-subquery: lock
select q.id from (select id from content.film_work) q for update
-- lock-pushed-into-view: lock
select id from content.movies for share
-- lock-of-partitioned: lock
select id from content.showing for update

--- not one select
-- stmt-two: statement
select 1; select 2
-- stmt-two-harm: statement
select 1 as one; delete from content.genre
-- stmt-commit: statement
select 1 as one; commit; drop table content.genre
-- stmt-leading-semicolon: statement
; select 1 as one; select 2
-- stmt-semicolon-after-comment: statement
select 1 as one /* ; */ ; /* */ select 2
-- stmt-after-string: statement
select ';' as a; select ';' as b
-- stmt-after-dollar: statement
select $a$;$a$ as a; rollback
-- stmt-newlines: statement
select 1 as one
;

select 2 as two
-- stmt-set-role: statement
select 1 as one; set role none
-- stmt-insert: statement
insert into content.genre (name) values ('x')
-- stmt-insert-returning: statement
insert into content.genre (name) values ('x') returning id
-- stmt-update: statement
update content.genre set name = 'x' returning id
-- stmt-delete: statement
delete from content.genre returning id
-- stmt-merge: statement
merge into content.genre g using content.person p on false when matched then do nothing
-- stmt-truncate: statement
truncate content.genre
-- stmt-with-insert: statement
with x as (select 1) insert into content.genre (name) select 'x' returning id
-- stmt-with-delete: statement
with x as (select 1) delete from content.genre returning id
-- stmt-with-update: statement
with x as (select 1) update content.genre set name = 'x' returning id
-- stmt-cte-insert: statement
with x as (insert into content.genre (name) values ('x') returning id) select id from x
-- stmt-cte-update: statement
with x as (update content.genre set name = name returning id) select id from x
-- stmt-cte-delete: statement
with x as (delete from content.genre returning id) select id from x
-- stmt-cte-delete-no-returning: statement
with x as (delete from content.genre) select 1 as one
-- stmt-cte-delete-unused: statement
with x as (delete from content.genre returning id) select 1 as one
-- stmt-cte-delete-materialized: statement
with x as materialized (delete from content.genre returning id) select id from x
-- stmt-cte-second: statement
with a as (select 1 as one), b as (update ugc.ratings set score = 1 returning id) select a.one from a
-- stmt-cte-recursive-delete: statement
with recursive x as (delete from content.genre returning id) select id from x
-- stmt-cte-nested-delete: statement
with a as (with b as (delete from content.genre returning id) select id from b) select id from a
-- stmt-select-into: statement
select id into content.copy from content.film_work
-- stmt-select-into-temp: statement
select id into temp copy from content.film_work
-- stmt-select-into-unlogged: statement
select id into unlogged table content.copy from content.film_work
-- stmt-select-into-pg-temp: statement
select 1 as one into pg_temp.copy
-- stmt-with-into: statement
with a as (select 1 as one) select one into temp b from a
-- stmt-union-into: statement
select id into temp copy from content.film_work union all select id from content.genre
-- stmt-create-table-as: statement
create table content.copy as select id from content.film_work
-- stmt-create-view: statement
create view content.another as select 1 as one
-- stmt-create-function: statement
create function etl_page.execute(x text) returns void language sql as $$ select 1 $$
-- stmt-explain: statement
explain analyze select content.harm('x')
-- stmt-copy: statement
copy content.film_work to stdout
-- stmt-copy-program: statement
copy (select 1) to program 'true'
-- stmt-do: statement
do $$ begin perform content.harm('x'); end $$
-- stmt-call: statement
call content.harm('x')
-- stmt-set: statement
set search_path = private
-- stmt-set-local-role: statement
set local role none
-- stmt-reset: statement
reset role
-- stmt-reset-all: statement
reset all
-- stmt-discard: statement
discard all
-- stmt-show: statement
show search_path
-- stmt-begin: statement
begin
-- stmt-savepoint: statement
savepoint a
-- stmt-listen: statement
listen vitrina_events
-- stmt-notify: statement
notify vitrina_events, 'x'
-- stmt-lock: statement
lock table content.film_work in exclusive mode
-- stmt-prepare: statement
prepare p as select 1
-- stmt-execute: statement
execute p
-- stmt-declare: statement
declare c cursor for select 1
-- stmt-fetch: statement
fetch all from c
-- stmt-close: statement
close all
-- stmt-vacuum: statement
vacuum content.film_work
-- stmt-analyze: statement
analyze content.film_work
-- stmt-refresh: statement
refresh materialized view content.genre_counts
-- stmt-grant: statement
grant all on schema private to public
-- stmt-alter-role: statement
alter role vitrina_query superuser
-- stmt-load: statement
load 'auto_explain'
-- stmt-checkpoint: statement
checkpoint
-- stmt-security-label: statement
comment on table content.film_work is 'x'
-- stmt-drop: statement
drop table content.film_work
-- stmt-view-column-list-escape: statement
select 1 as one) with check option; drop table content.genre; --
-- stmt-closes-parenthesis: statement
select 1 as one) t; delete from content.genre; select * from (select 1 as one
-- stmt-closes-parenthesis-union: statement
select 1 as one) union all (select 2
-- stmt-with-data: statement
select 1 as one with no data
-- stmt-check-option: statement
select id from content.film_work with local check option
-- stmt-empty-comment: statement
/* nothing */ ;

--- text that two readers read differently: hidden calls and relations
-- lex-nested-comment: function
select /* /* */ ' */ content.harm('x') -- '
-- lex-nested-comment-deep: function
select /*/*/*/ */*/*/ content.harm('x')
-- lex-comment-in-operator: function
select 1 +-- x
content.harm(1)
-- lex-comment-slash-star-operator: function
select 4 */* x */ content.harm(2)
-- lex-minus-minus: function
select 1 --1
 , content.harm('x')
-- lex-escape-string: function
select E'\'', content.harm('x'), E'\'' as z
-- lex-escape-string-quotes: function
select E'a\\', content.harm('x'), '\' as z
-- lex-plain-backslash: function
select '\', content.harm('x'), '\' as z
-- lex-continued-string: function
select 'a'
'b', content.harm('x')
-- lex-continued-escape: function
select E'a'
'\'', content.harm('x'), E'\'' as z
-- lex-continued-comment: function
select 'a' -- x
'b', content.harm('x')
-- lex-dollar: function
select $$ ' $$, content.harm('x'), $$ ' $$ as z
-- lex-dollar-tag: function
select $a$ $b$ $$ $a$, content.harm('x'), $b$ $a$ $b$ as z
-- lex-dollar-unicode-tag: function
select $é$ $ $é$, content.harm('x'), $é$ ' $é$ as z
-- lex-dollar-after-name: function
select a$b, content.harm('x') from (select 1 as a$b) q
-- lex-dollar-after-name-twice: function
select a$$, content.harm($$x$$) from (select 1 as a$$) q
-- lex-dollar-empty: function
select $$$$, content.harm('x'), $_$$$$_$ as z
-- lex-unicode-string: function
select U&'\0027', content.harm('x'), U&'\0027' as z
-- lex-unicode-string-uescape: function
select U&'!0027' uescape '!', content.harm('x')
-- lex-national-string: function
select N'x', content.harm('x')
-- lex-bit-string: function
select B'01' as a, X'1F' as b, content.harm('x') as z
-- lex-quoted-name: function
select 1 as "a'", content.harm('x') as "b'"
-- lex-quoted-name-quotes: function
select 1 as "a""", content.harm('x') as """"
-- lex-quoted-name-comment: function
select 1 as "/*", content.harm('x') as "*/"
-- lex-quoted-name-dashes: function
select 1 as "--", content.harm('x')
-- lex-backtick-operator: function
select 1 as "`", content.harm('x') as "` "
-- lex-carriage-return: function
select 1 -- comment<CR>, content.harm('x')
-- lex-form-feed: function
select<FF>content.harm('x')
-- lex-vertical-tab: function
select content.harm<TAB>('x')
-- lex-nbsp-name: function
select 1 as a<NBSP>b, content.harm('x')
-- lex-nbsp-alone: function
select 1 as one, content.harm('x') as<NBSP>
-- lex-ideographic-space: function
select 1 <IDSP>, content.harm('x')
-- lex-zero-width: function
select 1 as a<ZWSP>, content.harm('x')
-- lex-bom-name: function
select 1 as a<BOM>, content.harm('x')
-- lex-line-separator-in-comment: function
select 1 -- x <LSEP> y
, content.harm('x')
-- lex-next-line-in-comment: function
select 1 as one -- x <NEL> as two
, content.harm('x')
-- lex-colon-colon: function
select '1'::int::text, content.harm('x')
-- lex-array-colon: function
select (array[1,2])[1:2], content.harm('x')
-- lex-colon-equals: function
select * from content.with_default(a := 1)
-- lex-type-function: function
select interval '1' day, content.harm('x')
-- lex-relation-after-string: relation
select '\' as a, secret as b, '\' as c from private.secrets
-- lex-relation-after-comment: relation
select /* /* */ from content.film_work */ * from private.secrets
-- lex-relation-after-dollar: relation
select $x$ from content.film_work $x$ as a, s.secret from private.secrets s
-- lex-relation-in-nested-comment-end: relation
select 1 as one /* */ from private.secrets /* /* */ */
-- lex-relation-carriage-return: relation
select secret --<CR>from private.secrets
-- lex-lock-after-comment: lock
select id from content.film_work --<CR>for update
-- lex-lock-in-escape: lock
select E'\'' as a from content.film_work for update -- '
-- lex-semicolon-after-escape: statement
select E'\''; select '1' as b; select E'\''
-- lex-semicolon-after-backslash: statement
select '\'; delete from content.genre; select '\'
-- lex-semicolon-after-dollar: statement
select $a$ $b$; $a$; delete from content.genre; select $b$ $b$
-- lex-semicolon-after-nested: statement
select 1 /* /* */ */ ; delete from content.genre /* */
-- lex-alias-like-tree: function
select 1 as ":funcid", content.harm('x') as ":funcid 0"
-- lex-alias-like-node: function
select 1 as "}", 2 as "{QUERY", 3 as "<>", 4 as "({", 5 as "\", content.harm('x') as ")})"
-- lex-alias-like-relation: relation
select 1 as ":relid", s.secret as "<>" from private.secrets as ":relid" (id, secret), lateral (select ":relid".*) as s
-- lex-alias-like-locks: lock
select 1 as ":rowMarks <>" from content.film_work as ":hasForUpdate false" for update
-- lex-alias-quotes-in-tree: function
select 1 as "("")", 2 as """(", content.harm('x') as "a"" :b"
-- lex-alias-brackets-in-tree: function
select 1 as "[ 1 2 ]", 2 as "(o 1)", content.harm('x') as "(b 1"
-- lex-alias-newline-in-tree: function
select 1 as "a
:funcid 0 }", content.harm('x') as "{"
-- lex-cte-like-tree: function
with ":utilityStmt <>" (":commandType 1") as (select content.harm('x')) select * from ":utilityStmt <>"

--- text that cannot be read
-- syn-unfinished-string: syntax
select 'abc
-- syn-unfinished-escape: syntax
select E'abc\'
-- syn-unfinished-comment: syntax
select 1 as one /* /* */
-- syn-unfinished-dollar: syntax
select $a$ abc $A$
-- syn-unfinished-name: syntax
select 1 as "abc
-- syn-parenthesis: syntax
select (1 as one
-- syn-bracket: syntax
select array[1 as one
-- syn-number-name: syntax
select 1e, content.harm('x')
-- syn-brace: syntax
select {1} as one
-- syn-nul: syntax
select 1 as one<NUL>, content.harm('x')
-- syn-nbsp-between: syntax
select<NBSP>1 as one
-- syn-bom: syntax
<BOM>select 1 as one
-- syn-smart-quote: syntax
select ‘a’ as one
-- syn-backslash: syntax
select 1 \ 2
-- syn-psql-command: syntax
select 1 as one \gexec
-- syn-psql-variable: syntax
select :'limit' as one
-- syn-psql-identifier: syntax
select :"limit" as one
-- syn-unknown-placeholder: syntax
select id from content.film_work where id > :last
-- syn-spaced-placeholder: syntax
select id from content.film_work limit : limit
-- syn-numbered-parameter: syntax
select $1 as one
-- syn-numbered-parameter-cast: syntax
select id from content.film_work where id = $2::uuid
-- syn-numbered-parameter-large: syntax
select $65536::int as one
-- syn-placeholder-as-name: syntax
select 1 as :limit
-- syn-placeholder-as-relation: syntax
select * from :upper
-- syn-placeholder-as-schema: syntax
select * from :upper.film_work
-- syn-placeholder-as-type: syntax
select 1::int:limit
-- syn-question-mark: syntax
select ? as one
-- syn-at-parameter: syntax
select @limit as one from content.film_work
-- syn-backtick: syntax
select `id` from content.film_work
-- syn-limit-comma: syntax
select id from content.film_work limit 1, 2
-- syn-empty-from: syntax
select id from
-- syn-unicode-bad-escape: syntax
select U&'\00zz' as one
-- syn-unicode-surrogate: syntax
select U&'\D800' as one
-- syn-unicode-nul: syntax
select U&'\0000' as one
-- syn-uescape-bad: syntax
select U&'!0041' uescape '+' as one
-- syn-operator-left-over: syntax
select 1 + as one

--- functions of pg_catalog that look at the server, by call, as an attribute and by treat (fixed text, made from pg_proc)
-- gen-call-aclexplode: function
select aclexplode('{}'::aclitem[])::text
-- gen-attr-aclexplode: function
select ('{}'::aclitem[]).aclexplode::text
-- gen-treat-aclexplode: function
select treat('{}'::aclitem[] as aclexplode)::text
-- gen-call-amvalidate: function
select amvalidate(1259::oid)
-- gen-attr-amvalidate: function
select (1259::oid).amvalidate
-- gen-treat-amvalidate: function
select treat(1259::oid as amvalidate)
-- gen-call-binary-upgrade-create-empty-extension: function
select binary_upgrade_create_empty_extension('x'::text, 'x'::text, true, 'x'::text, array[1::oid], array['a'], array['a'])::text
-- gen-call-binary-upgrade-set-missing-value: function
select binary_upgrade_set_missing_value(1259::oid, 'x'::text, 'x'::text)::text
-- gen-call-binary-upgrade-set-next-array-pg-type-oid: function
select binary_upgrade_set_next_array_pg_type_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-array-pg-type-oid: function
select (1259::oid).binary_upgrade_set_next_array_pg_type_oid::text
-- gen-treat-binary-upgrade-set-next-array-pg-type-oid: function
select treat(1259::oid as binary_upgrade_set_next_array_pg_type_oid)::text
-- gen-call-binary-upgrade-set-next-heap-pg-class-oid: function
select binary_upgrade_set_next_heap_pg_class_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-heap-pg-class-oid: function
select (1259::oid).binary_upgrade_set_next_heap_pg_class_oid::text
-- gen-treat-binary-upgrade-set-next-heap-pg-class-oid: function
select treat(1259::oid as binary_upgrade_set_next_heap_pg_class_oid)::text
-- gen-call-binary-upgrade-set-next-heap-relfilenode: function
select binary_upgrade_set_next_heap_relfilenode(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-heap-relfilenode: function
select (1259::oid).binary_upgrade_set_next_heap_relfilenode::text
-- gen-treat-binary-upgrade-set-next-heap-relfilenode: function
select treat(1259::oid as binary_upgrade_set_next_heap_relfilenode)::text
-- gen-call-binary-upgrade-set-next-index-pg-class-oid: function
select binary_upgrade_set_next_index_pg_class_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-index-pg-class-oid: function
select (1259::oid).binary_upgrade_set_next_index_pg_class_oid::text
-- gen-treat-binary-upgrade-set-next-index-pg-class-oid: function
select treat(1259::oid as binary_upgrade_set_next_index_pg_class_oid)::text
-- gen-call-binary-upgrade-set-next-index-relfilenode: function
select binary_upgrade_set_next_index_relfilenode(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-index-relfilenode: function
select (1259::oid).binary_upgrade_set_next_index_relfilenode::text
-- gen-treat-binary-upgrade-set-next-index-relfilenode: function
select treat(1259::oid as binary_upgrade_set_next_index_relfilenode)::text
-- gen-call-binary-upgrade-set-next-multirange-array-pg-type-oid: function
select binary_upgrade_set_next_multirange_array_pg_type_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-multirange-array-pg-type-oid: function
select (1259::oid).binary_upgrade_set_next_multirange_array_pg_type_oid::text
-- gen-treat-binary-upgrade-set-next-multirange-array-pg-type-oid: function
select treat(1259::oid as binary_upgrade_set_next_multirange_array_pg_type_oid)::text
-- gen-call-binary-upgrade-set-next-multirange-pg-type-oid: function
select binary_upgrade_set_next_multirange_pg_type_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-multirange-pg-type-oid: function
select (1259::oid).binary_upgrade_set_next_multirange_pg_type_oid::text
-- gen-treat-binary-upgrade-set-next-multirange-pg-type-oid: function
select treat(1259::oid as binary_upgrade_set_next_multirange_pg_type_oid)::text
-- gen-call-binary-upgrade-set-next-pg-authid-oid: function
select binary_upgrade_set_next_pg_authid_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-pg-authid-oid: function
select (1259::oid).binary_upgrade_set_next_pg_authid_oid::text
-- gen-treat-binary-upgrade-set-next-pg-authid-oid: function
select treat(1259::oid as binary_upgrade_set_next_pg_authid_oid)::text
-- gen-call-binary-upgrade-set-next-pg-enum-oid: function
select binary_upgrade_set_next_pg_enum_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-pg-enum-oid: function
select (1259::oid).binary_upgrade_set_next_pg_enum_oid::text
-- gen-treat-binary-upgrade-set-next-pg-enum-oid: function
select treat(1259::oid as binary_upgrade_set_next_pg_enum_oid)::text
-- gen-call-binary-upgrade-set-next-pg-tablespace-oid: function
select binary_upgrade_set_next_pg_tablespace_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-pg-tablespace-oid: function
select (1259::oid).binary_upgrade_set_next_pg_tablespace_oid::text
-- gen-treat-binary-upgrade-set-next-pg-tablespace-oid: function
select treat(1259::oid as binary_upgrade_set_next_pg_tablespace_oid)::text
-- gen-call-binary-upgrade-set-next-pg-type-oid: function
select binary_upgrade_set_next_pg_type_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-pg-type-oid: function
select (1259::oid).binary_upgrade_set_next_pg_type_oid::text
-- gen-treat-binary-upgrade-set-next-pg-type-oid: function
select treat(1259::oid as binary_upgrade_set_next_pg_type_oid)::text
-- gen-call-binary-upgrade-set-next-toast-pg-class-oid: function
select binary_upgrade_set_next_toast_pg_class_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-toast-pg-class-oid: function
select (1259::oid).binary_upgrade_set_next_toast_pg_class_oid::text
-- gen-treat-binary-upgrade-set-next-toast-pg-class-oid: function
select treat(1259::oid as binary_upgrade_set_next_toast_pg_class_oid)::text
-- gen-call-binary-upgrade-set-next-toast-relfilenode: function
select binary_upgrade_set_next_toast_relfilenode(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-toast-relfilenode: function
select (1259::oid).binary_upgrade_set_next_toast_relfilenode::text
-- gen-treat-binary-upgrade-set-next-toast-relfilenode: function
select treat(1259::oid as binary_upgrade_set_next_toast_relfilenode)::text
-- gen-call-binary-upgrade-set-record-init-privs: function
select binary_upgrade_set_record_init_privs(true)::text
-- gen-attr-binary-upgrade-set-record-init-privs: function
select (true).binary_upgrade_set_record_init_privs::text
-- gen-treat-binary-upgrade-set-record-init-privs: function
select treat(true as binary_upgrade_set_record_init_privs)::text
-- gen-call-brin-desummarize-range: function
select brin_desummarize_range('private.secrets'::regclass, 1::bigint)::text
-- gen-call-brin-summarize-new-values: function
select brin_summarize_new_values('private.secrets'::regclass)
-- gen-attr-brin-summarize-new-values: function
select ('private.secrets'::regclass).brin_summarize_new_values
-- gen-treat-brin-summarize-new-values: function
select treat('private.secrets'::regclass as brin_summarize_new_values)
-- gen-call-brin-summarize-range: function
select brin_summarize_range('private.secrets'::regclass, 1::bigint)
-- gen-call-col-description: function
select col_description(1259::oid, 1)
-- gen-call-current-schemas: function
select current_schemas(true)
-- gen-attr-current-schemas: function
select (true).current_schemas
-- gen-treat-current-schemas: function
select treat(true as current_schemas)
-- gen-call-current-setting: function
select current_setting('is_superuser'::text)
-- gen-call-current-setting-2: function
select current_setting('is_superuser'::text, true)
-- gen-call-currtid2: function
select currtid2('x'::text, '(0,1)'::tid)
-- gen-call-currval: function
select currval('private.secrets'::regclass)
-- gen-attr-currval: function
select ('private.secrets'::regclass).currval
-- gen-treat-currval: function
select treat('private.secrets'::regclass as currval)
-- gen-call-cursor-to-xml: function
select cursor_to_xml('c'::refcursor, 1, true, true, 'x'::text)
-- gen-call-cursor-to-xmlschema: function
select cursor_to_xmlschema('c'::refcursor, true, true, 'x'::text)
-- gen-call-database-to-xml: function
select database_to_xml(true, true, 'x'::text)
-- gen-call-database-to-xml-and-xmlschema: function
select database_to_xml_and_xmlschema(true, true, 'x'::text)
-- gen-call-database-to-xmlschema: function
select database_to_xmlschema(true, true, 'x'::text)
-- gen-call-domain-in: function
select domain_in('1'::cstring, 1259::oid, 1) is null
-- gen-call-enum-in: function
select enum_in('1'::cstring, 1259::oid) is null
-- gen-call-fmgr-c-validator: function
select fmgr_c_validator(1259::oid)::text
-- gen-attr-fmgr-c-validator: function
select (1259::oid).fmgr_c_validator::text
-- gen-treat-fmgr-c-validator: function
select treat(1259::oid as fmgr_c_validator)::text
-- gen-call-fmgr-internal-validator: function
select fmgr_internal_validator(1259::oid)::text
-- gen-attr-fmgr-internal-validator: function
select (1259::oid).fmgr_internal_validator::text
-- gen-treat-fmgr-internal-validator: function
select treat(1259::oid as fmgr_internal_validator)::text
-- gen-call-fmgr-sql-validator: function
select fmgr_sql_validator(1259::oid)::text
-- gen-attr-fmgr-sql-validator: function
select (1259::oid).fmgr_sql_validator::text
-- gen-treat-fmgr-sql-validator: function
select treat(1259::oid as fmgr_sql_validator)::text
-- gen-call-format-type: function
select format_type(1259::oid, 1)
-- gen-call-gin-clean-pending-list: function
select gin_clean_pending_list('private.secrets'::regclass)
-- gen-attr-gin-clean-pending-list: function
select ('private.secrets'::regclass).gin_clean_pending_list
-- gen-treat-gin-clean-pending-list: function
select treat('private.secrets'::regclass as gin_clean_pending_list)
-- gen-call-has-any-column-privilege: function
select has_any_column_privilege('x'::text, 'x'::text)
-- gen-call-has-any-column-privilege-2: function
select has_any_column_privilege(1259::oid, 'x'::text)
-- gen-call-has-any-column-privilege-3: function
select has_any_column_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-any-column-privilege-4: function
select has_any_column_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-any-column-privilege-5: function
select has_any_column_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-any-column-privilege-6: function
select has_any_column_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-column-privilege: function
select has_column_privilege('x'::text, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-2: function
select has_column_privilege('x'::text, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-3: function
select has_column_privilege(1259::oid, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-4: function
select has_column_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-5: function
select has_column_privilege('private'::name, 'x'::text, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-6: function
select has_column_privilege('private'::name, 'x'::text, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-7: function
select has_column_privilege('private'::name, 1259::oid, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-8: function
select has_column_privilege('private'::name, 1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-9: function
select has_column_privilege(1259::oid, 'x'::text, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-10: function
select has_column_privilege(1259::oid, 'x'::text, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-11: function
select has_column_privilege(1259::oid, 1259::oid, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-12: function
select has_column_privilege(1259::oid, 1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-database-privilege: function
select has_database_privilege('x'::text, 'x'::text)
-- gen-call-has-database-privilege-2: function
select has_database_privilege(1259::oid, 'x'::text)
-- gen-call-has-database-privilege-3: function
select has_database_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-database-privilege-4: function
select has_database_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-database-privilege-5: function
select has_database_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-database-privilege-6: function
select has_database_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege: function
select has_foreign_data_wrapper_privilege('x'::text, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-2: function
select has_foreign_data_wrapper_privilege(1259::oid, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-3: function
select has_foreign_data_wrapper_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-4: function
select has_foreign_data_wrapper_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-5: function
select has_foreign_data_wrapper_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-6: function
select has_foreign_data_wrapper_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-function-privilege: function
select has_function_privilege('x'::text, 'x'::text)
-- gen-call-has-function-privilege-2: function
select has_function_privilege(1259::oid, 'x'::text)
-- gen-call-has-function-privilege-3: function
select has_function_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-function-privilege-4: function
select has_function_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-function-privilege-5: function
select has_function_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-function-privilege-6: function
select has_function_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-language-privilege: function
select has_language_privilege('x'::text, 'x'::text)
-- gen-call-has-language-privilege-2: function
select has_language_privilege(1259::oid, 'x'::text)
-- gen-call-has-language-privilege-3: function
select has_language_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-language-privilege-4: function
select has_language_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-language-privilege-5: function
select has_language_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-language-privilege-6: function
select has_language_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-parameter-privilege: function
select has_parameter_privilege('x'::text, 'x'::text)
-- gen-call-has-parameter-privilege-2: function
select has_parameter_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-parameter-privilege-3: function
select has_parameter_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-schema-privilege: function
select has_schema_privilege('x'::text, 'x'::text)
-- gen-call-has-schema-privilege-2: function
select has_schema_privilege(1259::oid, 'x'::text)
-- gen-call-has-schema-privilege-3: function
select has_schema_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-schema-privilege-4: function
select has_schema_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-schema-privilege-5: function
select has_schema_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-schema-privilege-6: function
select has_schema_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-sequence-privilege: function
select has_sequence_privilege('x'::text, 'x'::text)
-- gen-call-has-sequence-privilege-2: function
select has_sequence_privilege(1259::oid, 'x'::text)
-- gen-call-has-sequence-privilege-3: function
select has_sequence_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-sequence-privilege-4: function
select has_sequence_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-sequence-privilege-5: function
select has_sequence_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-sequence-privilege-6: function
select has_sequence_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-server-privilege: function
select has_server_privilege('x'::text, 'x'::text)
-- gen-call-has-server-privilege-2: function
select has_server_privilege(1259::oid, 'x'::text)
-- gen-call-has-server-privilege-3: function
select has_server_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-server-privilege-4: function
select has_server_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-server-privilege-5: function
select has_server_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-server-privilege-6: function
select has_server_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-table-privilege: function
select has_table_privilege('x'::text, 'x'::text)
-- gen-call-has-table-privilege-2: function
select has_table_privilege(1259::oid, 'x'::text)
-- gen-call-has-table-privilege-3: function
select has_table_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-table-privilege-4: function
select has_table_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-table-privilege-5: function
select has_table_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-table-privilege-6: function
select has_table_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-tablespace-privilege: function
select has_tablespace_privilege('x'::text, 'x'::text)
-- gen-call-has-tablespace-privilege-2: function
select has_tablespace_privilege(1259::oid, 'x'::text)
-- gen-call-has-tablespace-privilege-3: function
select has_tablespace_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-tablespace-privilege-4: function
select has_tablespace_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-tablespace-privilege-5: function
select has_tablespace_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-tablespace-privilege-6: function
select has_tablespace_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-type-privilege: function
select has_type_privilege('x'::text, 'x'::text)
-- gen-call-has-type-privilege-2: function
select has_type_privilege(1259::oid, 'x'::text)
-- gen-call-has-type-privilege-3: function
select has_type_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-type-privilege-4: function
select has_type_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-type-privilege-5: function
select has_type_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-type-privilege-6: function
select has_type_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-inet-client-addr: function
select inet_client_addr()
-- gen-call-inet-client-port: function
select inet_client_port()
-- gen-call-inet-server-addr: function
select inet_server_addr()
-- gen-call-inet-server-port: function
select inet_server_port()
-- gen-call-lastval: function
select lastval()
-- gen-call-lo-close: function
select lo_close(1)
-- gen-attr-lo-close: function
select (1).lo_close
-- gen-treat-lo-close: function
select treat(1 as lo_close)
-- gen-call-lo-creat: function
select lo_creat(1)
-- gen-attr-lo-creat: function
select (1).lo_creat
-- gen-treat-lo-creat: function
select treat(1 as lo_creat)
-- gen-call-lo-create: function
select lo_create(1259::oid)
-- gen-attr-lo-create: function
select (1259::oid).lo_create
-- gen-treat-lo-create: function
select treat(1259::oid as lo_create)
-- gen-call-lo-export: function
select lo_export(1259::oid, 'x'::text)
-- gen-call-lo-from-bytea: function
select lo_from_bytea(1259::oid, '\x00'::bytea)
-- gen-call-lo-get: function
select lo_get(1259::oid)
-- gen-attr-lo-get: function
select (1259::oid).lo_get
-- gen-treat-lo-get: function
select treat(1259::oid as lo_get)
-- gen-call-lo-get-2: function
select lo_get(1259::oid, 1::bigint, 1)
-- gen-call-lo-import: function
select lo_import('/etc/passwd'::text)
-- gen-attr-lo-import: function
select ('/etc/passwd'::text).lo_import
-- gen-treat-lo-import: function
select treat('/etc/passwd'::text as lo_import)
-- gen-call-lo-import-2: function
select lo_import('/etc/passwd'::text, 1259::oid)
-- gen-call-lo-lseek: function
select lo_lseek(1, 1, 1)
-- gen-call-lo-lseek64: function
select lo_lseek64(1, 1::bigint, 1)
-- gen-call-lo-open: function
select lo_open(1259::oid, 1)
-- gen-call-lo-put: function
select lo_put(1259::oid, 1::bigint, '\x00'::bytea)::text
-- gen-call-lo-tell: function
select lo_tell(1)
-- gen-attr-lo-tell: function
select (1).lo_tell
-- gen-treat-lo-tell: function
select treat(1 as lo_tell)
-- gen-call-lo-tell64: function
select lo_tell64(1)
-- gen-attr-lo-tell64: function
select (1).lo_tell64
-- gen-treat-lo-tell64: function
select treat(1 as lo_tell64)
-- gen-call-lo-truncate: function
select lo_truncate(1, 1)
-- gen-call-lo-truncate64: function
select lo_truncate64(1, 1::bigint)
-- gen-call-lo-unlink: function
select lo_unlink(1259::oid)
-- gen-attr-lo-unlink: function
select (1259::oid).lo_unlink
-- gen-treat-lo-unlink: function
select treat(1259::oid as lo_unlink)
-- gen-call-loread: function
select loread(1, 1)
-- gen-call-lowrite: function
select lowrite(1, '\x00'::bytea)
-- gen-call-multirange-in: function
select multirange_in('1'::cstring, 1259::oid, 1) is null
-- gen-call-mxid-age: function
select mxid_age('1'::xid)
-- gen-attr-mxid-age: function
select ('1'::xid).mxid_age
-- gen-treat-mxid-age: function
select treat('1'::xid as mxid_age)
-- gen-call-nextval: function
select nextval('private.secrets'::regclass)
-- gen-attr-nextval: function
select ('private.secrets'::regclass).nextval
-- gen-treat-nextval: function
select treat('private.secrets'::regclass as nextval)
-- gen-call-obj-description: function
select obj_description(1259::oid)
-- gen-attr-obj-description: function
select (1259::oid).obj_description
-- gen-treat-obj-description: function
select treat(1259::oid as obj_description)
-- gen-call-obj-description-2: function
select obj_description(1259::oid, 'private'::name)
-- gen-call-oidvectortypes: function
select oidvectortypes('1 2'::oidvector)
-- gen-attr-oidvectortypes: function
select ('1 2'::oidvector).oidvectortypes
-- gen-treat-oidvectortypes: function
select treat('1 2'::oidvector as oidvectortypes)
-- gen-call-pg-advisory-lock: function
select pg_advisory_lock(1::bigint)::text
-- gen-attr-pg-advisory-lock: function
select (1::bigint).pg_advisory_lock::text
-- gen-treat-pg-advisory-lock: function
select treat(1::bigint as pg_advisory_lock)::text
-- gen-call-pg-advisory-lock-2: function
select pg_advisory_lock(1, 1)::text
-- gen-call-pg-advisory-lock-shared: function
select pg_advisory_lock_shared(1::bigint)::text
-- gen-attr-pg-advisory-lock-shared: function
select (1::bigint).pg_advisory_lock_shared::text
-- gen-treat-pg-advisory-lock-shared: function
select treat(1::bigint as pg_advisory_lock_shared)::text
-- gen-call-pg-advisory-lock-shared-2: function
select pg_advisory_lock_shared(1, 1)::text
-- gen-call-pg-advisory-unlock: function
select pg_advisory_unlock(1::bigint)
-- gen-attr-pg-advisory-unlock: function
select (1::bigint).pg_advisory_unlock
-- gen-treat-pg-advisory-unlock: function
select treat(1::bigint as pg_advisory_unlock)
-- gen-call-pg-advisory-unlock-2: function
select pg_advisory_unlock(1, 1)
-- gen-call-pg-advisory-unlock-all: function
select pg_advisory_unlock_all()::text
-- gen-call-pg-advisory-unlock-shared: function
select pg_advisory_unlock_shared(1::bigint)
-- gen-attr-pg-advisory-unlock-shared: function
select (1::bigint).pg_advisory_unlock_shared
-- gen-treat-pg-advisory-unlock-shared: function
select treat(1::bigint as pg_advisory_unlock_shared)
-- gen-call-pg-advisory-unlock-shared-2: function
select pg_advisory_unlock_shared(1, 1)
-- gen-call-pg-advisory-xact-lock: function
select pg_advisory_xact_lock(1::bigint)::text
-- gen-attr-pg-advisory-xact-lock: function
select (1::bigint).pg_advisory_xact_lock::text
-- gen-treat-pg-advisory-xact-lock: function
select treat(1::bigint as pg_advisory_xact_lock)::text
-- gen-call-pg-advisory-xact-lock-2: function
select pg_advisory_xact_lock(1, 1)::text
-- gen-call-pg-advisory-xact-lock-shared: function
select pg_advisory_xact_lock_shared(1::bigint)::text
-- gen-attr-pg-advisory-xact-lock-shared: function
select (1::bigint).pg_advisory_xact_lock_shared::text
-- gen-treat-pg-advisory-xact-lock-shared: function
select treat(1::bigint as pg_advisory_xact_lock_shared)::text
-- gen-call-pg-advisory-xact-lock-shared-2: function
select pg_advisory_xact_lock_shared(1, 1)::text
-- gen-call-pg-available-extension-versions: function
select pg_available_extension_versions()::text
-- gen-call-pg-available-extensions: function
select pg_available_extensions()::text
-- gen-call-pg-backend-pid: function
select pg_backend_pid()
-- gen-call-pg-backup-start: function
select pg_backup_start('x'::text, true)
-- gen-attr-pg-backup-start: function
select ('x'::text).pg_backup_start
-- gen-treat-pg-backup-start: function
select treat('x'::text as pg_backup_start)
-- gen-call-pg-backup-stop: function
select pg_backup_stop(true)::text
-- gen-attr-pg-backup-stop: function
select (true).pg_backup_stop::text
-- gen-treat-pg-backup-stop: function
select treat(true as pg_backup_stop)::text
-- gen-call-pg-blocking-pids: function
select pg_blocking_pids(1)
-- gen-attr-pg-blocking-pids: function
select (1).pg_blocking_pids
-- gen-treat-pg-blocking-pids: function
select treat(1 as pg_blocking_pids)
-- gen-call-pg-cancel-backend: function
select pg_cancel_backend(1)
-- gen-attr-pg-cancel-backend: function
select (1).pg_cancel_backend
-- gen-treat-pg-cancel-backend: function
select treat(1 as pg_cancel_backend)
-- gen-call-pg-collation-actual-version: function
select pg_collation_actual_version(1259::oid)
-- gen-attr-pg-collation-actual-version: function
select (1259::oid).pg_collation_actual_version
-- gen-treat-pg-collation-actual-version: function
select treat(1259::oid as pg_collation_actual_version)
-- gen-call-pg-collation-is-visible: function
select pg_collation_is_visible(1259::oid)
-- gen-attr-pg-collation-is-visible: function
select (1259::oid).pg_collation_is_visible
-- gen-treat-pg-collation-is-visible: function
select treat(1259::oid as pg_collation_is_visible)
-- gen-call-pg-column-compression: function
select pg_column_compression(1)
-- gen-attr-pg-column-compression: function
select (1).pg_column_compression
-- gen-treat-pg-column-compression: function
select treat(1 as pg_column_compression)
-- gen-call-pg-column-is-updatable: function
select pg_column_is_updatable('private.secrets'::regclass, 1::smallint, true)
-- gen-call-pg-conf-load-time: function
select pg_conf_load_time()
-- gen-call-pg-config: function
select pg_config()::text
-- gen-call-pg-control-checkpoint: function
select pg_control_checkpoint()::text
-- gen-call-pg-control-init: function
select pg_control_init()::text
-- gen-call-pg-control-recovery: function
select pg_control_recovery()::text
-- gen-call-pg-control-system: function
select pg_control_system()::text
-- gen-call-pg-conversion-is-visible: function
select pg_conversion_is_visible(1259::oid)
-- gen-attr-pg-conversion-is-visible: function
select (1259::oid).pg_conversion_is_visible
-- gen-treat-pg-conversion-is-visible: function
select treat(1259::oid as pg_conversion_is_visible)
-- gen-call-pg-copy-logical-replication-slot: function
select pg_copy_logical_replication_slot('private'::name, 'private'::name)::text
-- gen-call-pg-copy-logical-replication-slot-2: function
select pg_copy_logical_replication_slot('private'::name, 'private'::name, true)::text
-- gen-call-pg-copy-logical-replication-slot-3: function
select pg_copy_logical_replication_slot('private'::name, 'private'::name, true, 'private'::name)::text
-- gen-call-pg-copy-physical-replication-slot: function
select pg_copy_physical_replication_slot('private'::name, 'private'::name)::text
-- gen-call-pg-copy-physical-replication-slot-2: function
select pg_copy_physical_replication_slot('private'::name, 'private'::name, true)::text
-- gen-call-pg-create-logical-replication-slot: function
select pg_create_logical_replication_slot('private'::name, 'private'::name, true, true)::text
-- gen-call-pg-create-physical-replication-slot: function
select pg_create_physical_replication_slot('private'::name, true, true)::text
-- gen-attr-pg-create-physical-replication-slot: function
select ('private'::name).pg_create_physical_replication_slot::text
-- gen-treat-pg-create-physical-replication-slot: function
select treat('private'::name as pg_create_physical_replication_slot)::text
-- gen-call-pg-create-restore-point: function
select pg_create_restore_point('x'::text)
-- gen-attr-pg-create-restore-point: function
select ('x'::text).pg_create_restore_point
-- gen-treat-pg-create-restore-point: function
select treat('x'::text as pg_create_restore_point)
-- gen-call-pg-current-logfile: function
select pg_current_logfile()
-- gen-call-pg-current-logfile-2: function
select pg_current_logfile('x'::text)
-- gen-attr-pg-current-logfile: function
select ('x'::text).pg_current_logfile
-- gen-treat-pg-current-logfile: function
select treat('x'::text as pg_current_logfile)
-- gen-call-pg-current-snapshot: function
select pg_current_snapshot()
-- gen-call-pg-current-wal-flush-lsn: function
select pg_current_wal_flush_lsn()
-- gen-call-pg-current-wal-insert-lsn: function
select pg_current_wal_insert_lsn()
-- gen-call-pg-current-wal-lsn: function
select pg_current_wal_lsn()
-- gen-call-pg-current-xact-id: function
select pg_current_xact_id()
-- gen-call-pg-current-xact-id-if-assigned: function
select pg_current_xact_id_if_assigned()
-- gen-call-pg-cursor: function
select pg_cursor()::text
-- gen-call-pg-database-collation-actual-version: function
select pg_database_collation_actual_version(1259::oid)
-- gen-attr-pg-database-collation-actual-version: function
select (1259::oid).pg_database_collation_actual_version
-- gen-treat-pg-database-collation-actual-version: function
select treat(1259::oid as pg_database_collation_actual_version)
-- gen-call-pg-database-size: function
select pg_database_size('private'::name)
-- gen-attr-pg-database-size: function
select ('private'::name).pg_database_size
-- gen-treat-pg-database-size: function
select treat('private'::name as pg_database_size)
-- gen-call-pg-database-size-2: function
select pg_database_size(1259::oid)
-- gen-attr-pg-database-size-2: function
select (1259::oid).pg_database_size
-- gen-treat-pg-database-size-2: function
select treat(1259::oid as pg_database_size)
-- gen-call-pg-describe-object: function
select pg_describe_object(1259::oid, 1259::oid, 1)
-- gen-call-pg-drop-replication-slot: function
select pg_drop_replication_slot('private'::name)::text
-- gen-attr-pg-drop-replication-slot: function
select ('private'::name).pg_drop_replication_slot::text
-- gen-treat-pg-drop-replication-slot: function
select treat('private'::name as pg_drop_replication_slot)::text
-- gen-call-pg-export-snapshot: function
select pg_export_snapshot()
-- gen-call-pg-extension-config-dump: function
select pg_extension_config_dump('private.secrets'::regclass, 'x'::text)::text
-- gen-call-pg-extension-update-paths: function
select pg_extension_update_paths('private'::name)::text
-- gen-attr-pg-extension-update-paths: function
select ('private'::name).pg_extension_update_paths::text
-- gen-treat-pg-extension-update-paths: function
select treat('private'::name as pg_extension_update_paths)::text
-- gen-call-pg-filenode-relation: function
select pg_filenode_relation(1259::oid, 1259::oid)
-- gen-call-pg-function-is-visible: function
select pg_function_is_visible(1259::oid)
-- gen-attr-pg-function-is-visible: function
select (1259::oid).pg_function_is_visible
-- gen-treat-pg-function-is-visible: function
select treat(1259::oid as pg_function_is_visible)
-- gen-call-pg-get-backend-memory-contexts: function
select pg_get_backend_memory_contexts()::text
-- gen-call-pg-get-catalog-foreign-keys: function
select pg_get_catalog_foreign_keys()::text
-- gen-call-pg-get-constraintdef: function
select pg_get_constraintdef(1259::oid)
-- gen-attr-pg-get-constraintdef: function
select (1259::oid).pg_get_constraintdef
-- gen-treat-pg-get-constraintdef: function
select treat(1259::oid as pg_get_constraintdef)
-- gen-call-pg-get-constraintdef-2: function
select pg_get_constraintdef(1259::oid, true)
-- gen-call-pg-get-expr: function
select pg_get_expr(null::pg_node_tree, 1259::oid)
-- gen-call-pg-get-expr-2: function
select pg_get_expr(null::pg_node_tree, 1259::oid, true)
-- gen-call-pg-get-function-arg-default: function
select pg_get_function_arg_default(1259::oid, 1)
-- gen-call-pg-get-function-arguments: function
select pg_get_function_arguments(1259::oid)
-- gen-attr-pg-get-function-arguments: function
select (1259::oid).pg_get_function_arguments
-- gen-treat-pg-get-function-arguments: function
select treat(1259::oid as pg_get_function_arguments)
-- gen-call-pg-get-function-identity-arguments: function
select pg_get_function_identity_arguments(1259::oid)
-- gen-attr-pg-get-function-identity-arguments: function
select (1259::oid).pg_get_function_identity_arguments
-- gen-treat-pg-get-function-identity-arguments: function
select treat(1259::oid as pg_get_function_identity_arguments)
-- gen-call-pg-get-function-result: function
select pg_get_function_result(1259::oid)
-- gen-attr-pg-get-function-result: function
select (1259::oid).pg_get_function_result
-- gen-treat-pg-get-function-result: function
select treat(1259::oid as pg_get_function_result)
-- gen-call-pg-get-function-sqlbody: function
select pg_get_function_sqlbody(1259::oid)
-- gen-attr-pg-get-function-sqlbody: function
select (1259::oid).pg_get_function_sqlbody
-- gen-treat-pg-get-function-sqlbody: function
select treat(1259::oid as pg_get_function_sqlbody)
-- gen-call-pg-get-functiondef: function
select pg_get_functiondef(1259::oid)
-- gen-attr-pg-get-functiondef: function
select (1259::oid).pg_get_functiondef
-- gen-treat-pg-get-functiondef: function
select treat(1259::oid as pg_get_functiondef)
-- gen-call-pg-get-indexdef: function
select pg_get_indexdef(1259::oid)
-- gen-attr-pg-get-indexdef: function
select (1259::oid).pg_get_indexdef
-- gen-treat-pg-get-indexdef: function
select treat(1259::oid as pg_get_indexdef)
-- gen-call-pg-get-indexdef-2: function
select pg_get_indexdef(1259::oid, 1, true)
-- gen-call-pg-get-keywords: function
select pg_get_keywords()::text
-- gen-call-pg-get-multixact-members: function
select pg_get_multixact_members('1'::xid)::text
-- gen-attr-pg-get-multixact-members: function
select ('1'::xid).pg_get_multixact_members::text
-- gen-treat-pg-get-multixact-members: function
select treat('1'::xid as pg_get_multixact_members)::text
-- gen-call-pg-get-object-address: function
select pg_get_object_address('x'::text, array['a'], array['a'])::text
-- gen-call-pg-get-partition-constraintdef: function
select pg_get_partition_constraintdef(1259::oid)
-- gen-attr-pg-get-partition-constraintdef: function
select (1259::oid).pg_get_partition_constraintdef
-- gen-treat-pg-get-partition-constraintdef: function
select treat(1259::oid as pg_get_partition_constraintdef)
-- gen-call-pg-get-partkeydef: function
select pg_get_partkeydef(1259::oid)
-- gen-attr-pg-get-partkeydef: function
select (1259::oid).pg_get_partkeydef
-- gen-treat-pg-get-partkeydef: function
select treat(1259::oid as pg_get_partkeydef)
-- gen-call-pg-get-publication-tables: function
select pg_get_publication_tables('x'::text)::text
-- gen-attr-pg-get-publication-tables: function
select ('x'::text).pg_get_publication_tables::text
-- gen-treat-pg-get-publication-tables: function
select treat('x'::text as pg_get_publication_tables)::text
-- gen-call-pg-get-replica-identity-index: function
select pg_get_replica_identity_index('private.secrets'::regclass)
-- gen-attr-pg-get-replica-identity-index: function
select ('private.secrets'::regclass).pg_get_replica_identity_index
-- gen-treat-pg-get-replica-identity-index: function
select treat('private.secrets'::regclass as pg_get_replica_identity_index)
-- gen-call-pg-get-replication-slots: function
select pg_get_replication_slots()::text
-- gen-call-pg-get-ruledef: function
select pg_get_ruledef(1259::oid)
-- gen-attr-pg-get-ruledef: function
select (1259::oid).pg_get_ruledef
-- gen-treat-pg-get-ruledef: function
select treat(1259::oid as pg_get_ruledef)
-- gen-call-pg-get-ruledef-2: function
select pg_get_ruledef(1259::oid, true)
-- gen-call-pg-get-serial-sequence: function
select pg_get_serial_sequence('ugc.ratings'::text, 'x'::text)
-- gen-call-pg-get-shmem-allocations: function
select pg_get_shmem_allocations()::text
-- gen-call-pg-get-statisticsobjdef: function
select pg_get_statisticsobjdef(1259::oid)
-- gen-attr-pg-get-statisticsobjdef: function
select (1259::oid).pg_get_statisticsobjdef
-- gen-treat-pg-get-statisticsobjdef: function
select treat(1259::oid as pg_get_statisticsobjdef)
-- gen-call-pg-get-statisticsobjdef-columns: function
select pg_get_statisticsobjdef_columns(1259::oid)
-- gen-attr-pg-get-statisticsobjdef-columns: function
select (1259::oid).pg_get_statisticsobjdef_columns
-- gen-treat-pg-get-statisticsobjdef-columns: function
select treat(1259::oid as pg_get_statisticsobjdef_columns)
-- gen-call-pg-get-statisticsobjdef-expressions: function
select pg_get_statisticsobjdef_expressions(1259::oid)
-- gen-attr-pg-get-statisticsobjdef-expressions: function
select (1259::oid).pg_get_statisticsobjdef_expressions
-- gen-treat-pg-get-statisticsobjdef-expressions: function
select treat(1259::oid as pg_get_statisticsobjdef_expressions)
-- gen-call-pg-get-triggerdef: function
select pg_get_triggerdef(1259::oid)
-- gen-attr-pg-get-triggerdef: function
select (1259::oid).pg_get_triggerdef
-- gen-treat-pg-get-triggerdef: function
select treat(1259::oid as pg_get_triggerdef)
-- gen-call-pg-get-triggerdef-2: function
select pg_get_triggerdef(1259::oid, true)
-- gen-call-pg-get-userbyid: function
select pg_get_userbyid(1259::oid)
-- gen-attr-pg-get-userbyid: function
select (1259::oid).pg_get_userbyid
-- gen-treat-pg-get-userbyid: function
select treat(1259::oid as pg_get_userbyid)
-- gen-call-pg-get-viewdef: function
select pg_get_viewdef('content.secrets'::text)
-- gen-attr-pg-get-viewdef: function
select ('content.secrets'::text).pg_get_viewdef
-- gen-treat-pg-get-viewdef: function
select treat('content.secrets'::text as pg_get_viewdef)
-- gen-call-pg-get-viewdef-2: function
select pg_get_viewdef(1259::oid)
-- gen-attr-pg-get-viewdef-2: function
select (1259::oid).pg_get_viewdef
-- gen-treat-pg-get-viewdef-2: function
select treat(1259::oid as pg_get_viewdef)
-- gen-call-pg-get-viewdef-3: function
select pg_get_viewdef('content.secrets'::text, true)
-- gen-call-pg-get-viewdef-4: function
select pg_get_viewdef(1259::oid, true)
-- gen-call-pg-get-viewdef-5: function
select pg_get_viewdef(1259::oid, 1)
-- gen-call-pg-get-wal-replay-pause-state: function
select pg_get_wal_replay_pause_state()
-- gen-call-pg-get-wal-resource-managers: function
select pg_get_wal_resource_managers()::text
-- gen-call-pg-has-role: function
select pg_has_role('private'::name, 'x'::text)
-- gen-call-pg-has-role-2: function
select pg_has_role(1259::oid, 'x'::text)
-- gen-call-pg-has-role-3: function
select pg_has_role('private'::name, 'private'::name, 'x'::text)
-- gen-call-pg-has-role-4: function
select pg_has_role('private'::name, 1259::oid, 'x'::text)
-- gen-call-pg-has-role-5: function
select pg_has_role(1259::oid, 'private'::name, 'x'::text)
-- gen-call-pg-has-role-6: function
select pg_has_role(1259::oid, 1259::oid, 'x'::text)
-- gen-call-pg-hba-file-rules: function
select pg_hba_file_rules()::text
-- gen-call-pg-ident-file-mappings: function
select pg_ident_file_mappings()::text
-- gen-call-pg-identify-object: function
select pg_identify_object(1259::oid, 1259::oid, 1)::text
-- gen-call-pg-identify-object-as-address: function
select pg_identify_object_as_address(1259::oid, 1259::oid, 1)::text
-- gen-call-pg-import-system-collations: function
select pg_import_system_collations('private'::regnamespace)
-- gen-attr-pg-import-system-collations: function
select ('private'::regnamespace).pg_import_system_collations
-- gen-treat-pg-import-system-collations: function
select treat('private'::regnamespace as pg_import_system_collations)
-- gen-call-pg-index-column-has-property: function
select pg_index_column_has_property('private.secrets'::regclass, 1, 'x'::text)
-- gen-call-pg-index-has-property: function
select pg_index_has_property('private.secrets'::regclass, 'x'::text)
-- gen-call-pg-indexam-has-property: function
select pg_indexam_has_property(1259::oid, 'x'::text)
-- gen-call-pg-indexam-progress-phasename: function
select pg_indexam_progress_phasename(1259::oid, 1::bigint)
-- gen-call-pg-indexes-size: function
select pg_indexes_size('private.secrets'::regclass)
-- gen-attr-pg-indexes-size: function
select ('private.secrets'::regclass).pg_indexes_size
-- gen-treat-pg-indexes-size: function
select treat('private.secrets'::regclass as pg_indexes_size)
-- gen-call-pg-is-in-recovery: function
select pg_is_in_recovery()
-- gen-call-pg-is-other-temp-schema: function
select pg_is_other_temp_schema(1259::oid)
-- gen-attr-pg-is-other-temp-schema: function
select (1259::oid).pg_is_other_temp_schema
-- gen-treat-pg-is-other-temp-schema: function
select treat(1259::oid as pg_is_other_temp_schema)
-- gen-call-pg-is-wal-replay-paused: function
select pg_is_wal_replay_paused()
-- gen-call-pg-isolation-test-session-is-blocked: function
select pg_isolation_test_session_is_blocked(1, array[1])
-- gen-call-pg-jit-available: function
select pg_jit_available()
-- gen-call-pg-last-committed-xact: function
select pg_last_committed_xact()::text
-- gen-call-pg-last-wal-receive-lsn: function
select pg_last_wal_receive_lsn()
-- gen-call-pg-last-wal-replay-lsn: function
select pg_last_wal_replay_lsn()
-- gen-call-pg-last-xact-replay-timestamp: function
select pg_last_xact_replay_timestamp()
-- gen-call-pg-listening-channels: function
select pg_listening_channels()
-- gen-call-pg-lock-status: function
select pg_lock_status()::text
-- gen-call-pg-log-backend-memory-contexts: function
select pg_log_backend_memory_contexts(1)
-- gen-attr-pg-log-backend-memory-contexts: function
select (1).pg_log_backend_memory_contexts
-- gen-treat-pg-log-backend-memory-contexts: function
select treat(1 as pg_log_backend_memory_contexts)
-- gen-call-pg-logical-emit-message: function
select pg_logical_emit_message(true, 'x'::text, '\x00'::bytea)
-- gen-call-pg-logical-emit-message-2: function
select pg_logical_emit_message(true, 'x'::text, 'x'::text)
-- gen-call-pg-logical-slot-get-binary-changes: function
select pg_logical_slot_get_binary_changes('private'::name, '0/1'::pg_lsn, 1, variadic array['a'])::text
-- gen-call-pg-logical-slot-get-changes: function
select pg_logical_slot_get_changes('private'::name, '0/1'::pg_lsn, 1, variadic array['a'])::text
-- gen-call-pg-logical-slot-peek-binary-changes: function
select pg_logical_slot_peek_binary_changes('private'::name, '0/1'::pg_lsn, 1, variadic array['a'])::text
-- gen-call-pg-logical-slot-peek-changes: function
select pg_logical_slot_peek_changes('private'::name, '0/1'::pg_lsn, 1, variadic array['a'])::text
-- gen-call-pg-ls-archive-statusdir: function
select pg_ls_archive_statusdir()::text
-- gen-call-pg-ls-dir: function
select pg_ls_dir('.'::text)
-- gen-treat-pg-ls-dir: function
select treat('.'::text as pg_ls_dir)
-- gen-call-pg-ls-dir-2: function
select pg_ls_dir('.'::text, true, true)
-- gen-call-pg-ls-logdir: function
select pg_ls_logdir()::text
-- gen-call-pg-ls-logicalmapdir: function
select pg_ls_logicalmapdir()::text
-- gen-call-pg-ls-logicalsnapdir: function
select pg_ls_logicalsnapdir()::text
-- gen-call-pg-ls-replslotdir: function
select pg_ls_replslotdir('x'::text)::text
-- gen-attr-pg-ls-replslotdir: function
select ('x'::text).pg_ls_replslotdir::text
-- gen-treat-pg-ls-replslotdir: function
select treat('x'::text as pg_ls_replslotdir)::text
-- gen-call-pg-ls-tmpdir: function
select pg_ls_tmpdir()::text
-- gen-call-pg-ls-tmpdir-2: function
select pg_ls_tmpdir(1259::oid)::text
-- gen-attr-pg-ls-tmpdir: function
select (1259::oid).pg_ls_tmpdir::text
-- gen-treat-pg-ls-tmpdir: function
select treat(1259::oid as pg_ls_tmpdir)::text
-- gen-call-pg-ls-waldir: function
select pg_ls_waldir()::text
-- gen-call-pg-my-temp-schema: function
select pg_my_temp_schema()
-- gen-call-pg-nextoid: function
select pg_nextoid('private.secrets'::regclass, 'private'::name, 'private.secrets'::regclass)
-- gen-call-pg-notification-queue-usage: function
select pg_notification_queue_usage()
-- gen-call-pg-notify: function
select pg_notify('x'::text, 'x'::text)::text
-- gen-call-pg-opclass-is-visible: function
select pg_opclass_is_visible(1259::oid)
-- gen-attr-pg-opclass-is-visible: function
select (1259::oid).pg_opclass_is_visible
-- gen-treat-pg-opclass-is-visible: function
select treat(1259::oid as pg_opclass_is_visible)
-- gen-call-pg-operator-is-visible: function
select pg_operator_is_visible(1259::oid)
-- gen-attr-pg-operator-is-visible: function
select (1259::oid).pg_operator_is_visible
-- gen-treat-pg-operator-is-visible: function
select treat(1259::oid as pg_operator_is_visible)
-- gen-call-pg-opfamily-is-visible: function
select pg_opfamily_is_visible(1259::oid)
-- gen-attr-pg-opfamily-is-visible: function
select (1259::oid).pg_opfamily_is_visible
-- gen-treat-pg-opfamily-is-visible: function
select treat(1259::oid as pg_opfamily_is_visible)
-- gen-call-pg-partition-ancestors: function
select pg_partition_ancestors('private.secrets'::regclass)
-- gen-attr-pg-partition-ancestors: function
select ('private.secrets'::regclass).pg_partition_ancestors
-- gen-treat-pg-partition-ancestors: function
select treat('private.secrets'::regclass as pg_partition_ancestors)
-- gen-call-pg-partition-root: function
select pg_partition_root('private.secrets'::regclass)
-- gen-attr-pg-partition-root: function
select ('private.secrets'::regclass).pg_partition_root
-- gen-treat-pg-partition-root: function
select treat('private.secrets'::regclass as pg_partition_root)
-- gen-call-pg-partition-tree: function
select pg_partition_tree('private.secrets'::regclass)::text
-- gen-attr-pg-partition-tree: function
select ('private.secrets'::regclass).pg_partition_tree::text
-- gen-treat-pg-partition-tree: function
select treat('private.secrets'::regclass as pg_partition_tree)::text
-- gen-call-pg-postmaster-start-time: function
select pg_postmaster_start_time()
-- gen-call-pg-prepared-statement: function
select pg_prepared_statement()::text
-- gen-call-pg-prepared-xact: function
select pg_prepared_xact()::text
-- gen-call-pg-promote: function
select pg_promote(true, 1)
-- gen-attr-pg-promote: function
select (true).pg_promote
-- gen-treat-pg-promote: function
select treat(true as pg_promote)
-- gen-call-pg-read-binary-file: function
select pg_read_binary_file('PG_VERSION'::text)
-- gen-attr-pg-read-binary-file: function
select ('PG_VERSION'::text).pg_read_binary_file
-- gen-treat-pg-read-binary-file: function
select treat('PG_VERSION'::text as pg_read_binary_file)
-- gen-call-pg-read-binary-file-2: function
select pg_read_binary_file('PG_VERSION'::text, 1::bigint, 1::bigint)
-- gen-call-pg-read-binary-file-3: function
select pg_read_binary_file('PG_VERSION'::text, 1::bigint, 1::bigint, true)
-- gen-call-pg-read-file: function
select pg_read_file('PG_VERSION'::text)
-- gen-call-pg-read-file-2: function
select pg_read_file('PG_VERSION'::text, 1::bigint, 1::bigint)
-- gen-call-pg-read-file-3: function
select pg_read_file('PG_VERSION'::text, 1::bigint, 1::bigint, true)
-- gen-call-pg-read-file-old: function
select pg_read_file_old('x'::text, 1::bigint, 1::bigint)
-- gen-call-pg-relation-filenode: function
select pg_relation_filenode('private.secrets'::regclass)
-- gen-attr-pg-relation-filenode: function
select ('private.secrets'::regclass).pg_relation_filenode
-- gen-treat-pg-relation-filenode: function
select treat('private.secrets'::regclass as pg_relation_filenode)
-- gen-call-pg-relation-filepath: function
select pg_relation_filepath('private.secrets'::regclass)
-- gen-attr-pg-relation-filepath: function
select ('private.secrets'::regclass).pg_relation_filepath
-- gen-treat-pg-relation-filepath: function
select treat('private.secrets'::regclass as pg_relation_filepath)
-- gen-call-pg-relation-is-publishable: function
select pg_relation_is_publishable('private.secrets'::regclass)
-- gen-attr-pg-relation-is-publishable: function
select ('private.secrets'::regclass).pg_relation_is_publishable
-- gen-treat-pg-relation-is-publishable: function
select treat('private.secrets'::regclass as pg_relation_is_publishable)
-- gen-call-pg-relation-is-updatable: function
select pg_relation_is_updatable('private.secrets'::regclass, true)
-- gen-call-pg-relation-size: function
select pg_relation_size('private.secrets'::regclass)
-- gen-attr-pg-relation-size: function
select ('private.secrets'::regclass).pg_relation_size
-- gen-treat-pg-relation-size: function
select treat('private.secrets'::regclass as pg_relation_size)
-- gen-call-pg-relation-size-2: function
select pg_relation_size('private.secrets'::regclass, 'x'::text)
-- gen-call-pg-reload-conf: function
select pg_reload_conf()
-- gen-call-pg-replication-origin-advance: function
select pg_replication_origin_advance('x'::text, '0/1'::pg_lsn)::text
-- gen-call-pg-replication-origin-create: function
select pg_replication_origin_create('x'::text)
-- gen-attr-pg-replication-origin-create: function
select ('x'::text).pg_replication_origin_create
-- gen-treat-pg-replication-origin-create: function
select treat('x'::text as pg_replication_origin_create)
-- gen-call-pg-replication-origin-drop: function
select pg_replication_origin_drop('x'::text)::text
-- gen-attr-pg-replication-origin-drop: function
select ('x'::text).pg_replication_origin_drop::text
-- gen-treat-pg-replication-origin-drop: function
select treat('x'::text as pg_replication_origin_drop)::text
-- gen-call-pg-replication-origin-oid: function
select pg_replication_origin_oid('x'::text)
-- gen-attr-pg-replication-origin-oid: function
select ('x'::text).pg_replication_origin_oid
-- gen-treat-pg-replication-origin-oid: function
select treat('x'::text as pg_replication_origin_oid)
-- gen-call-pg-replication-origin-progress: function
select pg_replication_origin_progress('x'::text, true)
-- gen-call-pg-replication-origin-session-is-setup: function
select pg_replication_origin_session_is_setup()
-- gen-call-pg-replication-origin-session-progress: function
select pg_replication_origin_session_progress(true)
-- gen-attr-pg-replication-origin-session-progress: function
select (true).pg_replication_origin_session_progress
-- gen-treat-pg-replication-origin-session-progress: function
select treat(true as pg_replication_origin_session_progress)
-- gen-call-pg-replication-origin-session-reset: function
select pg_replication_origin_session_reset()::text
-- gen-call-pg-replication-origin-session-setup: function
select pg_replication_origin_session_setup('x'::text)::text
-- gen-attr-pg-replication-origin-session-setup: function
select ('x'::text).pg_replication_origin_session_setup::text
-- gen-treat-pg-replication-origin-session-setup: function
select treat('x'::text as pg_replication_origin_session_setup)::text
-- gen-call-pg-replication-origin-xact-reset: function
select pg_replication_origin_xact_reset()::text
-- gen-call-pg-replication-origin-xact-setup: function
select pg_replication_origin_xact_setup('0/1'::pg_lsn, now())::text
-- gen-call-pg-replication-slot-advance: function
select pg_replication_slot_advance('private'::name, '0/1'::pg_lsn)::text
-- gen-call-pg-rotate-logfile: function
select pg_rotate_logfile()
-- gen-call-pg-rotate-logfile-old: function
select pg_rotate_logfile_old()
-- gen-call-pg-safe-snapshot-blocking-pids: function
select pg_safe_snapshot_blocking_pids(1)
-- gen-attr-pg-safe-snapshot-blocking-pids: function
select (1).pg_safe_snapshot_blocking_pids
-- gen-treat-pg-safe-snapshot-blocking-pids: function
select treat(1 as pg_safe_snapshot_blocking_pids)
-- gen-call-pg-sequence-last-value: function
select pg_sequence_last_value('private.secrets'::regclass)
-- gen-attr-pg-sequence-last-value: function
select ('private.secrets'::regclass).pg_sequence_last_value
-- gen-treat-pg-sequence-last-value: function
select treat('private.secrets'::regclass as pg_sequence_last_value)
-- gen-call-pg-sequence-parameters: function
select pg_sequence_parameters(1259::oid)::text
-- gen-attr-pg-sequence-parameters: function
select (1259::oid).pg_sequence_parameters::text
-- gen-treat-pg-sequence-parameters: function
select treat(1259::oid as pg_sequence_parameters)::text
-- gen-call-pg-settings-get-flags: function
select pg_settings_get_flags('x'::text)
-- gen-attr-pg-settings-get-flags: function
select ('x'::text).pg_settings_get_flags
-- gen-treat-pg-settings-get-flags: function
select treat('x'::text as pg_settings_get_flags)
-- gen-call-pg-show-all-file-settings: function
select pg_show_all_file_settings()::text
-- gen-call-pg-show-all-settings: function
select pg_show_all_settings()::text
-- gen-call-pg-show-replication-origin-status: function
select pg_show_replication_origin_status()::text
-- gen-call-pg-sleep: function
select pg_sleep(0.01::float8)::text
-- gen-call-pg-sleep-for: function
select pg_sleep_for(interval '0.01 s')::text
-- gen-attr-pg-sleep-for: function
select (interval '0.01 s').pg_sleep_for::text
-- gen-treat-pg-sleep-for: function
select treat(interval '0.01 s' as pg_sleep_for)::text
-- gen-call-pg-sleep-until: function
select pg_sleep_until(now())::text
-- gen-attr-pg-sleep-until: function
select (now()).pg_sleep_until::text
-- gen-treat-pg-sleep-until: function
select treat(now() as pg_sleep_until)::text
-- gen-call-pg-stat-clear-snapshot: function
select pg_stat_clear_snapshot()::text
-- gen-call-pg-stat-file: function
select pg_stat_file('PG_VERSION'::text)::text
-- gen-attr-pg-stat-file: function
select ('PG_VERSION'::text).pg_stat_file::text
-- gen-treat-pg-stat-file: function
select treat('PG_VERSION'::text as pg_stat_file)::text
-- gen-call-pg-stat-file-2: function
select pg_stat_file('PG_VERSION'::text, true)::text
-- gen-call-pg-stat-force-next-flush: function
select pg_stat_force_next_flush()::text
-- gen-call-pg-stat-get-activity: function
select pg_stat_get_activity(1)::text
-- gen-attr-pg-stat-get-activity: function
select (1).pg_stat_get_activity::text
-- gen-treat-pg-stat-get-activity: function
select treat(1 as pg_stat_get_activity)::text
-- gen-call-pg-stat-get-analyze-count: function
select pg_stat_get_analyze_count(1259::oid)
-- gen-attr-pg-stat-get-analyze-count: function
select (1259::oid).pg_stat_get_analyze_count
-- gen-treat-pg-stat-get-analyze-count: function
select treat(1259::oid as pg_stat_get_analyze_count)
-- gen-call-pg-stat-get-archiver: function
select pg_stat_get_archiver()::text
-- gen-call-pg-stat-get-autoanalyze-count: function
select pg_stat_get_autoanalyze_count(1259::oid)
-- gen-attr-pg-stat-get-autoanalyze-count: function
select (1259::oid).pg_stat_get_autoanalyze_count
-- gen-treat-pg-stat-get-autoanalyze-count: function
select treat(1259::oid as pg_stat_get_autoanalyze_count)
-- gen-call-pg-stat-get-autovacuum-count: function
select pg_stat_get_autovacuum_count(1259::oid)
-- gen-attr-pg-stat-get-autovacuum-count: function
select (1259::oid).pg_stat_get_autovacuum_count
-- gen-treat-pg-stat-get-autovacuum-count: function
select treat(1259::oid as pg_stat_get_autovacuum_count)
-- gen-call-pg-stat-get-backend-activity: function
select pg_stat_get_backend_activity(1)
-- gen-attr-pg-stat-get-backend-activity: function
select (1).pg_stat_get_backend_activity
-- gen-treat-pg-stat-get-backend-activity: function
select treat(1 as pg_stat_get_backend_activity)
-- gen-call-pg-stat-get-backend-activity-start: function
select pg_stat_get_backend_activity_start(1)
-- gen-attr-pg-stat-get-backend-activity-start: function
select (1).pg_stat_get_backend_activity_start
-- gen-treat-pg-stat-get-backend-activity-start: function
select treat(1 as pg_stat_get_backend_activity_start)
-- gen-call-pg-stat-get-backend-client-addr: function
select pg_stat_get_backend_client_addr(1)
-- gen-attr-pg-stat-get-backend-client-addr: function
select (1).pg_stat_get_backend_client_addr
-- gen-treat-pg-stat-get-backend-client-addr: function
select treat(1 as pg_stat_get_backend_client_addr)
-- gen-call-pg-stat-get-backend-client-port: function
select pg_stat_get_backend_client_port(1)
-- gen-attr-pg-stat-get-backend-client-port: function
select (1).pg_stat_get_backend_client_port
-- gen-treat-pg-stat-get-backend-client-port: function
select treat(1 as pg_stat_get_backend_client_port)
-- gen-call-pg-stat-get-backend-dbid: function
select pg_stat_get_backend_dbid(1)
-- gen-attr-pg-stat-get-backend-dbid: function
select (1).pg_stat_get_backend_dbid
-- gen-treat-pg-stat-get-backend-dbid: function
select treat(1 as pg_stat_get_backend_dbid)
-- gen-call-pg-stat-get-backend-idset: function
select pg_stat_get_backend_idset()
-- gen-call-pg-stat-get-backend-pid: function
select pg_stat_get_backend_pid(1)
-- gen-attr-pg-stat-get-backend-pid: function
select (1).pg_stat_get_backend_pid
-- gen-treat-pg-stat-get-backend-pid: function
select treat(1 as pg_stat_get_backend_pid)
-- gen-call-pg-stat-get-backend-start: function
select pg_stat_get_backend_start(1)
-- gen-attr-pg-stat-get-backend-start: function
select (1).pg_stat_get_backend_start
-- gen-treat-pg-stat-get-backend-start: function
select treat(1 as pg_stat_get_backend_start)
-- gen-call-pg-stat-get-backend-userid: function
select pg_stat_get_backend_userid(1)
-- gen-attr-pg-stat-get-backend-userid: function
select (1).pg_stat_get_backend_userid
-- gen-treat-pg-stat-get-backend-userid: function
select treat(1 as pg_stat_get_backend_userid)
-- gen-call-pg-stat-get-backend-wait-event: function
select pg_stat_get_backend_wait_event(1)
-- gen-attr-pg-stat-get-backend-wait-event: function
select (1).pg_stat_get_backend_wait_event
-- gen-treat-pg-stat-get-backend-wait-event: function
select treat(1 as pg_stat_get_backend_wait_event)
-- gen-call-pg-stat-get-backend-wait-event-type: function
select pg_stat_get_backend_wait_event_type(1)
-- gen-attr-pg-stat-get-backend-wait-event-type: function
select (1).pg_stat_get_backend_wait_event_type
-- gen-treat-pg-stat-get-backend-wait-event-type: function
select treat(1 as pg_stat_get_backend_wait_event_type)
-- gen-call-pg-stat-get-backend-xact-start: function
select pg_stat_get_backend_xact_start(1)
-- gen-attr-pg-stat-get-backend-xact-start: function
select (1).pg_stat_get_backend_xact_start
-- gen-treat-pg-stat-get-backend-xact-start: function
select treat(1 as pg_stat_get_backend_xact_start)
-- gen-call-pg-stat-get-bgwriter-buf-written-checkpoints: function
select pg_stat_get_bgwriter_buf_written_checkpoints()
-- gen-call-pg-stat-get-bgwriter-buf-written-clean: function
select pg_stat_get_bgwriter_buf_written_clean()
-- gen-call-pg-stat-get-bgwriter-maxwritten-clean: function
select pg_stat_get_bgwriter_maxwritten_clean()
-- gen-call-pg-stat-get-bgwriter-requested-checkpoints: function
select pg_stat_get_bgwriter_requested_checkpoints()
-- gen-call-pg-stat-get-bgwriter-stat-reset-time: function
select pg_stat_get_bgwriter_stat_reset_time()
-- gen-call-pg-stat-get-bgwriter-timed-checkpoints: function
select pg_stat_get_bgwriter_timed_checkpoints()
-- gen-call-pg-stat-get-blocks-fetched: function
select pg_stat_get_blocks_fetched(1259::oid)
-- gen-attr-pg-stat-get-blocks-fetched: function
select (1259::oid).pg_stat_get_blocks_fetched
-- gen-treat-pg-stat-get-blocks-fetched: function
select treat(1259::oid as pg_stat_get_blocks_fetched)
-- gen-call-pg-stat-get-blocks-hit: function
select pg_stat_get_blocks_hit(1259::oid)
-- gen-attr-pg-stat-get-blocks-hit: function
select (1259::oid).pg_stat_get_blocks_hit
-- gen-treat-pg-stat-get-blocks-hit: function
select treat(1259::oid as pg_stat_get_blocks_hit)
-- gen-call-pg-stat-get-buf-alloc: function
select pg_stat_get_buf_alloc()
-- gen-call-pg-stat-get-buf-fsync-backend: function
select pg_stat_get_buf_fsync_backend()
-- gen-call-pg-stat-get-buf-written-backend: function
select pg_stat_get_buf_written_backend()
-- gen-call-pg-stat-get-checkpoint-sync-time: function
select pg_stat_get_checkpoint_sync_time()
-- gen-call-pg-stat-get-checkpoint-write-time: function
select pg_stat_get_checkpoint_write_time()
-- gen-call-pg-stat-get-db-active-time: function
select pg_stat_get_db_active_time(1259::oid)
-- gen-attr-pg-stat-get-db-active-time: function
select (1259::oid).pg_stat_get_db_active_time
-- gen-treat-pg-stat-get-db-active-time: function
select treat(1259::oid as pg_stat_get_db_active_time)
-- gen-call-pg-stat-get-db-blk-read-time: function
select pg_stat_get_db_blk_read_time(1259::oid)
-- gen-attr-pg-stat-get-db-blk-read-time: function
select (1259::oid).pg_stat_get_db_blk_read_time
-- gen-treat-pg-stat-get-db-blk-read-time: function
select treat(1259::oid as pg_stat_get_db_blk_read_time)
-- gen-call-pg-stat-get-db-blk-write-time: function
select pg_stat_get_db_blk_write_time(1259::oid)
-- gen-attr-pg-stat-get-db-blk-write-time: function
select (1259::oid).pg_stat_get_db_blk_write_time
-- gen-treat-pg-stat-get-db-blk-write-time: function
select treat(1259::oid as pg_stat_get_db_blk_write_time)
-- gen-call-pg-stat-get-db-blocks-fetched: function
select pg_stat_get_db_blocks_fetched(1259::oid)
-- gen-attr-pg-stat-get-db-blocks-fetched: function
select (1259::oid).pg_stat_get_db_blocks_fetched
-- gen-treat-pg-stat-get-db-blocks-fetched: function
select treat(1259::oid as pg_stat_get_db_blocks_fetched)
-- gen-call-pg-stat-get-db-blocks-hit: function
select pg_stat_get_db_blocks_hit(1259::oid)
-- gen-attr-pg-stat-get-db-blocks-hit: function
select (1259::oid).pg_stat_get_db_blocks_hit
-- gen-treat-pg-stat-get-db-blocks-hit: function
select treat(1259::oid as pg_stat_get_db_blocks_hit)
-- gen-call-pg-stat-get-db-checksum-failures: function
select pg_stat_get_db_checksum_failures(1259::oid)
-- gen-attr-pg-stat-get-db-checksum-failures: function
select (1259::oid).pg_stat_get_db_checksum_failures
-- gen-treat-pg-stat-get-db-checksum-failures: function
select treat(1259::oid as pg_stat_get_db_checksum_failures)
-- gen-call-pg-stat-get-db-checksum-last-failure: function
select pg_stat_get_db_checksum_last_failure(1259::oid)
-- gen-attr-pg-stat-get-db-checksum-last-failure: function
select (1259::oid).pg_stat_get_db_checksum_last_failure
-- gen-treat-pg-stat-get-db-checksum-last-failure: function
select treat(1259::oid as pg_stat_get_db_checksum_last_failure)
-- gen-call-pg-stat-get-db-conflict-all: function
select pg_stat_get_db_conflict_all(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-all: function
select (1259::oid).pg_stat_get_db_conflict_all
-- gen-treat-pg-stat-get-db-conflict-all: function
select treat(1259::oid as pg_stat_get_db_conflict_all)
-- gen-call-pg-stat-get-db-conflict-bufferpin: function
select pg_stat_get_db_conflict_bufferpin(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-bufferpin: function
select (1259::oid).pg_stat_get_db_conflict_bufferpin
-- gen-treat-pg-stat-get-db-conflict-bufferpin: function
select treat(1259::oid as pg_stat_get_db_conflict_bufferpin)
-- gen-call-pg-stat-get-db-conflict-lock: function
select pg_stat_get_db_conflict_lock(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-lock: function
select (1259::oid).pg_stat_get_db_conflict_lock
-- gen-treat-pg-stat-get-db-conflict-lock: function
select treat(1259::oid as pg_stat_get_db_conflict_lock)
-- gen-call-pg-stat-get-db-conflict-snapshot: function
select pg_stat_get_db_conflict_snapshot(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-snapshot: function
select (1259::oid).pg_stat_get_db_conflict_snapshot
-- gen-treat-pg-stat-get-db-conflict-snapshot: function
select treat(1259::oid as pg_stat_get_db_conflict_snapshot)
-- gen-call-pg-stat-get-db-conflict-startup-deadlock: function
select pg_stat_get_db_conflict_startup_deadlock(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-startup-deadlock: function
select (1259::oid).pg_stat_get_db_conflict_startup_deadlock
-- gen-treat-pg-stat-get-db-conflict-startup-deadlock: function
select treat(1259::oid as pg_stat_get_db_conflict_startup_deadlock)
-- gen-call-pg-stat-get-db-conflict-tablespace: function
select pg_stat_get_db_conflict_tablespace(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-tablespace: function
select (1259::oid).pg_stat_get_db_conflict_tablespace
-- gen-treat-pg-stat-get-db-conflict-tablespace: function
select treat(1259::oid as pg_stat_get_db_conflict_tablespace)
-- gen-call-pg-stat-get-db-deadlocks: function
select pg_stat_get_db_deadlocks(1259::oid)
-- gen-attr-pg-stat-get-db-deadlocks: function
select (1259::oid).pg_stat_get_db_deadlocks
-- gen-treat-pg-stat-get-db-deadlocks: function
select treat(1259::oid as pg_stat_get_db_deadlocks)
-- gen-call-pg-stat-get-db-idle-in-transaction-time: function
select pg_stat_get_db_idle_in_transaction_time(1259::oid)
-- gen-attr-pg-stat-get-db-idle-in-transaction-time: function
select (1259::oid).pg_stat_get_db_idle_in_transaction_time
-- gen-treat-pg-stat-get-db-idle-in-transaction-time: function
select treat(1259::oid as pg_stat_get_db_idle_in_transaction_time)
-- gen-call-pg-stat-get-db-numbackends: function
select pg_stat_get_db_numbackends(1259::oid)
-- gen-attr-pg-stat-get-db-numbackends: function
select (1259::oid).pg_stat_get_db_numbackends
-- gen-treat-pg-stat-get-db-numbackends: function
select treat(1259::oid as pg_stat_get_db_numbackends)
-- gen-call-pg-stat-get-db-session-time: function
select pg_stat_get_db_session_time(1259::oid)
-- gen-attr-pg-stat-get-db-session-time: function
select (1259::oid).pg_stat_get_db_session_time
-- gen-treat-pg-stat-get-db-session-time: function
select treat(1259::oid as pg_stat_get_db_session_time)
-- gen-call-pg-stat-get-db-sessions: function
select pg_stat_get_db_sessions(1259::oid)
-- gen-attr-pg-stat-get-db-sessions: function
select (1259::oid).pg_stat_get_db_sessions
-- gen-treat-pg-stat-get-db-sessions: function
select treat(1259::oid as pg_stat_get_db_sessions)
-- gen-call-pg-stat-get-db-sessions-abandoned: function
select pg_stat_get_db_sessions_abandoned(1259::oid)
-- gen-attr-pg-stat-get-db-sessions-abandoned: function
select (1259::oid).pg_stat_get_db_sessions_abandoned
-- gen-treat-pg-stat-get-db-sessions-abandoned: function
select treat(1259::oid as pg_stat_get_db_sessions_abandoned)
-- gen-call-pg-stat-get-db-sessions-fatal: function
select pg_stat_get_db_sessions_fatal(1259::oid)
-- gen-attr-pg-stat-get-db-sessions-fatal: function
select (1259::oid).pg_stat_get_db_sessions_fatal
-- gen-treat-pg-stat-get-db-sessions-fatal: function
select treat(1259::oid as pg_stat_get_db_sessions_fatal)
-- gen-call-pg-stat-get-db-sessions-killed: function
select pg_stat_get_db_sessions_killed(1259::oid)
-- gen-attr-pg-stat-get-db-sessions-killed: function
select (1259::oid).pg_stat_get_db_sessions_killed
-- gen-treat-pg-stat-get-db-sessions-killed: function
select treat(1259::oid as pg_stat_get_db_sessions_killed)
-- gen-call-pg-stat-get-db-stat-reset-time: function
select pg_stat_get_db_stat_reset_time(1259::oid)
-- gen-attr-pg-stat-get-db-stat-reset-time: function
select (1259::oid).pg_stat_get_db_stat_reset_time
-- gen-treat-pg-stat-get-db-stat-reset-time: function
select treat(1259::oid as pg_stat_get_db_stat_reset_time)
-- gen-call-pg-stat-get-db-temp-bytes: function
select pg_stat_get_db_temp_bytes(1259::oid)
-- gen-attr-pg-stat-get-db-temp-bytes: function
select (1259::oid).pg_stat_get_db_temp_bytes
-- gen-treat-pg-stat-get-db-temp-bytes: function
select treat(1259::oid as pg_stat_get_db_temp_bytes)
-- gen-call-pg-stat-get-db-temp-files: function
select pg_stat_get_db_temp_files(1259::oid)
-- gen-attr-pg-stat-get-db-temp-files: function
select (1259::oid).pg_stat_get_db_temp_files
-- gen-treat-pg-stat-get-db-temp-files: function
select treat(1259::oid as pg_stat_get_db_temp_files)
-- gen-call-pg-stat-get-db-tuples-deleted: function
select pg_stat_get_db_tuples_deleted(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-deleted: function
select (1259::oid).pg_stat_get_db_tuples_deleted
-- gen-treat-pg-stat-get-db-tuples-deleted: function
select treat(1259::oid as pg_stat_get_db_tuples_deleted)
-- gen-call-pg-stat-get-db-tuples-fetched: function
select pg_stat_get_db_tuples_fetched(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-fetched: function
select (1259::oid).pg_stat_get_db_tuples_fetched
-- gen-treat-pg-stat-get-db-tuples-fetched: function
select treat(1259::oid as pg_stat_get_db_tuples_fetched)
-- gen-call-pg-stat-get-db-tuples-inserted: function
select pg_stat_get_db_tuples_inserted(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-inserted: function
select (1259::oid).pg_stat_get_db_tuples_inserted
-- gen-treat-pg-stat-get-db-tuples-inserted: function
select treat(1259::oid as pg_stat_get_db_tuples_inserted)
-- gen-call-pg-stat-get-db-tuples-returned: function
select pg_stat_get_db_tuples_returned(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-returned: function
select (1259::oid).pg_stat_get_db_tuples_returned
-- gen-treat-pg-stat-get-db-tuples-returned: function
select treat(1259::oid as pg_stat_get_db_tuples_returned)
-- gen-call-pg-stat-get-db-tuples-updated: function
select pg_stat_get_db_tuples_updated(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-updated: function
select (1259::oid).pg_stat_get_db_tuples_updated
-- gen-treat-pg-stat-get-db-tuples-updated: function
select treat(1259::oid as pg_stat_get_db_tuples_updated)
-- gen-call-pg-stat-get-db-xact-commit: function
select pg_stat_get_db_xact_commit(1259::oid)
-- gen-attr-pg-stat-get-db-xact-commit: function
select (1259::oid).pg_stat_get_db_xact_commit
-- gen-treat-pg-stat-get-db-xact-commit: function
select treat(1259::oid as pg_stat_get_db_xact_commit)
-- gen-call-pg-stat-get-db-xact-rollback: function
select pg_stat_get_db_xact_rollback(1259::oid)
-- gen-attr-pg-stat-get-db-xact-rollback: function
select (1259::oid).pg_stat_get_db_xact_rollback
-- gen-treat-pg-stat-get-db-xact-rollback: function
select treat(1259::oid as pg_stat_get_db_xact_rollback)
-- gen-call-pg-stat-get-dead-tuples: function
select pg_stat_get_dead_tuples(1259::oid)
-- gen-attr-pg-stat-get-dead-tuples: function
select (1259::oid).pg_stat_get_dead_tuples
-- gen-treat-pg-stat-get-dead-tuples: function
select treat(1259::oid as pg_stat_get_dead_tuples)
-- gen-call-pg-stat-get-function-calls: function
select pg_stat_get_function_calls(1259::oid)
-- gen-attr-pg-stat-get-function-calls: function
select (1259::oid).pg_stat_get_function_calls
-- gen-treat-pg-stat-get-function-calls: function
select treat(1259::oid as pg_stat_get_function_calls)
-- gen-call-pg-stat-get-function-self-time: function
select pg_stat_get_function_self_time(1259::oid)
-- gen-attr-pg-stat-get-function-self-time: function
select (1259::oid).pg_stat_get_function_self_time
-- gen-treat-pg-stat-get-function-self-time: function
select treat(1259::oid as pg_stat_get_function_self_time)
-- gen-call-pg-stat-get-function-total-time: function
select pg_stat_get_function_total_time(1259::oid)
-- gen-attr-pg-stat-get-function-total-time: function
select (1259::oid).pg_stat_get_function_total_time
-- gen-treat-pg-stat-get-function-total-time: function
select treat(1259::oid as pg_stat_get_function_total_time)
-- gen-call-pg-stat-get-ins-since-vacuum: function
select pg_stat_get_ins_since_vacuum(1259::oid)
-- gen-attr-pg-stat-get-ins-since-vacuum: function
select (1259::oid).pg_stat_get_ins_since_vacuum
-- gen-treat-pg-stat-get-ins-since-vacuum: function
select treat(1259::oid as pg_stat_get_ins_since_vacuum)
-- gen-call-pg-stat-get-last-analyze-time: function
select pg_stat_get_last_analyze_time(1259::oid)
-- gen-attr-pg-stat-get-last-analyze-time: function
select (1259::oid).pg_stat_get_last_analyze_time
-- gen-treat-pg-stat-get-last-analyze-time: function
select treat(1259::oid as pg_stat_get_last_analyze_time)
-- gen-call-pg-stat-get-last-autoanalyze-time: function
select pg_stat_get_last_autoanalyze_time(1259::oid)
-- gen-attr-pg-stat-get-last-autoanalyze-time: function
select (1259::oid).pg_stat_get_last_autoanalyze_time
-- gen-treat-pg-stat-get-last-autoanalyze-time: function
select treat(1259::oid as pg_stat_get_last_autoanalyze_time)
-- gen-call-pg-stat-get-last-autovacuum-time: function
select pg_stat_get_last_autovacuum_time(1259::oid)
-- gen-attr-pg-stat-get-last-autovacuum-time: function
select (1259::oid).pg_stat_get_last_autovacuum_time
-- gen-treat-pg-stat-get-last-autovacuum-time: function
select treat(1259::oid as pg_stat_get_last_autovacuum_time)
-- gen-call-pg-stat-get-last-vacuum-time: function
select pg_stat_get_last_vacuum_time(1259::oid)
-- gen-attr-pg-stat-get-last-vacuum-time: function
select (1259::oid).pg_stat_get_last_vacuum_time
-- gen-treat-pg-stat-get-last-vacuum-time: function
select treat(1259::oid as pg_stat_get_last_vacuum_time)
-- gen-call-pg-stat-get-live-tuples: function
select pg_stat_get_live_tuples(1259::oid)
-- gen-attr-pg-stat-get-live-tuples: function
select (1259::oid).pg_stat_get_live_tuples
-- gen-treat-pg-stat-get-live-tuples: function
select treat(1259::oid as pg_stat_get_live_tuples)
-- gen-call-pg-stat-get-mod-since-analyze: function
select pg_stat_get_mod_since_analyze(1259::oid)
-- gen-attr-pg-stat-get-mod-since-analyze: function
select (1259::oid).pg_stat_get_mod_since_analyze
-- gen-treat-pg-stat-get-mod-since-analyze: function
select treat(1259::oid as pg_stat_get_mod_since_analyze)
-- gen-call-pg-stat-get-numscans: function
select pg_stat_get_numscans(1259::oid)
-- gen-attr-pg-stat-get-numscans: function
select (1259::oid).pg_stat_get_numscans
-- gen-treat-pg-stat-get-numscans: function
select treat(1259::oid as pg_stat_get_numscans)
-- gen-call-pg-stat-get-progress-info: function
select pg_stat_get_progress_info('x'::text)::text
-- gen-attr-pg-stat-get-progress-info: function
select ('x'::text).pg_stat_get_progress_info::text
-- gen-treat-pg-stat-get-progress-info: function
select treat('x'::text as pg_stat_get_progress_info)::text
-- gen-call-pg-stat-get-recovery-prefetch: function
select pg_stat_get_recovery_prefetch()::text
-- gen-call-pg-stat-get-replication-slot: function
select pg_stat_get_replication_slot('x'::text)::text
-- gen-attr-pg-stat-get-replication-slot: function
select ('x'::text).pg_stat_get_replication_slot::text
-- gen-treat-pg-stat-get-replication-slot: function
select treat('x'::text as pg_stat_get_replication_slot)::text
-- gen-call-pg-stat-get-slru: function
select pg_stat_get_slru()::text
-- gen-call-pg-stat-get-snapshot-timestamp: function
select pg_stat_get_snapshot_timestamp()
-- gen-call-pg-stat-get-subscription: function
select pg_stat_get_subscription(1259::oid)::text
-- gen-attr-pg-stat-get-subscription: function
select (1259::oid).pg_stat_get_subscription::text
-- gen-treat-pg-stat-get-subscription: function
select treat(1259::oid as pg_stat_get_subscription)::text
-- gen-call-pg-stat-get-subscription-stats: function
select pg_stat_get_subscription_stats(1259::oid)::text
-- gen-attr-pg-stat-get-subscription-stats: function
select (1259::oid).pg_stat_get_subscription_stats::text
-- gen-treat-pg-stat-get-subscription-stats: function
select treat(1259::oid as pg_stat_get_subscription_stats)::text
-- gen-call-pg-stat-get-tuples-deleted: function
select pg_stat_get_tuples_deleted(1259::oid)
-- gen-attr-pg-stat-get-tuples-deleted: function
select (1259::oid).pg_stat_get_tuples_deleted
-- gen-treat-pg-stat-get-tuples-deleted: function
select treat(1259::oid as pg_stat_get_tuples_deleted)
-- gen-call-pg-stat-get-tuples-fetched: function
select pg_stat_get_tuples_fetched(1259::oid)
-- gen-attr-pg-stat-get-tuples-fetched: function
select (1259::oid).pg_stat_get_tuples_fetched
-- gen-treat-pg-stat-get-tuples-fetched: function
select treat(1259::oid as pg_stat_get_tuples_fetched)
-- gen-call-pg-stat-get-tuples-hot-updated: function
select pg_stat_get_tuples_hot_updated(1259::oid)
-- gen-attr-pg-stat-get-tuples-hot-updated: function
select (1259::oid).pg_stat_get_tuples_hot_updated
-- gen-treat-pg-stat-get-tuples-hot-updated: function
select treat(1259::oid as pg_stat_get_tuples_hot_updated)
-- gen-call-pg-stat-get-tuples-inserted: function
select pg_stat_get_tuples_inserted(1259::oid)
-- gen-attr-pg-stat-get-tuples-inserted: function
select (1259::oid).pg_stat_get_tuples_inserted
-- gen-treat-pg-stat-get-tuples-inserted: function
select treat(1259::oid as pg_stat_get_tuples_inserted)
-- gen-call-pg-stat-get-tuples-returned: function
select pg_stat_get_tuples_returned(1259::oid)
-- gen-attr-pg-stat-get-tuples-returned: function
select (1259::oid).pg_stat_get_tuples_returned
-- gen-treat-pg-stat-get-tuples-returned: function
select treat(1259::oid as pg_stat_get_tuples_returned)
-- gen-call-pg-stat-get-tuples-updated: function
select pg_stat_get_tuples_updated(1259::oid)
-- gen-attr-pg-stat-get-tuples-updated: function
select (1259::oid).pg_stat_get_tuples_updated
-- gen-treat-pg-stat-get-tuples-updated: function
select treat(1259::oid as pg_stat_get_tuples_updated)
-- gen-call-pg-stat-get-vacuum-count: function
select pg_stat_get_vacuum_count(1259::oid)
-- gen-attr-pg-stat-get-vacuum-count: function
select (1259::oid).pg_stat_get_vacuum_count
-- gen-treat-pg-stat-get-vacuum-count: function
select treat(1259::oid as pg_stat_get_vacuum_count)
-- gen-call-pg-stat-get-wal: function
select pg_stat_get_wal()::text
-- gen-call-pg-stat-get-wal-receiver: function
select pg_stat_get_wal_receiver()::text
-- gen-call-pg-stat-get-wal-senders: function
select pg_stat_get_wal_senders()::text
-- gen-call-pg-stat-get-xact-blocks-fetched: function
select pg_stat_get_xact_blocks_fetched(1259::oid)
-- gen-attr-pg-stat-get-xact-blocks-fetched: function
select (1259::oid).pg_stat_get_xact_blocks_fetched
-- gen-treat-pg-stat-get-xact-blocks-fetched: function
select treat(1259::oid as pg_stat_get_xact_blocks_fetched)
-- gen-call-pg-stat-get-xact-blocks-hit: function
select pg_stat_get_xact_blocks_hit(1259::oid)
-- gen-attr-pg-stat-get-xact-blocks-hit: function
select (1259::oid).pg_stat_get_xact_blocks_hit
-- gen-treat-pg-stat-get-xact-blocks-hit: function
select treat(1259::oid as pg_stat_get_xact_blocks_hit)
-- gen-call-pg-stat-get-xact-function-calls: function
select pg_stat_get_xact_function_calls(1259::oid)
-- gen-attr-pg-stat-get-xact-function-calls: function
select (1259::oid).pg_stat_get_xact_function_calls
-- gen-treat-pg-stat-get-xact-function-calls: function
select treat(1259::oid as pg_stat_get_xact_function_calls)
-- gen-call-pg-stat-get-xact-function-self-time: function
select pg_stat_get_xact_function_self_time(1259::oid)
-- gen-attr-pg-stat-get-xact-function-self-time: function
select (1259::oid).pg_stat_get_xact_function_self_time
-- gen-treat-pg-stat-get-xact-function-self-time: function
select treat(1259::oid as pg_stat_get_xact_function_self_time)
-- gen-call-pg-stat-get-xact-function-total-time: function
select pg_stat_get_xact_function_total_time(1259::oid)
-- gen-attr-pg-stat-get-xact-function-total-time: function
select (1259::oid).pg_stat_get_xact_function_total_time
-- gen-treat-pg-stat-get-xact-function-total-time: function
select treat(1259::oid as pg_stat_get_xact_function_total_time)
-- gen-call-pg-stat-get-xact-numscans: function
select pg_stat_get_xact_numscans(1259::oid)
-- gen-attr-pg-stat-get-xact-numscans: function
select (1259::oid).pg_stat_get_xact_numscans
-- gen-treat-pg-stat-get-xact-numscans: function
select treat(1259::oid as pg_stat_get_xact_numscans)
-- gen-call-pg-stat-get-xact-tuples-deleted: function
select pg_stat_get_xact_tuples_deleted(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-deleted: function
select (1259::oid).pg_stat_get_xact_tuples_deleted
-- gen-treat-pg-stat-get-xact-tuples-deleted: function
select treat(1259::oid as pg_stat_get_xact_tuples_deleted)
-- gen-call-pg-stat-get-xact-tuples-fetched: function
select pg_stat_get_xact_tuples_fetched(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-fetched: function
select (1259::oid).pg_stat_get_xact_tuples_fetched
-- gen-treat-pg-stat-get-xact-tuples-fetched: function
select treat(1259::oid as pg_stat_get_xact_tuples_fetched)
-- gen-call-pg-stat-get-xact-tuples-hot-updated: function
select pg_stat_get_xact_tuples_hot_updated(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-hot-updated: function
select (1259::oid).pg_stat_get_xact_tuples_hot_updated
-- gen-treat-pg-stat-get-xact-tuples-hot-updated: function
select treat(1259::oid as pg_stat_get_xact_tuples_hot_updated)
-- gen-call-pg-stat-get-xact-tuples-inserted: function
select pg_stat_get_xact_tuples_inserted(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-inserted: function
select (1259::oid).pg_stat_get_xact_tuples_inserted
-- gen-treat-pg-stat-get-xact-tuples-inserted: function
select treat(1259::oid as pg_stat_get_xact_tuples_inserted)
-- gen-call-pg-stat-get-xact-tuples-returned: function
select pg_stat_get_xact_tuples_returned(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-returned: function
select (1259::oid).pg_stat_get_xact_tuples_returned
-- gen-treat-pg-stat-get-xact-tuples-returned: function
select treat(1259::oid as pg_stat_get_xact_tuples_returned)
-- gen-call-pg-stat-get-xact-tuples-updated: function
select pg_stat_get_xact_tuples_updated(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-updated: function
select (1259::oid).pg_stat_get_xact_tuples_updated
-- gen-treat-pg-stat-get-xact-tuples-updated: function
select treat(1259::oid as pg_stat_get_xact_tuples_updated)
-- gen-call-pg-stat-have-stats: function
select pg_stat_have_stats('x'::text, 1259::oid, 1259::oid)
-- gen-call-pg-stat-reset: function
select pg_stat_reset()::text
-- gen-call-pg-stat-reset-replication-slot: function
select pg_stat_reset_replication_slot('x'::text)::text
-- gen-attr-pg-stat-reset-replication-slot: function
select ('x'::text).pg_stat_reset_replication_slot::text
-- gen-treat-pg-stat-reset-replication-slot: function
select treat('x'::text as pg_stat_reset_replication_slot)::text
-- gen-call-pg-stat-reset-shared: function
select pg_stat_reset_shared('x'::text)::text
-- gen-attr-pg-stat-reset-shared: function
select ('x'::text).pg_stat_reset_shared::text
-- gen-treat-pg-stat-reset-shared: function
select treat('x'::text as pg_stat_reset_shared)::text
-- gen-call-pg-stat-reset-single-function-counters: function
select pg_stat_reset_single_function_counters(1259::oid)::text
-- gen-attr-pg-stat-reset-single-function-counters: function
select (1259::oid).pg_stat_reset_single_function_counters::text
-- gen-treat-pg-stat-reset-single-function-counters: function
select treat(1259::oid as pg_stat_reset_single_function_counters)::text
-- gen-call-pg-stat-reset-single-table-counters: function
select pg_stat_reset_single_table_counters(1259::oid)::text
-- gen-attr-pg-stat-reset-single-table-counters: function
select (1259::oid).pg_stat_reset_single_table_counters::text
-- gen-treat-pg-stat-reset-single-table-counters: function
select treat(1259::oid as pg_stat_reset_single_table_counters)::text
-- gen-call-pg-stat-reset-slru: function
select pg_stat_reset_slru('x'::text)::text
-- gen-attr-pg-stat-reset-slru: function
select ('x'::text).pg_stat_reset_slru::text
-- gen-treat-pg-stat-reset-slru: function
select treat('x'::text as pg_stat_reset_slru)::text
-- gen-call-pg-stat-reset-subscription-stats: function
select pg_stat_reset_subscription_stats(1259::oid)::text
-- gen-attr-pg-stat-reset-subscription-stats: function
select (1259::oid).pg_stat_reset_subscription_stats::text
-- gen-treat-pg-stat-reset-subscription-stats: function
select treat(1259::oid as pg_stat_reset_subscription_stats)::text
-- gen-call-pg-statistics-obj-is-visible: function
select pg_statistics_obj_is_visible(1259::oid)
-- gen-attr-pg-statistics-obj-is-visible: function
select (1259::oid).pg_statistics_obj_is_visible
-- gen-treat-pg-statistics-obj-is-visible: function
select treat(1259::oid as pg_statistics_obj_is_visible)
-- gen-call-pg-stop-making-pinned-objects: function
select pg_stop_making_pinned_objects()::text
-- gen-call-pg-switch-wal: function
select pg_switch_wal()
-- gen-call-pg-table-is-visible: function
select pg_table_is_visible(1259::oid)
-- gen-attr-pg-table-is-visible: function
select (1259::oid).pg_table_is_visible
-- gen-treat-pg-table-is-visible: function
select treat(1259::oid as pg_table_is_visible)
-- gen-call-pg-table-size: function
select pg_table_size('private.secrets'::regclass)
-- gen-attr-pg-table-size: function
select ('private.secrets'::regclass).pg_table_size
-- gen-treat-pg-table-size: function
select treat('private.secrets'::regclass as pg_table_size)
-- gen-call-pg-tablespace-databases: function
select pg_tablespace_databases(1259::oid)
-- gen-attr-pg-tablespace-databases: function
select (1259::oid).pg_tablespace_databases
-- gen-treat-pg-tablespace-databases: function
select treat(1259::oid as pg_tablespace_databases)
-- gen-call-pg-tablespace-location: function
select pg_tablespace_location(1259::oid)
-- gen-attr-pg-tablespace-location: function
select (1259::oid).pg_tablespace_location
-- gen-treat-pg-tablespace-location: function
select treat(1259::oid as pg_tablespace_location)
-- gen-call-pg-tablespace-size: function
select pg_tablespace_size('private'::name)
-- gen-attr-pg-tablespace-size: function
select ('private'::name).pg_tablespace_size
-- gen-treat-pg-tablespace-size: function
select treat('private'::name as pg_tablespace_size)
-- gen-call-pg-tablespace-size-2: function
select pg_tablespace_size(1259::oid)
-- gen-attr-pg-tablespace-size-2: function
select (1259::oid).pg_tablespace_size
-- gen-treat-pg-tablespace-size-2: function
select treat(1259::oid as pg_tablespace_size)
-- gen-call-pg-terminate-backend: function
select pg_terminate_backend(1, 1::bigint)
-- gen-attr-pg-terminate-backend: function
select (1).pg_terminate_backend
-- gen-treat-pg-terminate-backend: function
select treat(1 as pg_terminate_backend)
-- gen-call-pg-timezone-abbrevs: function
select pg_timezone_abbrevs()::text
-- gen-call-pg-timezone-names: function
select pg_timezone_names()::text
-- gen-call-pg-total-relation-size: function
select pg_total_relation_size('private.secrets'::regclass)
-- gen-attr-pg-total-relation-size: function
select ('private.secrets'::regclass).pg_total_relation_size
-- gen-treat-pg-total-relation-size: function
select treat('private.secrets'::regclass as pg_total_relation_size)
-- gen-call-pg-trigger-depth: function
select pg_trigger_depth()
-- gen-call-pg-try-advisory-lock: function
select pg_try_advisory_lock(1::bigint)
-- gen-attr-pg-try-advisory-lock: function
select (1::bigint).pg_try_advisory_lock
-- gen-treat-pg-try-advisory-lock: function
select treat(1::bigint as pg_try_advisory_lock)
-- gen-call-pg-try-advisory-lock-2: function
select pg_try_advisory_lock(1, 1)
-- gen-call-pg-try-advisory-lock-shared: function
select pg_try_advisory_lock_shared(1::bigint)
-- gen-attr-pg-try-advisory-lock-shared: function
select (1::bigint).pg_try_advisory_lock_shared
-- gen-treat-pg-try-advisory-lock-shared: function
select treat(1::bigint as pg_try_advisory_lock_shared)
-- gen-call-pg-try-advisory-lock-shared-2: function
select pg_try_advisory_lock_shared(1, 1)
-- gen-call-pg-try-advisory-xact-lock: function
select pg_try_advisory_xact_lock(1::bigint)
-- gen-attr-pg-try-advisory-xact-lock: function
select (1::bigint).pg_try_advisory_xact_lock
-- gen-treat-pg-try-advisory-xact-lock: function
select treat(1::bigint as pg_try_advisory_xact_lock)
-- gen-call-pg-try-advisory-xact-lock-2: function
select pg_try_advisory_xact_lock(1, 1)
-- gen-call-pg-try-advisory-xact-lock-shared: function
select pg_try_advisory_xact_lock_shared(1::bigint)
-- gen-attr-pg-try-advisory-xact-lock-shared: function
select (1::bigint).pg_try_advisory_xact_lock_shared
-- gen-treat-pg-try-advisory-xact-lock-shared: function
select treat(1::bigint as pg_try_advisory_xact_lock_shared)
-- gen-call-pg-try-advisory-xact-lock-shared-2: function
select pg_try_advisory_xact_lock_shared(1, 1)
-- gen-call-pg-ts-config-is-visible: function
select pg_ts_config_is_visible(1259::oid)
-- gen-attr-pg-ts-config-is-visible: function
select (1259::oid).pg_ts_config_is_visible
-- gen-treat-pg-ts-config-is-visible: function
select treat(1259::oid as pg_ts_config_is_visible)
-- gen-call-pg-ts-dict-is-visible: function
select pg_ts_dict_is_visible(1259::oid)
-- gen-attr-pg-ts-dict-is-visible: function
select (1259::oid).pg_ts_dict_is_visible
-- gen-treat-pg-ts-dict-is-visible: function
select treat(1259::oid as pg_ts_dict_is_visible)
-- gen-call-pg-ts-parser-is-visible: function
select pg_ts_parser_is_visible(1259::oid)
-- gen-attr-pg-ts-parser-is-visible: function
select (1259::oid).pg_ts_parser_is_visible
-- gen-treat-pg-ts-parser-is-visible: function
select treat(1259::oid as pg_ts_parser_is_visible)
-- gen-call-pg-ts-template-is-visible: function
select pg_ts_template_is_visible(1259::oid)
-- gen-attr-pg-ts-template-is-visible: function
select (1259::oid).pg_ts_template_is_visible
-- gen-treat-pg-ts-template-is-visible: function
select treat(1259::oid as pg_ts_template_is_visible)
-- gen-call-pg-type-is-visible: function
select pg_type_is_visible(1259::oid)
-- gen-attr-pg-type-is-visible: function
select (1259::oid).pg_type_is_visible
-- gen-treat-pg-type-is-visible: function
select treat(1259::oid as pg_type_is_visible)
-- gen-call-pg-wal-replay-pause: function
select pg_wal_replay_pause()::text
-- gen-call-pg-wal-replay-resume: function
select pg_wal_replay_resume()::text
-- gen-call-pg-xact-commit-timestamp: function
select pg_xact_commit_timestamp('1'::xid)
-- gen-attr-pg-xact-commit-timestamp: function
select ('1'::xid).pg_xact_commit_timestamp
-- gen-treat-pg-xact-commit-timestamp: function
select treat('1'::xid as pg_xact_commit_timestamp)
-- gen-call-pg-xact-commit-timestamp-origin: function
select pg_xact_commit_timestamp_origin('1'::xid)::text
-- gen-attr-pg-xact-commit-timestamp-origin: function
select ('1'::xid).pg_xact_commit_timestamp_origin::text
-- gen-treat-pg-xact-commit-timestamp-origin: function
select treat('1'::xid as pg_xact_commit_timestamp_origin)::text
-- gen-call-pg-xact-status: function
select pg_xact_status('1'::xid8)
-- gen-attr-pg-xact-status: function
select ('1'::xid8).pg_xact_status
-- gen-treat-pg-xact-status: function
select treat('1'::xid8 as pg_xact_status)
-- gen-call-plpgsql-validator: function
select plpgsql_validator(1259::oid)::text
-- gen-attr-plpgsql-validator: function
select (1259::oid).plpgsql_validator::text
-- gen-treat-plpgsql-validator: function
select treat(1259::oid as plpgsql_validator)::text
-- gen-call-query-to-xml: function
select query_to_xml('select 1'::text, true, true, 'x'::text)
-- gen-call-query-to-xml-and-xmlschema: function
select query_to_xml_and_xmlschema('select 1'::text, true, true, 'x'::text)
-- gen-call-query-to-xmlschema: function
select query_to_xmlschema('select 1'::text, true, true, 'x'::text)
-- gen-call-range-in: function
select range_in('1'::cstring, 1259::oid, 1) is null
-- gen-call-record-in: function
select record_in('1'::cstring, 1259::oid, 1)::text
-- gen-call-regclass: function
select regclass('private.secrets'::text)
-- gen-treat-regclass: function
select treat('private.secrets'::text as regclass)
-- gen-call-regclassin: function
select regclassin('1'::cstring)
-- gen-attr-regclassin: function
select ('1'::cstring).regclassin
-- gen-treat-regclassin: function
select treat('1'::cstring as regclassin)
-- gen-call-regclassout: function
select regclassout('private.secrets'::regclass)::text
-- gen-attr-regclassout: function
select ('private.secrets'::regclass).regclassout::text
-- gen-treat-regclassout: function
select treat('private.secrets'::regclass as regclassout)::text
-- gen-call-regcollationin: function
select regcollationin('1'::cstring)
-- gen-attr-regcollationin: function
select ('1'::cstring).regcollationin
-- gen-treat-regcollationin: function
select treat('1'::cstring as regcollationin)
-- gen-call-regcollationout: function
select regcollationout('"C"'::regcollation)::text
-- gen-attr-regcollationout: function
select ('"C"'::regcollation).regcollationout::text
-- gen-treat-regcollationout: function
select treat('"C"'::regcollation as regcollationout)::text
-- gen-call-regconfigin: function
select regconfigin('1'::cstring)
-- gen-attr-regconfigin: function
select ('1'::cstring).regconfigin
-- gen-treat-regconfigin: function
select treat('1'::cstring as regconfigin)
-- gen-call-regconfigout: function
select regconfigout('simple'::regconfig)::text
-- gen-attr-regconfigout: function
select ('simple'::regconfig).regconfigout::text
-- gen-treat-regconfigout: function
select treat('simple'::regconfig as regconfigout)::text
-- gen-call-regdictionaryin: function
select regdictionaryin('1'::cstring)
-- gen-attr-regdictionaryin: function
select ('1'::cstring).regdictionaryin
-- gen-treat-regdictionaryin: function
select treat('1'::cstring as regdictionaryin)
-- gen-call-regdictionaryout: function
select regdictionaryout('simple'::regdictionary)::text
-- gen-attr-regdictionaryout: function
select ('simple'::regdictionary).regdictionaryout::text
-- gen-treat-regdictionaryout: function
select treat('simple'::regdictionary as regdictionaryout)::text
-- gen-call-regnamespacein: function
select regnamespacein('1'::cstring)
-- gen-attr-regnamespacein: function
select ('1'::cstring).regnamespacein
-- gen-treat-regnamespacein: function
select treat('1'::cstring as regnamespacein)
-- gen-call-regnamespaceout: function
select regnamespaceout('private'::regnamespace)::text
-- gen-attr-regnamespaceout: function
select ('private'::regnamespace).regnamespaceout::text
-- gen-treat-regnamespaceout: function
select treat('private'::regnamespace as regnamespaceout)::text
-- gen-call-regoperatorin: function
select regoperatorin('1'::cstring)
-- gen-attr-regoperatorin: function
select ('1'::cstring).regoperatorin
-- gen-treat-regoperatorin: function
select treat('1'::cstring as regoperatorin)
-- gen-call-regoperatorout: function
select regoperatorout('+(integer,integer)'::regoperator)::text
-- gen-attr-regoperatorout: function
select ('+(integer,integer)'::regoperator).regoperatorout::text
-- gen-treat-regoperatorout: function
select treat('+(integer,integer)'::regoperator as regoperatorout)::text
-- gen-call-regoperin: function
select regoperin('1'::cstring)
-- gen-attr-regoperin: function
select ('1'::cstring).regoperin
-- gen-treat-regoperin: function
select treat('1'::cstring as regoperin)
-- gen-call-regoperout: function
select regoperout('||/'::regoper)::text
-- gen-attr-regoperout: function
select ('||/'::regoper).regoperout::text
-- gen-treat-regoperout: function
select treat('||/'::regoper as regoperout)::text
-- gen-call-regprocedurein: function
select regprocedurein('1'::cstring)
-- gen-attr-regprocedurein: function
select ('1'::cstring).regprocedurein
-- gen-treat-regprocedurein: function
select treat('1'::cstring as regprocedurein)
-- gen-call-regprocedureout: function
select regprocedureout('now()'::regprocedure)::text
-- gen-attr-regprocedureout: function
select ('now()'::regprocedure).regprocedureout::text
-- gen-treat-regprocedureout: function
select treat('now()'::regprocedure as regprocedureout)::text
-- gen-call-regprocin: function
select regprocin('1'::cstring)
-- gen-attr-regprocin: function
select ('1'::cstring).regprocin
-- gen-treat-regprocin: function
select treat('1'::cstring as regprocin)
-- gen-call-regprocout: function
select regprocout('now'::regproc)::text
-- gen-attr-regprocout: function
select ('now'::regproc).regprocout::text
-- gen-treat-regprocout: function
select treat('now'::regproc as regprocout)::text
-- gen-call-regrolein: function
select regrolein('1'::cstring)
-- gen-attr-regrolein: function
select ('1'::cstring).regrolein
-- gen-treat-regrolein: function
select treat('1'::cstring as regrolein)
-- gen-call-regroleout: function
select regroleout('vitrina_app'::regrole)::text
-- gen-attr-regroleout: function
select ('vitrina_app'::regrole).regroleout::text
-- gen-treat-regroleout: function
select treat('vitrina_app'::regrole as regroleout)::text
-- gen-call-regtypein: function
select regtypein('1'::cstring)
-- gen-attr-regtypein: function
select ('1'::cstring).regtypein
-- gen-treat-regtypein: function
select treat('1'::cstring as regtypein)
-- gen-call-regtypeout: function
select regtypeout('text'::regtype)::text
-- gen-attr-regtypeout: function
select ('text'::regtype).regtypeout::text
-- gen-treat-regtypeout: function
select treat('text'::regtype as regtypeout)::text
-- gen-call-row-security-active: function
select row_security_active('x'::text)
-- gen-attr-row-security-active: function
select ('x'::text).row_security_active
-- gen-treat-row-security-active: function
select treat('x'::text as row_security_active)
-- gen-call-row-security-active-2: function
select row_security_active(1259::oid)
-- gen-attr-row-security-active-2: function
select (1259::oid).row_security_active
-- gen-treat-row-security-active-2: function
select treat(1259::oid as row_security_active)
-- gen-call-satisfies-hash-partition: function
select satisfies_hash_partition(1259::oid, 1, 1, 1)
-- gen-call-schema-to-xml: function
select schema_to_xml('private'::name, true, true, 'x'::text)
-- gen-call-schema-to-xml-and-xmlschema: function
select schema_to_xml_and_xmlschema('private'::name, true, true, 'x'::text)
-- gen-call-schema-to-xmlschema: function
select schema_to_xmlschema('private'::name, true, true, 'x'::text)
-- gen-call-set-config: function
select set_config('role'::text, 'x'::text, true)
-- gen-call-setseed: function
select setseed(0.01::float8)::text
-- gen-attr-setseed: function
select (0.01::float8).setseed::text
-- gen-treat-setseed: function
select treat(0.01::float8 as setseed)::text
-- gen-call-setval: function
select setval('private.secrets'::regclass, 1::bigint)
-- gen-call-setval-2: function
select setval('private.secrets'::regclass, 1::bigint, true)
-- gen-call-shobj-description: function
select shobj_description(1259::oid, 'private'::name)
-- gen-call-table-to-xml: function
select table_to_xml('private.secrets'::regclass, true, true, 'x'::text)
-- gen-call-table-to-xml-and-xmlschema: function
select table_to_xml_and_xmlschema('private.secrets'::regclass, true, true, 'x'::text)
-- gen-call-table-to-xmlschema: function
select table_to_xmlschema('private.secrets'::regclass, true, true, 'x'::text)
-- gen-call-to-regclass: function
select to_regclass('private.secrets'::text)
-- gen-attr-to-regclass: function
select ('private.secrets'::text).to_regclass
-- gen-treat-to-regclass: function
select treat('private.secrets'::text as to_regclass)
-- gen-call-to-regcollation: function
select to_regcollation('x'::text)
-- gen-attr-to-regcollation: function
select ('x'::text).to_regcollation
-- gen-treat-to-regcollation: function
select treat('x'::text as to_regcollation)
-- gen-call-to-regnamespace: function
select to_regnamespace('x'::text)
-- gen-attr-to-regnamespace: function
select ('x'::text).to_regnamespace
-- gen-treat-to-regnamespace: function
select treat('x'::text as to_regnamespace)
-- gen-call-to-regoper: function
select to_regoper('x'::text)
-- gen-attr-to-regoper: function
select ('x'::text).to_regoper
-- gen-treat-to-regoper: function
select treat('x'::text as to_regoper)
-- gen-call-to-regoperator: function
select to_regoperator('x'::text)
-- gen-attr-to-regoperator: function
select ('x'::text).to_regoperator
-- gen-treat-to-regoperator: function
select treat('x'::text as to_regoperator)
-- gen-call-to-regproc: function
select to_regproc('x'::text)
-- gen-attr-to-regproc: function
select ('x'::text).to_regproc
-- gen-treat-to-regproc: function
select treat('x'::text as to_regproc)
-- gen-call-to-regprocedure: function
select to_regprocedure('x'::text)
-- gen-attr-to-regprocedure: function
select ('x'::text).to_regprocedure
-- gen-treat-to-regprocedure: function
select treat('x'::text as to_regprocedure)
-- gen-call-to-regrole: function
select to_regrole('x'::text)
-- gen-attr-to-regrole: function
select ('x'::text).to_regrole
-- gen-treat-to-regrole: function
select treat('x'::text as to_regrole)
-- gen-call-to-regtype: function
select to_regtype('x'::text)
-- gen-attr-to-regtype: function
select ('x'::text).to_regtype
-- gen-treat-to-regtype: function
select treat('x'::text as to_regtype)
-- gen-call-ts-debug: function
select ts_debug('x'::text)::text
-- gen-attr-ts-debug: function
select ('x'::text).ts_debug::text
-- gen-treat-ts-debug: function
select treat('x'::text as ts_debug)::text
-- gen-call-ts-debug-2: function
select ts_debug('simple'::regconfig, 'x'::text)::text
-- gen-call-ts-parse: function
select ts_parse('x'::text, 'x'::text)::text
-- gen-call-ts-parse-2: function
select ts_parse(1259::oid, 'x'::text)::text
-- gen-call-ts-rewrite: function
select ts_rewrite('a'::tsquery, 'select 1'::text)
-- gen-call-ts-stat: function
select ts_stat('select to_tsvector(''a'')'::text)::text
-- gen-attr-ts-stat: function
select ('select to_tsvector(''a'')'::text).ts_stat::text
-- gen-treat-ts-stat: function
select treat('select to_tsvector(''a'')'::text as ts_stat)::text
-- gen-call-ts-stat-2: function
select ts_stat('select to_tsvector(''a'')'::text, 'x'::text)::text
-- gen-call-ts-token-type: function
select ts_token_type('x'::text)::text
-- gen-attr-ts-token-type: function
select ('x'::text).ts_token_type::text
-- gen-treat-ts-token-type: function
select treat('x'::text as ts_token_type)::text
-- gen-call-ts-token-type-2: function
select ts_token_type(1259::oid)::text
-- gen-attr-ts-token-type-2: function
select (1259::oid).ts_token_type::text
-- gen-treat-ts-token-type-2: function
select treat(1259::oid as ts_token_type)::text
-- gen-call-txid-current: function
select txid_current()
-- gen-call-txid-current-if-assigned: function
select txid_current_if_assigned()
-- gen-call-txid-current-snapshot: function
select txid_current_snapshot()
-- gen-call-txid-status: function
select txid_status(1::bigint)
-- gen-attr-txid-status: function
select (1::bigint).txid_status
-- gen-treat-txid-status: function
select treat(1::bigint as txid_status)

--- bombs
-- bomb-tsquery-to: bomb
select to_tsquery('simple', repeat('a & ', 300000) || 'a')
-- bomb-tsquery-websearch: bomb
select numnode(websearch_to_tsquery('simple', repeat('a or ', 300000) || 'a'))
-- bomb-tsvector: bomb
select length(to_tsvector('simple', (select string_agg(md5(g::text), ' ') from generate_series(1, 1000000) g)))
-- bomb-series: bomb
select g from generate_series(1, 1000000000000) g
-- bomb-series-count: bomb
select count(*) from generate_series(1, 1000000000000) g
-- bomb-series-in-list: bomb
select generate_series(1, 1000000000000)
-- bomb-series-sorted: bomb
select g from generate_series(1, 1000000000000) g order by random()
-- bomb-series-timestamps: bomb
select t from generate_series(timestamp '0001-01-01', timestamp '9999-12-31', interval '1 microsecond') t
-- bomb-series-zero-width: bomb
select array_agg(g) from generate_series(1, 1000000000) g
-- bomb-cross-join: bomb
select count(*) from ugc.ratings a, ugc.ratings b, ugc.ratings c, ugc.ratings d, ugc.ratings e
-- bomb-cross-join-sort: bomb
select a.id from ugc.ratings a, ugc.ratings b, ugc.ratings c, ugc.ratings d order by a.score * b.score + c.score
-- bomb-cross-join-distinct: bomb
select distinct a.id + b.id * 500 + c.id * 250000 + d.id * 125000000 from ugc.ratings a, ugc.ratings b, ugc.ratings c, ugc.ratings d
-- bomb-join-search: bomb
select count(*) from ugc.ratings a, ugc.ratings b, ugc.ratings c, ugc.ratings d, ugc.ratings e, ugc.ratings f, ugc.ratings g, ugc.ratings h, ugc.ratings i, ugc.ratings j, ugc.ratings k, ugc.ratings l where a.id = b.id or a.id = c.id or d.id = e.id or f.id = g.id or h.id = i.id or j.id = k.id or l.id = a.id
-- bomb-repeat: bomb
select repeat('x', 1000000000)
-- bomb-repeat-length: bomb
select length(repeat('x', 1000000000))
-- bomb-repeat-folded: bomb
select id from content.film_work where title = md5(repeat('x', 1000000000))
-- bomb-repeat-twice: bomb
select length(repeat('x', 900000000)) + length(upper(repeat('y', 900000000)))
-- bomb-repeat-rows: bomb
select repeat('x', 100000000) as x from generate_series(1, 1000)
-- bomb-array-fill: bomb
select array_length(array_fill(0, array[100000000]), 1)
-- bomb-array-agg-of-arrays: bomb
select array_agg(array_fill(0, array[1000000])) from generate_series(1, 1000)
-- bomb-json-agg: bomb
select jsonb_agg(repeat('x', 100000)) from generate_series(1, 10000)
-- bomb-recursion: bomb
with recursive t (n) as (select 1 union all select n + 1 from t) select count(*) from t
-- bomb-recursion-growing: bomb
with recursive t (x) as (select 'x' union all select x || x from t) select length(x) from t
-- bomb-recursion-doubling: bomb
with recursive t (n) as (select 1 union all select n + g from t, generate_series(1, 2) g) select count(*) from t
-- bomb-recursion-folded-limit: bomb
with recursive t (n) as (select 1 union all select n from t) select n from t offset 1000000000000
-- bomb-regex: bomb
select (repeat('ab', 200) || 'c') ~ '^(.+)(.+)(.+)(.+)(.+)\1\2\3\4\5$'
-- bomb-regex-backreference: bomb
select id from content.film_work where repeat(title, 40) ~ '^(.+)(.+)(.+)(.+)\1\2\3\4$'
-- bomb-regex-replace: bomb
select regexp_replace(repeat('ab', 100000), '(a|b)*?(.)\2', 'x', 'g')
-- bomb-regex-matches: bomb
select count(*) from regexp_matches(repeat('a', 1000000), 'a', 'g')
-- bomb-regex-split: bomb
select count(*) from regexp_split_to_table(repeat('a,', 10000000), ',')
-- bomb-numeric-factorial: bomb
select factorial(30000) + factorial(29999) + factorial(29998) + factorial(29997) + factorial(29996) + factorial(29995) + factorial(29994) + factorial(29993) + factorial(29992) + factorial(29991) + factorial(29990) + factorial(29989) + factorial(29988) + factorial(29987) + factorial(29986) + factorial(29985) + factorial(29984) + factorial(29983) + factorial(29982) + factorial(29981) + factorial(29980) + factorial(29979) + factorial(29978) + factorial(29977) + factorial(29976) + factorial(29975) + factorial(29974) + factorial(29973) + factorial(29972) + factorial(29971)
-- bomb-numeric-power: bomb
select count((2 + g * 0)::numeric ^ 430000) from generate_series(1, 100000) g
-- bomb-numeric-product: bomb
select max((10::numeric ^ 60000 - a) * (10::numeric ^ 60000 - b)) from generate_series(1, 1000) a, generate_series(1, 1000) b
-- bomb-jsonpath-regex: bomb
select jsonb_path_exists(to_jsonb(repeat('ab', 200) || 'c'), '$ ? (@ like_regex "^(.+)(.+)(.+)(.+)(.+)\\1\\2\\3\\4\\5$")')
-- bomb-jsonpath: bomb
select jsonb_path_query(jsonb_agg(g), '$[*] ? (@ > 1 && $[*] > @)') from generate_series(1, 20000) g
-- bomb-window: bomb
select sum(a.score) over (order by a.id, b.id rows between 100000 preceding and 100000 following) from ugc.ratings a, ugc.ratings b
-- bomb-window-max: bomb
select max(a.title || b.title) over (order by a.id rows between current row and unbounded following) from content.film_work a, content.film_work b, content.film_work c
-- bomb-cube: bomb
select count(*) from content.film_work group by cube (id, title, description, creation_date, rating, type, created, modified, id::text, title || 'x', title || 'y', title || 'z')
-- bomb-string-to-array: bomb
select array_length(string_to_array(repeat('a,', 50000000), ','), 1)
-- bomb-overlay-chain: bomb
select length(a.x || b.x || c.x) from (select repeat('x', 300000000) as x) a, (select repeat('x', 300000000) as x) b, (select repeat('x', 300000000) as x) c
-- bomb-lateral-chain: bomb
select count(*) from generate_series(1, 100000) a, lateral generate_series(1, a) b, lateral generate_series(1, b) c
-- bomb-endless-sum-in-where: bomb
select id from content.film_work where (select count(*) from generate_series(1, 1000000000000)) > 0
-- bomb-levels-of-ctes: bomb
with a as (select 1 as x union all select 2), b as (select a.x from a, a a2, a a3, a a4), c as (select b.x from b, b b2, b b3, b b4), d as (select c.x from c, c c2, c c3) select count(*) from d
-- bomb-multirange: bomb
select range_agg(int4range(g, g + 1)) from generate_series(1, 100000000, 2) g
-- bomb-in-list-of-subplans: bomb
select count(*) from ugc.ratings r where (select max(s.score) from ugc.ratings s, ugc.ratings t, ugc.ratings u where s.id <> r.id) > 0
-- bomb-parse-jsonpath: bomb
select '$[*] ? (@ like_regex "(x{1,99}){1,20}" && @ like_regex "(x{1,99}){1,21}" && @ like_regex "(x{1,99}){1,22}" && @ like_regex "(x{1,99}){1,23}" && @ like_regex "(x{1,99}){1,24}" && @ like_regex "(x{1,99}){1,25}" && @ like_regex "(x{1,99}){1,26}" && @ like_regex "(x{1,99}){1,27}" && @ like_regex "(x{1,99}){1,28}" && @ like_regex "(x{1,99}){1,29}" && @ like_regex "(x{1,99}){1,30}" && @ like_regex "(x{1,99}){1,31}" && @ like_regex "(x{1,99}){1,32}" && @ like_regex "(x{1,99}){1,33}" && @ like_regex "(x{1,99}){1,34}" && @ like_regex "(x{1,99}){1,35}" && @ like_regex "(x{1,99}){1,36}" && @ like_regex "(x{1,99}){1,37}" && @ like_regex "(x{1,99}){1,38}" && @ like_regex "(x{1,99}){1,39}" && @ like_regex "(x{1,99}){1,40}" && @ like_regex "(x{1,99}){1,41}" && @ like_regex "(x{1,99}){1,42}" && @ like_regex "(x{1,99}){1,43}" && @ like_regex "(x{1,99}){1,44}" && @ like_regex "(x{1,99}){1,45}" && @ like_regex "(x{1,99}){1,46}" && @ like_regex "(x{1,99}){1,47}" && @ like_regex "(x{1,99}){1,48}" && @ like_regex "(x{1,99}){1,49}" && @ like_regex "(x{1,99}){1,50}" && @ like_regex "(x{1,99}){1,51}" && @ like_regex "(x{1,99}){1,52}" && @ like_regex "(x{1,99}){1,53}" && @ like_regex "(x{1,99}){1,54}" && @ like_regex "(x{1,99}){1,55}" && @ like_regex "(x{1,99}){1,56}" && @ like_regex "(x{1,99}){1,57}" && @ like_regex "(x{1,99}){1,58}" && @ like_regex "(x{1,99}){1,59}" && @ like_regex "(x{1,99}){1,60}" && @ like_regex "(x{1,99}){1,61}" && @ like_regex "(x{1,99}){1,62}" && @ like_regex "(x{1,99}){1,63}" && @ like_regex "(x{1,99}){1,64}" && @ like_regex "(x{1,99}){1,65}" && @ like_regex "(x{1,99}){1,66}" && @ like_regex "(x{1,99}){1,67}" && @ like_regex "(x{1,99}){1,68}" && @ like_regex "(x{1,99}){1,69}" && @ like_regex "(x{1,99}){1,70}" && @ like_regex "(x{1,99}){1,71}" && @ like_regex "(x{1,99}){1,72}" && @ like_regex "(x{1,99}){1,73}" && @ like_regex "(x{1,99}){1,74}" && @ like_regex "(x{1,99}){1,75}" && @ like_regex "(x{1,99}){1,76}" && @ like_regex "(x{1,99}){1,77}" && @ like_regex "(x{1,99}){1,78}" && @ like_regex "(x{1,99}){1,79}" && @ like_regex "(x{1,99}){1,80}" && @ like_regex "(x{1,99}){1,81}" && @ like_regex "(x{1,99}){1,82}" && @ like_regex "(x{1,99}){1,83}" && @ like_regex "(x{1,99}){1,84}" && @ like_regex "(x{1,99}){1,85}" && @ like_regex "(x{1,99}){1,86}" && @ like_regex "(x{1,99}){1,87}" && @ like_regex "(x{1,99}){1,88}" && @ like_regex "(x{1,99}){1,89}" && @ like_regex "(x{1,99}){1,90}" && @ like_regex "(x{1,99}){1,91}" && @ like_regex "(x{1,99}){1,92}" && @ like_regex "(x{1,99}){1,93}" && @ like_regex "(x{1,99}){1,94}" && @ like_regex "(x{1,99}){1,95}" && @ like_regex "(x{1,99}){1,96}" && @ like_regex "(x{1,99}){1,97}" && @ like_regex "(x{1,99}){1,98}" && @ like_regex "(y{1,99}){1,20}" && @ like_regex "(y{1,99}){1,21}" && @ like_regex "(y{1,99}){1,22}" && @ like_regex "(y{1,99}){1,23}" && @ like_regex "(y{1,99}){1,24}" && @ like_regex "(y{1,99}){1,25}" && @ like_regex "(y{1,99}){1,26}" && @ like_regex "(y{1,99}){1,27}" && @ like_regex "(y{1,99}){1,28}" && @ like_regex "(y{1,99}){1,29}" && @ like_regex "(y{1,99}){1,30}" && @ like_regex "(y{1,99}){1,31}" && @ like_regex "(y{1,99}){1,32}" && @ like_regex "(y{1,99}){1,33}" && @ like_regex "(y{1,99}){1,34}" && @ like_regex "(y{1,99}){1,35}" && @ like_regex "(y{1,99}){1,36}" && @ like_regex "(y{1,99}){1,37}" && @ like_regex "(y{1,99}){1,38}" && @ like_regex "(y{1,99}){1,39}" && @ like_regex "(y{1,99}){1,40}" && @ like_regex "(y{1,99}){1,41}" && @ like_regex "(y{1,99}){1,42}" && @ like_regex "(y{1,99}){1,43}" && @ like_regex "(y{1,99}){1,44}" && @ like_regex "(y{1,99}){1,45}" && @ like_regex "(y{1,99}){1,46}" && @ like_regex "(y{1,99}){1,47}" && @ like_regex "(y{1,99}){1,48}" && @ like_regex "(y{1,99}){1,49}" && @ like_regex "(y{1,99}){1,50}" && @ like_regex "(y{1,99}){1,51}" && @ like_regex "(y{1,99}){1,52}" && @ like_regex "(y{1,99}){1,53}" && @ like_regex "(y{1,99}){1,54}" && @ like_regex "(y{1,99}){1,55}" && @ like_regex "(y{1,99}){1,56}" && @ like_regex "(y{1,99}){1,57}" && @ like_regex "(y{1,99}){1,58}" && @ like_regex "(y{1,99}){1,59}" && @ like_regex "(y{1,99}){1,60}" && @ like_regex "(y{1,99}){1,61}" && @ like_regex "(y{1,99}){1,62}" && @ like_regex "(y{1,99}){1,63}" && @ like_regex "(y{1,99}){1,64}" && @ like_regex "(y{1,99}){1,65}" && @ like_regex "(y{1,99}){1,66}" && @ like_regex "(y{1,99}){1,67}" && @ like_regex "(y{1,99}){1,68}" && @ like_regex "(y{1,99}){1,69}" && @ like_regex "(y{1,99}){1,70}" && @ like_regex "(y{1,99}){1,71}" && @ like_regex "(y{1,99}){1,72}" && @ like_regex "(y{1,99}){1,73}" && @ like_regex "(y{1,99}){1,74}" && @ like_regex "(y{1,99}){1,75}" && @ like_regex "(y{1,99}){1,76}" && @ like_regex "(y{1,99}){1,77}" && @ like_regex "(y{1,99}){1,78}" && @ like_regex "(y{1,99}){1,79}" && @ like_regex "(y{1,99}){1,80}" && @ like_regex "(y{1,99}){1,81}" && @ like_regex "(y{1,99}){1,82}" && @ like_regex "(y{1,99}){1,83}" && @ like_regex "(y{1,99}){1,84}" && @ like_regex "(y{1,99}){1,85}" && @ like_regex "(y{1,99}){1,86}" && @ like_regex "(y{1,99}){1,87}" && @ like_regex "(y{1,99}){1,88}" && @ like_regex "(y{1,99}){1,89}" && @ like_regex "(y{1,99}){1,90}" && @ like_regex "(y{1,99}){1,91}" && @ like_regex "(y{1,99}){1,92}" && @ like_regex "(y{1,99}){1,93}" && @ like_regex "(y{1,99}){1,94}" && @ like_regex "(y{1,99}){1,95}" && @ like_regex "(y{1,99}){1,96}" && @ like_regex "(y{1,99}){1,97}" && @ like_regex "(y{1,99}){1,98}" && @ like_regex "(z{1,99}){1,20}" && @ like_regex "(z{1,99}){1,21}" && @ like_regex "(z{1,99}){1,22}" && @ like_regex "(z{1,99}){1,23}" && @ like_regex "(z{1,99}){1,24}" && @ like_regex "(z{1,99}){1,25}" && @ like_regex "(z{1,99}){1,26}" && @ like_regex "(z{1,99}){1,27}" && @ like_regex "(z{1,99}){1,28}" && @ like_regex "(z{1,99}){1,29}" && @ like_regex "(z{1,99}){1,30}" && @ like_regex "(z{1,99}){1,31}" && @ like_regex "(z{1,99}){1,32}" && @ like_regex "(z{1,99}){1,33}" && @ like_regex "(z{1,99}){1,34}" && @ like_regex "(z{1,99}){1,35}" && @ like_regex "(z{1,99}){1,36}" && @ like_regex "(z{1,99}){1,37}" && @ like_regex "(z{1,99}){1,38}" && @ like_regex "(z{1,99}){1,39}" && @ like_regex "(z{1,99}){1,40}" && @ like_regex "(z{1,99}){1,41}" && @ like_regex "(z{1,99}){1,42}" && @ like_regex "(z{1,99}){1,43}" && @ like_regex "(z{1,99}){1,44}" && @ like_regex "(z{1,99}){1,45}" && @ like_regex "(z{1,99}){1,46}" && @ like_regex "(z{1,99}){1,47}" && @ like_regex "(z{1,99}){1,48}" && @ like_regex "(z{1,99}){1,49}" && @ like_regex "(z{1,99}){1,50}" && @ like_regex "(z{1,99}){1,51}" && @ like_regex "(z{1,99}){1,52}" && @ like_regex "(z{1,99}){1,53}" && @ like_regex "(z{1,99}){1,54}" && @ like_regex "(z{1,99}){1,55}" && @ like_regex "(z{1,99}){1,56}" && @ like_regex "(z{1,99}){1,57}" && @ like_regex "(z{1,99}){1,58}" && @ like_regex "(z{1,99}){1,59}" && @ like_regex "(z{1,99}){1,60}" && @ like_regex "(z{1,99}){1,61}" && @ like_regex "(z{1,99}){1,62}" && @ like_regex "(z{1,99}){1,63}" && @ like_regex "(z{1,99}){1,64}" && @ like_regex "(z{1,99}){1,65}" && @ like_regex "(z{1,99}){1,66}" && @ like_regex "(z{1,99}){1,67}" && @ like_regex "(z{1,99}){1,68}" && @ like_regex "(z{1,99}){1,69}" && @ like_regex "(z{1,99}){1,70}" && @ like_regex "(z{1,99}){1,71}" && @ like_regex "(z{1,99}){1,72}" && @ like_regex "(z{1,99}){1,73}" && @ like_regex "(z{1,99}){1,74}" && @ like_regex "(z{1,99}){1,75}" && @ like_regex "(z{1,99}){1,76}" && @ like_regex "(z{1,99}){1,77}" && @ like_regex "(z{1,99}){1,78}" && @ like_regex "(z{1,99}){1,79}" && @ like_regex "(z{1,99}){1,80}" && @ like_regex "(z{1,99}){1,81}" && @ like_regex "(z{1,99}){1,82}" && @ like_regex "(z{1,99}){1,83}" && @ like_regex "(z{1,99}){1,84}" && @ like_regex "(z{1,99}){1,85}" && @ like_regex "(z{1,99}){1,86}" && @ like_regex "(z{1,99}){1,87}" && @ like_regex "(z{1,99}){1,88}" && @ like_regex "(z{1,99}){1,89}" && @ like_regex "(z{1,99}){1,90}" && @ like_regex "(z{1,99}){1,91}" && @ like_regex "(z{1,99}){1,92}" && @ like_regex "(z{1,99}){1,93}" && @ like_regex "(z{1,99}){1,94}" && @ like_regex "(z{1,99}){1,95}" && @ like_regex "(z{1,99}){1,96}" && @ like_regex "(z{1,99}){1,97}" && @ like_regex "(z{1,99}){1,98}")'::jsonpath

--- bombs that look at no interrupts, wholly or for long: with a statement_timeout of 2 s they came back after 3 s to minutes
-- bomb-tsquery: bomb
select (repeat('a & ', 300000) || 'a')::tsquery
-- bomb-tsquery-attribute: bomb
select ((repeat('a & ', 300000) || 'a')::tsquery).numnode
-- bomb-tsquery-phrase: bomb
select phraseto_tsquery('simple', repeat('a ', 300000))
-- bomb-lpad: bomb
select lpad('x', 250000000, 'ab')
-- bomb-replace: bomb
select length(replace(repeat('a', 30000), 'a', repeat('b', 30000)))
-- bomb-string-agg: bomb
select length(string_agg(repeat('x', 1000000), '')) from generate_series(1, 1000)
-- bomb-numeric-power-folded: bomb
select (2::numeric ^ 130000) + (3::numeric ^ 130000) + (4::numeric ^ 130000) + (5::numeric ^ 130000) + (6::numeric ^ 130000) + (7::numeric ^ 130000) + (8::numeric ^ 130000) + (9::numeric ^ 130000) + (2::numeric ^ 430000) + (2::numeric ^ 429999) + (2::numeric ^ 429998) + (2::numeric ^ 429997) + (2::numeric ^ 429996) + (2::numeric ^ 429995) + (2::numeric ^ 429994) + (2::numeric ^ 429993) + (2::numeric ^ 429992) + (2::numeric ^ 429991) + (2::numeric ^ 429990) + (2::numeric ^ 429989) + (2::numeric ^ 429988) + (2::numeric ^ 429987) + (2::numeric ^ 429986) + (2::numeric ^ 429985) + (2::numeric ^ 429984) + (2::numeric ^ 429983) + (2::numeric ^ 429982) + (2::numeric ^ 429981) + (2::numeric ^ 429980) + (2::numeric ^ 429979) + (2::numeric ^ 429978) + (2::numeric ^ 429977) + (2::numeric ^ 429976) + (2::numeric ^ 429975) + (2::numeric ^ 429974) + (2::numeric ^ 429973) + (2::numeric ^ 429972) + (2::numeric ^ 429971) + (2::numeric ^ 429970) + (2::numeric ^ 429969) + (2::numeric ^ 429968) + (2::numeric ^ 429967) + (2::numeric ^ 429966) + (2::numeric ^ 429965) + (2::numeric ^ 429964) + (2::numeric ^ 429963) + (2::numeric ^ 429962) + (2::numeric ^ 429961)
-- bomb-xpath: bomb
select xpath('//a//a//a//a//a', ('<r>' || repeat('<a>', 48) || repeat('</a>', 48) || '</r>')::xml)
-- bomb-xpath-folded: bomb
select xpath('//a//a//a//a//a', '<r><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></r>'::xml)
-- bomb-xmlexists-folded: bomb
select xmlexists('//a//a//a//a//a' passing ('<r><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></r>'::xml))
-- bomb-xmltable: bomb
select x from xmltable('//a//a//a//a//a' passing ('<r><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></r>'::xml) columns x text path '.')
-- bomb-translate: bomb
select length(translate(repeat('a', 100000000), 'a', 'é'))
-- bomb-normalize: bomb
select length(normalize(repeat(U&'\FDFA', 5000000), NFKD))
-- bomb-format: bomb
select length(format('%1000000000s', 'x'))
-- bomb-to-char: bomb
select to_char(now(), repeat('YYYY', 10000000))

--- types that tell of tables and schemas out of reach
-- type-elsewhere-row: type
select row_to_json(json_populate_record(null::public.staff, '{}')) as columns
-- type-elsewhere-rows: type
select array_length(array[null::public.staff], 1)
-- type-elsewhere-recordset: type
select * from json_populate_recordset(null::public.staff, '[{}]') as r
-- type-elsewhere-enum: type
select enum_range(null::public.secret_verdict)::text
-- type-elsewhere-enum-literal: type
select 'guilty'::public.secret_verdict::text
-- type-elsewhere-domain: type
select 'x'::public.labelled
-- type-elsewhere-array: type
select '{x}'::public.labelled[]
-- type-catalog-row: type
select row_to_json(json_populate_record(null::pg_catalog.pg_authid, '{}')) as columns
-- type-catalog-rows: type
select row_to_json(json_populate_record(null::information_schema.tables, '{}')) as columns
