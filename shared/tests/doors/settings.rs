//! What a query sets must not reach the part of its statement that writes.

use sqlx::AssertSqlSafe;

use crate::{
    owners::meddler,
    scene::{execute, make_outcome, scene},
};

/// Triggers and policies of a mart execute in the rest of the statement, and settings decide how they are read.
#[tokio::test]
async fn a_query_leaves_no_setting_to_the_rest_of_its_statement() {
    let checks = [
        ("plpgsql.check_asserts", "off", "assert new.doc is null, 'refused'"),
        ("standard_conforming_strings", "off", r"if new.doc ~ '\d' then raise 'refused'; end if"),
        ("app.tenant", "b", "if coalesce(current_setting('app.tenant', true), '') <> 'b' then raise 'refused'; end if"),
    ];
    for (setting, value, check) in checks {
        for local in [false, true] {
            let db = scene().await;
            make_outcome(&db).await;
            let trigger = format!(
                "create function public.check_row() returns trigger language plpgsql as $$ begin {check}; return new; end $$;
                 create trigger check_row before insert on analytics.outcome for each row execute function public.check_row()"
            );
            sqlx::raw_sql(AssertSqlSafe(trigger)).execute(db.admin()).await.unwrap();
            meddler(&db, &format!("begin perform set_config('{setting}', '{value}', {local}); return 'x1'; end")).await;
            let mut conn = db.pool().acquire().await.unwrap();
            let error = execute(&mut conn, "select content.meddle() as meddled").await.unwrap_err();
            assert!(error.to_string().contains("refused"), "{setting}: {error}");
        }
    }
}
