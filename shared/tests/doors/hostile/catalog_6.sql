--- functions of pg_catalog that look at the server, by call, as an attribute and by treat (fixed text, made from pg_proc)
-- gen-call-pg-stat-get-xact-tuples-returned: function
select pg_stat_get_xact_tuples_returned(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-returned: function
select (1259::oid).pg_stat_get_xact_tuples_returned
-- gen-treat-pg-stat-get-xact-tuples-returned: function
select treat(1259::oid as pg_stat_get_xact_tuples_returned)
-- gen-call-pg-stat-get-xact-tuples-updated: function
select pg_stat_get_xact_tuples_updated(1259::oid)
-- gen-attr-pg-stat-get-xact-tuples-updated: function
select (1259::oid).pg_stat_get_xact_tuples_updated
-- gen-treat-pg-stat-get-xact-tuples-updated: function
select treat(1259::oid as pg_stat_get_xact_tuples_updated)
-- gen-call-pg-stat-have-stats: function
select pg_stat_have_stats('x'::text, 1259::oid, 1259::oid)
-- gen-call-pg-stat-reset: function
select pg_stat_reset()::text
-- gen-call-pg-stat-reset-replication-slot: function
select pg_stat_reset_replication_slot('x'::text)::text
-- gen-attr-pg-stat-reset-replication-slot: function
select ('x'::text).pg_stat_reset_replication_slot::text
-- gen-treat-pg-stat-reset-replication-slot: function
select treat('x'::text as pg_stat_reset_replication_slot)::text
-- gen-call-pg-stat-reset-shared: function
select pg_stat_reset_shared('x'::text)::text
-- gen-attr-pg-stat-reset-shared: function
select ('x'::text).pg_stat_reset_shared::text
-- gen-treat-pg-stat-reset-shared: function
select treat('x'::text as pg_stat_reset_shared)::text
-- gen-call-pg-stat-reset-single-function-counters: function
select pg_stat_reset_single_function_counters(1259::oid)::text
-- gen-attr-pg-stat-reset-single-function-counters: function
select (1259::oid).pg_stat_reset_single_function_counters::text
-- gen-treat-pg-stat-reset-single-function-counters: function
select treat(1259::oid as pg_stat_reset_single_function_counters)::text
-- gen-call-pg-stat-reset-single-table-counters: function
select pg_stat_reset_single_table_counters(1259::oid)::text
-- gen-attr-pg-stat-reset-single-table-counters: function
select (1259::oid).pg_stat_reset_single_table_counters::text
-- gen-treat-pg-stat-reset-single-table-counters: function
select treat(1259::oid as pg_stat_reset_single_table_counters)::text
-- gen-call-pg-stat-reset-slru: function
select pg_stat_reset_slru('x'::text)::text
-- gen-attr-pg-stat-reset-slru: function
select ('x'::text).pg_stat_reset_slru::text
-- gen-treat-pg-stat-reset-slru: function
select treat('x'::text as pg_stat_reset_slru)::text
-- gen-call-pg-stat-reset-subscription-stats: function
select pg_stat_reset_subscription_stats(1259::oid)::text
-- gen-attr-pg-stat-reset-subscription-stats: function
select (1259::oid).pg_stat_reset_subscription_stats::text
-- gen-treat-pg-stat-reset-subscription-stats: function
select treat(1259::oid as pg_stat_reset_subscription_stats)::text
-- gen-call-pg-statistics-obj-is-visible: function
select pg_statistics_obj_is_visible(1259::oid)
-- gen-attr-pg-statistics-obj-is-visible: function
select (1259::oid).pg_statistics_obj_is_visible
-- gen-treat-pg-statistics-obj-is-visible: function
select treat(1259::oid as pg_statistics_obj_is_visible)
-- gen-call-pg-stop-making-pinned-objects: function
select pg_stop_making_pinned_objects()::text
-- gen-call-pg-switch-wal: function
select pg_switch_wal()
-- gen-call-pg-table-is-visible: function
select pg_table_is_visible(1259::oid)
-- gen-attr-pg-table-is-visible: function
select (1259::oid).pg_table_is_visible
-- gen-treat-pg-table-is-visible: function
select treat(1259::oid as pg_table_is_visible)
-- gen-call-pg-table-size: function
select pg_table_size('private.secrets'::regclass)
-- gen-attr-pg-table-size: function
select ('private.secrets'::regclass).pg_table_size
-- gen-treat-pg-table-size: function
select treat('private.secrets'::regclass as pg_table_size)
-- gen-call-pg-tablespace-databases: function
select pg_tablespace_databases(1259::oid)
-- gen-attr-pg-tablespace-databases: function
select (1259::oid).pg_tablespace_databases
-- gen-treat-pg-tablespace-databases: function
select treat(1259::oid as pg_tablespace_databases)
-- gen-call-pg-tablespace-location: function
select pg_tablespace_location(1259::oid)
-- gen-attr-pg-tablespace-location: function
select (1259::oid).pg_tablespace_location
-- gen-treat-pg-tablespace-location: function
select treat(1259::oid as pg_tablespace_location)
-- gen-call-pg-tablespace-size: function
select pg_tablespace_size('private'::name)
-- gen-attr-pg-tablespace-size: function
select ('private'::name).pg_tablespace_size
-- gen-treat-pg-tablespace-size: function
select treat('private'::name as pg_tablespace_size)
-- gen-call-pg-tablespace-size-2: function
select pg_tablespace_size(1259::oid)
-- gen-attr-pg-tablespace-size-2: function
select (1259::oid).pg_tablespace_size
-- gen-treat-pg-tablespace-size-2: function
select treat(1259::oid as pg_tablespace_size)
-- gen-call-pg-terminate-backend: function
select pg_terminate_backend(1, 1::bigint)
-- gen-attr-pg-terminate-backend: function
select (1).pg_terminate_backend
-- gen-treat-pg-terminate-backend: function
select treat(1 as pg_terminate_backend)
-- gen-call-pg-timezone-abbrevs: function
select pg_timezone_abbrevs()::text
-- gen-call-pg-timezone-names: function
select pg_timezone_names()::text
-- gen-call-pg-total-relation-size: function
select pg_total_relation_size('private.secrets'::regclass)
-- gen-attr-pg-total-relation-size: function
select ('private.secrets'::regclass).pg_total_relation_size
-- gen-treat-pg-total-relation-size: function
select treat('private.secrets'::regclass as pg_total_relation_size)
-- gen-call-pg-trigger-depth: function
select pg_trigger_depth()
-- gen-call-pg-try-advisory-lock: function
select pg_try_advisory_lock(1::bigint)
-- gen-attr-pg-try-advisory-lock: function
select (1::bigint).pg_try_advisory_lock
-- gen-treat-pg-try-advisory-lock: function
select treat(1::bigint as pg_try_advisory_lock)
-- gen-call-pg-try-advisory-lock-2: function
select pg_try_advisory_lock(1, 1)
-- gen-call-pg-try-advisory-lock-shared: function
select pg_try_advisory_lock_shared(1::bigint)
-- gen-attr-pg-try-advisory-lock-shared: function
select (1::bigint).pg_try_advisory_lock_shared
-- gen-treat-pg-try-advisory-lock-shared: function
select treat(1::bigint as pg_try_advisory_lock_shared)
-- gen-call-pg-try-advisory-lock-shared-2: function
select pg_try_advisory_lock_shared(1, 1)
-- gen-call-pg-try-advisory-xact-lock: function
select pg_try_advisory_xact_lock(1::bigint)
-- gen-attr-pg-try-advisory-xact-lock: function
select (1::bigint).pg_try_advisory_xact_lock
-- gen-treat-pg-try-advisory-xact-lock: function
select treat(1::bigint as pg_try_advisory_xact_lock)
-- gen-call-pg-try-advisory-xact-lock-2: function
select pg_try_advisory_xact_lock(1, 1)
-- gen-call-pg-try-advisory-xact-lock-shared: function
select pg_try_advisory_xact_lock_shared(1::bigint)
-- gen-attr-pg-try-advisory-xact-lock-shared: function
select (1::bigint).pg_try_advisory_xact_lock_shared
-- gen-treat-pg-try-advisory-xact-lock-shared: function
select treat(1::bigint as pg_try_advisory_xact_lock_shared)
-- gen-call-pg-try-advisory-xact-lock-shared-2: function
select pg_try_advisory_xact_lock_shared(1, 1)
-- gen-call-pg-ts-config-is-visible: function
select pg_ts_config_is_visible(1259::oid)
-- gen-attr-pg-ts-config-is-visible: function
select (1259::oid).pg_ts_config_is_visible
-- gen-treat-pg-ts-config-is-visible: function
select treat(1259::oid as pg_ts_config_is_visible)
-- gen-call-pg-ts-dict-is-visible: function
select pg_ts_dict_is_visible(1259::oid)
-- gen-attr-pg-ts-dict-is-visible: function
select (1259::oid).pg_ts_dict_is_visible
-- gen-treat-pg-ts-dict-is-visible: function
select treat(1259::oid as pg_ts_dict_is_visible)
-- gen-call-pg-ts-parser-is-visible: function
select pg_ts_parser_is_visible(1259::oid)
-- gen-attr-pg-ts-parser-is-visible: function
select (1259::oid).pg_ts_parser_is_visible
-- gen-treat-pg-ts-parser-is-visible: function
select treat(1259::oid as pg_ts_parser_is_visible)
-- gen-call-pg-ts-template-is-visible: function
select pg_ts_template_is_visible(1259::oid)
-- gen-attr-pg-ts-template-is-visible: function
select (1259::oid).pg_ts_template_is_visible
-- gen-treat-pg-ts-template-is-visible: function
select treat(1259::oid as pg_ts_template_is_visible)
-- gen-call-pg-type-is-visible: function
select pg_type_is_visible(1259::oid)
-- gen-attr-pg-type-is-visible: function
select (1259::oid).pg_type_is_visible
-- gen-treat-pg-type-is-visible: function
select treat(1259::oid as pg_type_is_visible)
-- gen-call-pg-wal-replay-pause: function
select pg_wal_replay_pause()::text
-- gen-call-pg-wal-replay-resume: function
select pg_wal_replay_resume()::text
-- gen-call-pg-xact-commit-timestamp: function
select pg_xact_commit_timestamp('1'::xid)
-- gen-attr-pg-xact-commit-timestamp: function
select ('1'::xid).pg_xact_commit_timestamp
-- gen-treat-pg-xact-commit-timestamp: function
select treat('1'::xid as pg_xact_commit_timestamp)
-- gen-call-pg-xact-commit-timestamp-origin: function
select pg_xact_commit_timestamp_origin('1'::xid)::text
-- gen-attr-pg-xact-commit-timestamp-origin: function
select ('1'::xid).pg_xact_commit_timestamp_origin::text
-- gen-treat-pg-xact-commit-timestamp-origin: function
select treat('1'::xid as pg_xact_commit_timestamp_origin)::text
-- gen-call-pg-xact-status: function
select pg_xact_status('1'::xid8)
-- gen-attr-pg-xact-status: function
select ('1'::xid8).pg_xact_status
-- gen-treat-pg-xact-status: function
select treat('1'::xid8 as pg_xact_status)
-- gen-call-plpgsql-validator: function
select plpgsql_validator(1259::oid)::text
-- gen-attr-plpgsql-validator: function
select (1259::oid).plpgsql_validator::text
-- gen-treat-plpgsql-validator: function
select treat(1259::oid as plpgsql_validator)::text
-- gen-call-query-to-xml: function
select query_to_xml('select 1'::text, true, true, 'x'::text)
-- gen-call-query-to-xml-and-xmlschema: function
select query_to_xml_and_xmlschema('select 1'::text, true, true, 'x'::text)
-- gen-call-query-to-xmlschema: function
select query_to_xmlschema('select 1'::text, true, true, 'x'::text)
-- gen-call-range-in: function
select range_in('1'::cstring, 1259::oid, 1) is null
-- gen-call-record-in: function
select record_in('1'::cstring, 1259::oid, 1)::text
-- gen-call-regclass: function
select regclass('private.secrets'::text)
-- gen-treat-regclass: function
select treat('private.secrets'::text as regclass)
-- gen-call-regclassin: function
select regclassin('1'::cstring)
-- gen-attr-regclassin: function
select ('1'::cstring).regclassin
-- gen-treat-regclassin: function
select treat('1'::cstring as regclassin)
-- gen-call-regclassout: function
select regclassout('private.secrets'::regclass)::text
-- gen-attr-regclassout: function
select ('private.secrets'::regclass).regclassout::text
-- gen-treat-regclassout: function
select treat('private.secrets'::regclass as regclassout)::text
-- gen-call-regcollationin: function
select regcollationin('1'::cstring)
-- gen-attr-regcollationin: function
select ('1'::cstring).regcollationin
-- gen-treat-regcollationin: function
select treat('1'::cstring as regcollationin)
-- gen-call-regcollationout: function
select regcollationout('"C"'::regcollation)::text
-- gen-attr-regcollationout: function
select ('"C"'::regcollation).regcollationout::text
-- gen-treat-regcollationout: function
select treat('"C"'::regcollation as regcollationout)::text
-- gen-call-regconfigin: function
select regconfigin('1'::cstring)
-- gen-attr-regconfigin: function
select ('1'::cstring).regconfigin
-- gen-treat-regconfigin: function
select treat('1'::cstring as regconfigin)
-- gen-call-regconfigout: function
select regconfigout('simple'::regconfig)::text
-- gen-attr-regconfigout: function
select ('simple'::regconfig).regconfigout::text
-- gen-treat-regconfigout: function
select treat('simple'::regconfig as regconfigout)::text
-- gen-call-regdictionaryin: function
select regdictionaryin('1'::cstring)
-- gen-attr-regdictionaryin: function
select ('1'::cstring).regdictionaryin
-- gen-treat-regdictionaryin: function
select treat('1'::cstring as regdictionaryin)
-- gen-call-regdictionaryout: function
select regdictionaryout('simple'::regdictionary)::text
-- gen-attr-regdictionaryout: function
select ('simple'::regdictionary).regdictionaryout::text
-- gen-treat-regdictionaryout: function
select treat('simple'::regdictionary as regdictionaryout)::text
-- gen-call-regnamespacein: function
select regnamespacein('1'::cstring)
-- gen-attr-regnamespacein: function
select ('1'::cstring).regnamespacein
-- gen-treat-regnamespacein: function
select treat('1'::cstring as regnamespacein)
-- gen-call-regnamespaceout: function
select regnamespaceout('private'::regnamespace)::text
-- gen-attr-regnamespaceout: function
select ('private'::regnamespace).regnamespaceout::text
-- gen-treat-regnamespaceout: function
select treat('private'::regnamespace as regnamespaceout)::text
-- gen-call-regoperatorin: function
select regoperatorin('1'::cstring)
-- gen-attr-regoperatorin: function
select ('1'::cstring).regoperatorin
-- gen-treat-regoperatorin: function
select treat('1'::cstring as regoperatorin)
-- gen-call-regoperatorout: function
select regoperatorout('+(integer,integer)'::regoperator)::text
-- gen-attr-regoperatorout: function
select ('+(integer,integer)'::regoperator).regoperatorout::text
-- gen-treat-regoperatorout: function
select treat('+(integer,integer)'::regoperator as regoperatorout)::text
-- gen-call-regoperin: function
select regoperin('1'::cstring)
-- gen-attr-regoperin: function
select ('1'::cstring).regoperin
-- gen-treat-regoperin: function
select treat('1'::cstring as regoperin)
-- gen-call-regoperout: function
select regoperout('||/'::regoper)::text
-- gen-attr-regoperout: function
select ('||/'::regoper).regoperout::text
-- gen-treat-regoperout: function
select treat('||/'::regoper as regoperout)::text
-- gen-call-regprocedurein: function
select regprocedurein('1'::cstring)
-- gen-attr-regprocedurein: function
select ('1'::cstring).regprocedurein
-- gen-treat-regprocedurein: function
select treat('1'::cstring as regprocedurein)
-- gen-call-regprocedureout: function
select regprocedureout('now()'::regprocedure)::text
-- gen-attr-regprocedureout: function
select ('now()'::regprocedure).regprocedureout::text
-- gen-treat-regprocedureout: function
select treat('now()'::regprocedure as regprocedureout)::text
-- gen-call-regprocin: function
select regprocin('1'::cstring)
-- gen-attr-regprocin: function
select ('1'::cstring).regprocin
-- gen-treat-regprocin: function
select treat('1'::cstring as regprocin)
-- gen-call-regprocout: function
select regprocout('now'::regproc)::text
-- gen-attr-regprocout: function
select ('now'::regproc).regprocout::text
-- gen-treat-regprocout: function
select treat('now'::regproc as regprocout)::text
-- gen-call-regrolein: function
select regrolein('1'::cstring)
-- gen-attr-regrolein: function
select ('1'::cstring).regrolein
-- gen-treat-regrolein: function
select treat('1'::cstring as regrolein)
