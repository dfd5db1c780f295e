--- functions of pg_catalog that look at the server, by call, as an attribute and by treat (fixed text, made from pg_proc)
-- gen-call-pg-stat-get-db-conflict-startup-deadlock: function
select pg_stat_get_db_conflict_startup_deadlock(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-startup-deadlock: function
select (1259::oid).pg_stat_get_db_conflict_startup_deadlock
-- gen-treat-pg-stat-get-db-conflict-startup-deadlock: function
select treat(1259::oid as pg_stat_get_db_conflict_startup_deadlock)
-- gen-call-pg-stat-get-db-conflict-tablespace: function
select pg_stat_get_db_conflict_tablespace(1259::oid)
-- gen-attr-pg-stat-get-db-conflict-tablespace: function
select (1259::oid).pg_stat_get_db_conflict_tablespace
-- gen-treat-pg-stat-get-db-conflict-tablespace: function
select treat(1259::oid as pg_stat_get_db_conflict_tablespace)
-- gen-call-pg-stat-get-db-deadlocks: function
select pg_stat_get_db_deadlocks(1259::oid)
-- gen-attr-pg-stat-get-db-deadlocks: function
select (1259::oid).pg_stat_get_db_deadlocks
-- gen-treat-pg-stat-get-db-deadlocks: function
select treat(1259::oid as pg_stat_get_db_deadlocks)
-- gen-call-pg-stat-get-db-idle-in-transaction-time: function
select pg_stat_get_db_idle_in_transaction_time(1259::oid)
-- gen-attr-pg-stat-get-db-idle-in-transaction-time: function
select (1259::oid).pg_stat_get_db_idle_in_transaction_time
-- gen-treat-pg-stat-get-db-idle-in-transaction-time: function
select treat(1259::oid as pg_stat_get_db_idle_in_transaction_time)
-- gen-call-pg-stat-get-db-numbackends: function
select pg_stat_get_db_numbackends(1259::oid)
-- gen-attr-pg-stat-get-db-numbackends: function
select (1259::oid).pg_stat_get_db_numbackends
-- gen-treat-pg-stat-get-db-numbackends: function
select treat(1259::oid as pg_stat_get_db_numbackends)
-- gen-call-pg-stat-get-db-session-time: function
select pg_stat_get_db_session_time(1259::oid)
-- gen-attr-pg-stat-get-db-session-time: function
select (1259::oid).pg_stat_get_db_session_time
-- gen-treat-pg-stat-get-db-session-time: function
select treat(1259::oid as pg_stat_get_db_session_time)
-- gen-call-pg-stat-get-db-sessions: function
select pg_stat_get_db_sessions(1259::oid)
-- gen-attr-pg-stat-get-db-sessions: function
select (1259::oid).pg_stat_get_db_sessions
-- gen-treat-pg-stat-get-db-sessions: function
select treat(1259::oid as pg_stat_get_db_sessions)
-- gen-call-pg-stat-get-db-sessions-abandoned: function
select pg_stat_get_db_sessions_abandoned(1259::oid)
-- gen-attr-pg-stat-get-db-sessions-abandoned: function
select (1259::oid).pg_stat_get_db_sessions_abandoned
-- gen-treat-pg-stat-get-db-sessions-abandoned: function
select treat(1259::oid as pg_stat_get_db_sessions_abandoned)
-- gen-call-pg-stat-get-db-sessions-fatal: function
select pg_stat_get_db_sessions_fatal(1259::oid)
-- gen-attr-pg-stat-get-db-sessions-fatal: function
select (1259::oid).pg_stat_get_db_sessions_fatal
-- gen-treat-pg-stat-get-db-sessions-fatal: function
select treat(1259::oid as pg_stat_get_db_sessions_fatal)
-- gen-call-pg-stat-get-db-sessions-killed: function
select pg_stat_get_db_sessions_killed(1259::oid)
-- gen-attr-pg-stat-get-db-sessions-killed: function
select (1259::oid).pg_stat_get_db_sessions_killed
-- gen-treat-pg-stat-get-db-sessions-killed: function
select treat(1259::oid as pg_stat_get_db_sessions_killed)
-- gen-call-pg-stat-get-db-stat-reset-time: function
select pg_stat_get_db_stat_reset_time(1259::oid)
-- gen-attr-pg-stat-get-db-stat-reset-time: function
select (1259::oid).pg_stat_get_db_stat_reset_time
-- gen-treat-pg-stat-get-db-stat-reset-time: function
select treat(1259::oid as pg_stat_get_db_stat_reset_time)
-- gen-call-pg-stat-get-db-temp-bytes: function
select pg_stat_get_db_temp_bytes(1259::oid)
-- gen-attr-pg-stat-get-db-temp-bytes: function
select (1259::oid).pg_stat_get_db_temp_bytes
-- gen-treat-pg-stat-get-db-temp-bytes: function
select treat(1259::oid as pg_stat_get_db_temp_bytes)
-- gen-call-pg-stat-get-db-temp-files: function
select pg_stat_get_db_temp_files(1259::oid)
-- gen-attr-pg-stat-get-db-temp-files: function
select (1259::oid).pg_stat_get_db_temp_files
-- gen-treat-pg-stat-get-db-temp-files: function
select treat(1259::oid as pg_stat_get_db_temp_files)
-- gen-call-pg-stat-get-db-tuples-deleted: function
select pg_stat_get_db_tuples_deleted(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-deleted: function
select (1259::oid).pg_stat_get_db_tuples_deleted
-- gen-treat-pg-stat-get-db-tuples-deleted: function
select treat(1259::oid as pg_stat_get_db_tuples_deleted)
-- gen-call-pg-stat-get-db-tuples-fetched: function
select pg_stat_get_db_tuples_fetched(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-fetched: function
select (1259::oid).pg_stat_get_db_tuples_fetched
-- gen-treat-pg-stat-get-db-tuples-fetched: function
select treat(1259::oid as pg_stat_get_db_tuples_fetched)
-- gen-call-pg-stat-get-db-tuples-inserted: function
select pg_stat_get_db_tuples_inserted(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-inserted: function
select (1259::oid).pg_stat_get_db_tuples_inserted
-- gen-treat-pg-stat-get-db-tuples-inserted: function
select treat(1259::oid as pg_stat_get_db_tuples_inserted)
-- gen-call-pg-stat-get-db-tuples-returned: function
select pg_stat_get_db_tuples_returned(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-returned: function
select (1259::oid).pg_stat_get_db_tuples_returned
-- gen-treat-pg-stat-get-db-tuples-returned: function
select treat(1259::oid as pg_stat_get_db_tuples_returned)
-- gen-call-pg-stat-get-db-tuples-updated: function
select pg_stat_get_db_tuples_updated(1259::oid)
-- gen-attr-pg-stat-get-db-tuples-updated: function
select (1259::oid).pg_stat_get_db_tuples_updated
-- gen-treat-pg-stat-get-db-tuples-updated: function
select treat(1259::oid as pg_stat_get_db_tuples_updated)
-- gen-call-pg-stat-get-db-xact-commit: function
select pg_stat_get_db_xact_commit(1259::oid)
-- gen-attr-pg-stat-get-db-xact-commit: function
select (1259::oid).pg_stat_get_db_xact_commit
-- gen-treat-pg-stat-get-db-xact-commit: function
select treat(1259::oid as pg_stat_get_db_xact_commit)
-- gen-call-pg-stat-get-db-xact-rollback: function
select pg_stat_get_db_xact_rollback(1259::oid)
-- gen-attr-pg-stat-get-db-xact-rollback: function
select (1259::oid).pg_stat_get_db_xact_rollback
-- gen-treat-pg-stat-get-db-xact-rollback: function
select treat(1259::oid as pg_stat_get_db_xact_rollback)
-- gen-call-pg-stat-get-dead-tuples: function
select pg_stat_get_dead_tuples(1259::oid)
-- gen-attr-pg-stat-get-dead-tuples: function
select (1259::oid).pg_stat_get_dead_tuples
-- gen-treat-pg-stat-get-dead-tuples: function
select treat(1259::oid as pg_stat_get_dead_tuples)
-- gen-call-pg-stat-get-function-calls: function
select pg_stat_get_function_calls(1259::oid)
-- gen-attr-pg-stat-get-function-calls: function
select (1259::oid).pg_stat_get_function_calls
-- gen-treat-pg-stat-get-function-calls: function
select treat(1259::oid as pg_stat_get_function_calls)
-- gen-call-pg-stat-get-function-self-time: function
select pg_stat_get_function_self_time(1259::oid)
-- gen-attr-pg-stat-get-function-self-time: function
select (1259::oid).pg_stat_get_function_self_time
-- gen-treat-pg-stat-get-function-self-time: function
select treat(1259::oid as pg_stat_get_function_self_time)
-- gen-call-pg-stat-get-function-total-time: function
select pg_stat_get_function_total_time(1259::oid)
-- gen-attr-pg-stat-get-function-total-time: function
select (1259::oid).pg_stat_get_function_total_time
-- gen-treat-pg-stat-get-function-total-time: function
select treat(1259::oid as pg_stat_get_function_total_time)
-- gen-call-pg-stat-get-ins-since-vacuum: function
select pg_stat_get_ins_since_vacuum(1259::oid)
-- gen-attr-pg-stat-get-ins-since-vacuum: function
select (1259::oid).pg_stat_get_ins_since_vacuum
-- gen-treat-pg-stat-get-ins-since-vacuum: function
select treat(1259::oid as pg_stat_get_ins_since_vacuum)
-- gen-call-pg-stat-get-last-analyze-time: function
select pg_stat_get_last_analyze_time(1259::oid)
-- gen-attr-pg-stat-get-last-analyze-time: function
select (1259::oid).pg_stat_get_last_analyze_time
-- gen-treat-pg-stat-get-last-analyze-time: function
select treat(1259::oid as pg_stat_get_last_analyze_time)
-- gen-call-pg-stat-get-last-autoanalyze-time: function
select pg_stat_get_last_autoanalyze_time(1259::oid)
-- gen-attr-pg-stat-get-last-autoanalyze-time: function
select (1259::oid).pg_stat_get_last_autoanalyze_time
-- gen-treat-pg-stat-get-last-autoanalyze-time: function
select treat(1259::oid as pg_stat_get_last_autoanalyze_time)
-- gen-call-pg-stat-get-last-autovacuum-time: function
select pg_stat_get_last_autovacuum_time(1259::oid)
-- gen-attr-pg-stat-get-last-autovacuum-time: function
select (1259::oid).pg_stat_get_last_autovacuum_time
-- gen-treat-pg-stat-get-last-autovacuum-time: function
select treat(1259::oid as pg_stat_get_last_autovacuum_time)
-- gen-call-pg-stat-get-last-vacuum-time: function
select pg_stat_get_last_vacuum_time(1259::oid)
-- gen-attr-pg-stat-get-last-vacuum-time: function
select (1259::oid).pg_stat_get_last_vacuum_time
-- gen-treat-pg-stat-get-last-vacuum-time: function
select treat(1259::oid as pg_stat_get_last_vacuum_time)
-- gen-call-pg-stat-get-live-tuples: function
select pg_stat_get_live_tuples(1259::oid)
-- gen-attr-pg-stat-get-live-tuples: function
select (1259::oid).pg_stat_get_live_tuples
-- gen-treat-pg-stat-get-live-tuples: function
select treat(1259::oid as pg_stat_get_live_tuples)
-- gen-call-pg-stat-get-mod-since-analyze: function
select pg_stat_get_mod_since_analyze(1259::oid)
-- gen-attr-pg-stat-get-mod-since-analyze: function
select (1259::oid).pg_stat_get_mod_since_analyze
-- gen-treat-pg-stat-get-mod-since-analyze: function
select treat(1259::oid as pg_stat_get_mod_since_analyze)
-- gen-call-pg-stat-get-numscans: function
select pg_stat_get_numscans(1259::oid)
-- gen-attr-pg-stat-get-numscans: function
select (1259::oid).pg_stat_get_numscans
-- gen-treat-pg-stat-get-numscans: function
select treat(1259::oid as pg_stat_get_numscans)
-- gen-call-pg-stat-get-progress-info: function
select pg_stat_get_progress_info('x'::text)::text
-- gen-attr-pg-stat-get-progress-info: function
select ('x'::text).pg_stat_get_progress_info::text
-- gen-treat-pg-stat-get-progress-info: function
select treat('x'::text as pg_stat_get_progress_info)::text
-- gen-call-pg-stat-get-recovery-prefetch: function
select pg_stat_get_recovery_prefetch()::text
-- gen-call-pg-stat-get-replication-slot: function
select pg_stat_get_replication_slot('x'::text)::text
-- gen-attr-pg-stat-get-replication-slot: function
select ('x'::text).pg_stat_get_replication_slot::text
-- gen-treat-pg-stat-get-replication-slot: function
select treat('x'::text as pg_stat_get_replication_slot)::text
-- gen-call-pg-stat-get-slru: function
select pg_stat_get_slru()::text
-- gen-call-pg-stat-get-snapshot-timestamp: function
select pg_stat_get_snapshot_timestamp()
-- gen-call-pg-stat-get-subscription: function
select pg_stat_get_subscription(1259::oid)::text
-- gen-attr-pg-stat-get-subscription: function
select (1259::oid).pg_stat_get_subscription::text
-- gen-treat-pg-stat-get-subscription: function
select treat(1259::oid as pg_stat_get_subscription)::text
-- gen-call-pg-stat-get-subscription-stats: function
select pg_stat_get_subscription_stats(1259::oid)::text
-- gen-attr-pg-stat-get-subscription-stats: function
select (1259::oid).pg_stat_get_subscription_stats::text
-- gen-treat-pg-stat-get-subscription-stats: function
select treat(1259::oid as pg_stat_get_subscription_stats)::text
-- gen-call-pg-stat-get-tuples-deleted: function
select pg_stat_get_tuples_deleted(1259::oid)
-- gen-attr-pg-stat-get-tuples-deleted: function
select (1259::oid).pg_stat_get_tuples_deleted
-- gen-treat-pg-stat-get-tuples-deleted: function
select treat(1259::oid as pg_stat_get_tuples_deleted)
-- gen-call-pg-stat-get-tuples-fetched: function
select pg_stat_get_tuples_fetched(1259::oid)
-- gen-attr-pg-stat-get-tuples-fetched: function
select (1259::oid).pg_stat_get_tuples_fetched
-- gen-treat-pg-stat-get-tuples-fetched: function
select treat(1259::oid as pg_stat_get_tuples_fetched)
-- gen-call-pg-stat-get-tuples-hot-updated: function
select pg_stat_get_tuples_hot_updated(1259::oid)
-- gen-attr-pg-stat-get-tuples-hot-updated: function
select (1259::oid).pg_stat_get_tuples_hot_updated
-- gen-treat-pg-stat-get-tuples-hot-updated: function
select treat(1259::oid as pg_stat_get_tuples_hot_updated)
-- gen-call-pg-stat-get-tuples-inserted: function
select pg_stat_get_tuples_inserted(1259::oid)
-- gen-attr-pg-stat-get-tuples-inserted: function
select (1259::oid).pg_stat_get_tuples_inserted
-- gen-treat-pg-stat-get-tuples-inserted: function
select treat(1259::oid as pg_stat_get_tuples_inserted)
-- gen-call-pg-stat-get-tuples-returned: function
select pg_stat_get_tuples_returned(1259::oid)
-- gen-attr-pg-stat-get-tuples-returned: function
select (1259::oid).pg_stat_get_tuples_returned
-- gen-treat-pg-stat-get-tuples-returned: function
select treat(1259::oid as pg_stat_get_tuples_returned)
-- gen-call-pg-stat-get-tuples-updated: function
select pg_stat_get_tuples_updated(1259::oid)
-- gen-attr-pg-stat-get-tuples-updated: function
select (1259::oid).pg_stat_get_tuples_updated
-- gen-treat-pg-stat-get-tuples-updated: function
select treat(1259::oid as pg_stat_get_tuples_updated)
-- gen-call-pg-stat-get-vacuum-count: function
select pg_stat_get_vacuum_count(1259::oid)
-- gen-attr-pg-stat-get-vacuum-count: function
select (1259::oid).pg_stat_get_vacuum_count
-- gen-treat-pg-stat-get-vacuum-count: function
select treat(1259::oid as pg_stat_get_vacuum_count)
-- gen-call-pg-stat-get-wal: function
select pg_stat_get_wal()::text
-- gen-call-pg-stat-get-wal-receiver: function
select pg_stat_get_wal_receiver()::text
-- gen-call-pg-stat-get-wal-senders: function
select pg_stat_get_wal_senders()::text
-- gen-call-pg-stat-get-xact-blocks-fetched: function
select pg_stat_get_xact_blocks_fetched(1259::oid)
-- gen-attr-pg-stat-get-xact-blocks-fetched: function
select (1259::oid).pg_stat_get_xact_blocks_fetched
-- gen-treat-pg-stat-get-xact-blocks-fetched: function
select treat(1259::oid as pg_stat_get_xact_blocks_fetched)
-- gen-call-pg-stat-get-xact-blocks-hit: function
select pg_stat_get_xact_blocks_hit(1259::oid)
-- gen-attr-pg-stat-get-xact-blocks-hit: function
select (1259::oid).pg_stat_get_xact_blocks_hit
-- gen-treat-pg-stat-get-xact-blocks-hit: function
select treat(1259::oid as pg_stat_get_xact_blocks_hit)
-- gen-call-pg-stat-get-xact-function-calls: function
select pg_stat_get_xact_function_calls(1259::oid)
-- gen-attr-pg-stat-get-xact-function-calls: function
select (1259::oid).pg_stat_get_xact_function_calls
-- gen-treat-pg-stat-get-xact-function-calls: function
select treat(1259::oid as pg_stat_get_xact_function_calls)
-- gen-call-pg-stat-get-xact-function-self-time: function
select pg_stat_get_xact_function_self_time(1259::oid)
-- gen-attr-pg-stat-get-xact-function-self-time: function
select (1259::oid).pg_stat_get_xact_function_self_time
-- gen-treat-pg-stat-get-xact-function-self-time: function
select treat(1259::oid as pg_stat_get_xact_function_self_time)
-- gen-call-pg-stat-get-xact-function-total-time: function
select pg_stat_get_xact_function_total_time(1259::oid)
-- gen-attr-pg-stat-get-xact-function-total-time: function
select (1259::oid).pg_stat_get_xact_function_total_time
-- gen-treat-pg-stat-get-xact-function-total-time: function
select treat(1259::oid as pg_stat_get_xact_function_total_time)
-- gen-call-pg-stat-get-xact-numscans: function
select pg_stat_get_xact_numscans(1259::oid)
-- gen-attr-pg-stat-get-xact-numscans: function
select (1259::oid).pg_stat_get_xact_numscans
-- gen-treat-pg-stat-get-xact-numscans: function
select treat(1259::oid as pg_stat_get_xact_numscans)
-- gen-call-pg-stat-get-xact-tuples-deleted: function
select pg_stat_get_xact_tuples_deleted(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-deleted: function
select (1259::oid).pg_stat_get_xact_tuples_deleted
-- gen-treat-pg-stat-get-xact-tuples-deleted: function
select treat(1259::oid as pg_stat_get_xact_tuples_deleted)
-- gen-call-pg-stat-get-xact-tuples-fetched: function
select pg_stat_get_xact_tuples_fetched(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-fetched: function
select (1259::oid).pg_stat_get_xact_tuples_fetched
-- gen-treat-pg-stat-get-xact-tuples-fetched: function
select treat(1259::oid as pg_stat_get_xact_tuples_fetched)
-- gen-call-pg-stat-get-xact-tuples-hot-updated: function
select pg_stat_get_xact_tuples_hot_updated(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-hot-updated: function
select (1259::oid).pg_stat_get_xact_tuples_hot_updated
-- gen-treat-pg-stat-get-xact-tuples-hot-updated: function
select treat(1259::oid as pg_stat_get_xact_tuples_hot_updated)
-- gen-call-pg-stat-get-xact-tuples-inserted: function
select pg_stat_get_xact_tuples_inserted(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-inserted: function
select (1259::oid).pg_stat_get_xact_tuples_inserted
-- gen-treat-pg-stat-get-xact-tuples-inserted: function
select treat(1259::oid as pg_stat_get_xact_tuples_inserted)
