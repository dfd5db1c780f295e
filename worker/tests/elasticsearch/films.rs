//! Films in a database, and pipelines that bring them into an index.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use vitrina_shared::domain::{Mode, OnRowError, PipelineDraft, PipelineId, Run, RunId, RunStatus};

use crate::{
    support::Corner,
    world::{World, draft, eventually_within},
};

/// What pipelines of films read.
pub const FILMS: &str = "select id as film_id, title, rating, creation_date, genres, modified from content.film";

const TABLE: &str = r"
    create table content.film (
        id uuid primary key,
        title text not null,
        rating numeric(3, 1),
        creation_date date,
        genres text[] not null,
        details jsonb not null,
        modified timestamptz not null
    );
    create index on content.film (modified, id);
";

/// A database of films and a corner of a node.
pub struct Films {
    pub world: World,
    pub corner: Corner,
}

/// How many films there are: few enough for every day by default.
pub fn many() -> i64 {
    std::env::var("VITRINA_TEST_FILMS").map_or(2_000, |films| films.parse().expect("VITRINA_TEST_FILMS is a number"))
}

/// How long to wait for a run: longer for more films.
fn patience() -> Duration {
    Duration::from_secs(120 + many().unsigned_abs() / 500)
}

impl Films {
    /// A database with this many films; nothing where there is no node.
    pub async fn new(films: i64) -> Option<Self> {
        let corner = Corner::new()?;
        Some(Self::at(corner, films, json!({})).await)
    }

    /// The same in this corner, with options of the target.
    pub async fn at(corner: Corner, films: i64, options: Value) -> Self {
        let world = World::new().await;
        world.sql(TABLE).await;
        let allow = format!(
            "insert into etl.etl_targets (target, key, options) values ('es:{}', '{{film_id}}', '{options}')",
            corner.name
        );
        world.sql(&allow).await;
        let films_ = Self { world, corner };
        films_.add(1, films).await;
        films_
    }

    /// Adds films, numbered.
    pub async fn add(&self, from: i64, to: i64) {
        self.world
            .sql(&format!(
                "insert into content.film
                 select md5(n::text)::uuid, 'Film ' || n || ' «ё» \"quoted\" \\ and 🎬', (n % 101) / 10.0,
                        date '1895-12-28' + n::int % 40000, array['drama', 'genre ' || n % 7],
                        jsonb_build_object('n', n, 'k' || n % 3, n), '2026-01-01'::timestamptz + n * interval '1.000001 s'
                 from generate_series({from}, {to}) n"
            ))
            .await;
    }

    /// The key of the film of this number.
    pub async fn key(&self, film: i64) -> String {
        let key = format!("select modified from content.film where id = md5('{film}')::uuid");
        self.world.text(&key).await.unwrap()
    }

    /// A pipeline of all films into the index.
    pub fn draft(&self, mode: Mode, batch_size: i32) -> PipelineDraft {
        self.draft_of(mode, FILMS, batch_size)
    }

    /// A pipeline of another query.
    pub fn draft_of(&self, mode: Mode, query: &str, batch_size: i32) -> PipelineDraft {
        let target = format!("es:{}", self.corner.name);
        let mut draft = draft("films", mode, query, &target, batch_size);
        if mode == Mode::Incremental {
            draft.incremental_id_key = Some("film_id".to_owned());
        }
        draft
    }

    /// One that puts refused rows aside.
    pub fn tolerant(&self, mode: Mode, batch_size: i32, max_rejects: u32) -> PipelineDraft {
        let mut draft = self.draft(mode, batch_size);
        draft.options.on_row_error = Some(OnRowError::DeadLetter);
        draft.options.max_rejects = Some(max_rejects);
        draft
    }

    /// Starts a worker that knows the node. However busy the machine is, it is not taken for dead: a batch that is repeated
    /// finds its documents there, and does not count them as written.
    pub fn start_worker(&mut self) {
        let node = self.corner.node.clone();
        self.world.start_worker(&[("ELASTICSEARCH_URL", &node), ("VITRINA_HEARTBEAT_SECONDS", "5")]);
    }

    /// Runs the pipeline to its good end.
    pub async fn succeeds(&self, pipeline: PipelineId) -> Run {
        let run = self.world.run(pipeline).await;
        self.succeeded(run).await
    }

    /// Waits for the good end of a run, longer for more films.
    pub async fn succeeded(&self, run: RunId) -> Run {
        let run = self.ended(run).await;
        assert_eq!(run.status, RunStatus::Success, "{:?}: {:?}", run.error_class, run.error);
        run
    }

    /// Waits for the end of a run, however it is.
    pub async fn ended(&self, run: RunId) -> Run {
        eventually_within(patience(), "the end of the run", || async {
            Some(self.world.find(run).await).filter(|run| run.status.is_final())
        })
        .await
    }

    /// What the query returns, by id.
    pub async fn source(&self, query: &str) -> BTreeMap<String, Value> {
        let sql = format!("select q.film_id::text, row_to_json(q)::text from ({query}) q");
        let rows: Vec<(String, String)> =
            sqlx::query_as(AssertSqlSafe(sql)).fetch_all(self.world.db.admin()).await.unwrap();
        rows.into_iter().map(|(id, row)| (id, serde_json::from_str(&row).unwrap())).collect()
    }

    /// Compares the index with the query, document by document.
    pub async fn assert_same(&self, query: &str) {
        let (source, found) = (self.source(query).await, self.corner.documents().await);
        assert_eq!(found.len(), source.len(), "documents and rows");
        for (id, row) in &source {
            assert_eq!(found.get(id), Some(row), "document {id}");
        }
    }

    /// Waits until the run has written this many batches.
    pub async fn progresses(&self, run: RunId, batches: i64) {
        eventually_within(patience(), "progress", || async {
            let run = self.world.find(run).await;
            (run.batches >= batches || run.status.is_final()).then_some(())
        })
        .await;
    }
}
