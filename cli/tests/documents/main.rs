//! The documents tell the truth: what they tell people to type works and shows what they say it shows, examples pass
//! validation, links lead somewhere, and files and functions that they name exist.
//!
//! `CONTRIBUTING.md` says how a document marks what cannot be run here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod examples;
mod follow;
mod guarantees;
mod links;
mod markdown;
mod mistakes;
mod names;
mod output;
mod ports;
mod settings;
mod steps;
mod terminal;

use follow::{follow, follow_at_the_cinema, follow_beside_the_service, follow_text};

#[test]
fn the_readme_works_as_it_is_written() {
    follow("README.md", 5);
}

#[test]
fn the_tutorial_works_as_it_is_written() {
    follow("docs/tutorial.md", 20);
}

#[test]
fn the_examples_of_pipelines_work_as_they_are_written() {
    follow_at_the_cinema("docs/PIPELINES.md", 8);
}

#[test]
fn every_step_does_what_its_page_shows() {
    follow_beside_the_service("docs/STEPS.md", 35);
}

#[test]
fn the_examples_of_the_api_work_as_they_are_written() {
    follow_at_the_cinema("docs/API.md", 11);
}

#[test]
#[should_panic(expected = "cannot be tried")]
fn a_block_that_cannot_be_tried_must_say_why() {
    follow_text("```sh\nmake demo\n```\n", "nowhere", 0);
}

#[test]
#[should_panic(expected = "but the document shows")]
fn output_that_is_not_what_the_document_shows_is_noticed() {
    follow_text("```console\n$ echo one\ntwo\n```\n", "nowhere", 1);
}
