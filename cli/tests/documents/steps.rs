//! `docs/STEPS.md` has a section for every builtin step, with an example of every option.

use serde_json::Value;
use vitrina_shared::domain::transform::Registry;

use crate::markdown::read;

/// The names of all options in a schema: of the step, and of what it takes for each column.
fn options(schema: &Value) -> Vec<String> {
    let own = schema["properties"].as_object().into_iter().flatten();
    let named = own.map(|(name, value)| (name.clone(), value));
    named.flat_map(|(name, value)| std::iter::once(name).chain(options(&value["additionalProperties"]))).collect()
}

#[test]
fn every_option_of_every_step_has_an_example() {
    let page = read("docs/STEPS.md");
    let mut found = 0;
    for kind in Registry::default().kinds() {
        let heading = format!("### `{}`\n", kind.name);
        let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("no section of `{}`", kind.name));
        let section = rest.split("\n### ").next().unwrap();
        let example = section.split("```").filter(|block| block.starts_with("yaml\n")).collect::<String>();
        for option in options(&(kind.schema)()) {
            assert!(example.contains(&format!("{option}:")), "no example of `{option}` of `{}`", kind.name);
            found += 1;
        }
    }
    assert!(found > 15, "only {found} options");
}
