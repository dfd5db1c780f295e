//! A physical index as the server describes it: what leads to it, who made it, and what state it is in.
//!
//! | aliases | state |
//! |---|---|
//! | the target's name | serves |
//! | `…-building` alone | is being built by a full run |
//! | `…-replaced` alone | was replaced by a full run, and is removed once no search can be reading it any more |
//! | `…-doomed` alone | is being removed |
//! | none, or only others | was taken out of use by hand: it is left alone |
//!
//! The marks are aliases because the server changes aliases in one step, and only if those are there that must be: an index
//! that is marked for removal cannot take over, and one that took over cannot be marked for removal.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::error::SinkError;

/// A state that an index is marked with, besides serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Building,
    Replaced,
    Doomed,
}

impl Mark {
    const ALL: [Self; 3] = [Self::Building, Self::Replaced, Self::Doomed];

    /// The alias that says so. No longer than `-building`, so that it fits where that does.
    pub fn of(self, physical: &str) -> String {
        let suffix = match self {
            Self::Building => "building",
            Self::Replaced => "replaced",
            Self::Doomed => "doomed",
        };
        format!("{physical}-{suffix}")
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Physical {
    pub name: String,
    /// What the server calls this very index: one that is made anew under its name, or restored from a snapshot, has another.
    pub uuid: String,
    /// Its aliases, with what the server says of each.
    pub aliases: Map<String, Value>,
    pub closed: bool,
    pub meta: Map<String, Value>,
    pub fields: Map<String, Value>,
}

impl Physical {
    /// The indexes of an answer to `GET /<names>`.
    pub fn all(answer: Value) -> Result<Vec<Self>, SinkError> {
        let found: BTreeMap<String, Value> =
            serde_json::from_value(answer).map_err(|error| SinkError::foreign(&error))?;
        found.into_iter().map(|(name, value)| Self::new(name, value)).collect()
    }

    fn new(name: String, mut value: Value) -> Result<Self, SinkError> {
        let mut object = |pointer: &str| match value.pointer_mut(pointer).map(Value::take) {
            Some(Value::Object(map)) => map,
            Some(_) | None => Map::new(),
        };
        let (aliases, meta) = (object("/aliases"), object("/mappings/_meta"));
        let (fields, settings) = (object("/mappings/properties"), object("/settings/index"));
        let Some(uuid) = settings.get("uuid").and_then(Value::as_str).map(str::to_owned) else {
            return Err(SinkError::transient(format!("Elasticsearch does not say which index `{name}` is")));
        };
        // An index that is closed and restored in its place keeps its id, and gets another history.
        let history = settings.get("history").and_then(|history| history.get("uuid")).and_then(Value::as_str);
        let uuid = history.map_or(uuid.clone(), |history| format!("{uuid}/{history}"));
        let closed = settings.get("verified_before_close").is_some_and(|value| value == "true");
        Ok(Self { name, uuid, aliases, closed, meta, fields })
    }

    pub fn has(&self, alias: &str) -> bool {
        self.aliases.contains_key(alias)
    }

    pub fn is(&self, mark: Mark) -> bool {
        self.has(&mark.of(&self.name))
    }

    /// Whether it is marked so, and nothing else leads to it.
    pub fn is_only(&self, mark: Mark) -> bool {
        self.aliases.len() == 1 && self.is(mark)
    }

    /// The aliases that are neither a mark nor the target's: users gave them.
    pub fn others<'a>(&'a self, target: &'a str) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let marks = Mark::ALL.map(|mark| mark.of(&self.name));
        self.aliases.iter().filter(move |(alias, _)| *alias != target && !marks.contains(alias))
    }

    /// Which installation made it; nothing for an index that is not Vitrina's.
    pub fn owner(&self) -> Option<&str> {
        self.noted("installation")?.as_str()
    }

    /// When it was replaced, in milliseconds since 1970, if that was noted.
    pub fn replaced_at(&self) -> Option<u64> {
        self.noted("replaced_at")?.as_u64()
    }

    fn noted(&self, name: &str) -> Option<&Value> {
        self.meta.get("vitrina")?.get(name)
    }

    /// Its `_meta` with another time of replacement.
    pub fn meta_with(&self, replaced_at: Option<u64>) -> Value {
        noting(self.meta.clone(), self.owner(), replaced_at)
    }
}

/// A `_meta` with what we note in it beside what is there.
pub fn noting(mut meta: Map<String, Value>, owner: Option<&str>, replaced_at: Option<u64>) -> Value {
    let mut ours = Map::new();
    ours.extend(owner.map(|owner| ("installation".to_owned(), json!(owner))));
    ours.extend(replaced_at.map(|at| ("replaced_at".to_owned(), json!(at))));
    meta.insert("vitrina".to_owned(), Value::Object(ours));
    Value::Object(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(aliases: Value) -> Physical {
        let described = json!({"aliases": aliases, "mappings": {"_meta": {"vitrina": {"installation": "me"}}},
            "settings": {"index": {"uuid": "u"}}});
        Physical::all(json!({"i": described})).expect("an index").remove(0)
    }

    #[test]
    fn marks_are_told_from_the_aliases_of_users() {
        let index = one(json!({"i-building": {}, "films": {"filter": 1}, "t": {}, "j-doomed": {}}));
        assert!(index.is(Mark::Building) && !index.is_only(Mark::Building) && !index.is(Mark::Doomed));
        assert_eq!(index.others("t").map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["films", "j-doomed"]);
        assert!(one(json!({"i-replaced": {}})).is_only(Mark::Replaced));
        assert_eq!((index.owner(), index.replaced_at()), (Some("me"), None));
    }

    #[test]
    fn a_note_keeps_what_is_there() {
        let mut index = one(json!({}));
        index.meta.insert("theirs".to_owned(), json!(1));
        assert_eq!(index.meta_with(Some(7)), json!({"theirs": 1, "vitrina": {"installation": "me", "replaced_at": 7}}));
        assert_eq!(index.meta_with(None), json!({"theirs": 1, "vitrina": {"installation": "me"}}));
    }

    #[test]
    fn what_is_no_index_is_told() {
        assert!(Physical::all(json!({"hello": "world"})).is_err());
        assert!(Physical::all(json!("<html>")).is_err());
    }
}
