select bool_and(i.indimmediate)
from pg_index i
join own o on o.oid = i.indrelid and o.itself
where i.indisunique and i.indisvalid
  and i.indpred is null and i.indexprs is null
  -- An index of its own collation may take other values for equal than the column does.
  and not exists (
      select
      from unnest(i.indkey[0:i.indnkeyatts - 1], i.indcollation[0:i.indnkeyatts - 1]) as k (attribute, collated_by)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attribute
      where a.attcollation <> k.collated_by
  )
  and (
      select array_agg(a.attname::text order by a.attname::text)
      from unnest(i.indkey[0:i.indnkeyatts - 1]) k
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k
  ) = (select array_agg(k order by k) from unnest($2::text[]) k)
