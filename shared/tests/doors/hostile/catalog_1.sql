--- functions of pg_catalog that look at the server, by call, as an attribute and by treat (fixed text, made from pg_proc)
-- gen-call-aclexplode: function
select aclexplode('{}'::aclitem[])::text
-- gen-attr-aclexplode: function
select ('{}'::aclitem[]).aclexplode::text
-- gen-treat-aclexplode: function
select treat('{}'::aclitem[] as aclexplode)::text
-- gen-call-amvalidate: function
select amvalidate(1259::oid)
-- gen-attr-amvalidate: function
select (1259::oid).amvalidate
-- gen-treat-amvalidate: function
select treat(1259::oid as amvalidate)
-- gen-call-binary-upgrade-create-empty-extension: function
select binary_upgrade_create_empty_extension('x'::text, 'x'::text, true, 'x'::text, array[1::oid], array['a'], array['a'])::text
-- gen-call-binary-upgrade-set-missing-value: function
select binary_upgrade_set_missing_value(1259::oid, 'x'::text, 'x'::text)::text
-- gen-call-binary-upgrade-set-next-array-pg-type-oid: function
select binary_upgrade_set_next_array_pg_type_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-array-pg-type-oid: function
select (1259::oid).binary_upgrade_set_next_array_pg_type_oid::text
-- gen-treat-binary-upgrade-set-next-array-pg-type-oid: function
select treat(1259::oid as binary_upgrade_set_next_array_pg_type_oid)::text
-- gen-call-binary-upgrade-set-next-heap-pg-class-oid: function
select binary_upgrade_set_next_heap_pg_class_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-heap-pg-class-oid: function
select (1259::oid).binary_upgrade_set_next_heap_pg_class_oid::text
-- gen-treat-binary-upgrade-set-next-heap-pg-class-oid: function
select treat(1259::oid as binary_upgrade_set_next_heap_pg_class_oid)::text
-- gen-call-binary-upgrade-set-next-heap-relfilenode: function
select binary_upgrade_set_next_heap_relfilenode(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-heap-relfilenode: function
select (1259::oid).binary_upgrade_set_next_heap_relfilenode::text
-- gen-treat-binary-upgrade-set-next-heap-relfilenode: function
select treat(1259::oid as binary_upgrade_set_next_heap_relfilenode)::text
-- gen-call-binary-upgrade-set-next-index-pg-class-oid: function
select binary_upgrade_set_next_index_pg_class_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-index-pg-class-oid: function
select (1259::oid).binary_upgrade_set_next_index_pg_class_oid::text
-- gen-treat-binary-upgrade-set-next-index-pg-class-oid: function
select treat(1259::oid as binary_upgrade_set_next_index_pg_class_oid)::text
-- gen-call-binary-upgrade-set-next-index-relfilenode: function
select binary_upgrade_set_next_index_relfilenode(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-index-relfilenode: function
select (1259::oid).binary_upgrade_set_next_index_relfilenode::text
-- gen-treat-binary-upgrade-set-next-index-relfilenode: function
select treat(1259::oid as binary_upgrade_set_next_index_relfilenode)::text
-- gen-call-binary-upgrade-set-next-multirange-array-pg-type-oid: function
select binary_upgrade_set_next_multirange_array_pg_type_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-multirange-array-pg-type-oid: function
select (1259::oid).binary_upgrade_set_next_multirange_array_pg_type_oid::text
-- gen-treat-binary-upgrade-set-next-multirange-array-pg-type-oid: function
select treat(1259::oid as binary_upgrade_set_next_multirange_array_pg_type_oid)::text
-- gen-call-binary-upgrade-set-next-multirange-pg-type-oid: function
select binary_upgrade_set_next_multirange_pg_type_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-multirange-pg-type-oid: function
select (1259::oid).binary_upgrade_set_next_multirange_pg_type_oid::text
-- gen-treat-binary-upgrade-set-next-multirange-pg-type-oid: function
select treat(1259::oid as binary_upgrade_set_next_multirange_pg_type_oid)::text
-- gen-call-binary-upgrade-set-next-pg-authid-oid: function
select binary_upgrade_set_next_pg_authid_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-pg-authid-oid: function
select (1259::oid).binary_upgrade_set_next_pg_authid_oid::text
-- gen-treat-binary-upgrade-set-next-pg-authid-oid: function
select treat(1259::oid as binary_upgrade_set_next_pg_authid_oid)::text
-- gen-call-binary-upgrade-set-next-pg-enum-oid: function
select binary_upgrade_set_next_pg_enum_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-pg-enum-oid: function
select (1259::oid).binary_upgrade_set_next_pg_enum_oid::text
-- gen-treat-binary-upgrade-set-next-pg-enum-oid: function
select treat(1259::oid as binary_upgrade_set_next_pg_enum_oid)::text
-- gen-call-binary-upgrade-set-next-pg-tablespace-oid: function
select binary_upgrade_set_next_pg_tablespace_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-pg-tablespace-oid: function
select (1259::oid).binary_upgrade_set_next_pg_tablespace_oid::text
-- gen-treat-binary-upgrade-set-next-pg-tablespace-oid: function
select treat(1259::oid as binary_upgrade_set_next_pg_tablespace_oid)::text
-- gen-call-binary-upgrade-set-next-pg-type-oid: function
select binary_upgrade_set_next_pg_type_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-pg-type-oid: function
select (1259::oid).binary_upgrade_set_next_pg_type_oid::text
-- gen-treat-binary-upgrade-set-next-pg-type-oid: function
select treat(1259::oid as binary_upgrade_set_next_pg_type_oid)::text
-- gen-call-binary-upgrade-set-next-toast-pg-class-oid: function
select binary_upgrade_set_next_toast_pg_class_oid(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-toast-pg-class-oid: function
select (1259::oid).binary_upgrade_set_next_toast_pg_class_oid::text
-- gen-treat-binary-upgrade-set-next-toast-pg-class-oid: function
select treat(1259::oid as binary_upgrade_set_next_toast_pg_class_oid)::text
-- gen-call-binary-upgrade-set-next-toast-relfilenode: function
select binary_upgrade_set_next_toast_relfilenode(1259::oid)::text
-- gen-attr-binary-upgrade-set-next-toast-relfilenode: function
select (1259::oid).binary_upgrade_set_next_toast_relfilenode::text
-- gen-treat-binary-upgrade-set-next-toast-relfilenode: function
select treat(1259::oid as binary_upgrade_set_next_toast_relfilenode)::text
-- gen-call-binary-upgrade-set-record-init-privs: function
select binary_upgrade_set_record_init_privs(true)::text
-- gen-attr-binary-upgrade-set-record-init-privs: function
select (true).binary_upgrade_set_record_init_privs::text
-- gen-treat-binary-upgrade-set-record-init-privs: function
select treat(true as binary_upgrade_set_record_init_privs)::text
-- gen-call-brin-desummarize-range: function
select brin_desummarize_range('private.secrets'::regclass, 1::bigint)::text
-- gen-call-brin-summarize-new-values: function
select brin_summarize_new_values('private.secrets'::regclass)
-- gen-attr-brin-summarize-new-values: function
select ('private.secrets'::regclass).brin_summarize_new_values
-- gen-treat-brin-summarize-new-values: function
select treat('private.secrets'::regclass as brin_summarize_new_values)
-- gen-call-brin-summarize-range: function
select brin_summarize_range('private.secrets'::regclass, 1::bigint)
-- gen-call-col-description: function
select col_description(1259::oid, 1)
-- gen-call-current-schemas: function
select current_schemas(true)
-- gen-attr-current-schemas: function
select (true).current_schemas
-- gen-treat-current-schemas: function
select treat(true as current_schemas)
-- gen-call-current-setting: function
select current_setting('is_superuser'::text)
-- gen-call-current-setting-2: function
select current_setting('is_superuser'::text, true)
-- gen-call-currtid2: function
select currtid2('x'::text, '(0,1)'::tid)
-- gen-call-currval: function
select currval('private.secrets'::regclass)
-- gen-attr-currval: function
select ('private.secrets'::regclass).currval
-- gen-treat-currval: function
select treat('private.secrets'::regclass as currval)
-- gen-call-cursor-to-xml: function
select cursor_to_xml('c'::refcursor, 1, true, true, 'x'::text)
-- gen-call-cursor-to-xmlschema: function
select cursor_to_xmlschema('c'::refcursor, true, true, 'x'::text)
-- gen-call-database-to-xml: function
select database_to_xml(true, true, 'x'::text)
-- gen-call-database-to-xml-and-xmlschema: function
select database_to_xml_and_xmlschema(true, true, 'x'::text)
-- gen-call-database-to-xmlschema: function
select database_to_xmlschema(true, true, 'x'::text)
-- gen-call-domain-in: function
select domain_in('1'::cstring, 1259::oid, 1) is null
-- gen-call-enum-in: function
select enum_in('1'::cstring, 1259::oid) is null
-- gen-call-fmgr-c-validator: function
select fmgr_c_validator(1259::oid)::text
-- gen-attr-fmgr-c-validator: function
select (1259::oid).fmgr_c_validator::text
-- gen-treat-fmgr-c-validator: function
select treat(1259::oid as fmgr_c_validator)::text
-- gen-call-fmgr-internal-validator: function
select fmgr_internal_validator(1259::oid)::text
-- gen-attr-fmgr-internal-validator: function
select (1259::oid).fmgr_internal_validator::text
-- gen-treat-fmgr-internal-validator: function
select treat(1259::oid as fmgr_internal_validator)::text
-- gen-call-fmgr-sql-validator: function
select fmgr_sql_validator(1259::oid)::text
-- gen-attr-fmgr-sql-validator: function
select (1259::oid).fmgr_sql_validator::text
-- gen-treat-fmgr-sql-validator: function
select treat(1259::oid as fmgr_sql_validator)::text
-- gen-call-format-type: function
select format_type(1259::oid, 1)
-- gen-call-gin-clean-pending-list: function
select gin_clean_pending_list('private.secrets'::regclass)
-- gen-attr-gin-clean-pending-list: function
select ('private.secrets'::regclass).gin_clean_pending_list
-- gen-treat-gin-clean-pending-list: function
select treat('private.secrets'::regclass as gin_clean_pending_list)
-- gen-call-has-any-column-privilege: function
select has_any_column_privilege('x'::text, 'x'::text)
-- gen-call-has-any-column-privilege-2: function
select has_any_column_privilege(1259::oid, 'x'::text)
-- gen-call-has-any-column-privilege-3: function
select has_any_column_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-any-column-privilege-4: function
select has_any_column_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-any-column-privilege-5: function
select has_any_column_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-any-column-privilege-6: function
select has_any_column_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-column-privilege: function
select has_column_privilege('x'::text, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-2: function
select has_column_privilege('x'::text, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-3: function
select has_column_privilege(1259::oid, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-4: function
select has_column_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-5: function
select has_column_privilege('private'::name, 'x'::text, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-6: function
select has_column_privilege('private'::name, 'x'::text, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-7: function
select has_column_privilege('private'::name, 1259::oid, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-8: function
select has_column_privilege('private'::name, 1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-9: function
select has_column_privilege(1259::oid, 'x'::text, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-10: function
select has_column_privilege(1259::oid, 'x'::text, 'x'::text, 'x'::text)
-- gen-call-has-column-privilege-11: function
select has_column_privilege(1259::oid, 1259::oid, 1::smallint, 'x'::text)
-- gen-call-has-column-privilege-12: function
select has_column_privilege(1259::oid, 1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-database-privilege: function
select has_database_privilege('x'::text, 'x'::text)
-- gen-call-has-database-privilege-2: function
select has_database_privilege(1259::oid, 'x'::text)
-- gen-call-has-database-privilege-3: function
select has_database_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-database-privilege-4: function
select has_database_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-database-privilege-5: function
select has_database_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-database-privilege-6: function
select has_database_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege: function
select has_foreign_data_wrapper_privilege('x'::text, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-2: function
select has_foreign_data_wrapper_privilege(1259::oid, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-3: function
select has_foreign_data_wrapper_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-4: function
select has_foreign_data_wrapper_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-5: function
select has_foreign_data_wrapper_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-foreign-data-wrapper-privilege-6: function
select has_foreign_data_wrapper_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-function-privilege: function
select has_function_privilege('x'::text, 'x'::text)
-- gen-call-has-function-privilege-2: function
select has_function_privilege(1259::oid, 'x'::text)
-- gen-call-has-function-privilege-3: function
select has_function_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-function-privilege-4: function
select has_function_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-function-privilege-5: function
select has_function_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-function-privilege-6: function
select has_function_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-language-privilege: function
select has_language_privilege('x'::text, 'x'::text)
-- gen-call-has-language-privilege-2: function
select has_language_privilege(1259::oid, 'x'::text)
-- gen-call-has-language-privilege-3: function
select has_language_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-language-privilege-4: function
select has_language_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-language-privilege-5: function
select has_language_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-language-privilege-6: function
select has_language_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-parameter-privilege: function
select has_parameter_privilege('x'::text, 'x'::text)
-- gen-call-has-parameter-privilege-2: function
select has_parameter_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-parameter-privilege-3: function
select has_parameter_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-schema-privilege: function
select has_schema_privilege('x'::text, 'x'::text)
-- gen-call-has-schema-privilege-2: function
select has_schema_privilege(1259::oid, 'x'::text)
-- gen-call-has-schema-privilege-3: function
select has_schema_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-schema-privilege-4: function
select has_schema_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-schema-privilege-5: function
select has_schema_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-schema-privilege-6: function
select has_schema_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-sequence-privilege: function
select has_sequence_privilege('x'::text, 'x'::text)
-- gen-call-has-sequence-privilege-2: function
select has_sequence_privilege(1259::oid, 'x'::text)
-- gen-call-has-sequence-privilege-3: function
select has_sequence_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-sequence-privilege-4: function
select has_sequence_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-sequence-privilege-5: function
select has_sequence_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-sequence-privilege-6: function
select has_sequence_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-server-privilege: function
select has_server_privilege('x'::text, 'x'::text)
-- gen-call-has-server-privilege-2: function
select has_server_privilege(1259::oid, 'x'::text)
-- gen-call-has-server-privilege-3: function
select has_server_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-server-privilege-4: function
select has_server_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-server-privilege-5: function
select has_server_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-server-privilege-6: function
select has_server_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-table-privilege: function
select has_table_privilege('x'::text, 'x'::text)
-- gen-call-has-table-privilege-2: function
select has_table_privilege(1259::oid, 'x'::text)
-- gen-call-has-table-privilege-3: function
select has_table_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-table-privilege-4: function
select has_table_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-table-privilege-5: function
select has_table_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-table-privilege-6: function
select has_table_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-tablespace-privilege: function
select has_tablespace_privilege('x'::text, 'x'::text)
-- gen-call-has-tablespace-privilege-2: function
select has_tablespace_privilege(1259::oid, 'x'::text)
-- gen-call-has-tablespace-privilege-3: function
select has_tablespace_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-tablespace-privilege-4: function
select has_tablespace_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-tablespace-privilege-5: function
select has_tablespace_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-tablespace-privilege-6: function
select has_tablespace_privilege(1259::oid, 1259::oid, 'x'::text)
-- gen-call-has-type-privilege: function
select has_type_privilege('x'::text, 'x'::text)
-- gen-call-has-type-privilege-2: function
select has_type_privilege(1259::oid, 'x'::text)
-- gen-call-has-type-privilege-3: function
select has_type_privilege('private'::name, 'x'::text, 'x'::text)
-- gen-call-has-type-privilege-4: function
select has_type_privilege('private'::name, 1259::oid, 'x'::text)
-- gen-call-has-type-privilege-5: function
select has_type_privilege(1259::oid, 'x'::text, 'x'::text)
-- gen-call-has-type-privilege-6: function
select has_type_privilege(1259::oid, 1259::oid, 'x'::text)
