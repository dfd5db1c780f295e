--- functions of pg_catalog that look at the server, by call, as an attribute and by treat (fixed text, made from pg_proc)
-- gen-call-inet-client-addr: function
select inet_client_addr()
-- gen-call-inet-client-port: function
select inet_client_port()
-- gen-call-inet-server-addr: function
select inet_server_addr()
-- gen-call-inet-server-port: function
select inet_server_port()
-- gen-call-lastval: function
select lastval()
-- gen-call-lo-close: function
select lo_close(1)
-- gen-attr-lo-close: function
select (1).lo_close
-- gen-treat-lo-close: function
select treat(1 as lo_close)
-- gen-call-lo-creat: function
select lo_creat(1)
-- gen-attr-lo-creat: function
select (1).lo_creat
-- gen-treat-lo-creat: function
select treat(1 as lo_creat)
-- gen-call-lo-create: function
select lo_create(1259::oid)
-- gen-attr-lo-create: function
select (1259::oid).lo_create
-- gen-treat-lo-create: function
select treat(1259::oid as lo_create)
-- gen-call-lo-export: function
select lo_export(1259::oid, 'x'::text)
-- gen-call-lo-from-bytea: function
select lo_from_bytea(1259::oid, '\x00'::bytea)
-- gen-call-lo-get: function
select lo_get(1259::oid)
-- gen-attr-lo-get: function
select (1259::oid).lo_get
-- gen-treat-lo-get: function
select treat(1259::oid as lo_get)
-- gen-call-lo-get-2: function
select lo_get(1259::oid, 1::bigint, 1)
-- gen-call-lo-import: function
select lo_import('/etc/passwd'::text)
-- gen-attr-lo-import: function
select ('/etc/passwd'::text).lo_import
-- gen-treat-lo-import: function
select treat('/etc/passwd'::text as lo_import)
-- gen-call-lo-import-2: function
select lo_import('/etc/passwd'::text, 1259::oid)
-- gen-call-lo-lseek: function
select lo_lseek(1, 1, 1)
-- gen-call-lo-lseek64: function
select lo_lseek64(1, 1::bigint, 1)
-- gen-call-lo-open: function
select lo_open(1259::oid, 1)
-- gen-call-lo-put: function
select lo_put(1259::oid, 1::bigint, '\x00'::bytea)::text
-- gen-call-lo-tell: function
select lo_tell(1)
-- gen-attr-lo-tell: function
select (1).lo_tell
-- gen-treat-lo-tell: function
select treat(1 as lo_tell)
-- gen-call-lo-tell64: function
select lo_tell64(1)
-- gen-attr-lo-tell64: function
select (1).lo_tell64
-- gen-treat-lo-tell64: function
select treat(1 as lo_tell64)
-- gen-call-lo-truncate: function
select lo_truncate(1, 1)
-- gen-call-lo-truncate64: function
select lo_truncate64(1, 1::bigint)
-- gen-call-lo-unlink: function
select lo_unlink(1259::oid)
-- gen-attr-lo-unlink: function
select (1259::oid).lo_unlink
-- gen-treat-lo-unlink: function
select treat(1259::oid as lo_unlink)
-- gen-call-loread: function
select loread(1, 1)
-- gen-call-lowrite: function
select lowrite(1, '\x00'::bytea)
-- gen-call-multirange-in: function
select multirange_in('1'::cstring, 1259::oid, 1) is null
-- gen-call-mxid-age: function
select mxid_age('1'::xid)
-- gen-attr-mxid-age: function
select ('1'::xid).mxid_age
-- gen-treat-mxid-age: function
select treat('1'::xid as mxid_age)
-- gen-call-nextval: function
select nextval('private.secrets'::regclass)
-- gen-attr-nextval: function
select ('private.secrets'::regclass).nextval
-- gen-treat-nextval: function
select treat('private.secrets'::regclass as nextval)
-- gen-call-obj-description: function
select obj_description(1259::oid)
-- gen-attr-obj-description: function
select (1259::oid).obj_description
-- gen-treat-obj-description: function
select treat(1259::oid as obj_description)
-- gen-call-obj-description-2: function
select obj_description(1259::oid, 'private'::name)
-- gen-call-oidvectortypes: function
select oidvectortypes('1 2'::oidvector)
-- gen-attr-oidvectortypes: function
select ('1 2'::oidvector).oidvectortypes
-- gen-treat-oidvectortypes: function
select treat('1 2'::oidvector as oidvectortypes)
-- gen-call-pg-advisory-lock: function
select pg_advisory_lock(1::bigint)::text
-- gen-attr-pg-advisory-lock: function
select (1::bigint).pg_advisory_lock::text
-- gen-treat-pg-advisory-lock: function
select treat(1::bigint as pg_advisory_lock)::text
-- gen-call-pg-advisory-lock-2: function
select pg_advisory_lock(1, 1)::text
-- gen-call-pg-advisory-lock-shared: function
select pg_advisory_lock_shared(1::bigint)::text
-- gen-attr-pg-advisory-lock-shared: function
select (1::bigint).pg_advisory_lock_shared::text
-- gen-treat-pg-advisory-lock-shared: function
select treat(1::bigint as pg_advisory_lock_shared)::text
-- gen-call-pg-advisory-lock-shared-2: function
select pg_advisory_lock_shared(1, 1)::text
-- gen-call-pg-advisory-unlock: function
select pg_advisory_unlock(1::bigint)
-- gen-attr-pg-advisory-unlock: function
select (1::bigint).pg_advisory_unlock
-- gen-treat-pg-advisory-unlock: function
select treat(1::bigint as pg_advisory_unlock)
-- gen-call-pg-advisory-unlock-2: function
select pg_advisory_unlock(1, 1)
-- gen-call-pg-advisory-unlock-all: function
select pg_advisory_unlock_all()::text
-- gen-call-pg-advisory-unlock-shared: function
select pg_advisory_unlock_shared(1::bigint)
-- gen-attr-pg-advisory-unlock-shared: function
select (1::bigint).pg_advisory_unlock_shared
-- gen-treat-pg-advisory-unlock-shared: function
select treat(1::bigint as pg_advisory_unlock_shared)
-- gen-call-pg-advisory-unlock-shared-2: function
select pg_advisory_unlock_shared(1, 1)
-- gen-call-pg-advisory-xact-lock: function
select pg_advisory_xact_lock(1::bigint)::text
-- gen-attr-pg-advisory-xact-lock: function
select (1::bigint).pg_advisory_xact_lock::text
-- gen-treat-pg-advisory-xact-lock: function
select treat(1::bigint as pg_advisory_xact_lock)::text
-- gen-call-pg-advisory-xact-lock-2: function
select pg_advisory_xact_lock(1, 1)::text
-- gen-call-pg-advisory-xact-lock-shared: function
select pg_advisory_xact_lock_shared(1::bigint)::text
-- gen-attr-pg-advisory-xact-lock-shared: function
select (1::bigint).pg_advisory_xact_lock_shared::text
-- gen-treat-pg-advisory-xact-lock-shared: function
select treat(1::bigint as pg_advisory_xact_lock_shared)::text
-- gen-call-pg-advisory-xact-lock-shared-2: function
select pg_advisory_xact_lock_shared(1, 1)::text
-- gen-call-pg-available-extension-versions: function
select pg_available_extension_versions()::text
-- gen-call-pg-available-extensions: function
select pg_available_extensions()::text
-- gen-call-pg-backend-pid: function
select pg_backend_pid()
-- gen-call-pg-backup-start: function
select pg_backup_start('x'::text, true)
-- gen-attr-pg-backup-start: function
select ('x'::text).pg_backup_start
-- gen-treat-pg-backup-start: function
select treat('x'::text as pg_backup_start)
-- gen-call-pg-backup-stop: function
select pg_backup_stop(true)::text
-- gen-attr-pg-backup-stop: function
select (true).pg_backup_stop::text
-- gen-treat-pg-backup-stop: function
select treat(true as pg_backup_stop)::text
-- gen-call-pg-blocking-pids: function
select pg_blocking_pids(1)
-- gen-attr-pg-blocking-pids: function
select (1).pg_blocking_pids
-- gen-treat-pg-blocking-pids: function
select treat(1 as pg_blocking_pids)
-- gen-call-pg-cancel-backend: function
select pg_cancel_backend(1)
-- gen-attr-pg-cancel-backend: function
select (1).pg_cancel_backend
-- gen-treat-pg-cancel-backend: function
select treat(1 as pg_cancel_backend)
-- gen-call-pg-collation-actual-version: function
select pg_collation_actual_version(1259::oid)
-- gen-attr-pg-collation-actual-version: function
select (1259::oid).pg_collation_actual_version
-- gen-treat-pg-collation-actual-version: function
select treat(1259::oid as pg_collation_actual_version)
-- gen-call-pg-collation-is-visible: function
select pg_collation_is_visible(1259::oid)
-- gen-attr-pg-collation-is-visible: function
select (1259::oid).pg_collation_is_visible
-- gen-treat-pg-collation-is-visible: function
select treat(1259::oid as pg_collation_is_visible)
-- gen-call-pg-column-compression: function
select pg_column_compression(1)
-- gen-attr-pg-column-compression: function
select (1).pg_column_compression
-- gen-treat-pg-column-compression: function
select treat(1 as pg_column_compression)
-- gen-call-pg-column-is-updatable: function
select pg_column_is_updatable('private.secrets'::regclass, 1::smallint, true)
-- gen-call-pg-conf-load-time: function
select pg_conf_load_time()
-- gen-call-pg-config: function
select pg_config()::text
-- gen-call-pg-control-checkpoint: function
select pg_control_checkpoint()::text
-- gen-call-pg-control-init: function
select pg_control_init()::text
-- gen-call-pg-control-recovery: function
select pg_control_recovery()::text
-- gen-call-pg-control-system: function
select pg_control_system()::text
-- gen-call-pg-conversion-is-visible: function
select pg_conversion_is_visible(1259::oid)
-- gen-attr-pg-conversion-is-visible: function
select (1259::oid).pg_conversion_is_visible
-- gen-treat-pg-conversion-is-visible: function
select treat(1259::oid as pg_conversion_is_visible)
-- gen-call-pg-copy-logical-replication-slot: function
select pg_copy_logical_replication_slot('private'::name, 'private'::name)::text
-- gen-call-pg-copy-logical-replication-slot-2: function
select pg_copy_logical_replication_slot('private'::name, 'private'::name, true)::text
-- gen-call-pg-copy-logical-replication-slot-3: function
select pg_copy_logical_replication_slot('private'::name, 'private'::name, true, 'private'::name)::text
-- gen-call-pg-copy-physical-replication-slot: function
select pg_copy_physical_replication_slot('private'::name, 'private'::name)::text
-- gen-call-pg-copy-physical-replication-slot-2: function
select pg_copy_physical_replication_slot('private'::name, 'private'::name, true)::text
-- gen-call-pg-create-logical-replication-slot: function
select pg_create_logical_replication_slot('private'::name, 'private'::name, true, true)::text
-- gen-call-pg-create-physical-replication-slot: function
select pg_create_physical_replication_slot('private'::name, true, true)::text
-- gen-attr-pg-create-physical-replication-slot: function
select ('private'::name).pg_create_physical_replication_slot::text
-- gen-treat-pg-create-physical-replication-slot: function
select treat('private'::name as pg_create_physical_replication_slot)::text
-- gen-call-pg-create-restore-point: function
select pg_create_restore_point('x'::text)
-- gen-attr-pg-create-restore-point: function
select ('x'::text).pg_create_restore_point
-- gen-treat-pg-create-restore-point: function
select treat('x'::text as pg_create_restore_point)
-- gen-call-pg-current-logfile: function
select pg_current_logfile()
-- gen-call-pg-current-logfile-2: function
select pg_current_logfile('x'::text)
-- gen-attr-pg-current-logfile: function
select ('x'::text).pg_current_logfile
-- gen-treat-pg-current-logfile: function
select treat('x'::text as pg_current_logfile)
-- gen-call-pg-current-snapshot: function
select pg_current_snapshot()
-- gen-call-pg-current-wal-flush-lsn: function
select pg_current_wal_flush_lsn()
-- gen-call-pg-current-wal-insert-lsn: function
select pg_current_wal_insert_lsn()
-- gen-call-pg-current-wal-lsn: function
select pg_current_wal_lsn()
-- gen-call-pg-current-xact-id: function
select pg_current_xact_id()
-- gen-call-pg-current-xact-id-if-assigned: function
select pg_current_xact_id_if_assigned()
-- gen-call-pg-cursor: function
select pg_cursor()::text
-- gen-call-pg-database-collation-actual-version: function
select pg_database_collation_actual_version(1259::oid)
-- gen-attr-pg-database-collation-actual-version: function
select (1259::oid).pg_database_collation_actual_version
-- gen-treat-pg-database-collation-actual-version: function
select treat(1259::oid as pg_database_collation_actual_version)
-- gen-call-pg-database-size: function
select pg_database_size('private'::name)
-- gen-attr-pg-database-size: function
select ('private'::name).pg_database_size
-- gen-treat-pg-database-size: function
select treat('private'::name as pg_database_size)
-- gen-call-pg-database-size-2: function
select pg_database_size(1259::oid)
-- gen-attr-pg-database-size-2: function
select (1259::oid).pg_database_size
-- gen-treat-pg-database-size-2: function
select treat(1259::oid as pg_database_size)
-- gen-call-pg-describe-object: function
select pg_describe_object(1259::oid, 1259::oid, 1)
-- gen-call-pg-drop-replication-slot: function
select pg_drop_replication_slot('private'::name)::text
-- gen-attr-pg-drop-replication-slot: function
select ('private'::name).pg_drop_replication_slot::text
-- gen-treat-pg-drop-replication-slot: function
select treat('private'::name as pg_drop_replication_slot)::text
-- gen-call-pg-export-snapshot: function
select pg_export_snapshot()
-- gen-call-pg-extension-config-dump: function
select pg_extension_config_dump('private.secrets'::regclass, 'x'::text)::text
-- gen-call-pg-extension-update-paths: function
select pg_extension_update_paths('private'::name)::text
-- gen-attr-pg-extension-update-paths: function
select ('private'::name).pg_extension_update_paths::text
-- gen-treat-pg-extension-update-paths: function
select treat('private'::name as pg_extension_update_paths)::text
-- gen-call-pg-filenode-relation: function
select pg_filenode_relation(1259::oid, 1259::oid)
-- gen-call-pg-function-is-visible: function
select pg_function_is_visible(1259::oid)
-- gen-attr-pg-function-is-visible: function
select (1259::oid).pg_function_is_visible
-- gen-treat-pg-function-is-visible: function
select treat(1259::oid as pg_function_is_visible)
-- gen-call-pg-get-backend-memory-contexts: function
select pg_get_backend_memory_contexts()::text
-- gen-call-pg-get-catalog-foreign-keys: function
select pg_get_catalog_foreign_keys()::text
-- gen-call-pg-get-constraintdef: function
select pg_get_constraintdef(1259::oid)
-- gen-attr-pg-get-constraintdef: function
select (1259::oid).pg_get_constraintdef
-- gen-treat-pg-get-constraintdef: function
select treat(1259::oid as pg_get_constraintdef)
-- gen-call-pg-get-constraintdef-2: function
select pg_get_constraintdef(1259::oid, true)
