--- functions of pg_catalog that look at the server, by call, as an attribute and by treat (fixed text, made from pg_proc)
-- gen-call-pg-get-expr: function
select pg_get_expr(null::pg_node_tree, 1259::oid)
-- gen-call-pg-get-expr-2: function
select pg_get_expr(null::pg_node_tree, 1259::oid, true)
-- gen-call-pg-get-function-arg-default: function
select pg_get_function_arg_default(1259::oid, 1)
-- gen-call-pg-get-function-arguments: function
select pg_get_function_arguments(1259::oid)
-- gen-attr-pg-get-function-arguments: function
select (1259::oid).pg_get_function_arguments
-- gen-treat-pg-get-function-arguments: function
select treat(1259::oid as pg_get_function_arguments)
-- gen-call-pg-get-function-identity-arguments: function
select pg_get_function_identity_arguments(1259::oid)
-- gen-attr-pg-get-function-identity-arguments: function
select (1259::oid).pg_get_function_identity_arguments
-- gen-treat-pg-get-function-identity-arguments: function
select treat(1259::oid as pg_get_function_identity_arguments)
-- gen-call-pg-get-function-result: function
select pg_get_function_result(1259::oid)
-- gen-attr-pg-get-function-result: function
select (1259::oid).pg_get_function_result
-- gen-treat-pg-get-function-result: function
select treat(1259::oid as pg_get_function_result)
-- gen-call-pg-get-function-sqlbody: function
select pg_get_function_sqlbody(1259::oid)
-- gen-attr-pg-get-function-sqlbody: function
select (1259::oid).pg_get_function_sqlbody
-- gen-treat-pg-get-function-sqlbody: function
select treat(1259::oid as pg_get_function_sqlbody)
-- gen-call-pg-get-functiondef: function
select pg_get_functiondef(1259::oid)
-- gen-attr-pg-get-functiondef: function
select (1259::oid).pg_get_functiondef
-- gen-treat-pg-get-functiondef: function
select treat(1259::oid as pg_get_functiondef)
-- gen-call-pg-get-indexdef: function
select pg_get_indexdef(1259::oid)
-- gen-attr-pg-get-indexdef: function
select (1259::oid).pg_get_indexdef
-- gen-treat-pg-get-indexdef: function
select treat(1259::oid as pg_get_indexdef)
-- gen-call-pg-get-indexdef-2: function
select pg_get_indexdef(1259::oid, 1, true)
-- gen-call-pg-get-keywords: function
select pg_get_keywords()::text
-- gen-call-pg-get-multixact-members: function
select pg_get_multixact_members('1'::xid)::text
-- gen-attr-pg-get-multixact-members: function
select ('1'::xid).pg_get_multixact_members::text
-- gen-treat-pg-get-multixact-members: function
select treat('1'::xid as pg_get_multixact_members)::text
-- gen-call-pg-get-object-address: function
select pg_get_object_address('x'::text, array['a'], array['a'])::text
-- gen-call-pg-get-partition-constraintdef: function
select pg_get_partition_constraintdef(1259::oid)
-- gen-attr-pg-get-partition-constraintdef: function
select (1259::oid).pg_get_partition_constraintdef
-- gen-treat-pg-get-partition-constraintdef: function
select treat(1259::oid as pg_get_partition_constraintdef)
-- gen-call-pg-get-partkeydef: function
select pg_get_partkeydef(1259::oid)
-- gen-attr-pg-get-partkeydef: function
select (1259::oid).pg_get_partkeydef
-- gen-treat-pg-get-partkeydef: function
select treat(1259::oid as pg_get_partkeydef)
-- gen-call-pg-get-publication-tables: function
select pg_get_publication_tables('x'::text)::text
-- gen-attr-pg-get-publication-tables: function
select ('x'::text).pg_get_publication_tables::text
-- gen-treat-pg-get-publication-tables: function
select treat('x'::text as pg_get_publication_tables)::text
-- gen-call-pg-get-replica-identity-index: function
select pg_get_replica_identity_index('private.secrets'::regclass)
-- gen-attr-pg-get-replica-identity-index: function
select ('private.secrets'::regclass).pg_get_replica_identity_index
-- gen-treat-pg-get-replica-identity-index: function
select treat('private.secrets'::regclass as pg_get_replica_identity_index)
-- gen-call-pg-get-replication-slots: function
select pg_get_replication_slots()::text
-- gen-call-pg-get-ruledef: function
select pg_get_ruledef(1259::oid)
-- gen-attr-pg-get-ruledef: function
select (1259::oid).pg_get_ruledef
-- gen-treat-pg-get-ruledef: function
select treat(1259::oid as pg_get_ruledef)
-- gen-call-pg-get-ruledef-2: function
select pg_get_ruledef(1259::oid, true)
-- gen-call-pg-get-serial-sequence: function
select pg_get_serial_sequence('ugc.ratings'::text, 'x'::text)
-- gen-call-pg-get-shmem-allocations: function
select pg_get_shmem_allocations()::text
-- gen-call-pg-get-statisticsobjdef: function
select pg_get_statisticsobjdef(1259::oid)
-- gen-attr-pg-get-statisticsobjdef: function
select (1259::oid).pg_get_statisticsobjdef
-- gen-treat-pg-get-statisticsobjdef: function
select treat(1259::oid as pg_get_statisticsobjdef)
-- gen-call-pg-get-statisticsobjdef-columns: function
select pg_get_statisticsobjdef_columns(1259::oid)
-- gen-attr-pg-get-statisticsobjdef-columns: function
select (1259::oid).pg_get_statisticsobjdef_columns
-- gen-treat-pg-get-statisticsobjdef-columns: function
select treat(1259::oid as pg_get_statisticsobjdef_columns)
-- gen-call-pg-get-statisticsobjdef-expressions: function
select pg_get_statisticsobjdef_expressions(1259::oid)
-- gen-attr-pg-get-statisticsobjdef-expressions: function
select (1259::oid).pg_get_statisticsobjdef_expressions
-- gen-treat-pg-get-statisticsobjdef-expressions: function
select treat(1259::oid as pg_get_statisticsobjdef_expressions)
-- gen-call-pg-get-triggerdef: function
select pg_get_triggerdef(1259::oid)
-- gen-attr-pg-get-triggerdef: function
select (1259::oid).pg_get_triggerdef
-- gen-treat-pg-get-triggerdef: function
select treat(1259::oid as pg_get_triggerdef)
-- gen-call-pg-get-triggerdef-2: function
select pg_get_triggerdef(1259::oid, true)
-- gen-call-pg-get-userbyid: function
select pg_get_userbyid(1259::oid)
-- gen-attr-pg-get-userbyid: function
select (1259::oid).pg_get_userbyid
-- gen-treat-pg-get-userbyid: function
select treat(1259::oid as pg_get_userbyid)
-- gen-call-pg-get-viewdef: function
select pg_get_viewdef('content.secrets'::text)
-- gen-attr-pg-get-viewdef: function
select ('content.secrets'::text).pg_get_viewdef
-- gen-treat-pg-get-viewdef: function
select treat('content.secrets'::text as pg_get_viewdef)
-- gen-call-pg-get-viewdef-2: function
select pg_get_viewdef(1259::oid)
-- gen-attr-pg-get-viewdef-2: function
select (1259::oid).pg_get_viewdef
-- gen-treat-pg-get-viewdef-2: function
select treat(1259::oid as pg_get_viewdef)
-- gen-call-pg-get-viewdef-3: function
select pg_get_viewdef('content.secrets'::text, true)
-- gen-call-pg-get-viewdef-4: function
select pg_get_viewdef(1259::oid, true)
-- gen-call-pg-get-viewdef-5: function
select pg_get_viewdef(1259::oid, 1)
-- gen-call-pg-get-wal-replay-pause-state: function
select pg_get_wal_replay_pause_state()
-- gen-call-pg-get-wal-resource-managers: function
select pg_get_wal_resource_managers()::text
-- gen-call-pg-has-role: function
select pg_has_role('private'::name, 'x'::text)
-- gen-call-pg-has-role-2: function
select pg_has_role(1259::oid, 'x'::text)
-- gen-call-pg-has-role-3: function
select pg_has_role('private'::name, 'private'::name, 'x'::text)
-- gen-call-pg-has-role-4: function
select pg_has_role('private'::name, 1259::oid, 'x'::text)
-- gen-call-pg-has-role-5: function
select pg_has_role(1259::oid, 'private'::name, 'x'::text)
-- gen-call-pg-has-role-6: function
select pg_has_role(1259::oid, 1259::oid, 'x'::text)
-- gen-call-pg-hba-file-rules: function
select pg_hba_file_rules()::text
-- gen-call-pg-ident-file-mappings: function
select pg_ident_file_mappings()::text
-- gen-call-pg-identify-object: function
select pg_identify_object(1259::oid, 1259::oid, 1)::text
-- gen-call-pg-identify-object-as-address: function
select pg_identify_object_as_address(1259::oid, 1259::oid, 1)::text
-- gen-call-pg-import-system-collations: function
select pg_import_system_collations('private'::regnamespace)
-- gen-attr-pg-import-system-collations: function
select ('private'::regnamespace).pg_import_system_collations
-- gen-treat-pg-import-system-collations: function
select treat('private'::regnamespace as pg_import_system_collations)
-- gen-call-pg-index-column-has-property: function
select pg_index_column_has_property('private.secrets'::regclass, 1, 'x'::text)
-- gen-call-pg-index-has-property: function
select pg_index_has_property('private.secrets'::regclass, 'x'::text)
-- gen-call-pg-indexam-has-property: function
select pg_indexam_has_property(1259::oid, 'x'::text)
-- gen-call-pg-indexam-progress-phasename: function
select pg_indexam_progress_phasename(1259::oid, 1::bigint)
-- gen-call-pg-indexes-size: function
select pg_indexes_size('private.secrets'::regclass)
-- gen-attr-pg-indexes-size: function
select ('private.secrets'::regclass).pg_indexes_size
-- gen-treat-pg-indexes-size: function
select treat('private.secrets'::regclass as pg_indexes_size)
-- gen-call-pg-is-in-recovery: function
select pg_is_in_recovery()
-- gen-call-pg-is-other-temp-schema: function
select pg_is_other_temp_schema(1259::oid)
-- gen-attr-pg-is-other-temp-schema: function
select (1259::oid).pg_is_other_temp_schema
-- gen-treat-pg-is-other-temp-schema: function
select treat(1259::oid as pg_is_other_temp_schema)
-- gen-call-pg-is-wal-replay-paused: function
select pg_is_wal_replay_paused()
-- gen-call-pg-isolation-test-session-is-blocked: function
select pg_isolation_test_session_is_blocked(1, array[1])
-- gen-call-pg-jit-available: function
select pg_jit_available()
-- gen-call-pg-last-committed-xact: function
select pg_last_committed_xact()::text
-- gen-call-pg-last-wal-receive-lsn: function
select pg_last_wal_receive_lsn()
-- gen-call-pg-last-wal-replay-lsn: function
select pg_last_wal_replay_lsn()
-- gen-call-pg-last-xact-replay-timestamp: function
select pg_last_xact_replay_timestamp()
-- gen-call-pg-listening-channels: function
select pg_listening_channels()
-- gen-call-pg-lock-status: function
select pg_lock_status()::text
-- gen-call-pg-log-backend-memory-contexts: function
select pg_log_backend_memory_contexts(1)
-- gen-attr-pg-log-backend-memory-contexts: function
select (1).pg_log_backend_memory_contexts
-- gen-treat-pg-log-backend-memory-contexts: function
select treat(1 as pg_log_backend_memory_contexts)
-- gen-call-pg-logical-emit-message: function
select pg_logical_emit_message(true, 'x'::text, '\x00'::bytea)
-- gen-call-pg-logical-emit-message-2: function
select pg_logical_emit_message(true, 'x'::text, 'x'::text)
-- gen-call-pg-logical-slot-get-binary-changes: function
select pg_logical_slot_get_binary_changes('private'::name, '0/1'::pg_lsn, 1, variadic array['a'])::text
-- gen-call-pg-logical-slot-get-changes: function
select pg_logical_slot_get_changes('private'::name, '0/1'::pg_lsn, 1, variadic array['a'])::text
-- gen-call-pg-logical-slot-peek-binary-changes: function
select pg_logical_slot_peek_binary_changes('private'::name, '0/1'::pg_lsn, 1, variadic array['a'])::text
-- gen-call-pg-logical-slot-peek-changes: function
select pg_logical_slot_peek_changes('private'::name, '0/1'::pg_lsn, 1, variadic array['a'])::text
-- gen-call-pg-ls-archive-statusdir: function
select pg_ls_archive_statusdir()::text
-- gen-call-pg-ls-dir: function
select pg_ls_dir('.'::text)
-- gen-treat-pg-ls-dir: function
select treat('.'::text as pg_ls_dir)
-- gen-call-pg-ls-dir-2: function
select pg_ls_dir('.'::text, true, true)
-- gen-call-pg-ls-logdir: function
select pg_ls_logdir()::text
-- gen-call-pg-ls-logicalmapdir: function
select pg_ls_logicalmapdir()::text
-- gen-call-pg-ls-logicalsnapdir: function
select pg_ls_logicalsnapdir()::text
-- gen-call-pg-ls-replslotdir: function
select pg_ls_replslotdir('x'::text)::text
-- gen-attr-pg-ls-replslotdir: function
select ('x'::text).pg_ls_replslotdir::text
-- gen-treat-pg-ls-replslotdir: function
select treat('x'::text as pg_ls_replslotdir)::text
-- gen-call-pg-ls-tmpdir: function
select pg_ls_tmpdir()::text
-- gen-call-pg-ls-tmpdir-2: function
select pg_ls_tmpdir(1259::oid)::text
-- gen-attr-pg-ls-tmpdir: function
select (1259::oid).pg_ls_tmpdir::text
-- gen-treat-pg-ls-tmpdir: function
select treat(1259::oid as pg_ls_tmpdir)::text
-- gen-call-pg-ls-waldir: function
select pg_ls_waldir()::text
-- gen-call-pg-my-temp-schema: function
select pg_my_temp_schema()
-- gen-call-pg-nextoid: function
select pg_nextoid('private.secrets'::regclass, 'private'::name, 'private.secrets'::regclass)
-- gen-call-pg-notification-queue-usage: function
select pg_notification_queue_usage()
-- gen-call-pg-notify: function
select pg_notify('x'::text, 'x'::text)::text
-- gen-call-pg-opclass-is-visible: function
select pg_opclass_is_visible(1259::oid)
-- gen-attr-pg-opclass-is-visible: function
select (1259::oid).pg_opclass_is_visible
-- gen-treat-pg-opclass-is-visible: function
select treat(1259::oid as pg_opclass_is_visible)
-- gen-call-pg-operator-is-visible: function
select pg_operator_is_visible(1259::oid)
-- gen-attr-pg-operator-is-visible: function
select (1259::oid).pg_operator_is_visible
-- gen-treat-pg-operator-is-visible: function
select treat(1259::oid as pg_operator_is_visible)
-- gen-call-pg-opfamily-is-visible: function
select pg_opfamily_is_visible(1259::oid)
-- gen-attr-pg-opfamily-is-visible: function
select (1259::oid).pg_opfamily_is_visible
-- gen-treat-pg-opfamily-is-visible: function
select treat(1259::oid as pg_opfamily_is_visible)
-- gen-call-pg-partition-ancestors: function
select pg_partition_ancestors('private.secrets'::regclass)
-- gen-attr-pg-partition-ancestors: function
select ('private.secrets'::regclass).pg_partition_ancestors
-- gen-treat-pg-partition-ancestors: function
select treat('private.secrets'::regclass as pg_partition_ancestors)
-- gen-call-pg-partition-root: function
select pg_partition_root('private.secrets'::regclass)
-- gen-attr-pg-partition-root: function
select ('private.secrets'::regclass).pg_partition_root
-- gen-treat-pg-partition-root: function
select treat('private.secrets'::regclass as pg_partition_root)
-- gen-call-pg-partition-tree: function
select pg_partition_tree('private.secrets'::regclass)::text
-- gen-attr-pg-partition-tree: function
select ('private.secrets'::regclass).pg_partition_tree::text
-- gen-treat-pg-partition-tree: function
select treat('private.secrets'::regclass as pg_partition_tree)::text
-- gen-call-pg-postmaster-start-time: function
select pg_postmaster_start_time()
-- gen-call-pg-prepared-statement: function
select pg_prepared_statement()::text
-- gen-call-pg-prepared-xact: function
select pg_prepared_xact()::text
-- gen-call-pg-promote: function
select pg_promote(true, 1)
-- gen-attr-pg-promote: function
select (true).pg_promote
-- gen-treat-pg-promote: function
select treat(true as pg_promote)
-- gen-call-pg-read-binary-file: function
select pg_read_binary_file('PG_VERSION'::text)
-- gen-attr-pg-read-binary-file: function
select ('PG_VERSION'::text).pg_read_binary_file
-- gen-treat-pg-read-binary-file: function
select treat('PG_VERSION'::text as pg_read_binary_file)
-- gen-call-pg-read-binary-file-2: function
select pg_read_binary_file('PG_VERSION'::text, 1::bigint, 1::bigint)
-- gen-call-pg-read-binary-file-3: function
select pg_read_binary_file('PG_VERSION'::text, 1::bigint, 1::bigint, true)
-- gen-call-pg-read-file: function
select pg_read_file('PG_VERSION'::text)
-- gen-call-pg-read-file-2: function
select pg_read_file('PG_VERSION'::text, 1::bigint, 1::bigint)
-- gen-call-pg-read-file-3: function
select pg_read_file('PG_VERSION'::text, 1::bigint, 1::bigint, true)
