//! The variables that services are given, beside those that the program reads.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc};

use serde_norway::Value;
use vitrina_shared::config::{
    ApiConfig, ElasticsearchConfig, Env, LogConfig, OptionalDatabaseConfig, SourceConfig, WorkerConfig,
};

use crate::compose;

type Everything = (OptionalDatabaseConfig, ApiConfig, WorkerConfig, LogConfig, SourceConfig, ElasticsearchConfig);

/// What a container has no use for: how the variables begin, and why.
const NOT_IN_CONTAINERS: [(&str, &str); 5] = [
    ("VITRINA_DRAIN_SECONDS", "the time in which a container must stop is written beside it"),
    ("VITRINA_ELASTICSEARCH_CA", "compose's Elasticsearch speaks plain HTTP"),
    ("VITRINA_LOG_FILE", "the log goes to standard error, and the disk cannot be written"),
    ("VITRINA_PYTHON", "the image has no Python: one that is built on it sets these beside its interpreter"),
    ("VITRINA_WORKER_NAME", "replicas share their settings, and each needs a name of its own"),
];

/// The variables that the program asks for.
pub fn known() -> BTreeSet<String> {
    let asked = Rc::new(RefCell::new(BTreeSet::new()));
    let log = asked.clone();
    let env = Env::from_lookup(move |name| {
        log.borrow_mut().insert(name.to_owned());
        None
    });
    env.read::<Everything>().expect("the defaults are right");
    asked.take()
}

/// The names of a mapping of variables.
fn names(environment: &Value) -> BTreeSet<String> {
    environment.as_mapping().unwrap().keys().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn compose_sets_only_variables_that_the_program_reads() {
    for (name, service) in compose::ours() {
        let unknown: Vec<_> = names(&service["environment"]).difference(&known()).cloned().collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn every_setting_reaches_a_service_of_compose_or_stays_out_for_a_reason() {
    let mut missing = known();
    for (_, service) in compose::ours() {
        missing.retain(|name| !names(&service["environment"]).contains(name));
    }
    for (beginning, reason) in NOT_IN_CONTAINERS {
        let of_all = missing.len();
        missing.retain(|name| !name.starts_with(beginning));
        assert!(missing.len() < of_all, "{beginning} is passed on although {reason}");
    }
    assert!(missing.is_empty(), "docker-compose.yml passes these to no service: {missing:?}");
}

#[test]
fn the_environment_of_the_api_is_one_that_it_accepts() {
    let (_, api) = compose::ours().into_iter().find(|(name, _)| name == "api").unwrap();
    let addr = api["environment"]["VITRINA_ADDR"].as_str().unwrap();
    let given = [("VITRINA_ADDR", addr), ("VITRINA_TOKENS", "admin:admin:0123456789abcdef")];
    let config: ApiConfig = Env::from_pairs(given).read().unwrap();
    assert!(!config.addr.ip().is_loopback(), "no client outside the container could reach {addr}");
}
