recursive mart as (
    select c.oid
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'analytics' and starts_with($1, 'analytics.') and c.relname = substr($1, length('analytics.') + 1)
),
above (oid) as (
    select oid from mart
    union
    select i.inhparent from above a join pg_inherits i on i.inhrelid = a.oid
),
below (oid) as (
    select oid from mart
    union
    select i.inhrelid from below b join pg_inherits i on i.inhparent = b.oid
),
overlapping (target) as (
    select $1::text
    union
    select 'analytics.' || c.relname
    from (select oid from above union all select oid from below) as related
    join pg_class c on c.oid = related.oid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'analytics'
)
