--- functions of pg_catalog that look at the server, by call, as an attribute and by treat (fixed text, made from pg_proc)
-- gen-call-pg-read-file-old: function
select pg_read_file_old('x'::text, 1::bigint, 1::bigint)
-- gen-call-pg-relation-filenode: function
select pg_relation_filenode('private.secrets'::regclass)
-- gen-attr-pg-relation-filenode: function
select ('private.secrets'::regclass).pg_relation_filenode
-- gen-treat-pg-relation-filenode: function
select treat('private.secrets'::regclass as pg_relation_filenode)
-- gen-call-pg-relation-filepath: function
select pg_relation_filepath('private.secrets'::regclass)
-- gen-attr-pg-relation-filepath: function
select ('private.secrets'::regclass).pg_relation_filepath
-- gen-treat-pg-relation-filepath: function
select treat('private.secrets'::regclass as pg_relation_filepath)
-- gen-call-pg-relation-is-publishable: function
select pg_relation_is_publishable('private.secrets'::regclass)
-- gen-attr-pg-relation-is-publishable: function
select ('private.secrets'::regclass).pg_relation_is_publishable
-- gen-treat-pg-relation-is-publishable: function
select treat('private.secrets'::regclass as pg_relation_is_publishable)
-- gen-call-pg-relation-is-updatable: function
select pg_relation_is_updatable('private.secrets'::regclass, true)
-- gen-call-pg-relation-size: function
select pg_relation_size('private.secrets'::regclass)
-- gen-attr-pg-relation-size: function
select ('private.secrets'::regclass).pg_relation_size
-- gen-treat-pg-relation-size: function
select treat('private.secrets'::regclass as pg_relation_size)
-- gen-call-pg-relation-size-2: function
select pg_relation_size('private.secrets'::regclass, 'x'::text)
-- gen-call-pg-reload-conf: function
select pg_reload_conf()
-- gen-call-pg-replication-origin-advance: function
select pg_replication_origin_advance('x'::text, '0/1'::pg_lsn)::text
-- gen-call-pg-replication-origin-create: function
select pg_replication_origin_create('x'::text)
-- gen-attr-pg-replication-origin-create: function
select ('x'::text).pg_replication_origin_create
-- gen-treat-pg-replication-origin-create: function
select treat('x'::text as pg_replication_origin_create)
-- gen-call-pg-replication-origin-drop: function
select pg_replication_origin_drop('x'::text)::text
-- gen-attr-pg-replication-origin-drop: function
select ('x'::text).pg_replication_origin_drop::text
-- gen-treat-pg-replication-origin-drop: function
select treat('x'::text as pg_replication_origin_drop)::text
-- gen-call-pg-replication-origin-oid: function
select pg_replication_origin_oid('x'::text)
-- gen-attr-pg-replication-origin-oid: function
select ('x'::text).pg_replication_origin_oid
-- gen-treat-pg-replication-origin-oid: function
select treat('x'::text as pg_replication_origin_oid)
-- gen-call-pg-replication-origin-progress: function
select pg_replication_origin_progress('x'::text, true)
-- gen-call-pg-replication-origin-session-is-setup: function
select pg_replication_origin_session_is_setup()
-- gen-call-pg-replication-origin-session-progress: function
select pg_replication_origin_session_progress(true)
-- gen-attr-pg-replication-origin-session-progress: function
select (true).pg_replication_origin_session_progress
-- gen-treat-pg-replication-origin-session-progress: function
select treat(true as pg_replication_origin_session_progress)
-- gen-call-pg-replication-origin-session-reset: function
select pg_replication_origin_session_reset()::text
-- gen-call-pg-replication-origin-session-setup: function
select pg_replication_origin_session_setup('x'::text)::text
-- gen-attr-pg-replication-origin-session-setup: function
select ('x'::text).pg_replication_origin_session_setup::text
-- gen-treat-pg-replication-origin-session-setup: function
select treat('x'::text as pg_replication_origin_session_setup)::text
-- gen-call-pg-replication-origin-xact-reset: function
select pg_replication_origin_xact_reset()::text
-- gen-call-pg-replication-origin-xact-setup: function
select pg_replication_origin_xact_setup('0/1'::pg_lsn, now())::text
-- gen-call-pg-replication-slot-advance: function
select pg_replication_slot_advance('private'::name, '0/1'::pg_lsn)::text
-- gen-call-pg-rotate-logfile: function
select pg_rotate_logfile()
-- gen-call-pg-rotate-logfile-old: function
select pg_rotate_logfile_old()
-- gen-call-pg-safe-snapshot-blocking-pids: function
select pg_safe_snapshot_blocking_pids(1)
-- gen-attr-pg-safe-snapshot-blocking-pids: function
select (1).pg_safe_snapshot_blocking_pids
-- gen-treat-pg-safe-snapshot-blocking-pids: function
select treat(1 as pg_safe_snapshot_blocking_pids)
-- gen-call-pg-sequence-last-value: function
select pg_sequence_last_value('private.secrets'::regclass)
-- gen-attr-pg-sequence-last-value: function
select ('private.secrets'::regclass).pg_sequence_last_value
-- gen-treat-pg-sequence-last-value: function
select treat('private.secrets'::regclass as pg_sequence_last_value)
-- gen-call-pg-sequence-parameters: function
select pg_sequence_parameters(1259::oid)::text
-- gen-attr-pg-sequence-parameters: function
select (1259::oid).pg_sequence_parameters::text
-- gen-treat-pg-sequence-parameters: function
select treat(1259::oid as pg_sequence_parameters)::text
-- gen-call-pg-settings-get-flags: function
select pg_settings_get_flags('x'::text)
-- gen-attr-pg-settings-get-flags: function
select ('x'::text).pg_settings_get_flags
-- gen-treat-pg-settings-get-flags: function
select treat('x'::text as pg_settings_get_flags)
-- gen-call-pg-show-all-file-settings: function
select pg_show_all_file_settings()::text
-- gen-call-pg-show-all-settings: function
select pg_show_all_settings()::text
-- gen-call-pg-show-replication-origin-status: function
select pg_show_replication_origin_status()::text
-- gen-call-pg-sleep: function
select pg_sleep(0.01::float8)::text
-- gen-call-pg-sleep-for: function
select pg_sleep_for(interval '0.01 s')::text
-- gen-attr-pg-sleep-for: function
select (interval '0.01 s').pg_sleep_for::text
-- gen-treat-pg-sleep-for: function
select treat(interval '0.01 s' as pg_sleep_for)::text
-- gen-call-pg-sleep-until: function
select pg_sleep_until(now())::text
-- gen-attr-pg-sleep-until: function
select (now()).pg_sleep_until::text
-- gen-treat-pg-sleep-until: function
select treat(now() as pg_sleep_until)::text
-- gen-call-pg-stat-clear-snapshot: function
select pg_stat_clear_snapshot()::text
-- gen-call-pg-stat-file: function
select pg_stat_file('PG_VERSION'::text)::text
-- gen-attr-pg-stat-file: function
select ('PG_VERSION'::text).pg_stat_file::text
-- gen-treat-pg-stat-file: function
select treat('PG_VERSION'::text as pg_stat_file)::text
-- gen-call-pg-stat-file-2: function
select pg_stat_file('PG_VERSION'::text, true)::text
-- gen-call-pg-stat-force-next-flush: function
select pg_stat_force_next_flush()::text
-- gen-call-pg-stat-get-activity: function
select pg_stat_get_activity(1)::text
-- gen-attr-pg-stat-get-activity: function
select (1).pg_stat_get_activity::text
-- gen-treat-pg-stat-get-activity: function
select treat(1 as pg_stat_get_activity)::text
-- gen-call-pg-stat-get-analyze-count: function
select pg_stat_get_analyze_count(1259::oid)
-- gen-attr-pg-stat-get-analyze-count: function
select (1259::oid).pg_stat_get_analyze_count
-- gen-treat-pg-stat-get-analyze-count: function
select treat(1259::oid as pg_stat_get_analyze_count)
-- gen-call-pg-stat-get-archiver: function
select pg_stat_get_archiver()::text
-- gen-call-pg-stat-get-autoanalyze-count: function
select pg_stat_get_autoanalyze_count(1259::oid)
-- gen-attr-pg-stat-get-autoanalyze-count: function
select (1259::oid).pg_stat_get_autoanalyze_count
-- gen-treat-pg-stat-get-autoanalyze-count: function
select treat(1259::oid as pg_stat_get_autoanalyze_count)
-- gen-call-pg-stat-get-autovacuum-count: function
select pg_stat_get_autovacuum_count(1259::oid)
-- gen-attr-pg-stat-get-autovacuum-count: function
select (1259::oid).pg_stat_get_autovacuum_count
-- gen-treat-pg-stat-get-autovacuum-count: function
select treat(1259::oid as pg_stat_get_autovacuum_count)
-- gen-call-pg-stat-get-backend-activity: function
select pg_stat_get_backend_activity(1)
-- gen-attr-pg-stat-get-backend-activity: function
select (1).pg_stat_get_backend_activity
-- gen-treat-pg-stat-get-backend-activity: function
select treat(1 as pg_stat_get_backend_activity)
-- gen-call-pg-stat-get-backend-activity-start: function
select pg_stat_get_backend_activity_start(1)
-- gen-attr-pg-stat-get-backend-activity-start: function
select (1).pg_stat_get_backend_activity_start
-- gen-treat-pg-stat-get-backend-activity-start: function
select treat(1 as pg_stat_get_backend_activity_start)
-- gen-call-pg-stat-get-backend-client-addr: function
select pg_stat_get_backend_client_addr(1)
-- gen-attr-pg-stat-get-backend-client-addr: function
select (1).pg_stat_get_backend_client_addr
-- gen-treat-pg-stat-get-backend-client-addr: function
select treat(1 as pg_stat_get_backend_client_addr)
-- gen-call-pg-stat-get-backend-client-port: function
select pg_stat_get_backend_client_port(1)
-- gen-attr-pg-stat-get-backend-client-port: function
select (1).pg_stat_get_backend_client_port
-- gen-treat-pg-stat-get-backend-client-port: function
select treat(1 as pg_stat_get_backend_client_port)
-- gen-call-pg-stat-get-backend-dbid: function
select pg_stat_get_backend_dbid(1)
-- gen-attr-pg-stat-get-backend-dbid: function
select (1).pg_stat_get_backend_dbid
-- gen-treat-pg-stat-get-backend-dbid: function
select treat(1 as pg_stat_get_backend_dbid)
-- gen-call-pg-stat-get-backend-idset: function
select pg_stat_get_backend_idset()
-- gen-call-pg-stat-get-backend-pid: function
select pg_stat_get_backend_pid(1)
-- gen-attr-pg-stat-get-backend-pid: function
select (1).pg_stat_get_backend_pid
-- gen-treat-pg-stat-get-backend-pid: function
select treat(1 as pg_stat_get_backend_pid)
-- gen-call-pg-stat-get-backend-start: function
select pg_stat_get_backend_start(1)
-- gen-attr-pg-stat-get-backend-start: function
select (1).pg_stat_get_backend_start
-- gen-treat-pg-stat-get-backend-start: function
select treat(1 as pg_stat_get_backend_start)
-- gen-call-pg-stat-get-backend-userid: function
select pg_stat_get_backend_userid(1)
-- gen-attr-pg-stat-get-backend-userid: function
select (1).pg_stat_get_backend_userid
-- gen-treat-pg-stat-get-backend-userid: function
select treat(1 as pg_stat_get_backend_userid)
-- gen-call-pg-stat-get-backend-wait-event: function
select pg_stat_get_backend_wait_event(1)
-- gen-attr-pg-stat-get-backend-wait-event: function
select (1).pg_stat_get_backend_wait_event
-- gen-treat-pg-stat-get-backend-wait-event: function
select treat(1 as pg_stat_get_backend_wait_event)
-- gen-call-pg-stat-get-backend-wait-event-type: function
select pg_stat_get_backend_wait_event_type(1)
-- gen-attr-pg-stat-get-backend-wait-event-type: function
select (1).pg_stat_get_backend_wait_event_type
-- gen-treat-pg-stat-get-backend-wait-event-type: function
select treat(1 as pg_stat_get_backend_wait_event_type)
-- gen-call-pg-stat-get-backend-xact-start: function
select pg_stat_get_backend_xact_start(1)
-- gen-attr-pg-stat-get-backend-xact-start: function
select (1).pg_stat_get_backend_xact_start
-- gen-treat-pg-stat-get-backend-xact-start: function
select treat(1 as pg_stat_get_backend_xact_start)
-- gen-call-pg-stat-get-bgwriter-buf-written-checkpoints: function
select pg_stat_get_bgwriter_buf_written_checkpoints()
-- gen-call-pg-stat-get-bgwriter-buf-written-clean: function
select pg_stat_get_bgwriter_buf_written_clean()
-- gen-call-pg-stat-get-bgwriter-maxwritten-clean: function
select pg_stat_get_bgwriter_maxwritten_clean()
-- gen-call-pg-stat-get-bgwriter-requested-checkpoints: function
select pg_stat_get_bgwriter_requested_checkpoints()
-- gen-call-pg-stat-get-bgwriter-stat-reset-time: function
select pg_stat_get_bgwriter_stat_reset_time()
-- gen-call-pg-stat-get-bgwriter-timed-checkpoints: function
select pg_stat_get_bgwriter_timed_checkpoints()
-- gen-call-pg-stat-get-blocks-fetched: function
select pg_stat_get_blocks_fetched(1259::oid)
-- gen-attr-pg-stat-get-blocks-fetched: function
select (1259::oid).pg_stat_get_blocks_fetched
-- gen-treat-pg-stat-get-blocks-fetched: function
select treat(1259::oid as pg_stat_get_blocks_fetched)
-- gen-call-pg-stat-get-blocks-hit: function
select pg_stat_get_blocks_hit(1259::oid)
-- gen-attr-pg-stat-get-blocks-hit: function
select (1259::oid).pg_stat_get_blocks_hit
-- gen-treat-pg-stat-get-blocks-hit: function
select treat(1259::oid as pg_stat_get_blocks_hit)
-- gen-call-pg-stat-get-buf-alloc: function
select pg_stat_get_buf_alloc()
-- gen-call-pg-stat-get-buf-fsync-backend: function
select pg_stat_get_buf_fsync_backend()
-- gen-call-pg-stat-get-buf-written-backend: function
select pg_stat_get_buf_written_backend()
-- gen-call-pg-stat-get-checkpoint-sync-time: function
select pg_stat_get_checkpoint_sync_time()
-- gen-call-pg-stat-get-checkpoint-write-time: function
select pg_stat_get_checkpoint_write_time()
-- gen-call-pg-stat-get-db-active-time: function
select pg_stat_get_db_active_time(1259::oid)
-- gen-attr-pg-stat-get-db-active-time: function
select (1259::oid).pg_stat_get_db_active_time
-- gen-treat-pg-stat-get-db-active-time: function
select treat(1259::oid as pg_stat_get_db_active_time)
-- gen-call-pg-stat-get-db-blk-read-time: function
select pg_stat_get_db_blk_read_time(1259::oid)
-- gen-attr-pg-stat-get-db-blk-read-time: function
select (1259::oid).pg_stat_get_db_blk_read_time
-- gen-treat-pg-stat-get-db-blk-read-time: function
select treat(1259::oid as pg_stat_get_db_blk_read_time)
-- gen-call-pg-stat-get-db-blk-write-time: function
select pg_stat_get_db_blk_write_time(1259::oid)
-- gen-attr-pg-stat-get-db-blk-write-time: function
select (1259::oid).pg_stat_get_db_blk_write_time
-- gen-treat-pg-stat-get-db-blk-write-time: function
select treat(1259::oid as pg_stat_get_db_blk_write_time)
-- gen-call-pg-stat-get-db-blocks-fetched: function
select pg_stat_get_db_blocks_fetched(1259::oid)
-- gen-attr-pg-stat-get-db-blocks-fetched: function
select (1259::oid).pg_stat_get_db_blocks_fetched
-- gen-treat-pg-stat-get-db-blocks-fetched: function
select treat(1259::oid as pg_stat_get_db_blocks_fetched)
-- gen-call-pg-stat-get-db-blocks-hit: function
select pg_stat_get_db_blocks_hit(1259::oid)
-- gen-attr-pg-stat-get-db-blocks-hit: function
select (1259::oid).pg_stat_get_db_blocks_hit
-- gen-treat-pg-stat-get-db-blocks-hit: function
select treat(1259::oid as pg_stat_get_db_blocks_hit)
-- gen-call-pg-stat-get-db-checksum-failures: function
select pg_stat_get_db_checksum_failures(1259::oid)
-- gen-attr-pg-stat-get-db-checksum-failures: function
select (1259::oid).pg_stat_get_db_checksum_failures
-- gen-treat-pg-stat-get-db-checksum-failures: function
select treat(1259::oid as pg_stat_get_db_checksum_failures)
-- gen-call-pg-stat-get-db-checksum-last-failure: function
select pg_stat_get_db_checksum_last_failure(1259::oid)
-- gen-attr-pg-stat-get-db-checksum-last-failure: function
select (1259::oid).pg_stat_get_db_checksum_last_failure
-- gen-treat-pg-stat-get-db-checksum-last-failure: function
select treat(1259::oid as pg_stat_get_db_checksum_last_failure)
-- gen-call-pg-stat-get-db-conflict-all: function
select pg_stat_get_db_conflict_all(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-all: function
select (1259::oid).pg_stat_get_db_conflict_all
-- gen-treat-pg-stat-get-db-conflict-all: function
select treat(1259::oid as pg_stat_get_db_conflict_all)
-- gen-call-pg-stat-get-db-conflict-bufferpin: function
select pg_stat_get_db_conflict_bufferpin(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-bufferpin: function
select (1259::oid).pg_stat_get_db_conflict_bufferpin
-- gen-treat-pg-stat-get-db-conflict-bufferpin: function
select treat(1259::oid as pg_stat_get_db_conflict_bufferpin)
-- gen-call-pg-stat-get-db-conflict-lock: function
select pg_stat_get_db_conflict_lock(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-lock: function
select (1259::oid).pg_stat_get_db_conflict_lock
-- gen-treat-pg-stat-get-db-conflict-lock: function
select treat(1259::oid as pg_stat_get_db_conflict_lock)
-- gen-call-pg-stat-get-db-conflict-snapshot: function
select pg_stat_get_db_conflict_snapshot(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-snapshot: function
select (1259::oid).pg_stat_get_db_conflict_snapshot
-- gen-treat-pg-stat-get-db-conflict-snapshot: function
select treat(1259::oid as pg_stat_get_db_conflict_snapshot)
