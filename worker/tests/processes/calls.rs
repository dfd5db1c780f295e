//! Calls of services that are in trouble, by workers that die: every row ends somewhere, no limit is exceeded, nothing is paid for
//! twice. The log of the service is the proof.

use std::{ops::RangeInclusive, time::Duration};

use rand::RngExt;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::task::JoinSet;
use vitrina_shared::{
    definitions,
    domain::{ErrorClass, Mode, OnRowError, PipelineDraft, PipelineId, RunId, RunStatus, Task, TaskKind},
};

use crate::{
    service::{Service, example},
    support::{ITEMS, World, draft, eventually_within},
    worker_process::WorkerProcess,
};

/// No storm takes longer, unless something is broken.
const STORM: Duration = Duration::from_secs(300);
/// A service whose quota is used up now and then ends a run.
const MOST_RUNS: usize = 100;
const KEYS: &str = "first-storm-key-00,second-storm-key-0,third-storm-key-00";
/// How many requests to the service there are between two kills.
const BETWEEN_KILLS: usize = 80;

/// The pipeline with the step `http` after its query.
fn asking(draft: PipelineDraft, options: &Value) -> PipelineDraft {
    let task = |order_index, task_type, body: &str, options: &Value| Task {
        order_index,
        task_type,
        body: body.to_owned(),
        target_table: None,
        options: options.as_object().unwrap().clone(),
    };
    let reader = task(1, TaskKind::Sql, draft.source_query.as_ref().unwrap(), &json!({}));
    let mut draft = PipelineDraft {
        kind: TaskKind::Rust,
        source_query: None,
        tasks: vec![reader, task(2, TaskKind::Rust, "http", options)],
        ..draft
    };
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    draft
}

async fn limit(world: &World, tokens: u32, burst: u32) {
    world
        .sql(&format!(
            "insert into etl.etl_limits (name, tokens, period_seconds, burst) values ('storm', {tokens}, 1, {burst})"
        ))
        .await;
}

/// Three workers that are killed again and again while they run a pipeline.
struct Storm {
    world: World,
    service: Service,
    pipeline: PipelineId,
    workers: Vec<WorkerProcess>,
    kills: usize,
}

impl Storm {
    fn begin(world: World, service: Service, pipeline: PipelineId) -> Self {
        let workers = (0..3).map(|_| start(&world, &service)).collect();
        Self { world, service, pipeline, workers, kills: 0 }
    }

    /// Has the pipeline run until a run succeeds, and kills workers meanwhile, so many in all. A run may only fail where the operator
    /// is asked for help.
    async fn succeed(&mut self, most_kills: usize) {
        for _ in 0..MOST_RUNS {
            let run = self.world.run(self.pipeline).await;
            while self.goes_on(run).await {
                if self.kills < most_kills {
                    self.kill_one();
                }
            }
            let run = self.world.find(run).await;
            if run.status == RunStatus::Success {
                return;
            }
            assert_eq!(run.error_class, Some(ErrorClass::Quota), "{:?}", run.error);
        }
        panic!("none of {MOST_RUNS} runs succeeded");
    }

    /// Waits for more requests to the service, or for the end of the run. Returns whether the run goes on.
    async fn goes_on(&self, run: RunId) -> bool {
        let before = self.service.requests();
        eventually_within(STORM, "more requests, or the end of the run", || async {
            self.pardon_keys().await;
            let ended = self.world.find(run).await.status.is_final();
            (ended || self.service.requests() >= before + BETWEEN_KILLS).then_some(!ended)
        })
        .await
    }

    fn kill_one(&mut self) {
        let victim = rand::rng().random_range(0..self.workers.len());
        self.workers[victim].kill();
        self.workers[victim] = start(&self.world, &self.service);
        self.kills += 1;
    }

    /// What an operator does where the service has refused all keys.
    async fn pardon_keys(&self) {
        let pardon = "update etl.etl_pool_keys set refused_at = null, refused_reason = null
                      where not exists (select from etl.etl_pool_keys k where k.refused_at is null)";
        self.world.sql(pardon).await;
    }

    async fn assert_none(&self, what: &str, rows: &str) {
        assert_eq!(self.world.number(&format!("select count(*) from {rows}")).await, 0, "{what}: {rows}");
    }
}

fn start(world: &World, service: &Service) -> WorkerProcess {
    let receivers = format!("STORM={}", service.addr);
    let settings = [
        ("VITRINA_HTTP_HOSTS", service.addr.as_str()),
        ("VITRINA_HTTP_KEYS", receivers.as_str()),
        ("VITRINA_KEYS_STORM", KEYS),
        ("VITRINA_SOURCE_SCHEMAS", "content,ugc,shop"),
    ];
    WorkerProcess::start_with(&world.db.url(), &settings)
}

/// A pipeline that translates the items.
async fn translating(world: &World, service: &Service, more: Value) -> PipelineId {
    world.target("translated", "id bigint, name text not null, translation text not null", &["id"]).await;
    let mut options = json!({
        "url": format!("http://{}/translate", service.addr),
        "body": r#"{"text": {{ name | tojson }}, "to": "de"}"#,
        "columns": {"translation": {"path": "/translation", "type": "text"}},
        "limit": "storm",
        "entity": ["id"],
    });
    options.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
    let draft = draft("storm", Mode::Incremental, ITEMS, "analytics.translated", 100);
    world.pipeline(&asking(draft, &options)).await
}

/// Items that are in the mart and among the dead letters, or nowhere.
const LOST: &str = "content.item i
    where (select count(*) from analytics.translated t where t.id = i.id)
        + (select count(*) from etl.etl_dead_letters d where d.key ->> 'id' = i.id::text and d.error > '') <> 1";

/// Translations that are not those of their names.
const MIXED_UP: &str = "analytics.translated t join content.item i on i.id = t.id
    where t.translation <> (select string_agg(reverse(word), ' ' order by place) || ' (de)'
                            from unnest(string_to_array(i.name, ' ')) with ordinality as words (word, place))";

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_rows_are_translated_or_put_aside_whatever_happens_to_service_and_workers() {
    let world = World::new().await;
    world.items(1, 2_000).await;
    world.sql("update content.item set name = 'forbidden ' || id where id % 250 = 0").await;
    limit(&world, 200, 20).await;
    let trouble = "429=0.03,500=0.05,402=0.002,401=0.003,slow=0.01,reset=0.03,rubbish=0.03";
    let service = Service::start(&["--misbehave", trouble, "--slow-seconds", "0.5", "--keys", KEYS]);
    let keys = json!({"pool": "STORM", "header": "Authorization", "prefix": "Bearer "});
    let pipeline = translating(&world, &service, json!({"keys": keys, "concurrency": 16})).await;

    let mut storm = Storm::begin(world, service, pipeline);
    storm.succeed(12).await;
    assert!(storm.kills >= 8, "only {} kills", storm.kills);
    storm.assert_none("lost, or written and put aside", LOST).await;
    storm.assert_none("mixed up", MIXED_UP).await;
    let refused = "select count(*) from etl.etl_dead_letters where row ->> 'name' like 'forbidden %'";
    assert_eq!(storm.world.number(refused).await, 8);
    let given_up = storm.world.number("select count(*) from etl.etl_dead_letters").await - 8;
    assert!(given_up < 60, "{given_up} rows failed three times");
    storm.service.prove(&["--rate", "200", "--burst", "20", "--slack", "0.15"]);
    storm.world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_idempotency_key_a_kill_costs_one_call_at_most() {
    let world = World::new().await;
    world.items(1, 600).await;
    limit(&world, 150, 10).await;
    let service = Service::start(&["--forgetful", "--misbehave", "429=0.03,500=0.03"]);
    let one_by_one = json!({"idempotency_header": null, "concurrency": 1});
    let pipeline = translating(&world, &service, one_by_one).await;

    let mut storm = Storm::begin(world, service, pipeline);
    storm.succeed(5).await;
    assert!(storm.kills >= 3, "only {} kills", storm.kills);
    storm.assert_none("lost, or written and put aside", LOST).await;
    storm.service.prove(&["--rate", "150", "--burst", "10", "--slack", "0.15", "--twice", &storm.kills.to_string()]);
}

/// The shop of the example, its hooks and its pipeline.
async fn generating(world: &World, service: &Service) -> PipelineId {
    for file in ["generation/data.sql", "generation/functions.sql"] {
        world.sql(&std::fs::read_to_string(example(file)).unwrap()).await;
    }
    world
        .sql(
            "grant usage on schema shop to vitrina_query, vitrina_mart;
             grant select on all tables in schema shop to vitrina_query;
             insert into etl.etl_targets (target, key) values ('analytics.picture', '{item_id}');
             update shop.account set deposited = 1000, balance = 1000 where name = 'ada'",
        )
        .await;
    let mut owner = world.db.admin().acquire().await.unwrap();
    for hook in ["shop.settle", "shop.refund"] {
        definitions::allow_function(&mut owner, hook).await.unwrap();
    }
    let query =
        "select i.id as item_id, i.request_id, i.prompt, i.created_at from shop.item i where i.state = 'reserved'";
    let mut draft = draft("generation", Mode::Incremental, query, "analytics.picture", 100);
    draft.incremental_key = Some("created_at".to_owned());
    draft.incremental_id_key = Some("item_id".to_owned());
    draft.options.hooks =
        serde_json::from_value(json!({"after_batch": ["shop.settle"], "on_row_rejected": ["shop.refund"]})).unwrap();
    let options = json!({
        "url": format!("http://{}/generate", service.addr),
        "body": r#"{"prompt": {{ prompt | tojson }}, "item": {{ item_id | tojson }}}"#,
        "columns": {"url": {"path": "/result/url", "type": "text"}},
        "entity": ["item_id"],
        "limit": "storm",
        "keys": {"pool": "STORM", "header": "Authorization", "prefix": "Bearer "},
        "concurrency": 16,
        "poll": {
            "id": "/id", "url": format!("http://{}/generate/{{{{ id }}}}", service.addr), "every_seconds": 1,
            "state": "/state", "done": ["done"], "failed": ["failed"],
        },
    });
    world.pipeline(&asking(draft, &options)).await
}

/// Sends these orders, each twice at the same time, as a phone does that got no answer.
async fn order(customers: PgPool, numbers: RangeInclusive<u32>) {
    let mut sent = JoinSet::new();
    for number in numbers.flat_map(|number| [number; 2]) {
        let prompts = "array['a red fox', 'a forbidden thing', 'an impossible stair', 'a flaky lamp']";
        let items = 1 + number % 5;
        let sql = format!("select shop.request_generation('ada', {items}, 'order {number}', {prompts})");
        let customers = customers.clone();
        sent.spawn(async move { sqlx::query(AssertSqlSafe(sql)).execute(&customers).await.unwrap() });
    }
    while let Some(answer) = sent.join_next().await {
        answer.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credits_of_two_hundred_orders_add_up_and_each_is_announced_once() {
    let world = World::new().await;
    limit(&world, 200, 20).await;
    let service = Service::start(&[
        "--pending",
        "0.5",
        "--slow-seconds",
        "0.5",
        "--keys",
        KEYS,
        "--bad-key",
        "third-storm-key-00=401",
        "--limited-key",
        "second-storm-key-0=30/s",
        "--misbehave",
        "429=0.02,500=0.03,402=0.001,slow=0.01,reset=0.02,rubbish=0.02",
    ]);
    let pipeline = generating(&world, &service).await;
    let customers = world.strangers(8);
    order(customers.clone(), 1..=100).await;

    let mut storm = Storm::begin(world, service, pipeline);
    tokio::join!(order(customers, 101..=200), storm.succeed(8));
    storm.succeed(12).await;
    assert!(storm.kills >= 5, "only {} kills", storm.kills);

    storm
        .assert_none(
            "open, or not what the accounts say",
            "shop.balance_sheet
        where open <> 0 or not accounts_agree or reserved <> 210 or charged = 0 or refunded = 0",
        )
        .await;
    storm
        .assert_none(
            "charged without a picture, or the reverse",
            "shop.item i
        where (i.state = 'charged') <> exists (select from analytics.picture p where p.item_id = i.id)",
        )
        .await;
    storm.assert_none("refunded without a reason, or the reverse", "shop.item i
        where (i.state = 'refunded') <> exists (select from etl.etl_dead_letters d where d.key ->> 'item_id' = i.id::text)").await;
    storm
        .assert_none(
            "announced otherwise than once, or wrongly",
            "shop.request r
        left join shop.notification n on n.request_id = r.id
        where n.text is distinct from (
            select format('%s of %s pictures are ready', count(*) filter (where i.state = 'charged'), count(*))
            from shop.item i where i.request_id = r.id)",
        )
        .await;
    assert_eq!(storm.world.number("select count(*) from shop.notification").await, 200);
    storm.service.prove(&["--rate", "200", "--burst", "20", "--slack", "0.15"]);
}
