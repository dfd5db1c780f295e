//! The indexes of all targets, and the removal of those that are not needed any more.

use std::{collections::HashSet, time::Duration};

use sqlx::{PgConnection, PgPool};
use vitrina_shared::{
    domain::{ELASTICSEARCH, IndexOptions, TargetName},
    store::{installation, runs, targets},
};

use super::{client::Client, error::SinkError, index::Index};

/// A search that began before a swap may still be reading the replaced index.
pub const GRACE: Duration = Duration::from_secs(60);

/// The indexes of all targets in the whitelist.
pub async fn indexes(connection: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    let index = |name: TargetName| match name {
        TargetName::External(ELASTICSEARCH, index) => Some(index),
        TargetName::External(..) | TargetName::Mart(_) => None,
    };
    let listed = targets::list(connection).await?;
    Ok(listed.into_iter().filter_map(|target| target.target.parse().ok().and_then(index)).collect())
}

#[derive(Debug, Default)]
pub struct Swept {
    pub removed: Vec<String>,
    /// The targets of which something could not be removed, and why. The next time will do it.
    pub failed: Vec<(String, SinkError)>,
}

/// Removes what ended runs were building, and replaced indexes after `grace`. A target whose indexes cannot be removed is no
/// reason to leave those of others.
pub async fn sweep(db: &PgPool, client: &Client, grace: Duration) -> sqlx::Result<Swept> {
    let mut connection = db.acquire().await?;
    let (listed, installation) = (targets::list(&mut connection).await?, installation::id(&mut connection).await?);
    drop(connection);
    let client = client.impatient();
    let mut swept = Swept::default();
    for target in listed {
        let (Ok(TargetName::External(ELASTICSEARCH, name)), Ok(options)) =
            (target.target.parse(), IndexOptions::parse(&target.options))
        else {
            continue;
        };
        let index = Index::new(client.clone(), name, options, installation);
        let found = match index.ours().await {
            Ok(found) if found.is_empty() => continue,
            Ok(found) => found,
            Err(error) => {
                swept.failed.push((target.target, error));
                continue;
            }
        };
        let live: HashSet<_> = runs::unfinished(&mut *db.acquire().await?).await?.into_iter().collect();
        match index.sweep(found, &live, grace).await {
            Ok(removed) => swept.removed.extend(removed),
            Err(error) => swept.failed.push((target.target, error)),
        }
    }
    Ok(swept)
}
