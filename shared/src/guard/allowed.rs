//! The allow-list of functions that a query may call.
//!
//! Allowed are the server's own functions that only compute: the immutable ones, and others by name. None of them takes
//! SQL, the name of a relation, a role or a file, or reads settings, sessions, locks or transactions. In the source schemas
//! those functions are allowed that are declared to change nothing.

use serde::Deserialize;

use super::functions::{CATALOG, FunctionName};
use super::{Refusal, SourceSchemas};

/// Functions of the server that are stable or volatile and harmless: what they answer depends on the time, the time zone,
/// the locale or on chance, and on their arguments.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    // time
    "age", "clock_timestamp", "date", "date_add", "date_part", "date_subtract", "date_trunc", "extract", "generate_series",
    "in_range", "make_timestamptz", "now", "overlaps", "statement_timestamp", "time", "timeofday", "timestamp", "timestamptz",
    "timetz", "timezone", "transaction_timestamp", "to_date", "to_timestamp",
    "date_cmp_timestamptz", "date_eq_timestamptz", "date_ge_timestamptz", "date_gt_timestamptz", "date_le_timestamptz",
    "date_lt_timestamptz", "date_ne_timestamptz", "interval_pl_timestamptz", "timestamp_cmp_timestamptz",
    "timestamp_eq_timestamptz", "timestamp_ge_timestamptz", "timestamp_gt_timestamptz", "timestamp_le_timestamptz",
    "timestamp_lt_timestamptz", "timestamp_ne_timestamptz", "timestamptz_cmp_date", "timestamptz_cmp_timestamp",
    "timestamptz_eq_date", "timestamptz_eq_timestamp", "timestamptz_ge_date", "timestamptz_ge_timestamp",
    "timestamptz_gt_date", "timestamptz_gt_timestamp", "timestamptz_le_date", "timestamptz_le_timestamp",
    "timestamptz_lt_date", "timestamptz_lt_timestamp", "timestamptz_mi_interval", "timestamptz_ne_date",
    "timestamptz_ne_timestamp", "timestamptz_pl_interval",
    // text and numbers
    "anytextcat", "array_to_string", "concat", "concat_ws", "convert", "convert_from", "convert_to", "format", "length", "money",
    "numeric", "quote_literal", "quote_nullable", "textanycat", "to_char", "to_number",
    // documents
    "array_to_json", "json_agg", "json_agg_strict", "json_build_array", "json_build_object", "json_object_agg",
    "json_object_agg_strict", "json_object_agg_unique", "json_object_agg_unique_strict", "json_populate_record",
    "json_populate_recordset", "json_to_record", "json_to_recordset", "jsonb_agg", "jsonb_agg_strict", "jsonb_build_array",
    "jsonb_build_object", "jsonb_path_exists_tz", "jsonb_path_match_tz", "jsonb_path_query_array_tz",
    "jsonb_path_query_first_tz", "jsonb_path_query_tz", "jsonb_populate_record", "jsonb_populate_record_valid",
    "jsonb_populate_recordset", "jsonb_to_record", "jsonb_to_recordset", "row_to_json", "to_json", "to_jsonb", "xml",
    "xml_is_well_formed",
    // text search
    "json_to_tsvector", "jsonb_to_tsvector", "phraseto_tsquery", "plainto_tsquery", "to_tsquery", "to_tsvector", "ts_headline",
    "ts_match_tq", "ts_match_tt", "websearch_to_tsquery",
    // values and their types
    "enum_first", "enum_last", "enum_range", "pg_collation_for", "pg_column_size", "pg_typeof",
    // chance
    "array_sample", "array_shuffle", "gen_random_uuid", "random", "random_normal", "uuidv4", "uuidv7",
];

/// Immutable functions that still read a relation, a role, a snapshot or the server, or that are only for the server
/// itself.
#[rustfmt::skip]
const NOT_FOR_QUERIES: &[&str] = &[
    "aclcontains", "acldefault", "aclinsert", "aclitemeq", "aclremove", "hash_aclitem", "hash_aclitem_extended", "makeaclitem",
    "btequalimage", "btvarstrequalimage", "gin_cmp_tslexeme", "gin_compare_jsonb", "gist_translate_cmptype_common",
    "spg_poly_quad_compress", "pg_indexam_progress_phasename", "postgresql_fdw_validator", "pg_partition_root",
    "satisfies_hash_partition", "pg_snapshot_send", "pg_snapshot_xip", "pg_snapshot_xmax", "pg_snapshot_xmin",
    "pg_visible_in_snapshot", "txid_snapshot_send", "txid_snapshot_xip", "txid_snapshot_xmax", "txid_snapshot_xmin",
    "txid_visible_in_snapshot", "pg_walfile_name", "pg_walfile_name_offset", "ts_lexize", "ts_parse", "ts_token_type",
    "xmlvalidate", "icu_unicode_version", "unicode_version",
];

pub(super) const SAMPLINGS: &[&str] = &["bernoulli", "system"];

/// How a query comes to call a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Use {
    /// By its name, an operator or a cast.
    Call,
    /// The server sorts, groups or compares rows by it, and chose it for their type.
    Order,
    Part,
    Sampling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// The user: the call is in the query.
    User,
    /// The operator: the call is in a view, or in the check of a domain.
    Operator,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionFacts {
    pub schema: String,
    pub name: String,
    /// `i` immutable, `s` stable, `v` volatile.
    pub volatility: String,
    /// Whether it came with the server, and not with an extension.
    pub builtin: bool,
    pub security_definer: bool,
    /// Whether it changes settings while it executes, other than where names are looked up.
    pub configured: bool,
    /// Whether it is compiled code: a superuser's, or that of an extension which the server's configuration trusts.
    pub native: bool,
    /// Whether it takes or returns what only the server can have.
    pub internal: bool,
    pub aggregate: bool,
    /// Whether only the server, superusers and the database's owner can drop it: its own owner, that of its schema and that of
    /// the extension which brought it.
    pub kept: bool,
}

impl FunctionFacts {
    /// Whether it came with the server, or with an extension as compiled code that only computes and stays what it is.
    pub(super) fn is_the_servers(&self) -> bool {
        self.builtin || self.native && self.kept && self.volatility == "i" && !self.security_definer
    }

    pub(super) fn name(&self) -> FunctionName {
        FunctionName { schema: (self.schema != CATALOG).then(|| self.schema.clone()), name: self.name.clone() }
    }

    pub(super) fn judge(&self, by: Use, author: Author, schemas: &SourceSchemas) -> Result<(), Refusal> {
        let function = self.name();
        if self.security_definer {
            return Err(Refusal::SecurityDefiner { function });
        }
        let builtin = self.schema == CATALOG && self.builtin;
        let allowed = if builtin { self.is_harmless(by) } else { self.is_the_operators(by) };
        let within_reach = builtin || by != Use::Call || author == Author::Operator;
        if !within_reach && !schemas.allows(&self.schema) {
            return Err(Refusal::ForeignFunction { function, schemas: schemas.clone() });
        }
        match allowed {
            true => Ok(()),
            false if self.volatility == "v" => Err(Refusal::VolatileFunction { function }),
            false => Err(Refusal::ForbiddenFunction { function }),
        }
    }

    /// Of the server's own: its aggregates, what is immutable, and what is listed.
    fn is_harmless(&self, by: Use) -> bool {
        let name = self.name.as_str();
        let computes = self.volatility == "i" && !NOT_FOR_QUERIES.contains(&name) || HARMLESS.contains(&name);
        match by {
            Use::Call => self.aggregate || computes && !self.internal,
            Use::Order | Use::Part => self.volatility != "v",
            Use::Sampling => SAMPLINGS.contains(&name),
        }
    }

    /// Of another schema: what is not volatile. Compiled code that is not immutable may execute any text (`crosstab`,
    /// `xpath_table`).
    fn is_the_operators(&self, by: Use) -> bool {
        let reads = self.volatility != "v" && !self.configured;
        match by {
            Use::Call | Use::Part => reads && (!self.native || self.volatility == "i"),
            Use::Order => self.volatility == "i",
            Use::Sampling => false,
        }
    }
}
