//! What a stream tells about transitions that were removed from the log.

use serde_json::json;

use crate::{
    events::{log_many, logged, two_transitions},
    support::{Api, Event, SOON, within},
};

/// Makes the whole log old and removes up to `most` of its entries. Returns how many.
async fn age_and_prune(api: &Api, most: i64) -> i64 {
    let aged = "update etl.etl_transitions set at = at - interval '2 days'";
    sqlx::query(aged).execute(api.db.admin()).await.unwrap();
    let pruned = sqlx::query_scalar("select etl.prune_log('1 day', $1)").bind(most);
    pruned.fetch_one(api.db.pool()).await.unwrap()
}

#[tokio::test]
async fn a_client_that_comes_back_too_late_learns_that_transitions_were_removed() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    two_transitions(&api, "genres").await;
    two_transitions(&api, "genres").await;
    let ids = logged(&api).await;
    assert_eq!(age_and_prune(&api, 2).await, 2);

    for (seen, gap) in [(0, true), (ids[0], true), (ids[1], false), (ids[2], false)] {
        let mut events = api.events("?follow=false", Some(seen)).await;
        assert_eq!(events.next().await, Some(Event::Comment));
        if gap {
            assert_eq!(events.next().await, Some(Event::Gap(json!({"after": seen, "up_to": ids[1]}))));
        }
        let kept: Vec<i64> = ids[2..].iter().copied().filter(|id| *id > seen).collect();
        let mut shown = Vec::new();
        while let Some(event) = events.next().await {
            let Event::Transition(id, _) = event else { panic!("{event:?}") };
            shown.push(id);
        }
        assert_eq!(shown, kept, "after {seen}");
    }
    let mut newest = api.events("?last=1&follow=false", None).await;
    assert_eq!(newest.next().await, Some(Event::Comment));
    assert!(matches!(newest.next().await, Some(Event::Transition(..))), "a new stream has missed nothing");
}

#[tokio::test]
async fn a_slow_client_learns_that_transitions_were_removed_before_it_came_to_them() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    for _ in 0..10 {
        log_many(&api, 250, 8_000).await;
    }
    let all = logged(&api).await;
    let resumed = api.events("?follow=false", Some(0)).await;
    let new = api.events("?last=2500&follow=false", None).await;
    let mut streams = [resumed, new];
    for events in &mut streams {
        assert_eq!(events.transitions(10).await.last().unwrap().0, all[9]);
    }

    assert_eq!(age_and_prune(&api, 10_000).await, 2499, "the pipeline keeps its last entry");

    for mut events in streams {
        let (mut seen, mut gaps) = (all[..10].to_vec(), Vec::new());
        while let Some(event) = within(SOON, events.next()).await {
            match event {
                Event::Transition(id, _) => seen.push(id),
                Event::Gap(gap) => gaps.push((gap, seen.len())),
                Event::Comment | Event::Progress(_) => {}
            }
        }
        assert!(seen.len() < all.len(), "the sockets held everything");
        let [(gap, before)] = gaps.as_slice() else { panic!("{gaps:?}") };
        assert_eq!(*gap, json!({"after": all[before - 1], "up_to": all[all.len() - 2]}));
        assert_eq!(seen[..*before], all[..*before], "nothing is missing before the gap");
        assert_eq!(seen.last(), all.last());
    }
}

#[tokio::test]
async fn a_client_of_a_quiet_pipeline_has_missed_nothing_when_those_of_others_were_removed() {
    let api = Api::start().await;
    api.create_genres("quiet").await;
    api.create_genres("loud").await;
    two_transitions(&api, "quiet").await;
    two_transitions(&api, "loud").await;
    let ids = logged(&api).await;
    assert_eq!(age_and_prune(&api, 10).await, 2);
    assert_eq!(logged(&api).await, [ids[1], ids[3]]);

    let mut up_to_date = api.events("?pipeline=quiet&follow=false", Some(ids[1])).await;
    assert_eq!(up_to_date.next().await, Some(Event::Comment));
    assert_eq!(up_to_date.next().await, None);
    let mut late = api.events("?pipeline=quiet&follow=false", Some(0)).await;
    assert_eq!(late.next().await, Some(Event::Comment));
    assert_eq!(late.next().await, Some(Event::Gap(json!({"after": 0, "up_to": ids[2]}))));
    assert!(matches!(late.next().await, Some(Event::Transition(id, _)) if id == ids[1]));
}
