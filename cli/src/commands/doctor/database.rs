//! The database: reachable, new enough, migrated, with the rights that the services need, and with working notifications.

use std::time::Duration;

use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgListener};
use tokio::time::timeout;
use uuid::Uuid;
use vitrina_shared::{
    config::DatabaseUrl,
    database, migrate, rights,
    store::{self, hooks::ListedFunction, installation, server},
};

use super::check::{Check, Findings};
use crate::{client::InstalledApi, output::counted};

/// The oldest major version that we work with.
const OLDEST: i32 = 14;
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
const MOST_NAMED: usize = 3;
const MIGRATE: &str = "run `vitrina migrate` with the account that owns the database";

pub(super) async fn examine(url: &DatabaseUrl, api: Option<&InstalledApi>, findings: &mut Findings) {
    let options = database::session(url.connect_options(), "vitrina-doctor");
    let connected = timeout(ANSWERS_WITHIN, options.connect()).await;
    let mut connection = match connected {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => {
            return findings.add(Check::wrong(
                "database",
                format!("{url} refuses: {}", database::message(&error)),
                advice(&error),
            ));
        }
        Err(_) => {
            let detail = format!("{url} did not answer within {} s", ANSWERS_WITHIN.as_secs());
            return findings.add(Check::wrong("database", detail, "check host, port and firewall in DATABASE_URL"));
        }
    };
    if let Err(error) = check_server(&mut connection, url, api, findings).await {
        findings.add(Check::wrong(
            "database",
            format!("could not look further: {}", database::message(&error)),
            "see the server's log",
        ));
    }
    // The connection was only for the checks.
    let _ = connection.close().await;
}

fn advice(error: &sqlx::Error) -> &'static str {
    database::advice(error).unwrap_or("start the server, or correct DATABASE_URL")
}

async fn check_server(
    connection: &mut PgConnection,
    url: &DatabaseUrl,
    api: Option<&InstalledApi>,
    findings: &mut Findings,
) -> sqlx::Result<()> {
    let found = server::server(connection).await?;
    findings.add(Check::good("database", format!("PostgreSQL {} answers at {url}", found.version)));
    if found.version_number / 10_000 < OLDEST {
        let detail = format!("PostgreSQL {} is too old", found.version);
        findings.add(Check::wrong("version", detail, format!("upgrade the server to {OLDEST} or newer")));
    }
    if found.is_standby {
        findings.add(Check::wrong("server", "it is a standby and takes no writes", "give the primary in DATABASE_URL"));
    } else if !database::takes_writes(connection).await? {
        let fix = "turn it off for the server, the database and the account";
        findings.add(Check::wrong("server", "it takes no writes: default_transaction_read_only is on", fix));
    }
    owners(connection, findings).await?;
    if migrations(connection, findings).await? {
        rights(connection, findings).await?;
        functions(connection, findings).await?;
        queue(connection, findings).await?;
        hooks(connection, findings).await?;
        sources(connection, api, findings).await?;
    }
    notifications(connection, url, findings).await;
    findings.add(match (found.prepared, found.max_prepared) {
        (0, 0) => Check::good("prepared", "prepared transactions are off"),
        (0, most) => Check::good("prepared", format!("up to {most} prepared transactions, none is waiting")),
        (some, _) => Check::note(
            "prepared",
            format!("{some} prepared transactions are waiting; incremental runs read nothing newer than they are"),
            "commit or roll them back: select gid, prepared from pg_prepared_xacts",
        ),
    });
    Ok(())
}

/// Whether the tables are those that this program knows.
async fn migrations(connection: &mut PgConnection, findings: &mut Findings) -> sqlx::Result<bool> {
    let standing = migrate::standing(connection).await?;
    let is_current = standing.newer.is_none() && standing.missing == 0;
    findings.add(match (standing.newer, standing.missing) {
        (Some(newest), _) => Check::wrong(
            "migrations",
            format!("the database is at {newest}, which this program does not know"),
            format!("use the newer Vitrina that migrated it; this one is {}", env!("CARGO_PKG_VERSION")),
        ),
        (None, 0) => Check::good("migrations", format!("all {} are applied", standing.applied)),
        (None, _) if standing.applied == 0 => Check::wrong("migrations", "none is applied", MIGRATE),
        (None, missing) => Check::wrong("migrations", format!("not applied yet: {missing}"), MIGRATE),
    });
    Ok(is_current)
}

/// Whether the account may do what services need, and no more. The owner's account need not: services have another one.
async fn rights(connection: &mut PgConnection, findings: &mut Findings) -> sqlx::Result<()> {
    let (account, excess) = server::account(connection).await?;
    findings.add(match excess {
        Some(excess) => Check::note("account", format!("{account} {excess}"), rights::USE_THE_APP_ACCOUNT),
        None => Check::good("account", format!("{account} owns nothing of ours")),
    });
    let lacks = |name, detail, fix| match excess {
        Some(_) => Check::note(name, detail, rights::USE_THE_APP_ACCOUNT),
        None => Check::wrong(name, detail, fix),
    };
    let unreachable = server::out_of_reach(connection).await?;
    findings.add(if unreachable.is_empty() {
        Check::good("rights", format!("{account} may work with our tables, read the sources and write the marts"))
    } else {
        let detail = format!("{account} may not use {}", unreachable.join(", "));
        lacks("rights", detail, format!("connect as vitrina_app, or {MIGRATE}"))
    });
    findings.add(if server::sees_other_sessions(connection).await? {
        Check::good("horizon", "open transactions of others are visible (pg_read_all_stats)")
    } else {
        let detail = format!("{account} does not see open transactions of others; rows that commit late may be missed");
        lacks("horizon", detail, format!("grant pg_read_all_stats to {account}"))
    });
    Ok(())
}

/// Whether Vitrina's schemas, and what is in them, belong to those that may do anything in this database anyway.
async fn owners(connection: &mut PgConnection, findings: &mut Findings) -> sqlx::Result<()> {
    let found = migrate::owners::examine(connection).await?;
    let all: Vec<_> = found.foreign.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    match (&found.keeper, &found.foreign[..]) {
        (_, [_, ..]) => {
            let more = match found.foreign.len().saturating_sub(MOST_NAMED) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let detail = format!("{}{more}: who could put anything in the place of what is Vitrina's", all.join(", "));
            let fix =
                "find out who did that, look at what is in the schema, and drop it, or give it back (alter … owner to)";
            findings.add(Check::wrong("owners", detail, fix));
        }
        (Some(keeper), []) if found.is_keeper_ordinary => findings.add(Check::note(
            "owners",
            format!("what is Vitrina's belongs to {keeper}, neither a superuser nor the owner of the database"),
            format!("make sure that {keeper} is the account that migrates, and that it is used for nothing else"),
        )),
        (Some(keeper), []) => findings.add(Check::good("owners", format!("what is Vitrina's belongs to {keeper}"))),
        (None, []) => {}
    }
    if let Some(owner) = found.marts {
        let detail = format!("the schema analytics belongs to {owner}, who can exchange every mart in it");
        let fix = "trust its owner like Vitrina itself, or give it to the owner of the database: alter schema analytics owner to …";
        findings.add(Check::note("owners", detail, fix));
    }
    Ok(())
}

/// Whether the functions are those that were applied, and only the services may call them.
async fn functions(connection: &mut PgConnection, findings: &mut Findings) -> sqlx::Result<()> {
    let found = migrate::functions::examine(connection).await?;
    findings.add(if found.changed.is_empty() {
        Check::good("functions", format!("all {} are as they were applied", found.intact))
    } else {
        let detail = format!("changed or dropped since the migration: {}", found.changed.join(", "));
        let fix = format!("find out who did, then {MIGRATE}: it applies them again");
        Check::wrong("functions", detail, fix)
    });
    if !found.foreign.is_empty() {
        let detail = format!("Vitrina's schemas hold what is not Vitrina's: {}", found.foreign.join(", "));
        findings.add(Check::wrong("functions", detail, "find out who made these, and drop them"));
    }
    let doors = server::open_doors(connection).await?;
    if !doors.is_empty() {
        let detail = format!("more than Vitrina's own can execute with the rights of its roles: {}", doors.join(", "));
        findings.add(Check::wrong("functions", detail, "drop these functions, or revoke execute on them from public"));
    }
    Ok(())
}

/// Whether the queue's table has its columns, and no untrusted account can drop one.
async fn queue(connection: &mut PgConnection, findings: &mut Findings) -> sqlx::Result<()> {
    findings.add(match migrate::queue::examine(connection).await? {
        None => Check::good("queue", "the queue's table has all its columns"),
        Some(problem) => {
            let (detail, fix) = problem.split_once(": ").unwrap_or((&problem, MIGRATE));
            Check::wrong("queue", detail, fix)
        }
    });
    Ok(())
}

/// Whether hooks can call the functions of their list.
async fn hooks(connection: &mut PgConnection, findings: &mut Findings) -> sqlx::Result<()> {
    let listed = store::hooks::list(connection).await?;
    let failing = |one: &ListedFunction| one.problem.as_ref().map(|problem| format!("{} {problem}", one.name));
    let failing: Vec<_> = listed.iter().filter_map(failing).collect();
    findings.add(if failing.is_empty() {
        Check::good("hooks", format!("{} may be called", counted(listed.len() as i64, "function")))
    } else {
        let fix = "look at the function, then `vitrina hooks allow` or `vitrina hooks revoke` it as the owner of the database";
        Check::wrong("hooks", failing.join("; "), fix)
    });
    Ok(())
}

/// Whether queries may read what the API lets them, if it is the API of this database, and what migrations gave them.
async fn sources(
    connection: &mut PgConnection,
    api: Option<&InstalledApi>,
    findings: &mut Findings,
) -> sqlx::Result<()> {
    let here = installation::id(connection).await?;
    if api.is_some_and(|api| api.id != here) {
        let fix = "give that API's database in DATABASE_URL, or this database's API with --url";
        findings.add(Check::wrong("installation", "the API works with another database than this", fix));
    }
    let listed = api.filter(|api| api.id == here).map(|api| &api.source_schemas[..]);
    for found in server::sources(connection, listed.unwrap_or_default()).await? {
        let name = format!("source {}", found.schema);
        let is_listed = listed.is_none_or(|listed| listed.contains(&found.schema));
        findings.add(if found.exists && !found.granted {
            let all = listed.unwrap_or_default().join(",");
            let fix = format!("run `vitrina migrate` with VITRINA_SOURCE_SCHEMAS={all}");
            Check::wrong(&name, "the API reads it, and the last migration did not give it to queries", fix)
        } else if !is_listed {
            let detail = "the last migration gave it to queries, and the API does not read it";
            Check::note(&name, detail, "set VITRINA_SOURCE_SCHEMAS alike for API, workers and `vitrina migrate`")
        } else if !found.exists {
            let fix = "correct VITRINA_SOURCE_SCHEMAS, or fill a demo with `vitrina cinema`";
            Check::note(&name, "there is no such schema", fix)
        } else if !found.unreadable.is_empty() {
            let detail = format!("queries may not read {}", found.unreadable.join(", "));
            let fix = format!(
                "{MIGRATE} if they are new; a right revoked from vitrina_query by hand stays revoked until it is granted by hand"
            );
            Check::note(&name, detail, fix)
        } else {
            Check::good(&name, format!("{}, all readable", counted(found.tables, "table")))
        });
    }
    Ok(())
}

/// Sends one notification and waits for it.
async fn notifications(connection: &mut PgConnection, url: &DatabaseUrl, findings: &mut Findings) {
    let began = std::time::Instant::now();
    let came = timeout(ANSWERS_WITHIN, round_trip(connection, url)).await;
    findings.add(match came {
        Ok(Ok(())) => Check::good("notify", format!("LISTEN and NOTIFY work ({} ms)", began.elapsed().as_millis())),
        Ok(Err(error)) => Check::wrong("notify", format!("LISTEN failed: {}", database::message(&error)), DIRECT),
        Err(_) => Check::wrong("notify", "a notification did not come back", DIRECT),
    });
}

const DIRECT: &str = "connect to the server itself: a pooler in transaction mode loses notifications";

async fn round_trip(connection: &mut PgConnection, url: &DatabaseUrl) -> sqlx::Result<()> {
    let channel = format!("vitrina_doctor_{}", Uuid::new_v4().simple());
    let options = database::session(url.connect_options(), "vitrina-doctor");
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(&channel).await?;
    sqlx::query("select pg_notify($1, '')").bind(&channel).execute(connection).await?;
    listener.recv().await?;
    Ok(())
}
