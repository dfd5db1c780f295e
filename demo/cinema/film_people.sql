-- A director and up to two more people for each film. $1, $2: first and last number of a film; $3: the moment nothing
-- is newer than, null for rows that are added now.
with picked as materialized (
    select
        n as film,
        -- Film n chooses among the people there are once n films are: later films do not change it.
        1 + (hashint8extended(n, 40 + place) & 2147483647) % (20 + n / 3) as person,
        (array['director', 'actor', 'writer'])[1 + place] as role
    from generate_series($1::bigint, $2::bigint) as n
    cross join lateral generate_series(0, (hashint8extended(n, 39) & 2147483647) % 3) as place
)
insert into content.person_film_work (film_work_id, person_id, role, created)
select
    content.demo_uuid('film', film),
    content.demo_uuid('person', person),
    role,
    coalesce($3::timestamptz - interval '17520 hours', now())
from picked
order by 1, 2
on conflict do nothing
