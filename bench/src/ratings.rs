//! `film_rating_agg`: one per cent of the ratings changes, and only their films are computed anew.

use std::time::Instant;

use crate::{
    Outcome,
    report::{Report, say},
    settings::Settings,
    stage::Stage,
};

const PIPELINE: &str = "film_rating_agg";
/// The demo's pipelines, this one among them.
const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../demo/pipelines.yaml");

/// The same mart by one statement over everything.
const EVERYTHING: &str = "
    insert into analytics.film_rating_agg as target (film_id, avg_rating, rating_count)
    select film_id, round(avg(score), 2), count(*) from ugc.ratings group by film_id
    on conflict (film_id) do update set avg_rating = excluded.avg_rating, rating_count = excluded.rating_count
    where (target.avg_rating, target.rating_count) is distinct from (excluded.avg_rating, excluded.rating_count)
";

const EMPTY_MART: &[&str] = &["truncate analytics.film_rating_agg", "checkpoint"];
/// One rating in a hundred, whatever film it is of.
const CHANGE_ANY: &str =
    "update ugc.ratings set score = 1 + (score + 4) % 10, modified = clock_timestamp() where id % 100 = 7";
/// As many ratings, of films that have few: a hundredth of the mart changes.
const CHANGE_UNPOPULAR: &str = "
    update ugc.ratings r set score = 1 + (r.score + 4) % 10, modified = clock_timestamp()
    from (
        select id
        from ugc.ratings join analytics.film_rating_agg using (film_id)
        where rating_count < 20
        limit (select count(*) / 100 from ugc.ratings)
    ) as few
    where few.id = r.id
";

/// Measures the first load and both kinds of change beside one aggregate of everything.
pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    stage.program.run(&["apply", "--url", &stage.api.url, "-f", DEMO]).await?;
    for _ in 0..settings.repeats {
        stage.execute(EMPTY_MART).await?;
        everything(stage, report, "bare: ratings, one aggregate of everything").await?;
        stage.execute(EMPTY_MART).await?;
        stage.api.reset(PIPELINE).await?;
        run(stage, report, "Vitrina: ratings, first load").await?;
        for (name, change) in [("any films", CHANGE_ANY), ("films with few ratings", CHANGE_UNPOPULAR)] {
            stage.execute(&[change, "vacuum ugc.ratings", "checkpoint"]).await?;
            run(stage, report, &format!("Vitrina: ratings, 1 % changed, {name}")).await?;
        }
        everything(stage, report, "bare: ratings, one aggregate of everything, again").await?;
    }
    Ok(())
}

async fn run(stage: &mut Stage, report: &mut Report, name: &str) -> Outcome<()> {
    let finished = stage.api.run(PIPELINE).await?;
    say(&format!("{name}: {} films computed", finished.run.rows_read));
    report.duration(name, finished.took)
}

async fn everything(stage: &mut Stage, report: &mut Report, name: &str) -> Outcome<()> {
    let start = Instant::now();
    stage.execute(&[EVERYTHING]).await?;
    report.duration(name, start.elapsed())
}
