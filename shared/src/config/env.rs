//! Reads variables and collects everything that is wrong with them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// The variables of the process, or given ones, with the problems found in them so far.
pub struct Env {
    lookup: Lookup,
    /// All variables, for those whose names only the operator knows.
    listed: Vec<(String, OsString)>,
    overrides: HashMap<&'static str, String>,
    problems: Vec<SettingProblem>,
}

type Lookup = Box<dyn Fn(&str) -> Option<OsString>>;

pub trait FromEnv: Sized {
    /// Reads the struct. Every wrong variable is reported to `env`; `None` if no default can replace it.
    fn from_env(env: &mut Env) -> Option<Self>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// The variable's name, for instance `VITRINA_ADDR`.
    pub variable: &'static str,
    /// What is wrong with it and what it takes, as the rest of a sentence that starts with the name.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors(Vec<SettingProblem>);

impl Env {
    pub fn from_process() -> Self {
        let listed = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        Self { listed, ..Self::from_lookup(|name| std::env::var_os(name)) }
    }

    pub fn from_pairs<K: Into<String>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let pairs: HashMap<String, OsString> = pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        let listed = pairs.clone().into_iter().collect();
        Self { listed, ..Self::from_lookup(move |name| pairs.get(name).cloned()) }
    }

    pub fn from_lookup(lookup: impl Fn(&str) -> Option<OsString> + 'static) -> Self {
        Self { lookup: Box::new(lookup), listed: Vec::new(), overrides: HashMap::new(), problems: Vec::new() }
    }

    /// Puts a value, such as a command line option, over the variable of that name. `None` leaves it as it is.
    pub fn with(mut self, variable: &'static str, value: Option<impl fmt::Display>) -> Self {
        self.overrides.extend(value.map(|value| (variable, value.to_string())));
        self
    }

    /// Reads a struct, or a tuple of them, and reports every wrong variable.
    pub fn read<T: FromEnv>(mut self) -> Result<T, ConfigErrors> {
        match T::from_env(&mut self) {
            Some(value) if self.problems.is_empty() => Ok(value),
            Some(_) | None => Err(ConfigErrors(self.problems)),
        }
    }

    /// The variable's value without the white space around it; `None` where it is unset or empty.
    pub(super) fn text(&mut self, variable: &'static str) -> Option<String> {
        let value = match self.overrides.get(variable) {
            Some(value) => value.clone(),
            None => match (self.lookup)(variable)?.into_string() {
                Ok(value) => value,
                Err(_) => {
                    self.report(variable, "is not valid UTF-8 text");
                    return None;
                }
            },
        };
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// The variables whose names begin like this, by the rest of their names; empty ones are unset.
    pub(super) fn beginning_with(&self, beginning: &str) -> Vec<(String, OsString)> {
        let named =
            |(name, value): &(String, OsString)| Some((name.strip_prefix(beginning)?.to_owned(), value.clone()));
        let mut found: Vec<_> = self.listed.iter().filter_map(named).filter(|(_, value)| !value.is_empty()).collect();
        found.sort();
        found
    }

    /// The variable parsed by `parse`, whose error is the rest of a sentence that starts with the variable's name.
    pub(super) fn parsed<T, E: fmt::Display>(
        &mut self,
        variable: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.text(variable)?;
        parse(&value).map_err(|error| self.report(variable, error)).ok()
    }

    /// The variable as a whole number within `range`, or the default.
    pub(super) fn number<T>(&mut self, variable: &'static str, default: T, range: RangeInclusive<T>) -> T
    where
        T: FromStr + PartialOrd + fmt::Display + Copy,
    {
        self.parsed(variable, |value| {
            let number = value.parse().ok().filter(|number| range.contains(number));
            number.ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                format!("is \"{value}\" but takes a whole number from {least} to {most} (default {default})")
            })
        })
        .unwrap_or(default)
    }

    /// The variable as seconds within `range`, fractions allowed, or the default.
    pub(super) fn seconds(&mut self, variable: &'static str, default: f64, range: RangeInclusive<f64>) -> Duration {
        let seconds = self.parsed(variable, |value| {
            let seconds = value.parse().ok().filter(|seconds| range.contains(seconds));
            seconds.ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                format!("is \"{value}\" but takes seconds from {least} to {most} (default {default})")
            })
        });
        Duration::from_secs_f64(seconds.unwrap_or(default))
    }

    /// Notes that a variable is wrong; `message` continues a sentence that starts with its name.
    pub(super) fn report(&mut self, variable: &'static str, message: impl fmt::Display) {
        self.problems.push(SettingProblem { variable, message: message.to_string() });
    }

    pub(super) fn reported(&self, variable: &str) -> bool {
        self.problems.iter().any(|problem| problem.variable == variable)
    }
}

/// Reads every part before giving up on one, so that all their problems are reported together.
macro_rules! from_env_for_tuples {
    ($(($($part:ident),+))+) => {$(
        impl<$($part: FromEnv),+> FromEnv for ($($part,)+) {
            #[allow(non_snake_case, reason = "the type parameters double as variables")]
            fn from_env(env: &mut Env) -> Option<Self> {
                $(let $part = $part::from_env(env);)+
                Some(($($part?,)+))
            }
        }
    )+};
}

from_env_for_tuples! { (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) }

impl ConfigErrors {
    pub fn problems(&self) -> &[SettingProblem] {
        &self.0
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for SettingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}.", self.variable, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Port(u16);

    impl FromEnv for Port {
        fn from_env(env: &mut Env) -> Option<Self> {
            Some(Self(env.number("PORT", 80, 1..=1000)))
        }
    }

    struct Pause(Duration);

    impl FromEnv for Pause {
        fn from_env(env: &mut Env) -> Option<Self> {
            Some(Self(env.seconds("PAUSE", 2.0, 0.1..=60.0)))
        }
    }

    fn port(value: &str) -> Result<Port, ConfigErrors> {
        Env::from_pairs([("PORT", value)]).read()
    }

    #[test]
    fn an_unset_or_empty_variable_gives_the_default() {
        assert_eq!(Env::from_pairs::<&str, &str>([]).read(), Ok(Port(80)));
        assert_eq!(port("  "), Ok(Port(80)));
    }

    #[test]
    fn white_space_around_a_value_does_not_matter() {
        assert_eq!(port(" 81\n"), Ok(Port(81)));
    }

    #[test]
    fn a_number_that_is_none_or_outside_its_range_is_refused_with_the_range() {
        for wrong in ["0", "1001", "-1", "8O", "1e2", "99999999999999999999"] {
            let sentence = port(wrong).expect_err(wrong).to_string();
            assert_eq!(sentence, format!("PORT is \"{wrong}\" but takes a whole number from 1 to 1000 (default 80)."));
        }
    }

    #[test]
    fn seconds_may_have_a_fraction_but_not_be_infinite() {
        let read = |value: &str| Env::from_pairs([("PAUSE", value)]).read::<Pause>();
        assert_eq!(read("0.25").map(|pause| pause.0), Ok(Duration::from_millis(250)));
        for wrong in ["inf", "NaN", "-1", "0", "1s"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn all_wrong_variables_are_reported_together_a_line_each() {
        let read = Env::from_pairs([("PORT", "x"), ("PAUSE", "y")]).read::<(Port, Pause)>();
        let errors = read.map(|_| ()).expect_err("both are wrong");
        let names: Vec<&str> = errors.problems().iter().map(|problem| problem.variable).collect();
        assert_eq!(names, ["PORT", "PAUSE"]);
        assert_eq!(errors.to_string().lines().count(), 2);
    }

    #[test]
    fn an_override_wins_over_the_variable() {
        let env = || Env::from_pairs([("PORT", "81")]);
        assert_eq!(env().with("PORT", Some(82)).read(), Ok(Port(82)));
        assert_eq!(env().with("PORT", None::<u16>).read(), Ok(Port(81)));
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_not_utf8_is_refused_by_name() {
        use std::os::unix::ffi::OsStringExt;
        let read = Env::from_pairs([("PORT", OsString::from_vec(vec![0xff]))]).read::<Port>();
        assert_eq!(read.expect_err("not text").to_string(), "PORT is not valid UTF-8 text.");
    }
}
