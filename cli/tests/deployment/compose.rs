//! `docker-compose.yml`.

use std::time::Duration;

use serde_norway::{Mapping, Value};

use crate::manifest::{assert_is_a_command, is_pinned, root, strings, text, yaml};

const OUR_IMAGE: &str = "vitrina:local";

/// The services, by name.
pub fn services() -> Vec<(String, Value)> {
    let compose = yaml(&text("docker-compose.yml"));
    let services = compose["services"].as_mapping().unwrap().clone();
    services.into_iter().map(|(name, service)| (name.as_str().unwrap().to_owned(), service)).collect()
}

/// The services that run our program.
pub fn ours() -> Vec<(String, Value)> {
    let ours: Vec<_> = services().into_iter().filter(|(_, service)| service["image"] == OUR_IMAGE).collect();
    assert!(ours.len() >= 3, "migrate, api and worker are ours");
    ours
}

fn service(name: &str) -> Value {
    services().into_iter().find(|(found, _)| found == name).unwrap_or_else(|| panic!("there is no {name}")).1
}

fn seconds(value: &Value) -> Duration {
    Duration::from_secs(value.as_str().unwrap().strip_suffix('s').unwrap().parse().unwrap())
}

/// The services that `service` waits for, with the condition.
fn depends_on(service: &Value) -> Vec<(String, String)> {
    let empty = Mapping::new();
    let waits = service["depends_on"].as_mapping().unwrap_or(&empty);
    let condition = |value: &Value| value["condition"].as_str().unwrap().to_owned();
    waits.iter().map(|(name, value)| (name.as_str().unwrap().to_owned(), condition(value))).collect()
}

#[test]
fn everything_that_was_promised_is_a_service() {
    for name in ["postgres", "migrate", "api", "worker", "elasticsearch", "prometheus", "grafana"] {
        assert!(service(name).is_mapping(), "{name}");
    }
}

#[test]
fn services_start_and_probe_with_commands_that_exist() {
    for (name, service) in ours() {
        assert_is_a_command(&strings(&service["command"]));
        let probe = strings(&service["healthcheck"]["test"]);
        assert_eq!(probe.is_empty(), service["restart"] == "no", "{name} runs on and has no health check");
        if !probe.is_empty() {
            assert_eq!(probe[..2], ["CMD", "vitrina"], "{name}");
            assert_is_a_command(&probe[2..]);
        }
    }
}

#[test]
fn images_are_pinned_to_a_release() {
    for (name, service) in services() {
        let image = service["image"].as_str().unwrap();
        assert!(image == OUR_IMAGE || is_pinned(image), "{name} takes {image}");
    }
}

#[test]
fn elasticsearch_is_the_version_that_the_tests_run_on() {
    let tested = text("tests/elasticsearch/pom.xml");
    let tested = tested.split("<elasticsearch.version>").nth(1).unwrap().split('<').next().unwrap();
    let image = service("elasticsearch")["image"].as_str().unwrap().to_owned();
    assert!(image.ends_with(&format!(":{tested}")), "{image} is not {tested}");
}

#[test]
fn nothing_keeps_workers_from_being_scaled() {
    for (name, service) in services() {
        assert!(service["container_name"].is_null(), "{name}");
    }
    let worker = service("worker");
    for one_of_a_kind in ["ports", "hostname", "volumes"] {
        assert!(worker[one_of_a_kind].is_null(), "{one_of_a_kind}");
    }
    assert!(worker["environment"]["VITRINA_WORKER_NAME"].is_null());
}

#[test]
fn ports_are_open_to_this_machine_only() {
    for (name, service) in services() {
        for port in strings(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{name} opens {port}");
        }
    }
}

/// `up --wait` takes a service that ends for one that failed, unless another one waits for its end.
#[test]
fn what_ends_by_itself_is_waited_for() {
    let services = services();
    let awaited = |name: &str| {
        let mut waits = services.iter().flat_map(|(_, service)| depends_on(service));
        waits.any(|(on, condition)| on == name && condition == "service_completed_successfully")
    };
    for (name, service) in &services {
        let ends = service["restart"] == "no" && service["profiles"].is_null();
        assert_eq!(ends, awaited(name), "{name}");
    }
}

#[test]
fn what_is_waited_for_to_be_healthy_says_how_it_is() {
    for (name, service) in services() {
        assert!(service["restart"] == "no" || service["healthcheck"]["test"].is_sequence(), "{name}");
    }
}

#[test]
fn services_have_longer_to_stop_than_they_take() {
    assert!(seconds(&service("worker")["stop_grace_period"]) > vitrina_worker::DRAIN);
    assert!(seconds(&service("api")["stop_grace_period"]) > vitrina_api::DRAIN);
}

#[test]
fn our_services_can_write_nothing_and_have_no_rights() {
    for (name, service) in ours() {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(strings(&service["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(strings(&service["security_opt"]), ["no-new-privileges:true"], "{name}");
    }
}

#[test]
fn every_service_has_a_limit_of_memory() {
    for (name, service) in services() {
        assert!(service["mem_limit"].is_string(), "{name}");
    }
}

/// The places that a service mounts something at.
fn mounted(service: &Value) -> Vec<String> {
    let place = |volume: &Value| match volume.as_str() {
        Some(short) => short.split(':').nth(1).unwrap().to_owned(),
        None => volume["target"].as_str().unwrap().to_owned(),
    };
    service["volumes"].as_sequence().into_iter().flatten().map(place).collect()
}

/// For a place that an image declares and no service mounts, every new container gets a volume that nothing removes.
#[test]
fn no_service_leaves_a_volume_without_a_name_behind() {
    let declared =
        [("postgres:", "/var/lib/postgresql/data"), ("prom/", "/prometheus"), ("grafana/", "/var/lib/grafana")];
    for (name, service) in services() {
        let image = service["image"].as_str().unwrap();
        for (_, place) in declared.iter().filter(|(prefix, _)| image.starts_with(prefix)) {
            assert!(mounted(&service).iter().any(|found| found == place), "{name} mounts nothing at {place}");
        }
    }
}

/// A host whose hard limit is lower refuses the container, and `up --wait` ends all others with it.
#[test]
fn no_service_asks_for_more_than_a_host_may_allow() {
    for (name, service) in services() {
        assert!(service["ulimits"].is_null(), "{name}");
    }
}

#[test]
fn what_is_special_on_one_machine_is_neither_committed_nor_built() {
    for (file, line) in
        [(".gitignore", "/docker-compose.override.y*ml"), (".dockerignore", "docker-compose.override.y*ml")]
    {
        assert!(text(file).lines().any(|found| found == line), "{file}");
    }
}

#[test]
fn what_is_mounted_from_the_repository_is_there() {
    for (name, service) in services() {
        let short = service["volumes"].as_sequence().into_iter().flatten().filter_map(Value::as_str);
        for volume in short {
            let source = volume.split(':').next().unwrap();
            if source.starts_with('.') {
                assert!(root().join(source).exists(), "{name} mounts {source}");
                assert!(volume.ends_with(":ro"), "{name} may write to {source}");
            }
        }
    }
}
