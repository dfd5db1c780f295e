select format_type(t.oid, null)
from pg_type t
-- An array is judged by its elements.
join pg_type e on e.oid = case when t.typcategory = 'A' and t.typelem <> 0 then t.typelem else t.oid end
join pg_namespace n on n.oid = e.typnamespace
where t.oid = any ($7::oid[])
  and not case when e.oid < 16384 then e.typtype <> 'c' else
      n.nspname = any ($10::text[])
      or exists (select from pg_depend d
                 where d.classid = 'pg_type'::regclass and d.objid = e.oid and d.deptype = 'e')
      or exists (select from pg_attribute a join pg_class c on c.oid = a.attrelid
                 join pg_namespace s on s.oid = c.relnamespace
                 where a.atttypid in (e.oid, e.typarray) and s.nspname = any ($10::text[]))
  end
limit 1
