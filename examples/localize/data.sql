-- Categories of the online cinema, and the languages that their names are needed in. Harmless to repeat.

create schema if not exists content;

-- `modified` follows every update by itself, also where it changes nothing.
create or replace function content.now_modified() returns trigger language plpgsql as $$
begin
    new.modified := now();
    return new;
end $$;

create table if not exists content.category (
    id       integer     primary key,
    name     text        not null,
    modified timestamptz not null default now()
);
create index if not exists category_modified_idx on content.category (modified, id);
create or replace trigger category_modified before update on content.category
    for each row execute function content.now_modified();

-- The configuration: which categories get a name in which language. A row more is a language more.
create table if not exists content.locale (
    language text        primary key check (language ~ '^[a-z]{2}$'),
    first_id integer     not null,
    last_id  integer     not null,
    modified timestamptz not null default now(),
    check (first_id <= last_id)
);
create or replace trigger locale_modified before update on content.locale
    for each row execute function content.now_modified();

insert into content.category (id, name, modified)
select id, name, '2026-01-01 12:00:00+00'::timestamptz + id * interval '1 minute'
from (values (1, 'Action'), (2, '  science   fiction '), (3, 'Drama'), (4, 'family & kids'), (5, 'Film noir'), (6, 'Western'),
             (7, 'Comedy'), (8, 'War and peace'), (9, 'Music'), (10, 'Talk show'), (11, 'Animation'), (12, '???'))
    as category (id, name)
on conflict do nothing;

insert into content.locale (language, first_id, last_id, modified)
values ('de', 1, 1000, '2026-01-01 12:00:00+00'), ('fr', 1, 6, '2026-01-01 12:00:00+00')
on conflict do nothing;

create table if not exists analytics.category_name (
    category_id integer not null,
    language    text    not null,
    original    text    not null,
    name        text    not null,
    slug        text    not null,
    primary key (category_id, language)
);
