//! What an answer of a service means for the call and its rows.

use serde::Deserialize;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The service is not well at the moment: tried again.
    Temporary,
    /// The service asks for a pause: no attempt has failed.
    RateLimited,
    /// A budget is used up: nothing is asked any more until an operator acts.
    Quota,
    /// The input is at fault: never asked again.
    Refused,
    /// The service does not accept the key.
    Unauthorized,
    /// The service leads to another server.
    Redirected,
}

/// A rule of the plan's: answers with one of these statuses, or whose body has these words, are of this class.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default)]
    pub status: Vec<u16>,
    pub contains: Option<String>,
    pub class: Class,
}

/// The longest words that are looked for, and how much of an answer they are looked for in.
const MAX_WORDS: usize = 200;
const SEARCHED: usize = 64 * 1024;

impl Rule {
    pub fn check(&self) -> Result<(), String> {
        if self.status.is_empty() && self.contains.as_deref().is_none_or(str::is_empty) {
            return Err("name a status, or words of the answer in `contains`".to_owned());
        }
        if self.contains.as_ref().is_some_and(|words| words.len() > MAX_WORDS) {
            return Err(format!("contains: has at most {MAX_WORDS} bytes"));
        }
        if matches!(self.class, Class::Unauthorized | Class::Redirected) {
            return Err("class: is one of temporary, rate_limited, quota and refused".to_owned());
        }
        match self.status.iter().find(|status| !matches!(status, 200..=299 | 400..=599)) {
            Some(status) => Err(format!("status: takes 200 to 299 and 400 to 599, and not {status}")),
            None => Ok(()),
        }
    }

    fn applies(&self, status: u16, body: &[u8]) -> bool {
        let body = &body[..body.len().min(SEARCHED)];
        let has_words =
            |words: &String| body.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words.as_bytes()));
        (self.status.is_empty() || self.status.contains(&status)) && self.contains.as_ref().is_none_or(has_words)
    }
}

/// The class of an answer; none where it is a good one. The plan's rules come first.
pub fn classify(rules: &[Rule], status: u16, body: &[u8]) -> Option<Class> {
    if (300..=399).contains(&status) {
        return Some(Class::Redirected);
    }
    if let Some(rule) = rules.iter().find(|rule| rule.applies(status, body)) {
        return Some(rule.class);
    }
    match status {
        200..=299 => None,
        401 | 403 => Some(Class::Unauthorized),
        402 => Some(Class::Quota),
        408 | 425 => Some(Class::Temporary),
        429 => Some(Class::RateLimited),
        400..=499 => Some(Class::Refused),
        _ => Some(Class::Temporary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_a_class_unless_a_rule_says_another() {
        let rules: Vec<Rule> = serde_json::from_str(
            r#"[{"status": [400], "contains": "Insufficient_Quota", "class": "quota"}, {"status": [404], "class": "temporary"},
                {"contains": "busy", "class": "rate_limited"}]"#,
        )
        .expect("rules");
        assert!(rules.iter().all(|rule| rule.check().is_ok()));
        for (status, body, expected) in [
            (200, "ok", None),
            (202, "", None),
            (200, "I am BUSY", Some(Class::RateLimited)),
            (400, "{insufficient_quota}", Some(Class::Quota)),
            (400, "what", Some(Class::Refused)),
            (401, "", Some(Class::Unauthorized)),
            (402, "", Some(Class::Quota)),
            (404, "", Some(Class::Temporary)),
            (408, "", Some(Class::Temporary)),
            (422, "", Some(Class::Refused)),
            (429, "", Some(Class::RateLimited)),
            (302, "busy", Some(Class::Redirected)),
            (503, "", Some(Class::Temporary)),
        ] {
            assert_eq!(classify(&rules, status, body.as_bytes()), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_rule_says_when_it_applies() {
        for rule in [
            r#"{"class": "quota"}"#,
            r#"{"status": [99], "class": "quota"}"#,
            r#"{"status": [302], "class": "quota"}"#,
            r#"{"contains": "", "class": "quota"}"#,
        ] {
            let rule: Rule = serde_json::from_str(rule).expect("a rule");
            assert!(rule.check().is_err(), "{rule:?}");
        }
    }
}
