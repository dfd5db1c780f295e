//! `deploy/kubernetes`.

use std::{collections::BTreeSet, fs, time::Duration};

use serde_norway::Value;

use crate::{
    manifest::{assert_is_a_command, documents, is_pinned, root, strings, text, yaml},
    settings,
};

const DIRECTORY: &str = "deploy/kubernetes";

/// Every document of every manifest, the operators' included.
fn manifests() -> Vec<Value> {
    let files = [DIRECTORY, "deploy/kubernetes/operators"].into_iter().flat_map(files);
    files.filter(|file| !file.ends_with("kustomization.yaml")).flat_map(|file| documents(&text(&file))).collect()
}

fn files(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(directory)).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| format!("{directory}/{}", name.to_str().unwrap()));
    names.filter(|name| name.ends_with(".yaml")).collect()
}

fn named(kind: &str, name: &str) -> Value {
    let found = manifests().into_iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {kind} {name}"))
}

/// The pods that run our program, each with its only container.
fn pods() -> Vec<(Value, Value)> {
    let specs = [("Job", "vitrina-migrate"), ("Deployment", "vitrina-api"), ("Deployment", "vitrina-worker")];
    let pod = |(kind, name)| {
        let spec = named(kind, name)["spec"]["template"]["spec"].clone();
        let containers = spec["containers"].as_sequence().unwrap().clone();
        assert_eq!(containers.len(), 1, "{name}");
        (spec, containers[0].clone())
    };
    specs.into_iter().map(pod).collect()
}

fn variable<'a>(container: &'a Value, name: &str) -> &'a Value {
    let found = container["env"].as_sequence().unwrap().iter().find(|one| one["name"] == name);
    &found.unwrap_or_else(|| panic!("{name} is not set"))["value"]
}

fn grace(name: &str) -> Duration {
    let spec = &named("Deployment", name)["spec"]["template"]["spec"];
    let before = &spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"];
    let whole = spec["terminationGracePeriodSeconds"].as_u64().unwrap();
    Duration::from_secs(whole - before.as_u64().unwrap_or(0))
}

#[test]
fn containers_start_commands_that_exist_from_one_pinned_image() {
    let images: BTreeSet<String> = pods()
        .iter()
        .map(|(_, container)| {
            assert_is_a_command(&strings(&container["args"]));
            container["image"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(images.len(), 1, "{images:?}");
    assert!(images.iter().all(|image| is_pinned(image)), "{images:?}");
}

#[test]
fn variables_are_ones_that_the_program_reads() {
    let known = settings::known();
    let config = named("ConfigMap", "vitrina");
    let secret = named("Secret", "vitrina");
    let of = |mapping: &Value| mapping.as_mapping().unwrap().keys().cloned().collect::<Vec<_>>();
    let mut set = [of(&config["data"]), of(&secret["stringData"])].concat();
    for (_, container) in pods() {
        set.extend(container["env"].as_sequence().unwrap().iter().map(|one| one["name"].clone()));
    }
    for name in set {
        assert!(known.contains(name.as_str().unwrap()), "{name:?}");
    }
}

#[test]
fn secrets_that_containers_take_are_in_the_example() {
    for (_, container) in pods() {
        for one in container["env"].as_sequence().unwrap() {
            let wanted = &one["valueFrom"]["secretKeyRef"];
            if let (Some(name), Some(key)) = (wanted["name"].as_str(), wanted["key"].as_str()) {
                assert!(named("Secret", name)["stringData"][key].is_string(), "{name} has no {key}");
            }
        }
    }
}

#[test]
fn probes_ask_what_is_served() {
    let served = vitrina_api::openapi_document();
    let api = named("Deployment", "vitrina-api")["spec"]["template"]["spec"]["containers"][0].clone();
    for probe in ["livenessProbe", "readinessProbe"] {
        let path = api[probe]["httpGet"]["path"].as_str().unwrap();
        let path = path.strip_prefix("/api/v1").unwrap();
        assert!(served.paths.contains_key(path), "{path}");
    }
}

#[test]
fn pods_have_longer_to_stop_than_they_take() {
    assert!(grace("vitrina-api") > vitrina_api::DRAIN);
    assert!(grace("vitrina-worker") > vitrina_worker::DRAIN);
}

#[test]
fn pods_have_no_rights_at_all() {
    for (pod, container) in pods() {
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["automountServiceAccountToken"], false);
        let rights = &container["securityContext"];
        assert_eq!(rights["allowPrivilegeEscalation"], false);
        assert_eq!(rights["readOnlyRootFilesystem"], true);
        assert_eq!(strings(&rights["capabilities"]["drop"]), ["ALL"]);
        assert!(container["resources"]["limits"]["memory"].is_string());
    }
}

#[test]
fn workers_are_scaled_by_what_one_of_them_does_at_once() {
    let worker = pods().pop().unwrap().1;
    let scaled = named("ScaledObject", "vitrina-worker");
    let wanted = &scaled["spec"]["triggers"][0]["metadata"]["targetQueryValue"];
    assert_eq!(wanted, variable(&worker, "VITRINA_CONCURRENCY"));
}

#[test]
fn one_command_applies_every_manifest_that_needs_no_operator() {
    let listed = yaml(&text("deploy/kubernetes/kustomization.yaml"));
    let listed: BTreeSet<String> =
        strings(&listed["resources"]).iter().map(|file| format!("{DIRECTORY}/{file}")).collect();
    let mut there: BTreeSet<String> = files(DIRECTORY).into_iter().collect();
    assert!(there.remove("deploy/kubernetes/kustomization.yaml"));
    assert!(there.remove("deploy/kubernetes/secret.example.yaml"));
    // A copy of the example with real values, on an operator's machine.
    there.remove("deploy/kubernetes/secret.yaml");
    assert_eq!(listed, there);
}
