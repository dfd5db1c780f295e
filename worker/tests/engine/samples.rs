//! Sample values of every type that the server has, for the tests that take each of them through a pipeline.
//!
//! Where a type takes different values for equal, two of its samples are such values.

use serde_json::json;
use sqlx::AssertSqlSafe;
use vitrina_shared::{
    domain::{FullStrategy, PipelineDraft, Task, TaskKind, transform::Registry},
    guard::{Describing, SourceSchemas},
    validation,
};

use crate::support::World;

/// A type with values of it, as SQL reads them from text.
#[derive(Debug, Clone)]
pub struct Sample {
    /// As SQL writes it.
    pub type_name: String,
    /// None where no value of it can be made.
    pub values: &'static [&'static str],
    /// The type of its arrays; some other where it has none.
    pub array_type: String,
}

/// Types that exist for the server's own tables: no value of them can be made from text.
const WITHOUT_VALUES: &[&str] = &[
    "gtsvector",
    "pg_brin_bloom_summary",
    "pg_brin_minmax_multi_summary",
    "pg_dependencies",
    "pg_mcv_list",
    "pg_ndistinct",
    "pg_node_tree",
];

const SAMPLES: &[(&str, &[&str])] = &[
    ("\"char\"", &["a", "", "~"]),
    ("aclitem", &["=r/postgres", "postgres=arw/postgres"]),
    ("bit", &["0", "1"]),
    ("bit varying", &["1011", "101", "", "1"]),
    ("bit(4)", &["1011", "1010", "0000"]),
    ("boolean", &["true", "false"]),
    ("box", &["(2,2),(0,0)", "(4,1),(0,0)", "(1,1),(1,1)"]),
    ("bpchar", &["a", "b"]),
    ("bytea", &["\\x00ff10", "\\x", "\\xdeadbeef"]),
    ("character", &["a", "b", "z"]),
    ("character varying", &["a", "a ", "B", "ß", ""]),
    ("character(7)", &["ab", "abcdefg", "b", "ac", "abc", "a"]),
    ("cid", &["1", "7"]),
    ("cidr", &["10.0.0.0/8", "10.0.0.0/16", "::1/128"]),
    ("circle", &["<(0,0),1>", "<(5,5),1>", "<(0,0),2>"]),
    ("date", &["2026-01-01", "0044-03-15 BC", "infinity", "9999-12-31"]),
    ("date[]", &["[0:1]={2026-01-01,2026-01-02}", "{2026-01-01,2026-01-02}", "{}"]),
    ("double precision", &["0", "-0", "1.1", "NaN", "-Infinity", "1e308"]),
    ("inet", &["10.0.0.1/8", "10.0.0.1", "::1"]),
    ("int2vector", &["1 2 3", "1", ""]),
    ("integer", &["-2147483648", "0", "7", "2147483647"]),
    ("bigint", &["-9223372036854775808", "0", "9223372036854775807"]),
    ("smallint", &["-32768", "0", "32767"]),
    ("interval", &["30 days", "1 mon", "24:00:00", "1 day", "-1 year 2 days 00:00:00.000001"]),
    ("json", &["{\"a\": 1}", "{\"a\":1}", "[1, 2.50]", "\"text\""]),
    ("jsonb", &["{\"a\": 1.0}", "{\"a\": 1.00}", "[1, null]", "\"text\""]),
    ("jsonpath", &["$.a", "$.\"b\"[*] ? (@ > 1)"]),
    ("line", &["{1,-1,0}", "{2,-2,0}"]),
    ("lseg", &["[(0,0),(1,1)]", "[(0,0),(1,-1)]"]),
    ("macaddr", &["08:00:2b:01:02:03", "00:00:00:00:00:00"]),
    ("macaddr8", &["08:00:2b:01:02:03:04:05", "00:00:00:00:00:00:00:00"]),
    ("money", &["1234.56", "-0.01", "0"]),
    ("name", &["plain", "Ö", ""]),
    ("numeric", &["1.0", "1.00", "12345678901234567890.123456789", "NaN", "-0.5"]),
    ("numeric(10,2)", &["1.00", "1.5", "-99.99"]),
    ("oid", &["0", "4294967295"]),
    ("oidvector", &["1 2", ""]),
    ("path", &["[(0,0),(1,1)]", "((0,0),(1,1))", "[(0,0),(2,2)]"]),
    ("pg_lsn", &["0/0", "16/B374D848"]),
    ("pg_snapshot", &["10:20:10,14,15", "10:10:"]),
    ("point", &["(1.5,2)", "(0,0)", "(-0,0)"]),
    ("polygon", &["((0,0),(1,1),(1,0))", "((1,1),(1,0),(0,0))"]),
    ("real", &["0", "-0", "1.1", "NaN"]),
    ("refcursor", &["a", "b"]),
    ("regclass", &["pg_class", "content.item"]),
    ("regcollation", &["\"C\"", "\"POSIX\""]),
    ("regconfig", &["simple", "english"]),
    ("regdatabase", &["postgres", "template1"]),
    ("regdictionary", &["simple", "english_stem"]),
    ("regnamespace", &["content", "pg_catalog"]),
    ("regoper", &["^@", "||/"]),
    ("regoperator", &["+(integer,integer)", "*(integer,integer)"]),
    ("regproc", &["now", "pi"]),
    ("regprocedure", &["now()", "abs(integer)"]),
    ("regrole", &["postgres", "vitrina_query"]),
    ("regtype", &["integer", "text"]),
    ("text", &["plain", "Plain", "plain ", "Привет, 世界 🎬", "", "line\nbreak\t\"quoted\" \\ '"]),
    ("tid", &["(0,1)", "(1,2)"]),
    ("time with time zone", &["12:00:00+00", "13:00:00+01", "00:00:00.000001-02"]),
    ("time without time zone", &["00:00:00", "23:59:59.999999"]),
    ("timestamp with time zone", &["2026-03-29 01:30:00.5+02", "infinity", "1999-12-31 23:59:59.999999+00"]),
    ("timestamp without time zone", &["2026-01-01 12:00:00.123456", "-infinity", "1999-12-31"]),
    ("tsquery", &["'a':A & 'b'", "'a':B & 'b'", "!'c'"]),
    ("tsvector", &["'a':1A 'b':2", "'a':1B 'b':2", ""]),
    ("txid_snapshot", &["10:20:10,14,15", "10:10:"]),
    ("uuid", &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"]),
    ("xid", &["3", "4294967295"]),
    ("xid8", &["3", "18446744073709551615"]),
    ("xml", &["<a/>", "<a></a>", "text"]),
    // Ranges.
    ("daterange", &["[2026-01-01,2026-02-01)", "empty"]),
    ("datemultirange", &["{[2026-01-01,2026-02-01)}", "{}"]),
    ("int4range", &["[1,5)", "empty", "(,)"]),
    ("int4multirange", &["{[1,5),[7,8)}", "{}"]),
    ("int8range", &["[1,5)", "empty"]),
    ("int8multirange", &["{[1,5)}", "{}"]),
    ("numrange", &["[1.0,2)", "[1.00,2)", "empty"]),
    ("nummultirange", &["{[1.0,2)}", "{[1.00,2)}"]),
    ("tsrange", &["[2026-01-01,2026-02-01)", "empty"]),
    ("tsmultirange", &["{[2026-01-01,2026-02-01)}", "{}"]),
    ("tstzrange", &["[2026-01-01,2026-02-01)", "empty"]),
    ("tstzmultirange", &["{[2026-01-01,2026-02-01)}", "{}"]),
    // Made by people, and by extensions.
    ("content.mood", &["sad", "happy"]),
    ("content.place", &["(1,\"{\"\"a\"\": 1}\",\"{a,b}\")", "(1,\"{\"\"a\"\":1}\",\"{a,b}\")", "(,,)"]),
    ("content.folded", &["case", "Case", "CASE"]),
    ("public.citext", &["case", "Case", "b", "B", "c", "Z", "a"]),
    ("apalis.hstore", &["\"a\"=>\"1\", \"b\"=>NULL", "\"a\"=>\"2\"", ""]),
    ("public.ltree", &["a.b.c", "a"]),
];

/// What the samples need besides the extension of the queue. `content.folded` is a text whose collation takes letters of different case for equal.
const MADE: &str = "
    create extension citext schema public; create extension ltree schema public;
    create type content.mood as enum ('sad', 'happy');
    create type content.place as (number integer, facts json, names text[]);
    create collation content.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create domain content.folded as text collate content.any_case;
    grant usage on schema public, apalis to vitrina_query, vitrina_mart";

/// A sample of every base type and every range of the server, and of those that the table above has besides.
pub async fn samples(world: &World) -> Vec<Sample> {
    world.sql(MADE).await;
    let types = "select format_type(oid, null), typarray <> 0 from pg_type where typnamespace = 'pg_catalog'::regnamespace
        and (typtype in ('r', 'm') or typtype = 'b' and not exists (select from pg_type e where e.typarray = pg_type.oid))
        order by 1";
    let types: Vec<(String, bool)> = sqlx::query_as(types).fetch_all(world.db.admin()).await.unwrap();
    let further =
        SAMPLES.iter().map(|(name, _)| *name).filter(|name| name.contains(['.', '(', '[']) || *name == "bpchar");
    types.into_iter().chain(further.map(|name| (name.to_owned(), true))).map(sample).collect()
}

fn sample((type_name, has_arrays): (String, bool)) -> Sample {
    let array_type = if has_arrays { format!("{type_name}[]") } else { "text[]".to_owned() };
    Sample { values: values(&type_name), type_name, array_type }
}

fn values(type_name: &str) -> &'static [&'static str] {
    if WITHOUT_VALUES.contains(&type_name) {
        return &[];
    }
    let known = SAMPLES.iter().find(|(name, _)| *name == type_name);
    known
        .map(|(_, values)| *values)
        .unwrap_or_else(|| panic!("the server has the type {type_name}: give it sample values"))
}

impl Sample {
    /// The type's name as part of a table's.
    pub fn slug(&self) -> String {
        self.type_name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
    }

    /// The values as literals of the type.
    pub fn literals(&self) -> Vec<String> {
        let literal = |value: &&str| format!("'{}'::{}", value.replace('\'', "''"), self.type_name);
        self.values.iter().map(literal).collect()
    }

    /// An array of one value, as a literal; none of what is one already.
    pub fn array(&self, value: &str) -> String {
        if self.type_name.ends_with("[]") {
            return "null".to_owned();
        }
        let quoted = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\'', "''");
        format!("'{{\"{quoted}\"}}'")
    }

    /// The literals of those values that the type itself takes for different, in no order.
    pub async fn distinct(&self, world: &World) -> Vec<String> {
        let values: Vec<_> = self.literals().iter().map(|value| format!("({value})")).collect();
        let sql = format!("select distinct on (v) v::text as written from (values {}) as l (v)", values.join(", "));
        let texts: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(world.db.admin()).await.unwrap();
        texts.iter().map(|value| format!("'{}'::{}", value.replace('\'', "''"), self.type_name)).collect()
    }
}

/// Everything that is wrong with a draft, as the API would find it.
pub async fn refusal(world: &World, draft: &PipelineDraft) -> Option<String> {
    let describing = Describing::new(world.db.pool().clone());
    let schemas = SourceSchemas::new(["content", "ugc"]);
    let review = validation::review(world.db.pool(), &describing, draft, &schemas, &Registry::default()).await.unwrap();
    let messages: Vec<_> = review.problems.iter().map(|problem| problem.message.as_str()).collect();
    (!messages.is_empty()).then(|| messages.join("; "))
}

/// A table of values, of arrays and of a domain, with a row of each and one of NULL.
pub async fn create_values(world: &World, sample: &Sample) -> String {
    let (slug, of, arrays) = (sample.slug(), &sample.type_name, &sample.array_type);
    world
        .sql(&format!(
            "create domain content.d_{slug} as {of};
             create table content.c_{slug} (id integer primary key, v {of}, l {arrays}, d content.d_{slug}, note text);
             insert into content.c_{slug} values (0, null, null, null, 'null')"
        ))
        .await;
    for (place, (value, literal)) in sample.values.iter().zip(sample.literals()).enumerate() {
        let (id, array) = (place + 1, sample.array(value));
        world.sql(&format!("insert into content.c_{slug} values ({id}, {literal}, {array}, {literal}, 'note')")).await;
    }
    slug
}

pub fn with_strategy(mut draft: PipelineDraft, strategy: FullStrategy) -> PipelineDraft {
    draft.options.full_strategy = Some(strategy);
    draft
}

/// The same with a transform, which hides `note`.
pub fn with_mask(mut draft: PipelineDraft) -> PipelineDraft {
    let step = |order_index, task_type, body: String, options| Task {
        order_index,
        task_type,
        body,
        target_table: None,
        options: serde_json::from_value(options).unwrap(),
    };
    draft.kind = TaskKind::Rust;
    draft.tasks = vec![
        step(1, TaskKind::Sql, draft.source_query.take().unwrap(), json!({})),
        step(2, TaskKind::Rust, "mask".to_owned(), json!({"columns": ["note"]})),
    ];
    draft
}
