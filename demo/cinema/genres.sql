-- The genres, the most common first. $1, $2: first and last number; $3: the moment nothing is newer than, null for
-- rows that are added now.
insert into content.genre (id, name, description, created, modified)
select
    content.demo_uuid('genre', n),
    name,
    case when n % 3 > 0 then 'Films and series of the genre ' || name end,
    coalesce($3::timestamptz - interval '52560 hours', now()),
    coalesce($3::timestamptz - (hashint8extended(n, 1) & 31) * interval '264 hours', now())
from unnest(array[
    'Drama', 'Comedy', 'Thriller', 'Action', 'Romance', 'Documentary', 'Crime', 'Horror', 'Adventure', 'Family', 'Sci-Fi',
    'Fantasy', 'Mystery', 'Animation', 'Biography', 'History', 'Music', 'War', 'Sport', 'Musical', 'Western', 'Reality TV',
    'Short', 'Talk show', 'Game show', 'News', 'Film noir'
]) with ordinality as genre (name, n)
where n between $1::bigint and $2::bigint
on conflict do nothing
