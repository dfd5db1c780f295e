//! Identities. A run's id cannot be passed where a pipeline's is wanted.

use std::{convert::Infallible, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, sqlx::Type)]
        #[serde(transparent)]
        #[sqlx(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new identity; later ones sort after earlier ones.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// Identifies a pipeline.
    PipelineId
);
id!(
    /// Identifies one attempt to run a pipeline.
    RunId
);
id!(
    /// Identifies a report.
    ReportId
);

/// How a client names a pipeline: by id or by name. A name never looks like an id (see `PipelineDraft`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PipelineRef {
    Id(PipelineId),
    Name(String),
}

impl FromStr for PipelineRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Uuid::try_parse(text).map(|id| Self::Id(PipelineId(id))).unwrap_or_else(|_| Self::Name(text.to_owned())))
    }
}

impl From<PipelineId> for PipelineRef {
    fn from(id: PipelineId) -> Self {
        Self::Id(id)
    }
}

impl fmt::Display for PipelineRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}
