//! `film_rating_agg`: one per cent of the ratings changes, and only their films are computed anew.

use std::time::Instant;

use serde_json::json;

use crate::{
    Outcome,
    loads::millis,
    report::{Report, Unit, say},
    settings::Settings,
    stage::Stage,
};

const PIPELINE: &str = "film_rating_agg";
const BATCH_SIZE: u32 = 10_000;

/// Pages through the changed ratings by itself, and aggregates the films that they are of.
const QUERY: &str = "
    with changed as (
        select r.film_id, r.modified, r.id
        from ugc.ratings r
        where (:after_key::timestamptz is null or (r.modified, r.id) > (:after_key, :after_id))
          and r.modified < :upper
        order by r.modified, r.id
        limit :limit
    ),
    films as (
        select film_id, max(modified) as modified, (array_agg(id order by modified desc, id desc))[1] as rating_id
        from changed
        group by film_id
    )
    select f.film_id, a.avg_rating, a.rating_count, f.modified, f.rating_id
    from films f
    cross join lateral (
        select round(avg(r.score), 2) as avg_rating, count(*) as rating_count
        from ugc.ratings r
        where r.film_id = f.film_id
    ) a
";

/// The same mart by one statement over everything.
const EVERYTHING: &str = "
    insert into analytics.film_rating_agg as target (film_id, avg_rating, rating_count)
    select film_id, round(avg(score), 2), count(*) from ugc.ratings group by film_id
    on conflict (film_id) do update set avg_rating = excluded.avg_rating, rating_count = excluded.rating_count
    where (target.avg_rating, target.rating_count) is distinct from (excluded.avg_rating, excluded.rating_count)
";

/// The first load is one bare statement, and the checkpoint is set behind it: in pages it would compute popular films
/// again in every page.
const CHECKPOINT: &str = "
    insert into etl.etl_state (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch)
    select p.id, last.modified::text, last.id::text, gen_random_uuid(), 0
    from etl.etl_pipelines p,
         lateral (select modified, id from ugc.ratings order by modified desc, id desc limit 1) as last
    where p.name = 'film_rating_agg'
    on conflict (pipeline_id) do update
    set checkpoint_key = excluded.checkpoint_key, checkpoint_id = excluded.checkpoint_id
";

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

/// Measures both kinds of change beside one aggregate of everything.
pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    let pipeline = json!({
        "name": PIPELINE,
        "mode": "incremental",
        "source_query": QUERY,
        "target_table": "analytics.film_rating_agg",
        "batch_size": BATCH_SIZE,
        "incremental_key": "modified",
        "incremental_id_key": "rating_id",
    });
    stage.api.create(&pipeline).await?;
    for _ in 0..settings.repeats {
        stage.execute(&["truncate analytics.film_rating_agg", "checkpoint"]).await?;
        everything(stage, report, "bare: ratings, one aggregate of everything").await?;
        stage.execute(&[CHECKPOINT]).await?;
        for (name, change) in [("any films", CHANGE_ANY), ("films with few ratings", CHANGE_UNPOPULAR)] {
            stage.execute(&[change, "vacuum ugc.ratings", "checkpoint"]).await?;
            let finished = stage.api.run(PIPELINE).await?;
            let label = format!("Vitrina: ratings, 1 % changed, {name}");
            report.sample(&label, Unit::Milliseconds, millis(finished.took))?;
            say(&format!("{label}: {} films computed anew", finished.run.rows_read));
        }
        everything(stage, report, "bare: ratings, one aggregate of everything, again").await?;
    }
    Ok(())
}

async fn everything(stage: &mut Stage, report: &mut Report, name: &str) -> Outcome<()> {
    let start = Instant::now();
    stage.execute(&[EVERYTHING]).await?;
    report.sample(name, Unit::Milliseconds, millis(start.elapsed()))
}
