//! The import rule, as `lib.rs` states it: modules import only from those above them in its list.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// What a module of this crate imports from others of it, with the file that does.
fn imports() -> BTreeMap<String, BTreeMap<String, PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut imports: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
    for file in sources(&root) {
        let below = file.strip_prefix(&root).unwrap().with_extension("");
        let module = below.iter().next().unwrap().to_str().unwrap().to_owned();
        let of_module = imports.entry(module.clone()).or_default();
        for name in named_after_crate(&read(&file)) {
            if name != module {
                of_module.insert(name, file.clone());
            }
        }
    }
    imports
}

/// The modules that follow `crate::` in code, one by one or in braces.
fn named_after_crate(source: &str) -> BTreeSet<String> {
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut names = BTreeSet::new();
    for (place, _) in code.match_indices("crate::") {
        let rest = &code[place + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(outermost(group)),
            None => names.extend(identifier(rest)),
        }
    }
    names.retain(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    names
}

/// The first name of each item of a group, up to its closing brace.
fn outermost(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut begins) = (0, Vec::new(), true);
    for (place, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                names.extend(identifier(&group[place..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The modules of the numbered list in `lib.rs`, in its order.
fn reading_order() -> Vec<String> {
    let lib = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
    let numbered = lib.lines().filter_map(|line| line.strip_prefix("//! ")?.split_once(". [`"));
    numbered
        .filter(|(number, _)| number.parse::<usize>().is_ok())
        .map(|(_, rest)| rest.split('`').next().unwrap().to_owned())
        .collect()
}

/// The crates that a crate needs to run, not only to be tested.
fn dependencies(of: &str) -> BTreeSet<String> {
    let manifest = read(&workspace().join(of).join("Cargo.toml"));
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && !line.is_empty() {
            names.insert(line.split(['.', ' ', '=']).next().unwrap().to_owned());
        }
    }
    assert!(!names.is_empty(), "{of} has no dependencies");
    names
}

#[test]
fn the_list_in_lib_rs_begins_with_the_domain_and_names_real_modules() {
    let (order, imports) = (reading_order(), imports());
    assert_eq!(order.first().map(String::as_str), Some("domain"));
    assert!(order.len() >= 8, "{order:?}");
    for module in &order {
        assert!(imports.contains_key(module), "{module} is not a module");
    }
}

#[test]
fn a_module_imports_only_from_those_above_it() {
    let (order, imports) = (reading_order(), imports());
    for (place, module) in order.iter().enumerate() {
        for (imported, file) in &imports[module] {
            assert!(
                order[..place].contains(imported),
                "{} imports {imported}: {module} may only import {:?}",
                file.display(),
                &order[..place]
            );
        }
    }
}

#[test]
fn the_domain_imports_nothing_of_ours_and_the_store_only_the_domain() {
    let imports = imports();
    assert_eq!(imports["domain"].keys().collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(imports["store"].keys().collect::<Vec<_>>(), ["domain"]);
}

#[test]
fn what_a_process_needs_to_start_does_not_know_what_it_does() {
    let (order, imports) = (reading_order(), imports());
    let startup = imports.keys().filter(|module| !order.contains(module) && !["lib", "testing"].contains(&&***module));
    for module in startup {
        for (imported, file) in &imports[module] {
            // Names and types of the domain decide nothing by themselves.
            assert!(*imported == "domain" || !order.contains(imported), "{} imports {imported}", file.display());
        }
    }
}

#[test]
fn api_and_worker_know_shared_and_not_each_other() {
    let (shared, api, worker) = (dependencies("shared"), dependencies("api"), dependencies("worker"));
    assert!(api.contains("vitrina-shared") && worker.contains("vitrina-shared"));
    assert!(!api.contains("vitrina-worker"), "the API executes nothing");
    assert!(!worker.contains("vitrina-api"), "the worker knows no handlers");
    assert!(shared.iter().all(|name| !name.starts_with("vitrina")), "{shared:?}");
    assert!(!shared.contains("salvo"), "shared knows nothing of HTTP");
    assert!(!api.contains("elasticsearch"), "the API never talks to Elasticsearch");
}
