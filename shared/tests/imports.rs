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

/// What the modules of a directory import from each other, with the module that does.
type Imports = BTreeMap<String, BTreeMap<String, String>>;

/// The code of every module of a crate by its path, without comments and without tests.
fn modules(of: &str) -> BTreeMap<Vec<String>, String> {
    let root = workspace().join(of).join("src");
    let module = |file: PathBuf| {
        let below = file.strip_prefix(&root).unwrap().with_extension("");
        let path: Vec<_> = below.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        let path = if path == ["lib"] { Vec::new() } else { path };
        let source = read(&file);
        let code = source.split("#[cfg(test)]\nmod ").next().unwrap();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        (path, code.join("\n"))
    };
    sources(&root).into_iter().map(module).collect()
}

/// What modules of a crate import from modules beside them, by the directory in which both are.
fn imports(of: &str) -> BTreeMap<String, Imports> {
    let modules = modules(of);
    let mut imports: BTreeMap<String, Imports> = BTreeMap::new();
    for (module, code) in &modules {
        let own = module.last().cloned().unwrap_or_default();
        imports.entry(directory(of, &module[..module.len().saturating_sub(1)])).or_default().entry(own).or_default();
        for path in paths(code) {
            let path = absolute(module, path);
            let shared = module.iter().zip(&path).take_while(|(own, named)| own == named).count();
            let (Some(importer), Some(named)) = (module.get(shared), path.get(shared)) else { continue };
            let beside = &module[..shared];
            let Some(imported) = module_of(&modules, beside, named).filter(|imported| imported != importer) else {
                continue;
            };
            let of_directory = imports.entry(directory(of, beside)).or_default();
            of_directory.entry(importer.clone()).or_default().insert(imported, module.join("::"));
        }
    }
    imports
}

fn directory(of: &str, path: &[String]) -> String {
    [of].into_iter().chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// The module of a directory that has this name, or from which the directory exports it.
fn module_of(modules: &BTreeMap<Vec<String>, String>, directory: &[String], name: &str) -> Option<String> {
    let is_module = |name: &str| modules.contains_key(&[directory, &[name.to_owned()]].concat());
    if is_module(name) {
        return Some(name.to_owned());
    }
    let exported = modules.get(directory)?.split(" use ").skip(1).flat_map(|rest| tree(rest).0);
    let mut exported = exported.filter(|path| path.last().is_some_and(|last| last == name));
    exported.find_map(|path| path.into_iter().next().filter(|first| is_module(first)))
}

/// The paths in some code that begin with `crate` or `super`.
fn paths(code: &str) -> Vec<Vec<String>> {
    let begins = |place: &usize| {
        let before = code[..*place].chars().next_back();
        !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
    };
    let found = ["crate::", "super::"].into_iter().flat_map(|root| code.match_indices(root).map(|(place, _)| place));
    found.filter(begins).flat_map(|place| tree(&code[place..]).0).collect()
}

/// The paths that a text begins with, `a::{b, c::d}` as two of them, and what follows them.
fn tree(text: &str) -> (Vec<Vec<String>>, &str) {
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut paths = Vec::new();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if rest.is_empty() || rest.starts_with('}') {
                return (paths, rest.get(1..).unwrap_or_default());
            }
            let (found, after) = tree(rest);
            paths.extend(found);
            // A name that is given by `as` ends with the item.
            rest = &after[after.find([',', '}']).unwrap_or(after.len())..];
        }
    }
    let length = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '*').unwrap_or(text.len());
    let (name, rest) = text.split_at(length);
    match rest
        .strip_prefix("::")
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || "_{*".contains(c)))
    {
        Some(rest) => {
            let (found, rest) = tree(rest);
            (found.into_iter().map(|path| [vec![name.to_owned()], path].concat()).collect(), rest)
        }
        None => (vec![vec![name.to_owned()]], rest),
    }
}

/// A path as seen from the root of the crate.
fn absolute(module: &[String], path: Vec<String>) -> Vec<String> {
    if path[0] == "crate" {
        return path[1..].to_vec();
    }
    let above = path.iter().take_while(|part| *part == "super").count();
    [&module[..module.len().saturating_sub(above)], &path[above..]].concat()
}

/// The modules that a module imports, directly or through others.
fn reached(imports: &Imports, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from.to_owned()];
    while let Some(module) = next.pop() {
        let imported = imports.get(&module).into_iter().flat_map(BTreeMap::keys);
        next.extend(imported.filter(|name| reached.insert((*name).clone())).cloned());
    }
    reached
}

/// The imports that are part of a circle: two modules and the place of the import.
fn circles(imports: &Imports) -> Vec<(&str, &str, &str)> {
    let all = imports.iter().flat_map(|(module, imported)| {
        imported.iter().map(|(name, place)| (module.as_str(), name.as_str(), place.as_str()))
    });
    all.filter(|(module, name, _)| reached(imports, name).contains(*module)).collect()
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
    let (order, imports) = (reading_order(), imports("shared").remove("shared").unwrap());
    assert_eq!(order.first().map(String::as_str), Some("domain"));
    assert!(order.len() >= 8, "{order:?}");
    for module in &order {
        assert!(imports.contains_key(module), "{module} is not a module");
    }
}

#[test]
fn a_module_imports_only_from_those_above_it() {
    let (order, imports) = (reading_order(), imports("shared").remove("shared").unwrap());
    for (place, module) in order.iter().enumerate() {
        for (imported, importer) in &imports[module] {
            assert!(
                order[..place].contains(imported),
                "{importer} imports {imported}: {module} may only import {:?}",
                &order[..place]
            );
        }
    }
}

#[test]
fn the_domain_imports_nothing_of_ours_and_the_store_only_the_domain_and_sql() {
    let imports = imports("shared").remove("shared").unwrap();
    assert_eq!(imports["domain"].keys().collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(imports["sql"].keys().collect::<Vec<_>>(), ["domain"]);
    assert_eq!(imports["store"].keys().collect::<Vec<_>>(), ["domain", "sql"]);
}

#[test]
fn what_a_process_needs_to_start_does_not_know_what_it_does() {
    let (order, imports) = (reading_order(), imports("shared").remove("shared").unwrap());
    let startup = imports.keys().filter(|module| !order.contains(module) && !["", "testing"].contains(&&***module));
    for module in startup {
        for (imported, importer) in &imports[module] {
            // Names and types of the domain decide nothing by themselves.
            assert!(*imported == "domain" || !order.contains(imported), "{importer} imports {imported}");
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

#[test]
fn no_module_imports_one_that_imports_it() {
    let graphs: BTreeMap<String, Imports> =
        ["shared", "api", "worker", "cli", "bench"].into_iter().flat_map(imports).collect();
    let found = graphs.iter().map(|(directory, imports)| (directory, circles(imports)));
    let found: Vec<_> = found.filter(|(_, circles)| !circles.is_empty()).collect();
    assert!(found.is_empty(), "modules that import each other, directly or through others: {found:#?}");
}

/// The files through which one request is followed, each with the name by which it leads to the next, as ARCHITECTURE lists them.
fn walk() -> Vec<(String, String)> {
    let architecture = read(&workspace().join("docs/ARCHITECTURE.md"));
    let table = architecture.split("| leads on by |\n").nth(1).unwrap().lines().skip(1);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cell = |place: usize| row.split('|').nth(place).unwrap().trim().trim_matches('`').to_owned();
        (cell(1), cell(3))
    })
    .collect()
}

/// The lines of a Rust or SQL file that are no comments.
fn code(file: &str) -> String {
    let comment = if file.ends_with(".sql") { "--" } else { "//" };
    let text = read(&workspace().join(file));
    text.lines().filter(|line| !line.trim_start().starts_with(comment)).collect::<Vec<_>>().join("\n")
}

/// Whether some code has a name as a word of its own.
fn names(code: &str, name: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    code.match_indices(name).any(|(place, _)| {
        !is_word(code[..place].chars().next_back()) && !is_word(code[place + name.len()..].chars().next())
    })
}

#[test]
fn a_request_is_followed_from_its_route_to_its_last_event_through_at_most_twelve_files() {
    let walk = walk();
    assert!(walk.len() <= 12, "{walk:?}");
    assert_eq!(walk[0].0, "api/src/routes/runs.rs");
    assert_eq!(walk[walk.len() - 1].0, "api/src/routes/events.rs");
    let files: BTreeSet<_> = walk.iter().map(|(file, _)| file).collect();
    assert_eq!(files.len(), walk.len(), "a file is passed twice");
    for pair in walk.windows(2) {
        let [(file, name), (next, _)] = pair else { unreachable!() };
        assert!(names(&code(file), name), "{file} does not name {name}");
        let last = name.rsplit("::").next().unwrap();
        assert!(names(&code(next), last), "{next} has no {last}, by which {file} leads to it");
    }
}

#[test]
fn imports_are_found_however_they_are_written() {
    let code = "use crate::{a::B, c::{d, e as f}, g};\nuse super::{h};\nuse super::super::i;\nlet j = crate::k::l(super::M);\nmacro::crate::n";
    let found: BTreeSet<_> = paths(code).into_iter().map(|path| path.join("::")).collect();
    let expected = [
        "crate::a::B",
        "crate::c::d",
        "crate::c::e",
        "crate::g",
        "crate::k::l",
        "super::M",
        "super::h",
        "super::super::i",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
    let module = ["a".to_owned(), "b".to_owned()];
    assert_eq!(absolute(&module, vec!["super".to_owned(), "c".to_owned()]), ["a", "c"]);
}
