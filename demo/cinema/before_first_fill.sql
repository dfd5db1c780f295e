-- Building an index over millions of rows takes a fraction of the time of keeping it while they come in: an empty
-- cinema is filled without its indexes, and cinema.sql is run again afterwards.
do $$
begin
    if not exists (select from content.film_work) and not exists (select from ugc.ratings) then
        drop index if exists
            content.person_modified_id_idx,
            content.film_work_modified_id_idx,
            ugc.ratings_modified_id_idx,
            ugc.ratings_film_id_modified_id_idx;
    end if;
end
$$;
