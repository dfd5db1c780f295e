//! `/events`: the transition log as a stream of server-sent events, with the progress of runs in between.
//!
//! A stream holds a cursor into the log and one page of it. It reads the next page when its client has taken the last one,
//! so a slow client costs no memory. It reads the table and not the notification, so no event is lost or repeated when the
//! listener or the database was away. Progress is not logged: it has no id and is not resumed.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt, stream};
use salvo::{
    Depot, Request, Response,
    oapi::endpoint,
    sse::{SseEvent, SseKeepAlive},
};
use serde_json::json;
use sqlx::PgConnection;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::timeout,
};
use vitrina_shared::{
    domain::{PipelineId, PipelineRef},
    notify::Wakeups,
    progress::Progress,
    store::{
        self,
        transitions::{self, Transition},
    },
};

use super::pipelines;
use crate::{
    app::App,
    input::{self, Query},
    middleware::Actor,
    problem::{ApiError, ApiResult},
    streams::Room,
    views::{TransitionView, Values},
};

/// Transitions read at once.
const PAGE: usize = 100;
/// Transitions that a stream may begin with at most.
const MOST_OF_THE_LOG: i64 = 10_000;
/// The longest pause between comments, by which proxies and clients see that the stream is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How long the database may take for a page. No client waits for the answer, so no other limit ends the wait.
const READ_WITHIN: Duration = Duration::from_secs(5);
/// How long to wait before reading again when the database is away.
const RETRY: Duration = Duration::from_millis(500);

/// Follow the transitions of all pipelines or of one, in order; resumes after `Last-Event-ID`.
#[endpoint(
    operation_id = "followEvents",
    tags("events"),
    parameters(
        ("pipeline" = Option<String>, Query, description = "Only this pipeline, by id or name"),
        ("last" = Option<i64>, Query, description = "Without Last-Event-ID: begin with so many of the newest transitions, 0 to 10000"),
        ("follow" = Option<bool>, Query, description = "`false` ends the stream when the log is read to its end"),
        ("Last-Event-ID" = Option<String>, Header, description = "Begin after this event; without it begin now"),
    ),
    responses((status_code = 200, description = "Events `transition`, whose data is a Transition, `progress`, which have no id, and `gap` where transitions were removed before the stream came to them", content_type = "text/event-stream", body = String)),
    status_codes(200, 400, 401, 403, 404, 422, 429, 503)
)]
pub async fn follow(req: &mut Request, depot: &mut Depot, res: &mut Response) -> Result<(), ApiError> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let values = actor.values();
    let mut query = Query::of(req);
    let only = query.take_text("pipeline");
    let last = query.take_within("last", 0..=MOST_OF_THE_LOG, 0);
    let ends = query.take_bool("follow") == Some(false);
    query.finish()?;
    let room = app.streams.take(actor.name())?;
    // Subscribed before the cursor is read, so that every later entry wakes the stream.
    let wakeups = app.wakeups.clone();
    let pipeline = resolve(&app, only).await?;
    let (cursor, removed) = first_cursor(&app, req, pipeline, last).await?;
    let progress = app.progress.subscribe();
    let (page, gap) = (VecDeque::new(), None);
    let caught_up = false;
    let feed =
        Feed { app, values, cursor, removed, gap, pipeline, page, caught_up, ends, wakeups, progress, _room: room };
    SseKeepAlive::new(feed.events()).max_interval(KEEP_ALIVE).stream(res);
    Ok(())
}

/// The id to begin after, and the one up to which the client misses no entry that was removed: 0 if it was here before.
async fn first_cursor(app: &App, req: &Request, pipeline: Option<PipelineId>, last: i64) -> ApiResult<(i64, i64)> {
    match input::header(req, "last-event-id")? {
        Some(text) => match text.parse() {
            Ok(id @ 0..) => Ok((id, 0)),
            Ok(_) | Err(_) => {
                Err(ApiError::invalid("Last-Event-ID", "takes the id of an event: a whole number from 0"))
            }
        },
        None => {
            let mut connection = app.db().acquire().await?;
            // Before the cursor, so that entries which are removed between the two statements are announced.
            let removed = transitions::removed_up_to(&mut connection).await?;
            Ok((transitions::before_last(&mut connection, pipeline, last).await?, removed))
        }
    }
}

async fn resolve(app: &App, only: Option<String>) -> ApiResult<Option<PipelineId>> {
    let Some(text) = only else { return Ok(None) };
    let Ok(pipeline) = text.parse();
    Ok(Some(pipelines::find(app, &pipeline).await?.id))
}

/// What ended a wait.
enum Woken {
    Log,
    Progress(SseEvent),
}

/// One client's position in the log.
struct Feed {
    app: Arc<App>,
    values: Values,
    cursor: i64,
    /// The greatest removed id that the client knows of, or need not know of.
    removed: i64,
    /// A greater one after the cursor, to be announced.
    gap: Option<i64>,
    pipeline: Option<PipelineId>,
    page: VecDeque<Transition>,
    caught_up: bool,
    ends: bool,
    wakeups: Wakeups,
    progress: broadcast::Receiver<Arc<Progress>>,
    _room: Room,
}

impl Feed {
    fn events(self) -> impl Stream<Item = Result<SseEvent, Infallible>> {
        // The first event has the id and the delay for a reconnect, and makes the server send the head of the answer at once.
        let id = self.cursor.to_string();
        let hello = SseEvent::default().comment("vitrina").retry(Duration::from_secs(1)).id(id);
        let transitions = stream::unfold(self, |mut feed| async move {
            let event = feed.next().await?;
            Some((event, feed))
        });
        stream::iter([hello]).chain(transitions).map(Ok)
    }

    /// The next event; none when the process stops, or at the log's end with `follow=false`.
    async fn next(&mut self) -> Option<SseEvent> {
        while !self.app.stop.is_cancelled() {
            if let Some(up_to) = self.gap.take() {
                return SseEvent::default().name("gap").json(json!({"after": self.cursor, "up_to": up_to})).ok();
            }
            if let Some(transition) = self.page.pop_front() {
                self.cursor = transition.id;
                return event(transition, self.values);
            }
            if self.caught_up && self.ends {
                return None;
            }
            if self.caught_up {
                match self.wait().await? {
                    Woken::Log => self.caught_up = false,
                    Woken::Progress(event) => return Some(event),
                }
            } else {
                self.turn_page().await?;
            }
        }
        None
    }

    /// Reads a page after the cursor; less than a page means the end of the log.
    async fn turn_page(&mut self) -> Option<()> {
        self.wakeups.mark_unchanged();
        // A connection that falls silent while it reads would never answer.
        match timeout(READ_WITHIN, self.read()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Ok(page) => {
                self.caught_up = page.len() < PAGE;
                self.page = page.into();
                Some(())
            }
            Err(error) => {
                tracing::debug!(error = %error, "an event stream waits for the database");
                self.pause().await
            }
        }
    }

    async fn read(&mut self) -> Result<Vec<Transition>, sqlx::Error> {
        let mut connection = self.app.db().acquire().await?;
        let page = transitions::after(&mut connection, self.cursor, self.pipeline, PAGE as i64).await?;
        // After the page, so that no entry can be removed unnoticed between the two statements.
        let removed = transitions::removed_up_to(&mut connection).await?;
        if self.cursor.max(self.removed) < removed {
            let missed = !page.is_empty() || !self.is_of_a_pipeline_that_exists(&mut connection).await?;
            self.gap = missed.then_some(removed);
            self.removed = removed;
        }
        Ok(page)
    }

    /// The last entry of such a pipeline is never removed: if none follows the cursor, none ever did.
    async fn is_of_a_pipeline_that_exists(&self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        let Some(id) = self.pipeline else { return Ok(false) };
        Ok(store::pipelines::find(connection, &PipelineRef::Id(id)).await?.is_some())
    }

    /// Waits until the log may have grown or progress was announced; none when the process stops.
    async fn wait(&mut self) -> Option<Woken> {
        loop {
            tokio::select! {
                biased; // Progress never comes before a transition that was there first.
                woken = self.wakeups.changed() => return woken.ok().map(|()| Woken::Log),
                () = self.app.stop.cancelled() => return None,
                received = self.progress.recv() => match received {
                    Ok(progress) if self.follows(&progress) => {
                        if let Ok(event) = SseEvent::default().name("progress").json(&*progress) {
                            return Some(Woken::Progress(event));
                        }
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    fn follows(&self, progress: &Progress) -> bool {
        self.pipeline.is_none_or(|pipeline| pipeline.0 == progress.pipeline_id)
    }

    async fn pause(&self) -> Option<()> {
        tokio::select! {
            () = tokio::time::sleep(RETRY) => Some(()),
            () = self.app.stop.cancelled() => None,
        }
    }
}

fn event(transition: Transition, values: Values) -> Option<SseEvent> {
    let id = transition.id.to_string();
    SseEvent::default()
        .id(id)
        .name("transition")
        .json(TransitionView::new(transition, values))
        .inspect_err(|error| tracing::error!(error = %error, "a transition could not be written as an event"))
        .ok()
}
