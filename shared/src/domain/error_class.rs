//! What kind of failure it was, which decides what happens next.

use std::borrow::Cow;

use super::names::named_enum;

named_enum! {
    /// The class of an error.
    ErrorClass {
        /// Will probably pass: a lost connection, a deadlock, a time-out.
        Transient = "Transient",
        /// The other side asked us to slow down.
        RateLimited = "RateLimited",
        /// A quota is used up; only the operator can help.
        Quota = "Quota",
        /// Will fail the same way every time.
        Fatal = "Fatal",
        /// One row is bad.
        Row = "Row",
    }
}

/// How servers quote a row's value in a message, and how the quotation ends.
const QUOTATIONS: [(&str, char); 3] = [(": \"", '"'), ("value \"", '"'), ("value: '", '\'')];

/// The message without the values of rows that it quotes: those are for whoever may read the rows, not for a log.
pub fn without_values(message: &str) -> Cow<'_, str> {
    QUOTATIONS.iter().fold(Cow::Borrowed(message), |message, (opening, closing)| {
        let Some(begins) = message.find(opening).map(|place| place + opening.len()) else { return message };
        // A value may contain the closing sign too, so the last one counts; one that was cut off has none.
        let ends = message[begins..].rfind(*closing).map_or(message.len(), |place| begins + place);
        Cow::Owned(format!("{}…{}", &message[..begins], &message[ends..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_rows_are_taken_out_of_messages_and_names_stay() {
        for (message, logged) in [
            (
                "invalid input syntax for type integer: \"4111 \"1111\"\" (SQLSTATE 22P02)",
                "invalid input syntax for type integer: \"…\" (SQLSTATE 22P02)",
            ),
            ("value \"99999999999\" is out of range for type integer", "value \"…\" is out of range for type integer"),
            (
                "failed to parse. Preview of field's value: 'anna@example.org'",
                "failed to parse. Preview of field's value: '…'",
            ),
            ("invalid input syntax for type date: \"cut off in the", "invalid input syntax for type date: \"…"),
            ("column \"name\" does not exist", "column \"name\" does not exist"),
            (
                "null value in column \"name\" of relation \"item\"",
                "null value in column \"name\" of relation \"item\"",
            ),
        ] {
            assert_eq!(without_values(message), logged);
        }
    }
}
