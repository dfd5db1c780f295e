//! Functions of the database that a pipeline has called when something happens to its runs.

use serde::{Deserialize, Serialize};

use super::{Problem, names::named_enum};

/// How many functions one event may call.
pub const MOST_HOOKS: usize = 8;

named_enum! {
    HookEvent {
        /// The run begins; not when it goes on after a pause.
        BeforeRun = "before_run",
        AfterBatch = "after_batch",
        OnSuccess = "on_success",
        /// The run has failed for good; never for an attempt that is repeated.
        OnFailure = "on_failure",
        /// A dead letter was opened.
        OnRowRejected = "on_row_rejected",
    }
}

/// The names of the functions, `schema.function`, in the order in which they are called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hooks {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before_run: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after_batch: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_success: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_failure: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_row_rejected: Vec<String>,
}

impl Hooks {
    pub fn of(&self, event: HookEvent) -> &[String] {
        match event {
            HookEvent::BeforeRun => &self.before_run,
            HookEvent::AfterBatch => &self.after_batch,
            HookEvent::OnSuccess => &self.on_success,
            HookEvent::OnFailure => &self.on_failure,
            HookEvent::OnRowRejected => &self.on_row_rejected,
        }
    }

    pub fn has(&self, event: HookEvent) -> bool {
        !self.of(event).is_empty()
    }

    pub fn is_empty(&self) -> bool {
        !HookEvent::ALL.iter().any(|event| self.has(*event))
    }

    /// Every name with the field that it stands in.
    pub fn named(&self) -> impl Iterator<Item = (String, &str)> {
        HookEvent::ALL.iter().flat_map(|event| {
            let names = self.of(*event).iter().enumerate();
            names.map(move |(place, name)| (format!("{}[{place}]", field(*event)), name.as_str()))
        })
    }

    /// What is wrong with them, whatever the database has.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for event in HookEvent::ALL {
            let names = self.of(*event);
            if names.len() > MOST_HOOKS {
                problems.push(Problem::new(field(*event), format!("an event has at most {MOST_HOOKS} hooks")));
            }
            if let Some(name) =
                names.iter().enumerate().find_map(|(place, name)| names[..place].iter().find(|n| *n == name))
            {
                problems.push(Problem::new(field(*event), format!("`{name}` stands here twice")));
            }
        }
        problems
    }
}

fn field(event: HookEvent) -> String {
    format!("options.hooks.{event}")
}

/// Whether a name has the form that the list takes: `schema.function`, in letters that need no quotes.
pub fn is_function_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        part.len() <= 63
            && part.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    name.split_once('.').is_some_and(|(schema, function)| is_plain(schema) && is_plain(function))
}

/// Why a hook did not do its work. What it did was undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("hook `{function}` of {event} says: {message} (SQLSTATE {state})")]
pub struct HookFailure {
    pub event: HookEvent,
    pub function: String,
    pub state: String,
    pub message: String,
}

impl HookFailure {
    /// Whether the same call may succeed later.
    pub fn may_pass(&self) -> bool {
        self.was_cancelled()
            || self.state == "55P03"
            || ["40", "53", "58"].iter().any(|class| self.state.starts_with(class))
    }

    /// Whether its statement was cancelled: for its time, or because the run was ended.
    pub fn was_cancelled(&self) -> bool {
        self.state == "57014"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_hooks_and_repeated_ones_are_problems_of_their_event() {
        let many = (0..9).map(|n| format!("shop.f{n}")).collect();
        let twice = vec!["shop.a".to_owned(), "shop.b".to_owned(), "shop.a".to_owned()];
        let hooks = Hooks { after_batch: many, on_failure: twice, ..Hooks::default() };
        let problems: Vec<_> = hooks.problems().into_iter().map(|p| (p.field, p.message)).collect();
        let expected = [
            ("options.hooks.after_batch", "an event has at most 8 hooks"),
            ("options.hooks.on_failure", "`shop.a` stands here twice"),
        ];
        assert_eq!(problems, expected.map(|(field, message)| (field.to_owned(), message.to_owned())));
    }

    #[test]
    fn a_function_has_a_schema_and_a_plain_name() {
        for good in ["shop.refund", "_s.f_1"] {
            assert!(is_function_name(good), "{good}");
        }
        for bad in ["refund", "shop.", ".f", "Shop.f", "shop.f()", "a.b.c", "shop.f g", "1a.b", "shop.\"f\""] {
            assert!(!is_function_name(bad), "{bad}");
        }
    }
}
