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
