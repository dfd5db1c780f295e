//! Removes indexes that nobody needs any more, of all targets.

use std::{collections::HashSet, time::Duration};

use sqlx::PgPool;
use vitrina_shared::{
    domain::{IndexOptions, TargetName},
    store::{installation, runs, targets},
};

use super::{client::Client, error::SinkError, index::Index};

/// A search that began before a swap may still be reading the replaced index.
pub const GRACE: Duration = Duration::from_secs(60);

/// Why it could not be done. The next time will do it.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The database is away.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// Elasticsearch is away, or refuses.
    #[error(transparent)]
    Elasticsearch(#[from] SinkError),
}

/// Removes what ended runs were building, and replaced indexes after `grace`. Returns their names.
pub async fn sweep(db: &PgPool, client: &Client, grace: Duration) -> Result<Vec<String>, SweepError> {
    let mut connection = db.acquire().await?;
    let (listed, installation) = (targets::list(&mut connection).await?, installation::id(&mut connection).await?);
    drop(connection);
    let mut removed = Vec::new();
    for target in listed {
        let (Ok(TargetName::Index(name)), Ok(options)) = (target.target.parse(), IndexOptions::parse(&target.options))
        else {
            continue;
        };
        let index = Index::new(client.clone(), name, options, installation);
        let found = index.ours().await?;
        let live: HashSet<_> = runs::unfinished(&mut *db.acquire().await?).await?.into_iter().collect();
        removed.extend(index.sweep(found, &live, grace).await?);
    }
    Ok(removed)
}
