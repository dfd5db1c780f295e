-- One to three genres for each film. $1, $2: first and last number of a film; $3: the moment nothing is newer than, null for
-- rows that are added now.
with dice as materialized (
    select n as film, hashint8extended(n, 31) & 2147483647 as dice
    from generate_series($1::bigint, $2::bigint) as n
),
picked as materialized (
    -- The smaller of two throws: the first genres are the most common ones.
    select film, 1 + (least(dice % 27, dice / 27 % 27) + 5 * place) % 27 as genre
    from dice
    cross join lateral generate_series(0, (array[0, 0, 0, 1, 1, 2])[1 + dice / 729 % 6]) as place
)
insert into content.genre_film_work (film_work_id, genre_id, created)
select
    content.demo_uuid('film', film),
    content.demo_uuid('genre', genre),
    coalesce($3::timestamptz - interval '17520 hours', now())
from picked
order by 1, 2
on conflict do nothing
