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
