//! What happens to a value that is assigned to a column of another type.

use super::ColumnType;

impl ColumnType {
    /// Whether different values stay different when they are assigned to the type `to`, or are refused.
    pub fn keeps_apart(&self, to: &Self) -> bool {
        let alike = self.is_same_as(to) && (to.arguments.is_empty() || to.arguments == self.arguments);
        if to.is_array {
            return alike;
        }
        let from = if self.is_array { "" } else { self.name.as_str() };
        match (from, to.name.as_str()) {
            // Every type has a text of its own for each value.
            (_, "text") => true,
            ("text" | "character varying" | "character", "character varying") => to.length() >= self.length(),
            (_, "character varying") => to.arguments.is_empty(),
            ("character", "character") => to.length() >= self.length(),
            ("numeric", "numeric") => to.scale() >= self.scale(),
            ("numeric", _) if to.is_whole() => self.scale() <= 0,
            (_, _) if self.is_whole() && to.is_whole() => true,
            (_, "numeric") if self.is_whole() => to.scale() >= 0,
            ("smallint" | "integer" | "real", "double precision") | ("smallint", "real") => true,
            (from, _) if is_stamp(from) && is_stamp(&to.name) => to.precision() >= self.precision(),
            ("date", _) if is_stamp(&to.name) => true,
            (from, into) if from == into && from.starts_with("time ") => to.precision() >= self.precision(),
            ("bit" | "bit varying", "bit varying") => to.length() >= self.length(),
            ("cidr", "inet") => true,
            (_, _) => alike,
        }
    }

    fn length(&self) -> i32 {
        self.arguments.first().copied().unwrap_or(i32::MAX)
    }

    fn precision(&self) -> i32 {
        self.arguments.first().copied().unwrap_or(6)
    }

    /// Without a scale a numeric keeps every digit; with a precision alone it keeps none behind the point.
    fn scale(&self) -> i32 {
        if self.arguments.is_empty() { i32::MAX } else { self.arguments.get(1).copied().unwrap_or(0) }
    }
}

fn is_stamp(name: &str) -> bool {
    matches!(name, "timestamp with time zone" | "timestamp without time zone")
}
