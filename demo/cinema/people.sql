-- The people. $1, $2: first and last number; $3: the moment nothing is newer than, null for rows that are added now.
with words as (
    select
        array[
            'Agnès', 'Akira', 'Alma', 'Andrei', 'Anna', 'Antonio', 'Björn', 'Carmen', 'Chloé', 'Daniel', 'Elena', 'Emma',
            'Federico', 'Greta', 'Hanna', 'Hiroshi', 'Ingrid', 'Ivan', 'James', 'Jean-Luc', 'João', 'Juliette', 'Kaito',
            'Lars', 'Li', 'Lucía', 'Małgorzata', 'Maria', 'Martin', 'Mia', 'Nadia', 'Noah', 'Olga', 'Omar', 'Park', 'Pedro',
            'Priya', 'Renée', 'Sergei', 'Sofia', 'Søren', 'Thomas', 'Vera', 'Viktor', 'Wei', 'Yasmin', 'Zoë', 'Анна',
            'Андрей', 'Михаил', '美咲', '健'
        ] as first_names,
        array[
            'Almeida', 'Andersson', 'Bernard', 'Bianchi', 'Bondarenko', 'Chan', 'Clarke', 'da Silva', 'de la Cruz',
            'Dubois', 'Dvořák', 'Eriksen', 'Fernández', 'Fischer', 'García', 'Haneda', 'Hughes', 'Ivanova', 'Jensen',
            'Johansson', 'Kaplan', 'Kim', 'Kowalska', 'Kurosawa', 'Lefèvre', 'Lindqvist', 'MacDonald', 'Marino', 'Moreau',
            'Müller', 'Nakamura', 'Novák', 'O''Brien', 'O''Connor', 'Okafor', 'Petrov', 'Quinn', 'Rossi', 'Sato', 'Schmidt',
            'Silva', 'Singh', 'Smith', 'Sørensen', 'Takahashi', 'Tarr', 'van Dijk', 'Vasquez', 'Wang', 'Weiss', 'Yılmaz',
            'Zhang', 'Иванов', 'Ким', '田中', '佐藤'
        ] as last_names
),
dice as materialized (
    select
        n,
        hashint8extended(n, 11) & 2147483647 as a,
        hashint8extended(n, 12) & 2147483647 as b,
        (hashint8extended(n, 13) & 2147483647) / 2147483648.0::float8 as age
    from generate_series($1::bigint, $2::bigint) as n
)
insert into content.person (id, full_name, created, modified)
select
    content.demo_uuid('person', n),
    concat_ws(
        ' ',
        first_names[1 + a % cardinality(first_names)],
        case when b % 5 = 0 then chr((65 + b / 5 % 26)::integer) || '.' end,
        last_names[1 + b % cardinality(last_names)]
    ),
    coalesce($3::timestamptz - interval '43800 hours' * (0.2 + age), now()),
    coalesce($3::timestamptz - interval '8760 hours' * age, now())
from dice, words
order by 1
on conflict do nothing
