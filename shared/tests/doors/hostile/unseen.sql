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
