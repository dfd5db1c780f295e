//! The corpus, with all layers and without each of them.

use sqlx::{Connection, PgConnection};
use vitrina_shared::{
    guard::{self, ParameterTypes, Refusal},
    testing::TestDatabase,
};

use crate::{
    corpus::{Entry, honest, hostile, words},
    scene::{CANARY, early, everything, execute, judged, make_outcome, refused, scene, schemas, session},
};

/// Whether a refusal is for the reason that the corpus gives. What cannot be read at all is refused for that.
fn fits(entry: &Entry, refusal: &Refusal) -> bool {
    use Refusal::*;
    let unreadable = matches!(
        refusal,
        Syntax { .. }
            | UnicodeEscape
            | HexLiteral
            | StrangeRelation { .. }
            | TooComplex
            | NameTooLong { .. }
            | NulCharacter
            | PositionalParameter { .. }
            | UnknownPlaceholder { .. }
            | Empty
            | TooLong { .. }
    );
    let statement = matches!(
        refusal,
        NotASelect { .. }
            | SeveralStatements
            | DataModification
            | SelectInto
            | TableCommand
            | QualifiedOperator
            | Treat
    );
    let of_its_kind = match entry.reason {
        "function" => matches!(
            refusal,
            ForeignFunction { .. }
                | UnknownFunction { .. }
                | VolatileFunction { .. }
                | SecurityDefiner { .. }
                | ForbiddenFunction { .. }
        ),
        "relation" => {
            matches!(refusal, UnqualifiedRelation { .. } | ForeignRelation { .. } | Unreadable { .. })
        }
        "type" => matches!(
            refusal,
            ForbiddenType { .. }
                | ForeignType { .. }
                | VolatileFunction { .. }
                | ForbiddenFunction { .. }
                | SecurityDefiner { .. }
        ),
        "lock" => matches!(refusal, RowLock),
        "syntax" => true,
        _ => false,
    };
    of_its_kind || unreadable || statement || is_the_servers(entry, refusal)
}

/// The server's own refusal: the text is no select, a schema is out of reach, or a function is not found where only its own are.
fn is_the_servers(entry: &Entry, refusal: &Refusal) -> bool {
    let Refusal::Server { message } = refusal else { return false };
    let told = [
        "permission denied",
        "syntax error",
        "does not exist",
        "cross-database references",
        "cannot be used here",
        "applied to type",
        "within security-definer function",
    ];
    matches!(entry.reason, "statement" | "syntax") || told.iter().any(|part| message.contains(part))
}

#[tokio::test]
async fn every_hostile_query_is_refused_for_what_is_wrong_with_it() {
    let db = scene().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let mut passed = Vec::new();
    for entry in hostile() {
        match refused(judged(&mut conn, &entry.sql).await) {
            None => passed.push(format!("{}: accepted: {}", entry.name, entry.sql)),
            Some(refusal) if !fits(&entry, &refusal) => {
                passed.push(format!("{} ({}): {refusal}\n    {}", entry.name, entry.reason, entry.sql));
            }
            Some(_) => {}
        }
    }
    assert!(passed.is_empty(), "{} of them:\n{}", passed.len(), passed.join("\n"));
}

#[tokio::test]
async fn without_the_parser_the_servers_reading_refuses_every_hostile_query() {
    let db = scene().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let before = everything(db.admin()).await;
    let mut passed = Vec::new();
    // What cannot be read is not always wrong: some of it is what only our parser does not know.
    for entry in hostile().iter().filter(|entry| entry.reason != "syntax" && !entry.sql.contains('\0')) {
        if refused(guard::judge_alone(&mut conn, &entry.sql, &schemas()).await).is_none() {
            passed.push(format!("{}: {}", entry.name, entry.sql));
        }
    }
    assert!(passed.is_empty(), "{} of them:\n{}", passed.len(), passed.join("\n"));
    assert_eq!(everything(db.admin()).await, before);
}

#[tokio::test]
async fn without_the_servers_reading_no_hostile_query_writes_or_reads_outside() {
    let db = scene().await;
    make_outcome(&db).await;
    let before = everything(db.admin()).await;
    let mut conn = db.pool().acquire().await.unwrap();
    sqlx::raw_sql("set statement_timeout = '2s'").execute(&mut *conn).await.unwrap();
    // The first call brings settings of its language along.
    execute(&mut conn, "select 1 as one").await.unwrap();
    let settings = session(&mut conn).await;
    let types = ParameterTypes { key: "timestamp with time zone".to_owned(), id: "text".to_owned() };
    let mut executed = 0;
    for entry in hostile() {
        let Ok(query) = early(&mut conn, &entry.sql).await else { continue };
        executed += 1;
        let _ = execute(&mut conn, &query.render(&types)).await;
        let after = session(&mut conn).await;
        let changed: Vec<_> = after.split(',').filter(|setting| !settings.contains(setting)).collect();
        assert!(after == settings, "{}: {}\n{changed:?}", entry.name, entry.sql);
        assert_eq!(everything(db.admin()).await, before, "{}: {}", entry.name, entry.sql);
        assert_outcomes(&db, &entry).await;
    }
    assert!(executed > 10, "{executed} hostile queries pass layer 1: nothing was tried");
}

/// Without any look at the query: the functions that execute it hold alone against whatever asks for a right.
#[tokio::test]
async fn without_any_look_at_it_no_hostile_query_writes_a_table_or_reads_one_outside() {
    let db = scene().await;
    make_outcome(&db).await;
    let tables = |all: String| all.lines().filter(|line| line.contains('.')).map(str::to_owned).collect::<Vec<_>>();
    let before = tables(everything(db.admin()).await);
    // A function with its owner's rights gives them to every caller.
    for entry in hostile().iter().filter(|entry| !entry.sql.contains("peek") && !entry.sql.contains("definer")) {
        // A session of its own each: what asks for no right may change that.
        let mut conn = PgConnection::connect_with(&db.connect_options()).await.unwrap();
        let limited = "set statement_timeout = '500ms'; set lock_timeout = '200ms'";
        sqlx::raw_sql(limited).execute(&mut conn).await.unwrap();
        let _ = execute(&mut conn, &entry.sql).await;
        assert_outcomes(&db, entry).await;
    }
    assert_eq!(tables(everything(db.admin()).await), before);
}

/// Whatever was executed, the role that can only read did it, and no secret came out.
async fn assert_outcomes(db: &TestDatabase, entry: &Entry) {
    let outcomes: Vec<(Option<String>, String)> =
        sqlx::query_as("delete from analytics.outcome returning doc, who").fetch_all(db.admin()).await.unwrap();
    for (doc, who) in outcomes {
        assert_eq!(who, "vitrina_query", "{}: {}\n{doc:?}", entry.name, entry.sql);
        let secret = doc.as_deref().unwrap_or_default().contains(CANARY);
        // A view, and a function with its owner's rights, shows what its owner can read.
        let lent = ["content.secrets", "ugc.secrets", "peek"].iter().any(|owned| entry.sql.contains(owned));
        assert!(!secret || lent, "{}: {}\n{doc:?}", entry.name, entry.sql);
    }
}

#[tokio::test]
async fn every_honest_query_is_accepted_and_executed() {
    let db = scene().await;
    make_outcome(&db).await;
    let mut conn = db.pool().acquire().await.unwrap();
    let types = ParameterTypes { key: "timestamp with time zone".to_owned(), id: "uuid".to_owned() };
    let mut refused = Vec::new();
    for entry in honest() {
        match judged(&mut conn, &entry.sql).await {
            // A page needs a key to begin after.
            Ok(_) if entry.reason.ends_with("pages") => {}
            Ok(query) => {
                if let Err(error) = execute(&mut conn, &query.render(&types)).await {
                    refused.push(format!("{}: {error}\n    {}", entry.name, entry.sql));
                }
            }
            Err(error) => refused.push(format!("{}: {error}\n    {}", entry.name, entry.sql)),
        }
    }
    assert!(refused.is_empty(), "{} of them:\n{}", refused.len(), refused.join("\n"));
}

/// A function may lie about itself, and a view may show what its owner can read. Neither can write.
#[tokio::test]
async fn what_the_operators_schemas_do_is_their_owners_word_and_writes_nothing() {
    let db = scene().await;
    make_outcome(&db).await;
    let before = everything(db.admin()).await;
    let mut conn = db.pool().acquire().await.unwrap();
    for entry in words() {
        let query = judged(&mut conn, &entry.sql).await.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        let types = ParameterTypes { key: "text".to_owned(), id: "text".to_owned() };
        let _ = execute(&mut conn, &query.render(&types)).await;
        assert_eq!(everything(db.admin()).await, before, "{}: {}", entry.name, entry.sql);
    }
}
