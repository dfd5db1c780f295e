-- The films. $1, $2: first and last number; $3: the moment nothing is newer than, null for rows that are added now.
--
-- Everything about a film follows from its number alone: the same numbers give the same films. Titles in several
-- languages; one description in seven, one rating in twelve and one date in twenty-five is missing; three films in ten
-- share one of twenty `modified`, as after bulk updates.
with words as (
    select
        array[
            'Last', 'Silent', 'Crimson', 'Forgotten', 'Golden', 'Broken', 'Hidden', 'Long', 'Electric', 'Burning', 'Frozen',
            'Quiet', 'Savage', 'Distant', 'Paper', 'Hollow', 'Wild', 'Velvet', 'Bitter', 'Endless', 'Secret', 'Lonely',
            'Perfect', 'Scarlet', 'Midnight', 'Lost', 'Northern', 'Invisible', 'Second', 'Restless', 'Pale', 'Stolen',
            'Final', 'Glass', 'Iron', 'Seventh', 'Gentle', 'Naked', 'Ancient', 'Strange'
        ] as adjectives,
        array[
            'River', 'Garden', 'Empire', 'Summer', 'Stranger', 'Harbor', 'Promise', 'Winter', 'Detective', 'Horizon', 'Letter',
            'City', 'Orchard', 'Machine', 'Witness', 'Island', 'Mirror', 'Soldier', 'Kingdom', 'Daughter', 'Train', 'Shadow',
            'Ocean', 'Dream', 'Violin', 'Hunter', 'Station', 'Bride', 'Storm', 'Lighthouse', 'Circus', 'Desert', 'Tiger',
            'Language', 'Echo', 'Carnival', 'Hotel', 'Heart', 'Moon', 'Thief', 'Cathedral', 'Comet', 'Waltz', 'Frontier',
            'Neighbour', 'Apartment', 'Engine', 'Silence'
        ] as nouns,
        array[
            'Paris', 'Tokyo', 'Casablanca', 'Lisbon', 'Havana', 'Saint Petersburg', 'Buenos Aires', 'Marrakesh', 'Kyoto',
            'Reykjavík', 'Kraków', 'São Paulo', 'Málaga', 'Göteborg', 'Istanbul', 'Vienna', 'Shanghai', 'Odessa', 'Naples',
            'Montréal', 'Zürich', 'Dublin', 'Nairobi', 'Valparaíso', 'Samarkand', 'Tromsø'
        ] as places,
        array[
            'Amélie', 'Anna', 'Bartholomew', 'Chloé', 'Doctor Faust', 'Emma', 'Frankie', 'Inspector Moreau', 'Jack', 'José',
            'Madame Wu', 'Mr. O''Brien', 'Nikita', 'Ophelia', 'Professor Łem', 'Sister Inês', 'Vasilisa', 'Zoë'
        ] as heroes,
        array[
            'Последний', 'Тихий', 'Забытый', 'Белый', 'Ночной', 'Северный', 'Вечный', 'Старый', 'Стеклянный', 'Долгий',
            'Чужой', 'Осенний'
        ] as russian_adjectives,
        array[
            'город', 'рассвет', 'поезд', 'сад', 'океан', 'дом', 'вокзал', 'снег', 'остров', 'разговор', 'экипаж', 'ёлочный шар'
        ] as russian_nouns,
        array['東京', '京都', '夏', '雨', '海辺', '少年', '最後', '月'] as japanese_owners,
        array['物語', '夜', '約束', '手紙', '旅', '音', '猫', '秘密'] as japanese_nouns,
        array['La nuit à', 'L''été à', 'Rendez-vous à', 'Adieu à', 'Retour à', 'Un hiver à'] as french_openings,
        array['a retired detective', 'a young violinist', 'a runaway heiress', 'a lighthouse keeper', 'an unlucky thief',
              'a village schoolteacher', 'the crew of a forgotten ship', 'a war photographer'] as people,
        array['must choose between love and duty', 'uncovers a secret that was meant to stay buried',
              'loses everything in a single night', 'sets out to find a missing letter',
              'falls in with the wrong company', 'learns that nothing is what it seemed'] as fates
),
dice as materialized (
    select
        n,
        hashint8extended(n, 21) & 2147483647 as a,
        hashint8extended(n, 22) & 2147483647 as b,
        hashint8extended(n, 23) & 2147483647 as c,
        hashint8extended(n, 24) & 2147483647 as d,
        hashint8extended(n, 25) & 2147483647 as kind,
        (hashint8extended(n, 26) & 2147483647) / 2147483648.0::float8 as age,
        (hashint8extended(n, 27) & 2147483647) / 2147483648.0::float8 as year,
        hashint8extended(n, 28) & 2147483647 as gap
    from generate_series($1::bigint, $2::bigint) as n
),
picked as materialized (
    select
        dice.*,
        adjectives[1 + a % cardinality(adjectives)] as adjective,
        nouns[1 + b % cardinality(nouns)] as noun,
        nouns[1 + c % cardinality(nouns)] as second_noun,
        places[1 + c % cardinality(places)] as place,
        heroes[1 + d % cardinality(heroes)] as hero,
        russian_adjectives[1 + a % cardinality(russian_adjectives)] as russian_adjective,
        russian_nouns[1 + b % cardinality(russian_nouns)] as russian_noun,
        japanese_owners[1 + a % cardinality(japanese_owners)] as japanese_owner,
        japanese_nouns[1 + b % cardinality(japanese_nouns)] as japanese_noun,
        french_openings[1 + a % cardinality(french_openings)] as french_opening,
        people[1 + d % cardinality(people)] as people,
        fates[1 + a % cardinality(fates)] as fate,
        case when gap % 10 < 3 then (1 + gap / 10 % 20) / 21.0::float8 else age end as years_ago
    from dice, words
)
insert into content.film_work (id, title, description, creation_date, rating, type, created, modified)
select
    content.demo_uuid('film', n),
    case kind % 14
        when 0 then 'The ' || adjective || ' ' || noun
        when 1 then adjective || ' ' || noun
        when 2 then 'The ' || noun || ' of ' || place
        when 3 then 'The ' || adjective || ' ' || noun || ' of ' || place
        when 4 then hero || ' and the ' || adjective || ' ' || noun
        when 5 then hero || '''s ' || noun
        when 6 then noun || ' & ' || second_noun
        when 7 then 'Return to ' || place
        when 8 then adjective || ' ' || noun || ' ' || (2 + d % 4)
        when 9 then adjective || ' ' || noun || ': The ' || second_noun
        when 10 then 'One ' || noun || ' in ' || place
        when 11 then russian_adjective || ' ' || russian_noun || case when d % 4 = 0 then ' ' || (2 + c % 3) else '' end
        when 12 then french_opening || ' ' || place
        else japanese_owner || 'の' || japanese_noun
    end,
    case when gap / 200 % 7 > 0 then 'In ' || place || ', ' || people || ' ' || fate || '.' end,
    case when gap / 1400 % 25 > 0 then date '2025-12-31' - floor(38000 * year ^ 2.5)::integer end,
    case when gap / 35000 % 12 > 0 then 2.5 + (a % 26 + b % 26 + c % 26) / 10.0 end,
    case when d % 7 = 0 then 'tv_show' else 'movie' end,
    coalesce($3::timestamptz - interval '8760 hours' * years_ago - interval '24 hours' * (b % 1500), now()),
    coalesce($3::timestamptz - interval '8760 hours' * years_ago, now())
from picked
order by 1
on conflict do nothing
