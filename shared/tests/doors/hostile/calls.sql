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
