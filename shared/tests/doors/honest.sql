--- Queries that people write for the marts of an online cinema, each against the scene in scene.sql: a guard must accept them.
---
--- An entry is a line `-- <name>: honest` (`honest, pages` with placeholders) and the query below it, up to the next such line or a heading.

--- plain reading
-- films: honest
select id, title, modified from content.film_work
-- films-upper: honest
SELECT ID, Title FROM Content.Film_Work
-- films-semicolon: honest
select id, title from content.film_work;
-- films-quoted: honest
select "id", "title" as "Заголовок" from "content"."film_work"
-- films-star: honest
select f.* from content.film_work as f
-- films-only: honest
select id, title from only content.film_work
-- films-only-parens: honest
select id, title from only (content.film_work) f
-- films-comments: honest
/* the films /* with a nested note */ */
select id, -- the key
       title -- 'quoted; words'
from content.film_work /* all */
-- films-where: honest
select id, title from content.film_work where type = 'movie' and rating >= 7.5 and creation_date between '1995-01-01' and '2005-12-31'
-- films-order-limit: honest
select id, title, rating from content.film_work order by rating desc nulls last, title limit 10 offset 5
-- films-fetch-first: honest
select id, rating from content.film_work order by rating desc fetch first 5 rows with ties
-- films-in-list: honest
select id from content.film_work where type in ('movie', 'tv_show') and id not in (select film_id from ugc.ratings where score < 2)
-- films-like: honest
select id from content.film_work where title ilike 'film 1%' or title like '%2' escape '!' or title similar to 'Film (1|2)%'
-- films-distinct: honest
select distinct type, rating from content.film_work
-- values: honest
values (1, 'a'), (2, 'b')
-- values-in-from: honest
select v.code, v.label from (values (1, 'one'), (2, 'two')) as v (code, label)
-- constants: honest
select 1 as one, 'a' as letter, null::text as nothing, true as yes, 1.5 as number, date '2026-01-01' as day
-- row-of-films: honest
select (f).title, f.id from content.film_work f
-- odd-column-names: honest
select "only", "version", "system", "user", e."only" + 1 as "select" from content.film_extra e
-- unicode-names: honest
select "Größe", "название" as "имя фильма" from content.film_extra
-- unicode-view: honest
select "Ключ", "Заголовок" from content."Смешанный Вид"
-- unquoted-unicode-alias: honest
select title as название, rating as größe from content.film_work
-- names-like-a-tree: honest
select id as ":funcid", title as "{QUERY :relid 1260}", rating as "<>", type as ")" from content.film_work as ":rtekind"
-- names-with-quotes-and-brackets: honest
select id as "a""b", title as "("")", rating as "{ [ 1 ] }", type as "back\slash", created as "1st", modified as "-" from content.film_work

--- joins
-- join-genres: honest
select f.id, f.title, g.name as genre from content.film_work f join content.genre_film_work gf on gf.film_work_id = f.id join content.genre g on g.id = gf.genre_id
-- join-left: honest
select f.id, r.score from content.film_work f left join ugc.ratings r on r.film_id = f.id
-- join-right: honest
select r.id, f.title from content.film_work f right join ugc.ratings r on r.film_id = f.id
-- join-full: honest
select coalesce(f.id, r.film_id) as id, f.title, r.score from content.film_work f full join ugc.ratings r on r.film_id = f.id
-- join-cross: honest
select g.name, t.type from content.genre g cross join (select distinct type from content.film_work) t
-- join-using: honest
select film_id, e.mood, r.score from content.film_extra e join ugc.ratings r using (film_id)
-- join-natural: honest
select a.genre_id from content.genre_film_work a natural join (select film_work_id, genre_id from content.genre_film_work) b
-- join-self: honest
select a.title, b.title as sequel from content.film_work a join content.film_work b on b.creation_date > a.creation_date and a.title = b.title
-- join-parens: honest
select f.id, p.full_name from (content.film_work f join content.person_film_work pf on pf.film_work_id = f.id) join content.person p on p.id = pf.person_id
-- join-lateral: honest
select f.id, best.score from content.film_work f cross join lateral (select r.score from ugc.ratings r where r.film_id = f.id order by r.score desc, r.id limit 1) best
-- join-lateral-left: honest
select f.id, s.votes from content.film_work f left join lateral (select count(*) as votes from ugc.ratings r where r.film_id = f.id) s on true
-- join-lateral-function: honest
select f.id, w from content.film_work f, lateral regexp_split_to_table(f.title, '\s+') as w
-- exists: honest
select f.id, exists (select from ugc.ratings r where r.film_id = f.id and r.score = 10) as loved from content.film_work f
-- any-subquery: honest
select id from content.film_work where id = any (select film_id from ugc.ratings where score > 8)
-- all-subquery: honest
select id from content.film_work where rating >= all (select rating from content.film_work where rating is not null)
-- scalar-subquery: honest
select id, (select max(r.modified) from ugc.ratings r where r.film_id = f.id) as rated from content.film_work f
-- row-in-subquery: honest
select film_work_id from content.genre_film_work where (film_work_id, genre_id) in (select film_work_id, genre_id from content.genre_film_work where created < now())
-- row-comparison: honest
select id from ugc.ratings r where (r.modified, r.id) > (timestamptz '2026-02-01', 5)

--- aggregates
-- agg-basic: honest
select film_id, avg(score)::numeric(4, 2) as rating, count(*) as votes, min(score) as worst, max(score) as best, sum(score) as total from ugc.ratings group by film_id having count(*) > 2
-- agg-distinct: honest
select count(distinct user_id) as viewers, count(distinct film_id) as films from ugc.ratings
-- agg-filter: honest
select film_id, count(*) filter (where score >= 8) as fans, count(*) filter (where score <= 3) as haters from ugc.ratings group by film_id
-- agg-array: honest
select g.id, array_agg(f.title order by f.title) as titles from content.genre g join content.genre_film_work gf on gf.genre_id = g.id join content.film_work f on f.id = gf.film_work_id group by g.id
-- agg-string: honest
select type, string_agg(distinct title, ', ' order by title) as titles from content.film_work group by type
-- agg-json: honest
select f.id, json_agg(json_build_object('name', p.full_name, 'role', pf.role) order by p.full_name) as cast_list from content.film_work f join content.person_film_work pf on pf.film_work_id = f.id join content.person p on p.id = pf.person_id group by f.id
-- agg-jsonb-object: honest
select jsonb_object_agg(g.name, g.description) as genres from content.genre g
-- agg-jsonb-build: honest
select id, jsonb_build_object('title', title, 'rating', rating, 'tags', jsonb_build_array(type, creation_date)) as doc from content.film_work
-- agg-percentiles: honest
select percentile_cont(0.5) within group (order by score) as median, percentile_disc(0.9) within group (order by score) as p90, mode() within group (order by score) as usual from ugc.ratings
-- agg-percentile-array: honest
select percentile_cont(array[0.25, 0.5, 0.75]) within group (order by rating) as quartiles from content.film_work
-- agg-hypothetical: honest
select rank(5) within group (order by score) as place from ugc.ratings
-- agg-statistics: honest
select stddev_samp(score) as spread, variance(score) as v, corr(score, id) as c, regr_slope(score, id) as slope from ugc.ratings
-- agg-bool: honest
select film_id, bool_and(score > 3) as liked, bool_or(score = 10) as adored, every(score > 0) as rated, bit_or(score) as bits from ugc.ratings group by film_id
-- agg-grouping-sets: honest
select type, extract(year from creation_date) as year, count(*) as films, grouping(type) as g from content.film_work group by grouping sets ((type, extract(year from creation_date)), (type), ())
-- agg-rollup: honest
select score, modified::date as day, count(*) as n from ugc.ratings group by rollup (score, modified::date)
-- agg-cube: honest
select type, rating > 5 as good, count(*) as n from content.film_work group by cube (type, rating > 5)
-- agg-nested: honest
select avg(votes) as mean_votes from (select count(*) as votes from ugc.ratings group by film_id) v
-- agg-ranges: honest
select range_agg(shown) as shown, range_intersect_agg(shown) as always from content.film_extra
-- agg-own: honest
select content.mean(rating) as mean from content.film_work
-- agg-group-by-position: honest
select type, count(*) as n from content.film_work group by 1 order by 2 desc

--- windows
-- window-row-number: honest
select id, film_id, row_number() over (partition by film_id order by modified desc) as place from ugc.ratings
-- window-ranks: honest
select id, rank() over w as r, dense_rank() over w as d, ntile(4) over w as q, percent_rank() over w as p, cume_dist() over w as c from content.film_work window w as (order by rating desc)
-- window-lag: honest
select id, score - lag(score, 1, score) over (partition by user_id order by modified) as change, lead(modified) over (partition by user_id order by modified) as next from ugc.ratings
-- window-running: honest
select id, sum(score) over (order by modified, id rows between unbounded preceding and current row) as total from ugc.ratings
-- window-groups: honest
select id, count(*) over (order by score groups between 1 preceding and 1 following) as near from ugc.ratings
-- window-first: honest
select film_id, first_value(score) over w as first, last_value(score) over w as last, nth_value(score, 2) over w as second from ugc.ratings window w as (partition by film_id order by modified rows between unbounded preceding and unbounded following)
-- window-own-aggregate: honest
select id, content.mean(score) over (partition by film_id) as mean from ugc.ratings
-- window-latest: honest
select film_id, score from (select film_id, score, row_number() over (partition by film_id order by modified desc) as n from ugc.ratings) r where n = 1

--- CTEs and set operations
-- cte: honest
with top as (select id, rating from content.film_work order by rating desc nulls last limit 10) select * from top
-- cte-several: honest
with a as (select film_id, avg(score) as mean from ugc.ratings group by film_id), b as materialized (select film_id from a where mean > 5) select f.id, f.title from content.film_work f join b on b.film_id = f.id
-- cte-shadows: honest
with film_work as (select 1 as id) select id from film_work
-- cte-named-like-catalog: honest
with pg_class as (select 'drama' as relname) select relname from pg_class
-- cte-named-only: honest
with "only" as (select 1 as x) select x from "only"
-- cte-recursive: honest
with recursive n (i) as (select 1 union all select i + 1 from n where i < 10) select i from n
-- cte-recursive-dates: honest
with recursive days (day) as (select date '2026-01-01' union all select day + 1 from days where day < '2026-01-31') select d.day, count(r.id) as ratings from days d left join ugc.ratings r on r.modified::date = d.day group by d.day
-- union: honest
select id, 'film' as kind from content.film_work union all select id, 'person' from content.person
-- union-distinct: honest
select film_id from ugc.ratings union select film_id from content.film_extra order by 1
-- intersect: honest
select id from content.film_work intersect select film_id from ugc.ratings
-- except: honest
(select id from content.film_work except select film_id from ugc.ratings) limit 5
-- distinct-on: honest
select distinct on (film_id) film_id, score, modified from ugc.ratings order by film_id, modified desc

--- dates and times
-- time-now: honest
select now() as at, current_date as today, current_timestamp as instant, localtimestamp as here, clock_timestamp() as clock, statement_timestamp() as statement
-- time-parts: honest
select id, extract(year from creation_date) as year, date_part('month', creation_date) as month, extract(epoch from modified) as epoch, extract(isodow from modified) as weekday from content.film_work
-- time-trunc: honest
select date_trunc('week', modified) as week, date_trunc('day', modified, 'Europe/Lisbon') as day, count(*) as n from ugc.ratings group by 1, 2
-- time-bin: honest
select date_bin('15 minutes', modified, timestamptz '2026-01-01') as slot, count(*) as n from ugc.ratings group by slot
-- time-char: honest
select to_char(modified, 'YYYY-MM-DD"T"HH24:MI:SS') as text, to_char(rating, 'FM990.0') as rating, to_date('2026-01-02', 'YYYY-MM-DD') as day, to_timestamp(0) as epoch, to_timestamp('2026', 'YYYY') as parsed, to_number('12.5', '99.9') as number from content.film_work
-- time-age: honest
select id, age(creation_date) as age, age(now(), modified) as since, justify_days(interval '40 days') as j from content.film_work
-- time-zone: honest
select id, modified at time zone 'UTC' as utc, (modified at time zone 'Europe/Lisbon')::date as day, timezone('UTC', modified) as again from content.film_work
-- time-interval: honest
select id from content.film_work where modified > now() - interval '1 year' and modified + interval '1 day' * 2 > make_interval(days => 3) + timestamptz '2020-01-01'
-- time-make: honest
select make_date(2026, 1, 2) as d, make_timestamp(2026, 1, 2, 3, 4, 5) as t, make_timestamptz(2026, 1, 2, 3, 4, 5, 'UTC') as z, make_time(1, 2, 3) as c
-- time-overlaps: honest
select id from content.film_work where (created, modified) overlaps (now(), interval '1 day') or isfinite(modified)
-- time-series: honest
select day::date, count(r.id) as n from generate_series(timestamptz '2026-02-01', '2026-02-07', '1 day') as day left join ugc.ratings r on r.modified >= day and r.modified < day + interval '1 day' group by day
-- time-literals: honest
select 'today'::date as today, 'now'::timestamptz as moment, '1 day'::interval as step, 'epoch'::timestamp as epoch

--- text
-- text-functions: honest
select upper(title) as u, lower(title) as l, initcap(title) as i, length(title) as n, char_length(title) as c, octet_length(title) as o, reverse(title) as r, repeat('*', 3) as stars, lpad(title, 20, '.') as p from content.film_work
-- text-parts: honest
select substring(title from 1 for 3) as s, position('l' in title) as p, trim(both ' ' from title) as t, overlay(title placing 'x' from 1 for 1) as o, left(title, 2) as a, right(title, 2) as b, split_part(title, ' ', 2) as w, strpos(title, 'm') as q from content.film_work
-- text-regex: honest
select id, regexp_replace(title, '\d+', '#', 'g') as masked, (regexp_match(title, '(\w+) (\d+)'))[2] as number, title ~* '^film' as is_film, substring(title from '\d+') as digits from content.film_work where title !~ 'x'
-- text-regex-rows: honest
select f.id, m[1] as digit from content.film_work f, regexp_matches(f.title, '\d', 'g') m
-- text-concat: honest
select concat(title, ' ', rating) as a, concat_ws(', ', title, type) as b, title || ' (' || coalesce(rating::text, '-') || ')' as c, format('%s: %s', title, rating) as d, quote_literal(title) as e, quote_ident(type) as f from content.film_work
-- text-hash: honest
select md5(title) as m, encode(sha256(convert_to(title, 'UTF8')), 'hex') as s, hashtext(title) as h, encode(title::bytea, 'base64') as b, decode('ff', 'hex') as d from content.film_work
-- text-translate: honest
select translate(title, 'aeiou', '*****') as t, replace(title, 'Film', 'Movie') as r, ascii(title) as a, chr(65) as c, starts_with(title, 'F') as f, btrim(title) as b, ltrim(title) as l, normalize(title, nfc) as n, to_hex(255) as h from content.film_work
-- text-collate: honest
select title from content.film_work order by title collate "C"
-- text-array: honest
select string_to_array(title, ' ') as words, array_to_string(array['a', 'b'], ',') as joined, t.part from content.film_work, string_to_table(title, ' ') as t (part)
-- text-casts: honest
select rating::text as a, cast(rating as int) as b, '5'::int as c, title::varchar(10) as d, title::char(3) as e, id::text as f, rating::float8::numeric(5, 2) as g, int '7' as h from content.film_work

--- full text
-- fts-match: honest
select id, title from content.film_work where to_tsvector('english', title || ' ' || coalesce(description, '')) @@ websearch_to_tsquery('english', 'story -war')
-- fts-rank: honest
select id, ts_rank(to_tsvector('english', title), q) as rank, ts_rank_cd(to_tsvector('simple', title), q) as cover from content.film_work, plainto_tsquery('english', 'film') q where to_tsvector('english', title) @@ q order by rank desc
-- fts-headline: honest
select id, ts_headline('english', coalesce(description, ''), to_tsquery('english', 'story & film')) as hit, phraseto_tsquery('english', 'the story') as phrase from content.film_work
-- fts-weights: honest
select id, setweight(to_tsvector('simple', title), 'A') || setweight(to_tsvector('simple', type), 'B') as doc, numnode('a & b'::tsquery) as n, 'fat cat'::tsvector as v from content.film_work
-- fts-default-config: honest
select id, to_tsvector(title) as doc from content.film_work where to_tsvector(title) @@ to_tsquery('film')
-- fts-stored: honest
select film_id, words, tsvector_to_array(words) as list, ts_delete(words, 'film') as rest from content.film_extra where words @@ 'story'::tsquery

--- json
-- json-operators: honest
select film_id, payload -> 'cast' as actors, payload ->> 'country' as country, payload #>> '{cast,0,name}' as first, payload @> '{"country": "PT"}' as local, payload ? 'awards' as awarded, payload - 'cast' as rest, payload || '{"x": 1}' as more, payload ['awards'] as n from content.film_extra
-- json-path: honest
select film_id, jsonb_path_query_first(payload, '$.cast[*].name') as name, jsonb_path_exists(payload, '$.awards ? (@ > 1)') as prized, payload @? '$.cast' as has, payload @@ '$.awards > 0' as ok, jsonb_path_query_array(payload, '$.cast[*]', '{}') as all_cast from content.film_extra
-- json-path-rows: honest
select e.film_id, a.actor from content.film_extra e, jsonb_path_query(e.payload, '$.cast[*]') as a (actor)
-- json-each: honest
select e.film_id, kv.key, kv.value from content.film_extra e, jsonb_each(e.payload) kv
-- json-elements: honest
select e.film_id, a.value ->> 'name' as actor, a.ordinality as n from content.film_extra e, jsonb_array_elements(e.payload -> 'cast') with ordinality a (value, ordinality) where jsonb_typeof(a.value) = 'object'
-- json-record: honest
select e.film_id, r.country, r.awards from content.film_extra e, jsonb_to_record(e.payload) as r (country text, awards int)
-- json-recordset: honest
select x.a, x.b from json_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') as x (a int, b text)
-- json-populate: honest
select (jsonb_populate_record(null::content.place, '{"city": "Porto"}')).city as city
-- json-rows: honest
select row_to_json(f) as doc, to_jsonb(f) as again, to_json(f.title) as title from content.film_work f
-- json-row-attribute: honest
select f.row_to_json, f.to_jsonb from content.film_work f
-- json-edit: honest
select jsonb_set(payload, '{awards}', '0') as a, jsonb_insert(payload, '{cast,0}', '"Eva"') as b, jsonb_strip_nulls(payload) as c, jsonb_pretty(payload) as d, jsonb_object_keys(payload) as key from content.film_extra
-- json-plain: honest
select doc -> 'n' as n, doc ->> 'n' as t, json_typeof(doc -> 'n') as k, json_array_length('[1, 2]') as len, json_object('{a,1,b,2}') as o from content.film_extra
-- json-record-of-film: honest
select row_to_json(row(f.id, f.title)) as pair, array_to_json(array_agg(f.type)) as types from content.film_work f group by f.id

--- xml
-- xml-table: honest
select e.film_id, t.n, t.note from content.film_extra e, xmltable('/notes/note' passing e.notes columns n int path '@n', note text path '.' default '-', pos for ordinality) t
--- arrays, ranges, types
-- array-functions: honest
select film_id, tags[1] as first, tags[1:2] as head, array_length(tags, 1) as n, cardinality(tags) as c, array_position(tags, 'tag1') as p, array_append(tags, 'x') as a, array_cat(tags, tags) as b, array_remove(tags, 'tag0') as r, tags || 'y'::text as d from content.film_extra where 'tag1' = any (tags) or tags && array['tag2'] or tags @> '{tag0}'
-- array-unnest: honest
select e.film_id, t.tag, t.n from content.film_extra e, unnest(e.tags) with ordinality as t (tag, n)
-- array-unnest-two: honest
select a, b from unnest(array[1, 2], array['x', 'y']) as t (a, b)
-- array-subquery: honest
select f.id, array(select g.name from content.genre g join content.genre_film_work gf on gf.genre_id = g.id where gf.film_work_id = f.id order by g.name) as genres from content.film_work f
-- array-in-list: honest
select id from content.film_work where type = any (array['movie', 'tv_show']) and rating <> all (array[1.0, 2.0])
-- ranges: honest
select film_id, lower(shown) as starts, upper(shown) as ends, shown @> date '2026-01-10' as open, shown * daterange('2026-01-01', '2026-01-15') as part, isempty(shown) as none, upper_inc(shown) as inc, numrange(1, 5) as n, int4multirange(int4range(1, 3)) as m from content.film_extra where shown && daterange('2026-01-05', null)
-- range-own-type: honest
select film_id, lower(prices) as cheapest, prices @> 7.5 as affordable, content.price_range(1, 2) as sample from content.film_extra
-- enum: honest
select film_id, mood, mood > 'calm' as lively, enum_range(null::content.mood) as moods, 'dark'::content.mood as dark from content.film_extra where mood in ('calm', 'merry') order by mood
-- composite-whole: honest
select (e.filmed).city as city, (row(e.filmed, current_date)::content.stay).since as since from content.film_extra e
-- domain: honest
select film_id, critics, critics + 1 as more, 7::content.score as seven, 'a-slug'::content.slug as slug from content.film_extra
-- domain-array: honest
select array[1, 2]::content.score[] as scores, '{3,4}'::content.score[] as more
-- bits-and-bytes: honest
select poster, length(poster) as n, get_byte(poster, 0) as b, encode(poster, 'hex') as hex, substring(poster from 1 for 2) as part, b'101' & b'110' as bits from content.film_extra
-- uuid-and-random: honest
select gen_random_uuid() as key, random() as r, floor(random() * 10)::int as dice, id from content.film_work order by random() limit 5
-- type-of: honest
select pg_typeof(rating)::text as kind, pg_column_size(title) as bytes, pg_size_pretty(pg_column_size(description)::bigint) as size from content.film_work
-- geometry: honest
select point(1, 2) <-> point '(3,4)' as distance, box '((0,0),(1,1))' @> point '(0.5,0.5)' as inside, circle '<(0,0),1>' as c
-- numbers: honest
select round(rating, 0) as r, ceil(rating) as c, floor(rating) as f, trunc(rating) as t, abs(-1) as a, mod(7, 3) as m, power(2, 3) as p, sqrt(2.0) as s, exp(1.0) as e, ln(2.0) as l, log(100.0) as g, sign(-2) as n, width_bucket(rating, 0, 10, 5) as w, div(7, 2) as d, pi() as pi, degrees(1) as deg, gcd(12, 8) as gcd from content.film_work
-- conditions: honest
select case when rating > 8 then 'A' when rating is null then '?' else 'B' end as class, case type when 'movie' then 1 else 2 end as code, coalesce(description, title) as text, nullif(title, '') as t, greatest(rating, 5) as g, least(rating, 5) as l, rating is distinct from 5 as d, (rating > 5) is true as k, num_nulls(rating, description) as n from content.film_work
-- current-setting-is-a-column: honest
select c.current_setting, c.pg_sleep from (select 1 as current_setting, 2 as pg_sleep) c
-- calls-in-strings: honest
select 'select pg_sleep(1) from private.secrets for update' as note, $$ content.harm('x') $$ as other, id as "pg_sleep(1)" from content.film_work

--- what the source schemas own
-- own-function: honest
select content.stars(score) as stars, content.decade(current_date) as decade, content.clamp(score, 2, 9) as clamped from ugc.ratings
-- own-function-of-row: honest
select content.label(f) as label, f.id from content.film_work f
-- own-function-stable: honest
select content.film_count() as movies, content.film_count('tv_show') as shows, content.film_count(kind => 'movie') as again
-- own-function-rows: honest
select t.film_id, t.title from content.films_of('Drama') t
-- own-function-lateral: honest
select g.name, t.title from content.genre g, lateral content.films_of(g.name) with ordinality as t (film_id, title, n) where t.n < 4
-- own-cast: honest
select filmed::text as place, film_id from content.film_extra
-- own-view: honest
select id, title from content.movies where rating > 5
-- own-view-nested: honest
select g.id, g.title, s.score from content.good_movies g join content.film_scores s using (id)
-- own-view-of-two-schemas: honest
select f.title, r.score from ugc.recent r join content.film_work f on f.id = r.film_id
-- own-materialized-view: honest
select name, films from content.genre_counts order by films desc
-- own-partitioned-table: honest
select film_id, date_trunc('month', starts) as month, sum(seats) as seats from content.showing where starts >= '2025-08-01' group by 1, 2
-- own-partition: honest
select id, starts from content.showing_2026
-- own-sample: honest
select id, title from content.film_work tablesample bernoulli (50)
-- own-sample-repeatable: honest
select id from ugc.ratings r tablesample system (100) repeatable (42)
-- own-system-columns: honest
select id, ctid::text as place, xmin::text as version from content.film_work

--- types of other schemas that a source table has
-- enum-elsewhere: honest
select id, verdict from content.reviews where verdict = 'good'
-- enum-elsewhere-cast: honest
select id, verdict::text as verdict from content.reviews where verdict = any ('{good,bad}'::public.verdict[])
