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
