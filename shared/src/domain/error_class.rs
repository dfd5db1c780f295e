//! What kind of failure it was, which decides what happens next.

use super::names::named_enum;
pub use super::quoted_values::without_values;

named_enum! {
    ErrorClass {
        /// Will probably pass: a lost connection, a deadlock, a time-out.
        Transient = "Transient",
        /// The other side asked us to slow down.
        RateLimited = "RateLimited",
        /// A quota is used up; only the operator can help.
        Quota = "Quota",
        /// Will fail the same way every time.
        Fatal = "Fatal",
        Row = "Row",
    }
}
