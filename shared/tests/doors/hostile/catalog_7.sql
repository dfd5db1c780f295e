--- functions of pg_catalog that look at the server, by call, as an attribute and by treat (fixed text, made from pg_proc)
-- gen-call-regroleout: function
select regroleout('vitrina_app'::regrole)::text
-- gen-attr-regroleout: function
select ('vitrina_app'::regrole).regroleout::text
-- gen-treat-regroleout: function
select treat('vitrina_app'::regrole as regroleout)::text
-- gen-call-regtypein: function
select regtypein('1'::cstring)
-- gen-attr-regtypein: function
select ('1'::cstring).regtypein
-- gen-treat-regtypein: function
select treat('1'::cstring as regtypein)
-- gen-call-regtypeout: function
select regtypeout('text'::regtype)::text
-- gen-attr-regtypeout: function
select ('text'::regtype).regtypeout::text
-- gen-treat-regtypeout: function
select treat('text'::regtype as regtypeout)::text
-- gen-call-row-security-active: function
select row_security_active('x'::text)
-- gen-attr-row-security-active: function
select ('x'::text).row_security_active
-- gen-treat-row-security-active: function
select treat('x'::text as row_security_active)
-- gen-call-row-security-active-2: function
select row_security_active(1259::oid)
-- gen-attr-row-security-active-2: function
select (1259::oid).row_security_active
-- gen-treat-row-security-active-2: function
select treat(1259::oid as row_security_active)
-- gen-call-satisfies-hash-partition: function
select satisfies_hash_partition(1259::oid, 1, 1, 1)
-- gen-call-schema-to-xml: function
select schema_to_xml('private'::name, true, true, 'x'::text)
-- gen-call-schema-to-xml-and-xmlschema: function
select schema_to_xml_and_xmlschema('private'::name, true, true, 'x'::text)
-- gen-call-schema-to-xmlschema: function
select schema_to_xmlschema('private'::name, true, true, 'x'::text)
-- gen-call-set-config: function
select set_config('role'::text, 'x'::text, true)
-- gen-call-setseed: function
select setseed(0.01::float8)::text
-- gen-attr-setseed: function
select (0.01::float8).setseed::text
-- gen-treat-setseed: function
select treat(0.01::float8 as setseed)::text
-- gen-call-setval: function
select setval('private.secrets'::regclass, 1::bigint)
-- gen-call-setval-2: function
select setval('private.secrets'::regclass, 1::bigint, true)
-- gen-call-shobj-description: function
select shobj_description(1259::oid, 'private'::name)
-- gen-call-table-to-xml: function
select table_to_xml('private.secrets'::regclass, true, true, 'x'::text)
-- gen-call-table-to-xml-and-xmlschema: function
select table_to_xml_and_xmlschema('private.secrets'::regclass, true, true, 'x'::text)
-- gen-call-table-to-xmlschema: function
select table_to_xmlschema('private.secrets'::regclass, true, true, 'x'::text)
-- gen-call-to-regclass: function
select to_regclass('private.secrets'::text)
-- gen-attr-to-regclass: function
select ('private.secrets'::text).to_regclass
-- gen-treat-to-regclass: function
select treat('private.secrets'::text as to_regclass)
-- gen-call-to-regcollation: function
select to_regcollation('x'::text)
-- gen-attr-to-regcollation: function
select ('x'::text).to_regcollation
-- gen-treat-to-regcollation: function
select treat('x'::text as to_regcollation)
-- gen-call-to-regnamespace: function
select to_regnamespace('x'::text)
-- gen-attr-to-regnamespace: function
select ('x'::text).to_regnamespace
-- gen-treat-to-regnamespace: function
select treat('x'::text as to_regnamespace)
-- gen-call-to-regoper: function
select to_regoper('x'::text)
-- gen-attr-to-regoper: function
select ('x'::text).to_regoper
-- gen-treat-to-regoper: function
select treat('x'::text as to_regoper)
-- gen-call-to-regoperator: function
select to_regoperator('x'::text)
-- gen-attr-to-regoperator: function
select ('x'::text).to_regoperator
-- gen-treat-to-regoperator: function
select treat('x'::text as to_regoperator)
-- gen-call-to-regproc: function
select to_regproc('x'::text)
-- gen-attr-to-regproc: function
select ('x'::text).to_regproc
-- gen-treat-to-regproc: function
select treat('x'::text as to_regproc)
-- gen-call-to-regprocedure: function
select to_regprocedure('x'::text)
-- gen-attr-to-regprocedure: function
select ('x'::text).to_regprocedure
-- gen-treat-to-regprocedure: function
select treat('x'::text as to_regprocedure)
-- gen-call-to-regrole: function
select to_regrole('x'::text)
-- gen-attr-to-regrole: function
select ('x'::text).to_regrole
-- gen-treat-to-regrole: function
select treat('x'::text as to_regrole)
-- gen-call-to-regtype: function
select to_regtype('x'::text)
-- gen-attr-to-regtype: function
select ('x'::text).to_regtype
-- gen-treat-to-regtype: function
select treat('x'::text as to_regtype)
-- gen-call-ts-debug: function
select ts_debug('x'::text)::text
-- gen-attr-ts-debug: function
select ('x'::text).ts_debug::text
-- gen-treat-ts-debug: function
select treat('x'::text as ts_debug)::text
-- gen-call-ts-debug-2: function
select ts_debug('simple'::regconfig, 'x'::text)::text
-- gen-call-ts-parse: function
select ts_parse('x'::text, 'x'::text)::text
-- gen-call-ts-parse-2: function
select ts_parse(1259::oid, 'x'::text)::text
-- gen-call-ts-rewrite: function
select ts_rewrite('a'::tsquery, 'select 1'::text)
-- gen-call-ts-stat: function
select ts_stat('select to_tsvector(''a'')'::text)::text
-- gen-attr-ts-stat: function
select ('select to_tsvector(''a'')'::text).ts_stat::text
-- gen-treat-ts-stat: function
select treat('select to_tsvector(''a'')'::text as ts_stat)::text
-- gen-call-ts-stat-2: function
select ts_stat('select to_tsvector(''a'')'::text, 'x'::text)::text
-- gen-call-ts-token-type: function
select ts_token_type('x'::text)::text
-- gen-attr-ts-token-type: function
select ('x'::text).ts_token_type::text
-- gen-treat-ts-token-type: function
select treat('x'::text as ts_token_type)::text
-- gen-call-ts-token-type-2: function
select ts_token_type(1259::oid)::text
-- gen-attr-ts-token-type-2: function
select (1259::oid).ts_token_type::text
-- gen-treat-ts-token-type-2: function
select treat(1259::oid as ts_token_type)::text
-- gen-call-txid-current: function
select txid_current()
-- gen-call-txid-current-if-assigned: function
select txid_current_if_assigned()
-- gen-call-txid-current-snapshot: function
select txid_current_snapshot()
-- gen-call-txid-status: function
select txid_status(1::bigint)
-- gen-attr-txid-status: function
select (1::bigint).txid_status
-- gen-treat-txid-status: function
select treat(1::bigint as txid_status)
