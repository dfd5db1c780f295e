//! Which indexes the targets name, for whoever wants to know beforehand whether they may be written.

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{ELASTICSEARCH, TargetName},
    store::targets,
};

/// The indexes of all targets in the whitelist.
pub async fn indexes(connection: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    let listed = targets::list(connection).await?;
    let index = |name: TargetName| match name {
        TargetName::External(ELASTICSEARCH, index) => Some(index),
        TargetName::External(..) | TargetName::Mart(_) => None,
    };
    Ok(listed.into_iter().filter_map(|target| target.target.parse().ok().and_then(index)).collect())
}
