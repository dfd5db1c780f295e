-- The demo's marts, and that pipelines may write them: a newcomer's first pipeline has somewhere to write. Harmless to repeat.
-- Everyone else's marts are their own tables: create them, then `POST /api/v1/targets`.

create table if not exists analytics.genre_dim (
    genre_id    uuid        not null,
    name        text        not null,
    description text,
    modified    timestamptz not null,

    constraint genre_dim_pkey primary key (genre_id)
);

create table if not exists analytics.film_dim (
    film_id       uuid        not null,
    title         text        not null,
    description   text,
    type          text        not null,
    rating        double precision,
    creation_date date,
    modified      timestamptz not null,

    constraint film_dim_pkey primary key (film_id)
);

create table if not exists analytics.film_rating_agg (
    film_id      uuid   not null,
    avg_rating   numeric(4, 2),
    rating_count bigint not null,

    constraint film_rating_agg_pkey primary key (film_id)
);

comment on table analytics.genre_dim is 'Genres, from content.genre';
comment on table analytics.film_dim is 'Films, from content.film_work';
comment on table analytics.film_rating_agg is 'Mean score and number of ratings per film, from ugc.ratings';

insert into etl.etl_targets (target, key)
values
    ('analytics.genre_dim', '{genre_id}'),
    ('analytics.film_dim', '{film_id}'),
    ('analytics.film_rating_agg', '{film_id}')
on conflict (target) do nothing;
