select min(found.name) as name, found.columns, bool_and(coalesce(k.condeferred, false)) as deferred
from own o
join pg_index i on i.indrelid = o.oid
left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = i.indrelid
-- An expression, a condition and a generated column may be made of any column.
cross join lateral (
    select i.indexprs is not null or i.indpred is not null or exists (
               select from pg_attribute a
               where a.attrelid = i.indrelid and a.attgenerated <> '' and a.attnum = any (i.indkey[0:i.indnkeyatts - 1])
           ) as further
) as looks
cross join lateral (
    select (select x.relname::text from pg_class x where x.oid = i.indexrelid) as name,
           array(
               select a.attname::text
               from pg_attribute a
               where a.attrelid = i.indrelid and a.attnum > 0 and not a.attisdropped
                 and (a.attnum = any (i.indkey[0:i.indnkeyatts - 1]) or looks.further)
               order by a.attnum
           ) as columns
) as found
where (i.indisunique or i.indisexclusion) and i.indisvalid
  and (i.indisexclusion or looks.further or not $2::text[] <@ found.columns)
group by found.columns
order by 1
