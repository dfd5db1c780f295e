--- queries that page by themselves
-- page-films: honest, pages
select f.id, f.title, f.modified from content.film_work f
where (:after_key::timestamptz is null or f.modified > :after_key) and f.modified < :upper
order by f.modified, f.id limit :limit
-- page-upper-case: honest, pages
SELECT r.id, r.modified FROM ugc.ratings r WHERE r.modified < :upper ORDER BY 2, 1 LIMIT :limit
-- page-strings-with-colons: honest, pages
select r.id, ':limit' as text, to_char(r.modified, 'HH24:MI:SS') as clock, r.modified from ugc.ratings r where r.modified::timestamptz < :upper::timestamptz limit :limit::bigint
-- page-slice-is-no-placeholder: honest, pages
select e.film_id, e.tags[1:2] as head from content.film_extra e where e.film_id is not null limit :limit
-- page-grouped: honest, pages
with changed as (
    select film_id, max(modified) as modified from ugc.ratings
    where (:after_key::timestamptz is null or modified > :after_key) and modified < :upper
    group by film_id order by 2, 1 limit :limit
)
select c.film_id, avg(r.score) as rating, c.modified from changed c join ugc.ratings r using (film_id) group by c.film_id, c.modified
-- page-film-rating-agg: honest, pages
with changed as (
    select r.film_id, r.modified, r.id
    from ugc.ratings r
    where (:after_key::timestamptz is null or (r.modified, r.id) > (:after_key, :after_id))
      and r.modified < :upper
    order by r.modified, r.id
    limit :limit
),
film as (
    select distinct on (c.film_id) c.film_id, c.modified, c.id as rating_id
    from changed c
    order by c.film_id, c.modified desc, c.id desc
),
due as (
    select f.film_id, f.modified, f.rating_id
    from film f
    where not exists (
              select
              from ugc.ratings later
              where later.film_id = f.film_id
                and (later.modified, later.id) > (f.modified, f.rating_id)
                and later.modified < :upper
          )
       or f.rating_id = (select c.id from changed c order by c.modified desc, c.id desc limit 1)
)
select d.film_id, a.avg_rating, a.rating_count, d.modified, d.rating_id
from due d
cross join lateral (
    select round(avg(r.score), 2) as avg_rating, count(*) as rating_count
    from ugc.ratings r
    where r.film_id = d.film_id
) a
