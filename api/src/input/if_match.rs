//! `If-Match`, as RFC 9110 reads it.
//!
//! Tags are compared strongly: a weak one, `W/"1"`, matches nothing, not even itself. `ETag` here is always strong, so a weak
//! tag means that something on the way has weakened it, as proxies that compress do.

use salvo::{Request, http::header};

use crate::problem::{ApiError, ApiResult};

const MALFORMED: &str = "header If-Match takes `*`, or tags in double quotes as `ETag` gives them, separated by commas";
const WEAK: &str =
    "header If-Match has weak tags only, which never match: send the `ETag` as it was given, without `W/`";

/// The versions that `If-Match` allows; `None` for any. 400 malformed, 412 where no version could match.
pub fn if_match(req: &Request) -> ApiResult<Option<Vec<i64>>> {
    let mut lines = Vec::new();
    for value in req.headers().get_all(header::IF_MATCH) {
        // Bytes beyond ASCII may stand in a tag; such a tag is none of ours.
        lines.push(String::from_utf8_lossy(value.as_bytes()));
    }
    if lines.is_empty() { Ok(None) } else { parse(&lines.join(",")) }
}

fn parse(text: &str) -> ApiResult<Option<Vec<i64>>> {
    if text.trim() == "*" {
        return Ok(None);
    }
    let tags = tags(text).ok_or_else(|| ApiError::BadRequest(MALFORMED.to_owned()))?;
    if tags.iter().all(|tag| tag.weak) {
        return Err(ApiError::StaleVersion(WEAK.to_owned()));
    }
    // A tag that is none of ours matches nothing; it is stale, not malformed.
    Ok(Some(tags.iter().filter(|tag| !tag.weak).filter_map(|tag| version(tag.text)).collect()))
}

struct Tag<'a> {
    weak: bool,
    text: &'a str,
}

/// The tags of a list, of which some elements may be empty; none where it is no list of tags.
fn tags(text: &str) -> Option<Vec<Tag<'_>>> {
    let mut tags = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
            continue;
        }
        let unmarked = rest.strip_prefix("W/");
        let (tag, after) = unmarked.unwrap_or(rest).strip_prefix('"')?.split_once('"')?;
        if tag.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return None;
        }
        tags.push(Tag { weak: unmarked.is_some(), text: tag });
        rest = after.trim_start();
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
    }
    (!tags.is_empty()).then_some(tags)
}

/// The version that we write as this tag, and in no other way.
fn version(tag: &str) -> Option<i64> {
    tag.parse().ok().filter(|version: &i64| version.to_string() == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strong_tags_name_versions_and_a_star_any() {
        for (text, versions) in [
            ("*", None),
            (" * ", None),
            ("\"1\"", Some(vec![1])),
            ("\"1\", \"2\"", Some(vec![1, 2])),
            (" ,\"1\",,\t\"2\" , ", Some(vec![1, 2])),
            ("W/\"1\", \"2\"", Some(vec![2])),
            ("\"a,b\"", Some(vec![])),
            ("\"*\"", Some(vec![])),
            ("\"01\", \"+1\", \"\"", Some(vec![])),
        ] {
            assert_eq!(parse(text).unwrap_or_else(|error| panic!("{text}: {error}")), versions, "{text}");
        }
    }

    #[test]
    fn weak_tags_alone_match_nothing() {
        for text in ["W/\"1\"", "W/\"1\", W/\"2\""] {
            assert!(matches!(parse(text), Err(ApiError::StaleVersion(message)) if message == WEAK), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_tags_is_malformed() {
        for text in [
            "",
            ",",
            "1",
            "\"1",
            "1\"",
            "\"1\" \"2\"",
            "w/\"1\"",
            "W/1",
            "W/ \"1\"",
            "*, \"1\"",
            "\"1\", *",
            "\"1\";",
            "\"1 \"",
            "\"\u{1}\"",
        ] {
            assert!(matches!(parse(text), Err(ApiError::BadRequest(_))), "{text}");
        }
    }
}
