//! Values that Python, or a list of its own, easily takes for others.

use serde_json::json;
use vitrina_shared::domain::Mode;

use crate::support::{STEPS_IN_PYTHON, World, draft, in_python};

/// The sign of a zero, bounds that are not 1, another separator, and dates that Python does not know.
#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_easily_taken_for_others_come_back_as_they_were() {
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_PYTHON_PATH", STEPS_IN_PYTHON)]);
    let columns = "id int, minus float8, minuses float8[], bounded int[], boxes box[], days date[], texts text[]";
    world.sql(&format!("create table content.bent ({columns}, primary key (id))")).await;
    world.target("bent", columns, &["id"]).await;
    world
        .sql(
            r#"insert into content.bent values
            (1, '-0', '{-0,0,NaN}', '[0:1]={5,6}', '{(1,1),(0,0);(3,3),(2,2);NULL}', '{infinity,2026-01-01,NULL}',
             '[2:2][3:4]={{a,"b,c"}}'),
            (2, 0, '{{-0},{1}}', '{{1},{2}}', '{{(1,1),(0,0)};{(3,3),(2,2)}}', '{0001-01-01 BC}', '{null,"NULL",""}')"#,
        )
        .await;
    let draft = draft("bent", Mode::Full, "select * from content.bent", "analytics.bent", 2);
    let pipeline = world.pipeline(&in_python(draft, "same_bent", json!({}))).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 2);
    let texts = |table: &str| format!("select e::text from {table} e");
    world.assert_same(&texts("content.bent"), &format!("({}) as w", texts("analytics.bent"))).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 0, "nothing changed");
}
