//! What operators see: Prometheus' rules, Grafana's dashboards, and a real Prometheus that scrapes real services.
//!
//! Without Prometheus these tests fail and say how to get it; where that is not possible, VITRINA_TEST_WITHOUT_PROMETHEUS=1
//! leaves those out that need it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod collector;
mod configuration;
mod dashboards;
mod layout;
mod prometheus;
mod promql;
mod rules;
mod runbooks;
mod scene;
mod scraped;
mod texts;
mod told;
