-- The ratings. $1, $2: first and last number; $3: the moment nothing is newer than, null for rows that are
-- added now; $4: how many films there are.
--
-- Film k gets about 1/k of what the first one gets (Zipf); scores peak at 7, better for good films; one rating in ten
-- shares one of twenty `modified`, as after bulk updates.
with dice as materialized (
    select
        n,
        (hashint8extended(n, 51) & 2147483647) / 2147483648.0::float8 as popularity,
        (hashint8extended(n, 52) & 2147483647) / 2147483648.0::float8 as activity,
        (hashint8extended(n, 53) & 2147483647) / 2147483648.0::float8 as mood,
        (hashint8extended(n, 54) & 2147483647) / 2147483648.0::float8 as age,
        hashint8extended(n, 55) & 2147483647 as gap
    from generate_series($1::bigint, $2::bigint) as n
    where n not in (select id from ugc.ratings where id between $1::bigint and $2::bigint)
),
picked as materialized (
    select
        dice.*,
        least(floor(exp(popularity * ln($4::bigint + 1.0::float8)))::bigint, $4::bigint) as film,
        floor(exp(activity * ln(2.0::float8 + n / 10)))::bigint as viewer,
        case when gap % 10 = 0 then (1 + gap / 10 % 20) / 21.0::float8 else age end as years_ago
    from dice
)
insert into ugc.ratings (id, film_id, user_id, score, created, modified)
select
    n,
    content.demo_uuid('film', film),
    content.demo_uuid('viewer', viewer),
    greatest(1, least(10,
        1 + width_bucket(mood, array[0.02, 0.04, 0.07, 0.12, 0.21, 0.38, 0.64, 0.85, 0.94])
        + case hashint8extended(film, 56) & 3 when 0 then -1 when 1 then 1 else 0 end
    )),
    coalesce(
        $3::timestamptz - interval '8760 hours' * years_ago
            - interval '1 hour' * (case when gap % 4 = 0 then gap % 5000 else 0 end),
        now()
    ),
    coalesce($3::timestamptz - interval '8760 hours' * years_ago, now())
from picked
