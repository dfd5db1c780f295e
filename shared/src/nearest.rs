//! Suggestions for mistyped names.

/// The known name that is nearest to `typed`, if one is near at all.
pub fn of<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let distance = |name: &&str| strsim::damerau_levenshtein(&typed, &name.to_lowercase());
    let allowed = (typed.chars().count() / 3).max(1);
    known.into_iter().map(|name| (distance(&name), name)).filter(|(far, _)| *far <= allowed).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_slip_of_the_finger_is_found_and_a_stranger_is_not() {
        let known = ["film_dim", "genre_dim", "film_rating_agg"];
        assert_eq!(of("flim_dim", known), Some("film_dim"));
        assert_eq!(of("Film_Dim", known), Some("film_dim"));
        assert_eq!(of("film_raging_ag", known), Some("film_rating_agg"));
        assert_eq!(of("orders", known), None);
        assert_eq!(of("", known), None);
    }
}
