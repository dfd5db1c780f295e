//! A column's type, as SQL writes it, and everything that follows from it.
//!
//! `facts` is the only list of types by their names; a type that it does not have is handled by its text.

mod assignment;
mod facts;

use serde::Deserialize;

use super::clock_key::ClockKey;
pub use facts::{Equal, Extremes, Field, Scalar, ScalarType};
use facts::{Facts, Family, Hash, Key};

/// The first oid that the server gives to what is added to it: types of its own have smaller ones.
pub const FIRST_ADDED: u32 = 16_384;

/// Codes up to this length are searched as a whole and not by their words.
const MAX_CODE: i32 = 64;
/// Whole numbers of this many digits fit 64 bits.
const MAX_LONG_DIGITS: i32 = 18;

/// How two values of a column are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Identity {
    /// By `=`: what is equal reads the same.
    Equality,
    /// A `numeric` of any scale: `1.0` equals `1.00`.
    Scale,
    /// A floating-point number: `0` equals `-0`.
    Sign,
    /// By its stored bytes: there is no `=`, or it takes different values for equal (`interval`, `jsonb`, `citext`).
    Image,
}

/// A type, taken apart: `character varying(20)[]` is an array of `character varying` with the argument 20.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The type of one element, without its length. Types of any length are called like those with one.
    name: String,
    /// Its length, its precision or its precision and scale.
    arguments: Vec<i32>,
    is_array: bool,
    facts: &'static Facts,
}

impl ColumnType {
    /// Takes a type apart that `format_type` has written.
    pub fn of(written: &str) -> Self {
        let element = written.trim_end_matches("[]");
        // A name in quotes may have brackets of its own.
        let quoted = element.rfind('"').map_or(0, |quote| quote + 1);
        let brackets = element[quoted..].find('(').zip(element[quoted..].find(')'));
        let (name, arguments) = match brackets.filter(|(open, close)| open < close) {
            Some((open, close)) => {
                let numbers = element[quoted + open + 1..quoted + close].split(',');
                let name = format!("{}{}", &element[..quoted + open], &element[quoted + close + 1..]);
                (name, numbers.filter_map(|number| number.trim().parse().ok()).collect())
            }
            None => (element.to_owned(), Vec::new()),
        };
        let name = match name.as_str() {
            "bpchar" => "character".to_owned(),
            "\"bit\"" => "bit".to_owned(),
            _ => name,
        };
        Self { facts: facts::find(&name), is_array: element.len() < written.len(), name, arguments }
    }

    /// The type without its length, as a cast writes it. SQL takes the two for types of length one where no length is given.
    pub fn any_length(&self) -> String {
        let name = match self.name.as_str() {
            "character" => "bpchar",
            "bit" => "\"bit\"",
            name => name,
        };
        format!("{name}{}", if self.is_array { "[]" } else { "" })
    }

    /// Whether it is the other type, whatever the lengths are.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.name == other.name && self.is_array == other.is_array
    }

    pub fn is_array(&self) -> bool {
        self.is_array
    }

    /// Whether it is the type of this name itself, and no array of it.
    pub fn is_single(&self, name: &str) -> bool {
        self.name == name && !self.is_array
    }

    /// Whether values of the type, or of its elements, have an order, an equality and a text that agree.
    pub fn can_be_key(&self) -> bool {
        self.facts.key != Key::Never
    }

    /// Whether an incremental run can walk by it: its text is exact, and a page can be cut at every value.
    pub fn can_be_walked(&self) -> bool {
        !self.is_array && is_walked(self.facts)
    }

    /// The names of all types that an incremental run can walk by.
    pub fn walked() -> Vec<&'static str> {
        facts::OWN.iter().filter(|facts| is_walked(facts)).map(|facts| facts.name).collect()
    }

    /// Which clock keys of the type come from; none where a start of a transaction says nothing about them.
    pub fn clock(&self) -> Option<ClockKey> {
        match self.facts.key {
            Key::Clock if !self.is_array => Some(ClockKey::Timestamp),
            Key::Day if !self.is_array => Some(ClockKey::Date),
            Key::Clock | Key::Day | Key::LocalClock | Key::Writers | Key::Target | Key::Never => None,
        }
    }

    pub fn is_local_clock(&self) -> bool {
        self.facts.key == Key::LocalClock && !self.is_array
    }

    /// What `=` of the type, or of its elements, takes for equal.
    pub fn equal(&self) -> Equal {
        self.facts.equal
    }

    /// The names of the server's types whose `=` is of this kind.
    pub fn names_equal(equal: Equal) -> impl Iterator<Item = &'static str> {
        facts::OWN.iter().filter(move |facts| facts.equal == equal).map(|facts| facts.name)
    }

    pub fn is_whole(&self) -> bool {
        self.facts.family == Family::Whole && !self.is_array
    }

    /// Whether it is one of the server's texts, which it compares with each other.
    pub fn is_text(&self) -> bool {
        !self.is_array && self.is_of_texts()
    }

    /// Whether its values, or those of its elements, are texts of the server: their order depends on a collation.
    pub fn is_of_texts(&self) -> bool {
        matches!(self.facts.family, Family::Text | Family::Sized)
    }

    /// Whether it has a collation of its own, besides that of the database.
    pub fn has_collation(&self) -> bool {
        self.is_single("name")
    }

    /// Whether its characters can be replaced.
    pub fn can_be_masked(&self) -> bool {
        self.is_text() || self.facts.family == Family::Folded && !self.is_array
    }

    /// How steps read its values, if they know the type.
    pub fn scalar(&self) -> Option<Scalar> {
        facts::SCALARS.iter().find(|known| self.is_single(known.name)).map(|known| known.scalar)
    }

    /// Whether an explicit cast to it cuts what an assignment refuses.
    pub fn is_cut_by_casts(&self) -> bool {
        matches!(self.facts.family, Family::Sized | Family::Bits)
    }

    pub fn is_json(&self) -> bool {
        matches!(self.facts.family, Family::Json | Family::Object)
    }

    /// Whether a value comes back from JSON as it was: arrays lose their bounds, what an extension makes JSON of is not read
    /// back, and no domain is over a type that has no binary form.
    pub fn survives_json(&self) -> bool {
        !self.is_array && !matches!(self.facts.family, Family::Object | Family::Internal)
    }

    /// Whether a hash of records takes its values as they are.
    pub fn hashes_itself(&self) -> bool {
        self.facts.hash != Hash::TextOf
    }

    pub fn hash_function(&self) -> Option<&'static str> {
        match self.facts.hash {
            Hash::By(function) if !self.is_array => Some(function),
            Hash::By(_) | Hash::Itself | Hash::TextOf => None,
        }
    }

    pub fn extremes(&self) -> Extremes {
        match self.facts.extremes {
            Extremes::AsArray if self.is_array => Extremes::AsText,
            Extremes::AsArray | Extremes::Own | Extremes::AsText => self.facts.extremes,
        }
    }

    /// Whether an index orders its values as the server does.
    pub fn is_ordered_in_index(&self) -> bool {
        let is_word = matches!(self.facts.field, Field::Text | Field::Keyword);
        !self.is_array
            && match self.facts.extremes {
                Extremes::Own => !is_word,
                Extremes::AsArray => true,
                Extremes::AsText => false,
            }
    }

    /// How an index maps a column of it. An array is mapped like its elements.
    pub fn field(&self) -> Field {
        match (self.facts.field, self.facts.family, &self.arguments[..]) {
            (_, Family::Sized, &[length]) => {
                if length <= MAX_CODE {
                    Field::Keyword
                } else {
                    Field::Text
                }
            }
            (Field::Double, _, &[digits, 0]) if digits <= MAX_LONG_DIGITS => Field::Long,
            (field, _, _) => field,
        }
    }
}

impl ScalarType {
    /// The type of this name, as SQL writes it, in full or short.
    pub fn named(name: &str) -> Option<&'static Self> {
        facts::SCALARS.iter().find(|known| known.name == name || known.short == name)
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        facts::SCALARS.iter().map(|known| known.name)
    }

    /// The short names too, each once.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        let short = facts::SCALARS.iter().filter(|known| known.short != known.name).map(|known| known.short);
        Self::names().chain(short)
    }
}

fn is_walked(facts: &Facts) -> bool {
    !matches!(facts.key, Key::Never | Key::Target)
}
