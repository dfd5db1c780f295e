//! What follows from a column's type, and that the server knows every type of the table by its name.

use vitrina_shared::{
    domain::{
        ColumnType, Equal,
        clock_key::ClockKey,
        column_type::{Extremes, Field, ScalarType},
    },
    testing::TestDatabase,
};

fn of(type_name: &str) -> ColumnType {
    ColumnType::of(type_name)
}

fn keeps_apart(from: &str, to: &str) -> bool {
    of(from).keeps_apart(&of(to))
}

/// The server's types that the table has.
fn listed() -> impl Iterator<Item = &'static str> {
    [Equal::Same, Equal::Scale, Equal::Sign, Equal::Blanks, Equal::Loose].into_iter().flat_map(ColumnType::names_equal)
}

#[tokio::test]
async fn every_type_of_the_table_is_one_of_the_server_under_the_name_that_it_writes() {
    let db = TestDatabase::create().await;
    let names: Vec<_> = listed().collect();
    assert!(names.len() > 40, "{names:?}");
    let unknown: Vec<String> = sqlx::query_scalar(
        "select n from unnest($1::text[]) n where format_type(to_regtype(n), null) is distinct from n",
    )
    .bind(&names)
    .fetch_all(db.pool())
    .await
    .unwrap();
    assert_eq!(unknown, Vec::<String>::new());
}

#[tokio::test]
async fn every_type_that_a_step_makes_has_the_names_and_the_oid_that_the_server_gives_it() {
    let db = TestDatabase::create().await;
    for name in ScalarType::all_names() {
        let made = ScalarType::named(name).unwrap();
        let (oid, written): (i64, String) =
            sqlx::query_as("select to_regtype($1)::oid::int8, format_type(to_regtype($1), null)")
                .bind(name)
                .fetch_one(db.pool())
                .await
                .unwrap();
        assert_eq!((oid, written.as_str()), (i64::from(made.oid), made.name), "{name}");
        assert_eq!(of(made.name).scalar(), Some(made.scalar), "{name}");
    }
    assert_eq!(of("integer[]").scalar(), None);
}

#[test]
fn every_line_of_the_table_agrees_with_itself() {
    for name in listed() {
        let found = of(name);
        assert!(!found.can_be_walked() || found.can_be_key(), "{name}: what is walked by is a key");
        assert!(found.clock().is_none() || found.can_be_walked(), "{name}");
        assert_eq!(found.is_json(), found.field() == Field::Object, "{name}");
        assert!(!found.is_ordered_in_index() || found.can_be_key(), "{name}: an order is one of keys");
        let stranger = of(&format!("content.{name}"));
        assert!(
            !stranger.can_be_key() && !stranger.hashes_itself() && !stranger.is_json(),
            "{name} of an unknown type"
        );
    }
}

#[test]
fn a_type_is_known_by_its_name_whatever_its_length_and_dimensions() {
    for (written, cast) in [
        ("numeric(10,2)", "numeric"),
        ("timestamp(3) with time zone", "timestamp with time zone"),
        ("character varying(20)[]", "character varying[]"),
        ("character", "bpchar"),
        ("bpchar[]", "bpchar[]"),
        ("bit(4)", "\"bit\""),
        ("\"bit\"", "\"bit\""),
        ("\"char\"", "\"char\""),
        ("content.\"a(1)\"", "content.\"a(1)\""),
    ] {
        assert_eq!(of(written).any_length(), cast, "{written}");
        assert!(of(written).is_same_as(&of(cast)), "{written}");
    }
}

#[test]
fn what_follows_from_a_type() {
    let walked = "timestamp with time zone, timestamp without time zone, date, smallint, integer, bigint, numeric, uuid, text, \
                  character varying";
    assert_eq!(ColumnType::walked().join(", "), walked);
    assert_eq!(of("timestamp(3) with time zone").clock(), Some(ClockKey::Timestamp));
    assert_eq!((of("date").clock(), of("date[]").clock()), (Some(ClockKey::Date), None));
    for known in ["numeric(4,1)", "text[]", "timestamp(3) with time zone", "character varying(10)[]", "jsonb"] {
        assert!(of(known).hashes_itself(), "{known}");
    }
    for unknown in ["json", "tsvector", "public.mood", "point", "content.text"] {
        assert!(!of(unknown).hashes_itself(), "{unknown}");
    }
    assert_eq!((of("uuid").hash_function(), of("uuid[]").hash_function()), (Some("uuid_hash_extended"), None));
    assert_eq!((of("uuid").extremes(), of("uuid[]").extremes()), (Extremes::AsArray, Extremes::AsText));
    for object in ["json", "jsonb[]", "record", "public.hstore", "public.geometry(Point,4326)"] {
        assert!(of(object).is_json(), "{object}");
    }
    assert!(of("json").survives_json() && of("interval").survives_json());
    for changed in ["json[]", "public.hstore", "record", "aclitem"] {
        assert!(!of(changed).survives_json(), "{changed}");
    }
    for text in ["text", "character varying(20)", "bpchar", "content.citext"] {
        assert!(of(text).can_be_masked(), "{text}");
    }
    assert!(!of("text[]").can_be_masked() && !of("uuid").can_be_masked());
}

#[test]
fn conversions_that_could_make_one_key_of_two_are_known() {
    for (from, to) in [
        ("uuid", "text"),
        ("uuid", "uuid"),
        ("bigint", "integer"),
        ("integer", "numeric(10,2)"),
        ("numeric(10,0)", "bigint"),
        ("numeric(10,2)", "numeric(12,3)"),
        ("numeric(10,2)", "numeric"),
        ("character varying(5)", "character varying(20)"),
        ("text", "character varying"),
        ("character(5)", "text"),
        ("character(5)", "bpchar"),
        ("timestamp with time zone", "timestamp without time zone"),
        ("timestamp(3) with time zone", "timestamp with time zone"),
        ("date", "timestamp with time zone"),
        ("bit(3)", "bit(3)"),
        ("integer[]", "integer[]"),
        ("integer[]", "text"),
        ("content.mood", "text"),
        ("content.\"a(b)\"", "content.\"a(b)\""),
    ] {
        assert!(keeps_apart(from, to), "{from} as {to}");
    }
    for (from, to) in [
        ("numeric", "integer"),
        ("numeric(10,2)", "bigint"),
        ("numeric", "numeric(10,2)"),
        ("integer", "numeric(5,-2)"),
        ("timestamp with time zone", "date"),
        ("timestamp with time zone", "timestamp(0) with time zone"),
        ("text", "character varying(20)"),
        ("character varying(30)", "character varying(20)"),
        ("text", "character(5)"),
        ("text", "public.citext"),
        ("bigint", "double precision"),
        ("double precision", "real"),
        ("inet", "cidr"),
        ("character varying(5)[]", "character varying(3)[]"),
        ("bigint[]", "integer[]"),
        ("integer[]", "integer"),
    ] {
        assert!(!keeps_apart(from, to), "{from} as {to}");
    }
}
