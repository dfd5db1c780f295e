--- what executes text, reads what it names, or administers: the calls that count most
-- text-ts-stat: function
select * from ts_stat('select to_tsvector(secret) from private.secrets')
-- text-ts-stat-weights: function
select * from ts_stat('select to_tsvector(secret) from private.secrets', 'ab')
-- text-ts-stat-of-column: function
select s.word from content.film_work f, lateral ts_stat('select to_tsvector(' || quote_literal(f.title) || ')') s
-- text-ts-stat-sets-role: function
select * from ts_stat('select to_tsvector(set_config(''role'', ''none'', true))')
-- text-ts-stat-nested: function
select * from ts_stat('select to_tsvector(word) from ts_stat(''select to_tsvector(secret) from private.secrets'')')
-- text-ts-rewrite: function
select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, ''b''::tsquery from private.secrets')
-- text-query-to-xml: function
select query_to_xml('select * from private.secrets', true, true, '')
-- text-query-to-xml-xpath: function
select xpath('//secret/text()', query_to_xml('select * from private.secrets', true, false, ''))
-- text-query-to-xmlschema: function
select query_to_xmlschema('select * from private.secrets', true, true, '')
-- text-table-to-xml: function
select table_to_xml('private.secrets', true, true, '')
-- text-schema-to-xml: function
select schema_to_xml('private', true, true, '')
-- text-database-to-xml: function
select database_to_xmlschema(true, true, '')
-- text-cursor-to-xml: function
select cursor_to_xml('c', 1, true, true, '')
-- text-set-config-role: function
select set_config('role', 'none', false)
-- text-set-config-in-where: function
select id from content.film_work where set_config('role', 'none', true) is null
-- text-set-config-read-only: function
select set_config('default_transaction_read_only', 'on', false)
-- text-record-in: function
select record_in('(x,1)'::cstring, (to_regtype('content.has_checked'))::oid, -1)::text
-- text-domain-in: function
select domain_in('x'::cstring, to_regtype('content.checked')::oid, -1) is null
-- text-array-in-by-oid: function
select array_in('{x}'::cstring, to_regtype('content.checked')::oid, -1) is null
-- text-regclassin: function
select regclassin('private.secrets'::cstring)::oid
-- text-regclass-function: function
select regclass('private.secrets'::text)::oid
-- text-regclass-attribute: function
select ('private.secrets'::text).regclass
-- text-to-regclass: function
select to_regclass('private.secrets')::oid
-- text-getpgusername: function
select getpgusername()
-- text-notify: function
select pg_notify('vitrina_events', 'x')::text
-- text-terminate: function
select pg_terminate_backend(0)
-- text-lo-from-bytea: function
select lo_from_bytea(0, '\x00')
-- text-setseed: function
select setseed(0.5)::text
-- text-nextval: function
select nextval('private.numbers')
-- text-setval: function
select setval('private.numbers', 9)
-- text-read-file-range: function
select pg_read_file('PG_VERSION', 0, 10, true)
-- text-logical-emit: function
select pg_logical_emit_message(false, 'x', 'y')
-- text-current-query: function
select current_query()
