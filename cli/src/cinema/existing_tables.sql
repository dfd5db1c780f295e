select
    format('%s.%s', n.nspname, c.relname),
    case
        when c.relkind in ('r', 'p') then coalesce(
            string_agg(
                format('%s %s', a.attname, format_type(a.atttypid, a.atttypmod)),
                ', ' order by a.attname collate "C"
            ),
            'no columns'
        )
        else 'no rows of its own'
    end
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where format('%s.%s', n.nspname, c.relname) = any($1)
group by n.nspname, c.relname, c.relkind
