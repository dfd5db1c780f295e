//! What is known of types, a line each. Every question about a type's name is answered from here.

use Equal::{Blanks, Loose, Same, Scale, Sign};
use Extremes::{AsArray, AsText, Own};
use Family::{Bits, Folded, Internal, Json, Object, Other, Sized, Text, Whole};
use Field::{Boolean, Date, Double, Float, Integer, Keyword, Long, Opaque, Short, Timestamp};
use Hash::{By, Itself, TextOf};
use Key::{Clock, Day, LocalClock, Never, Target, Writers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Whole,
    Text,
    /// Texts with a length, which an explicit cast cuts.
    Sized,
    /// Texts that an extension compares without case.
    Folded,
    /// Strings of bits, which an explicit cast cuts.
    Bits,
    Json,
    /// Values that become JSON objects and cannot be read back from them.
    Object,
    /// Types of the server's own tables, over which it makes no domain that reads JSON.
    Internal,
    Other,
}

/// What a type can be a key for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// For nothing: its order, its equality and its text do not agree.
    Never,
    /// For the key of a target, as are all that follow. So are arrays and ranges of the type, and domains over it.
    Target,
    /// For an incremental walk too: its values come from the database's clock.
    Clock,
    /// The same, in days.
    Day,
    /// For a walk; its values come from a clock in a time zone that is not known.
    LocalClock,
    /// For a walk; only its writers know in which order values come.
    Writers,
}

/// What `=` takes for equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equal {
    /// Only what reads the same.
    Same,
    /// `1.0` and `1.00`, unless a scale is declared.
    Scale,
    /// `0` and `-0`.
    Sign,
    /// Values with more or fewer blanks at their end, unless a length is declared.
    Blanks,
    /// More than that, or there is no `=`.
    Loose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// By a function of a single value, the one of hash indexes.
    By(&'static str),
    /// As a part of a record. That costs less than the hash of its text.
    Itself,
    TextOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extremes {
    Own,
    /// The server orders the type and has no `min` for it, but one for its arrays, at half the price of texts.
    AsArray,
    AsText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Text,
    Keyword,
    Boolean,
    Short,
    Integer,
    Long,
    Float,
    Double,
    Date,
    Timestamp,
    /// Kept and not searched.
    Opaque,
    Object,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Facts {
    /// As `format_type` writes it.
    pub name: &'static str,
    pub family: Family,
    pub key: Key,
    pub equal: Equal,
    pub hash: Hash,
    pub extremes: Extremes,
    pub field: Field,
}

/// How a step reads and writes values of a type in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    Smallint,
    Integer,
    Bigint,
    Numeric,
    Real,
    Double,
    Boolean,
    Text,
    Uuid,
    Date,
    Timestamp,
    ZonedTimestamp,
    Json,
}

/// A type that a step can give to a column.
#[derive(Debug, PartialEq, Eq)]
pub struct ScalarType {
    /// As `format_type` writes it.
    pub name: &'static str,
    /// The short name that SQL has for it too, or the same.
    pub short: &'static str,
    /// The same in every server.
    pub oid: u32,
    pub scalar: Scalar,
}

const fn scalar(name: &'static str, short: &'static str, oid: u32, scalar: Scalar) -> ScalarType {
    ScalarType { name, short, oid, scalar }
}

#[rustfmt::skip]
pub(super) const SCALARS: &[ScalarType] = &[
    scalar("smallint",                    "int2",        21,   Scalar::Smallint),
    scalar("integer",                     "int",         23,   Scalar::Integer),
    scalar("bigint",                      "int8",        20,   Scalar::Bigint),
    scalar("numeric",                     "decimal",     1700, Scalar::Numeric),
    scalar("real",                        "float4",      700,  Scalar::Real),
    scalar("double precision",            "float8",      701,  Scalar::Double),
    scalar("boolean",                     "bool",        16,   Scalar::Boolean),
    scalar("text",                        "text",        25,   Scalar::Text),
    scalar("character varying",           "varchar",     1043, Scalar::Text),
    scalar("uuid",                        "uuid",        2950, Scalar::Uuid),
    scalar("date",                        "date",        1082, Scalar::Date),
    scalar("timestamp without time zone", "timestamp",   1114, Scalar::Timestamp),
    scalar("timestamp with time zone",    "timestamptz", 1184, Scalar::ZonedTimestamp),
    scalar("json",                        "json",        114,  Scalar::Json),
    scalar("jsonb",                       "jsonb",       3802, Scalar::Json),
];

/// What holds of every type that is not listed: enums, ranges, types of users.
const UNKNOWN: Facts = of("", Other, Never, Loose, TextOf, AsText, Keyword);

#[rustfmt::skip]
pub(super) const OWN: &[Facts] = &[
    of("timestamp with time zone",    Other,    Clock,      Same,   Itself,                   Own,     Timestamp),
    of("timestamp without time zone", Other,    LocalClock, Same,   Itself,                   Own,     Timestamp),
    of("date",                        Other,    Day,        Same,   Itself,                   Own,     Date),
    of("smallint",                    Whole,    Writers,    Same,   Itself,                   Own,     Short),
    of("integer",                     Whole,    Writers,    Same,   By("hashint4extended"),   Own,     Integer),
    of("bigint",                      Whole,    Writers,    Same,   By("hashint8extended"),   Own,     Long),
    of("numeric",                     Other,    Writers,    Scale,  Itself,                   Own,     Double),
    of("uuid",                        Other,    Writers,    Same,   By("uuid_hash_extended"), AsArray, Keyword),
    of("text",                        Text,     Writers,    Same,   By("hashtextextended"),   Own,     Field::Text),
    of("character varying",           Sized,    Writers,    Same,   Itself,                   Own,     Field::Text),
    of("character",                   Sized,    Target,     Blanks, Itself,                   AsText,  Keyword),
    of("name",                        Text,     Target,     Same,   TextOf,                   AsText,  Keyword),
    of("\"char\"",                    Other,    Target,     Same,   TextOf,                   AsText,  Keyword),
    of("real",                        Other,    Target,     Sign,   Itself,                   Own,     Float),
    of("double precision",            Other,    Target,     Sign,   Itself,                   Own,     Double),
    of("money",                       Other,    Target,     Same,   TextOf,                   AsText,  Keyword),
    of("boolean",                     Other,    Target,     Same,   Itself,                   AsText,  Boolean),
    of("bytea",                       Other,    Target,     Same,   Itself,                   AsText,  Opaque),
    of("bit",                         Bits,     Target,     Same,   TextOf,                   AsText,  Keyword),
    of("bit varying",                 Bits,     Target,     Same,   TextOf,                   AsText,  Keyword),
    of("time without time zone",      Other,    Target,     Same,   Itself,                   Own,     Keyword),
    of("time with time zone",         Other,    Target,     Same,   TextOf,                   AsText,  Keyword),
    of("interval",                    Other,    Target,     Loose,  Itself,                   Own,     Keyword),
    of("inet",                        Other,    Target,     Same,   Itself,                   AsText,  Keyword),
    of("cidr",                        Other,    Target,     Same,   Itself,                   AsText,  Keyword),
    of("macaddr",                     Other,    Target,     Same,   TextOf,                   AsText,  Keyword),
    of("macaddr8",                    Other,    Target,     Same,   TextOf,                   AsText,  Keyword),
    of("oid",                         Other,    Target,     Same,   TextOf,                   AsText,  Long),
    of("pg_lsn",                      Other,    Target,     Same,   TextOf,                   AsText,  Keyword),
    of("xid",                         Other,    Never,      Same,   TextOf,                   AsText,  Keyword),
    of("xid8",                        Other,    Never,      Same,   TextOf,                   AsText,  Keyword),
    of("cid",                         Other,    Never,      Same,   TextOf,                   AsText,  Keyword),
    of("tid",                         Other,    Never,      Same,   TextOf,                   AsText,  Keyword),
    of("tsvector",                    Other,    Never,      Same,   TextOf,                   AsText,  Keyword),
    of("xml",                         Other,    Never,      Loose,  TextOf,                   AsText,  Field::Text),
    of("json",                        Json,     Never,      Loose,  TextOf,                   AsText,  Field::Object),
    of("jsonb",                       Json,     Never,      Loose,  Itself,                   AsText,  Field::Object),
    of("record",                      Object,   Never,      Loose,  TextOf,                   AsText,  Field::Object),
    of("int2vector",                  Internal, Never,      Loose,  TextOf,                   AsText,  Keyword),
    of("oidvector",                   Internal, Never,      Loose,  TextOf,                   AsText,  Keyword),
    of("aclitem",                     Internal, Never,      Loose,  TextOf,                   AsText,  Keyword),
    of("gtsvector",                   Internal, Never,      Loose,  TextOf,                   AsText,  Keyword),
];

/// Types of extensions, which may be in any schema.
#[rustfmt::skip]
const EXTENSIONS: &[Facts] = &[
    of("citext",                      Folded,   Never,      Loose,  TextOf,                   AsText,  Field::Text),
    of("hstore",                      Object,   Never,      Loose,  TextOf,                   AsText,  Field::Object),
    of("geometry",                    Object,   Never,      Loose,  TextOf,                   AsText,  Field::Object),
    of("geography",                   Object,   Never,      Loose,  TextOf,                   AsText,  Field::Object),
];

const fn of(
    name: &'static str,
    family: Family,
    key: Key,
    equal: Equal,
    hash: Hash,
    extremes: Extremes,
    field: Field,
) -> Facts {
    Facts { name, family, key, equal, hash, extremes, field }
}

/// What is known of the type that SQL writes like this, without a length. A type of the server never has a schema before it.
pub(super) fn find(name: &str) -> &'static Facts {
    let (own, name): (&[Facts], _) = name.rsplit_once('.').map_or((OWN, name), |(_, name)| (&[], name));
    own.iter().chain(EXTENSIONS).find(|facts| facts.name == name).unwrap_or(&UNKNOWN)
}
