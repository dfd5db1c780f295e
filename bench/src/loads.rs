//! First loads, repeated loads and loads of changes: Vitrina through its API beside bare SQL, in turns.

use crate::{
    Outcome,
    bare::{self, Walk},
    films,
    report::{
        Goal::{AtLeast, Below},
        Report, say,
    },
    settings::Settings,
    stage::Stage,
};

const SIZES: [u32; 3] = [1_000, 10_000, 50_000];
/// The size that full runs, repeated runs and changes are measured with.
const SIZE: u32 = 10_000;

const FULL: &str = "films_full";
const STREAMED: &str = "films_through_a_step";

const EMPTY_MART: &[&str] = &["truncate analytics.film_dim", "checkpoint"];
/// Every tenth film, spread over all of them.
const CHANGE: &[&str] = &[
    "update content.film_work set title = title || '!', modified = clock_timestamp()
     where hashtextextended(id::text, 0) % 10 = 0",
    "vacuum content.film_work",
    "checkpoint",
];

pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    stage.execute(&[bare::CHECKPOINT_TABLE, films::STREAMED_MART]).await?;
    stage.api.allow("analytics.bench_streamed", "film_id").await?;
    for size in SIZES {
        stage.api.create(&films::incremental(&name_of(size), size)).await?;
    }
    stage.api.create(&films::full(FULL, SIZE)).await?;
    stage.api.create(&films::through_a_step(STREAMED, SIZE)).await?;
    for round in 1..=settings.repeats {
        say(&format!("loads, round {round} of {}", settings.repeats));
        let mut loads = Loads { stage, report, films: settings.films.into() };
        loads.everything().await?;
        for size in SIZES {
            loads.batches(Walk::Key, size).await?;
            loads.batches(Walk::Modified, size).await?;
            loads.incremental(size).await?;
        }
        loads.streamed().await?;
        loads.full().await?;
        loads.changes().await?;
    }
    compare(report);
    Ok(())
}

fn name_of(size: u32) -> String {
    format!("films_incremental_{size}")
}

struct Loads<'a> {
    stage: &'a mut Stage,
    report: &'a mut Report,
    films: u64,
}

impl Loads<'_> {
    /// One statement for everything, in either order, and again with nothing changed.
    async fn everything(&mut self) -> Outcome<()> {
        for (name, sorted) in [("bare: one upsert", false), ("bare: one upsert sorted by key", true)] {
            self.stage.execute(EMPTY_MART).await?;
            let took = bare::one_statement(&mut self.stage.sql, sorted).await?;
            self.report.speed(name, self.films, took)?;
        }
        let took = bare::one_statement(&mut self.stage.sql, true).await?;
        self.report.speed("bare: one upsert sorted by key, unchanged", self.films, took)
    }

    /// A first load by bare SQL in batches.
    async fn batches(&mut self, walk: Walk, size: u32) -> Outcome<()> {
        self.stage.execute(EMPTY_MART).await?;
        bare::forget(&mut self.stage.sql, walk).await?;
        let (rows, took) = bare::batches(&mut self.stage.sql, walk, size).await?;
        self.expect_all(rows)?;
        self.report.speed(&format!("bare: batches of {size} by {}", walk.name()), rows, took)
    }

    /// A first load by an incremental run, and one more run that finds nothing.
    async fn incremental(&mut self, size: u32) -> Outcome<()> {
        let name = name_of(size);
        self.stage.execute(EMPTY_MART).await?;
        self.stage.api.reset(&name).await?;
        let first = self.stage.api.run(&name).await?;
        self.expect_all(first.run.rows_read)?;
        self.report.speed(&format!("Vitrina: incremental, batches of {size}"), first.run.rows_read, first.took)?;
        let again = self.stage.api.run(&name).await?;
        self.report.duration("Vitrina: incremental, unchanged", again.took)
    }

    /// A first load whose rows pass a step.
    async fn streamed(&mut self) -> Outcome<()> {
        self.stage.execute(&["truncate analytics.bench_streamed", "checkpoint"]).await?;
        self.stage.api.reset(STREAMED).await?;
        let first = self.stage.api.run(STREAMED).await?;
        self.expect_all(first.run.rows_read)?;
        self.report.speed(&format!("Vitrina: through a step, batches of {SIZE}"), first.run.rows_read, first.took)
    }

    /// A first load by a full run, and one more run that changes nothing.
    async fn full(&mut self) -> Outcome<()> {
        self.stage.execute(EMPTY_MART).await?;
        let first = self.stage.api.run(FULL).await?;
        self.expect_all(first.run.rows_read)?;
        self.report.speed(&format!("Vitrina: full, batches of {SIZE}"), first.run.rows_read, first.took)?;
        let again = self.stage.api.run(FULL).await?;
        self.report.speed(&format!("Vitrina: full, batches of {SIZE}, unchanged"), again.run.rows_read, again.took)?;
        bare::forget(&mut self.stage.sql, Walk::Key).await?;
        let (rows, took) = bare::batches(&mut self.stage.sql, Walk::Key, SIZE).await?;
        self.report.speed(&format!("bare: batches of {SIZE} by key, unchanged"), rows, took)
    }

    /// A tenth of the films changes; both bring the mart up to date from their checkpoints.
    async fn changes(&mut self) -> Outcome<()> {
        let name = name_of(SIZE);
        bare::forget(&mut self.stage.sql, Walk::Modified).await?;
        bare::batches(&mut self.stage.sql, Walk::Modified, 50_000).await?;
        self.stage.api.run(&name).await?;
        self.stage.execute(CHANGE).await?;
        let (rows, took) = bare::batches(&mut self.stage.sql, Walk::Modified, SIZE).await?;
        self.report.speed(&format!("bare: batches of {SIZE} by modified, 10 % changed"), rows, took)?;
        self.stage.api.run(&name).await?;
        self.stage.execute(CHANGE).await?;
        let changed = self.stage.api.run(&name).await?;
        let label = format!("Vitrina: incremental, batches of {SIZE}, 10 % changed");
        self.report.speed(&label, changed.run.rows_read, changed.took)
    }

    fn expect_all(&self, rows: u64) -> Outcome<()> {
        if rows == self.films { Ok(()) } else { Err(format!("{rows} rows were read of {}", self.films).into()) }
    }
}

fn compare(report: &mut Report) {
    for (size, goal) in SIZES.into_iter().zip([0.85, 0.95, 0.95]) {
        let (of, to) =
            (format!("Vitrina: incremental, batches of {size}"), format!("bare: batches of {size} by modified"));
        report.ratio(&of, &to, Some(AtLeast(goal)));
    }
    let pushed_down = format!("Vitrina: incremental, batches of {SIZE}");
    report.ratio(&format!("Vitrina: through a step, batches of {SIZE}"), &pushed_down, None);
    let full = format!("Vitrina: full, batches of {SIZE}");
    report.ratio(&full, &format!("bare: batches of {SIZE} by key"), Some(AtLeast(0.95)));
    report.ratio(&full, "bare: one upsert sorted by key", Some(AtLeast(0.75)));
    report.ratio(&format!("{full}, unchanged"), &format!("bare: batches of {SIZE} by key, unchanged"), None);
    let changed = format!("Vitrina: incremental, batches of {SIZE}, 10 % changed");
    report.ratio(&changed, &format!("bare: batches of {SIZE} by modified, 10 % changed"), None);
    report.goal("Vitrina: incremental, unchanged", Below(50.0));
}
