//! What the domain decides by itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod column_types;
mod quoted_values;
