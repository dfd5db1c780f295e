//! Services that connect with more rights than they need say so once, and go on.

use std::fs;

use crate::support::{Deployment, eventually, free_port};

const SUPERUSER: &str = "connects as an account that is a superuser";

/// Starts a service under the account of this address, and returns its log once that has this text.
async fn log_of(here: &mut Deployment, service: &str, url: &str, until: &str) -> String {
    let file = here.directory.path().join(format!("{service}-{}.log", free_port()));
    let (addr, metrics) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let settings = [
        ("DATABASE_URL", url),
        ("VITRINA_LOG", "info"),
        ("VITRINA_LOG_FILE", file.to_str().unwrap()),
        ("VITRINA_ADDR", &addr),
        ("VITRINA_METRICS_ADDR", &metrics),
    ];
    here.spawn(service, &settings);
    let read = || fs::read_to_string(&file).unwrap_or_default();
    eventually(until, || read().contains(until)).await;
    read()
}

#[tokio::test]
async fn api_and_worker_warn_of_a_superusers_account_and_say_what_to_do() {
    let mut here = Deployment::api(&[]).await;
    let owner = here.db.owner_url();
    for service in ["api", "worker"] {
        let log = log_of(&mut here, service, &owner, SUPERUSER).await;
        let warnings: Vec<_> = log.lines().filter(|line| line.contains(SUPERUSER)).collect();
        assert_eq!(warnings.len(), 1, "{log}");
        for part in ["WARN", "vitrina migrate", "vitrina_app"] {
            assert!(warnings[0].contains(part), "{part}: {log}");
        }
    }
}
