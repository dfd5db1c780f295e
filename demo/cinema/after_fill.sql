-- The next rating gets a number that is free.
select setval(pg_get_serial_sequence('ugc.ratings', 'id'), max(id))
from ugc.ratings
having max(id) > coalesce(pg_sequence_last_value(pg_get_serial_sequence('ugc.ratings', 'id')::regclass), 0);

-- The planner knows from the first query on what it is dealing with.
analyze
    content.genre, content.person, content.film_work, content.genre_film_work, content.person_film_work, ugc.ratings;
