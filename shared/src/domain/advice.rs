//! What would make a run faster or more complete, as far as that follows from its numbers.

use super::{Run, RunStep};

/// A batch that takes longer delays a pause.
const LONG_BATCH_SECONDS: f64 = 1.0;
/// So short a batch consists of what surrounds its page.
const SHORT_BATCH_SECONDS: f64 = 0.02;
/// Fewer batches are not worth a change.
const MANY_BATCHES: i64 = 100;
/// From this share on, a page costs the same however few rows it has.
const MOSTLY_FIXED: f64 = 0.5;
/// A shorter run is not worth a change.
const LONG_RUN_SECONDS: f64 = 1.0;
/// The share of a run from which a step or a limit is what the run waits for.
const MOST_OF_THE_RUN: f64 = 0.5;
/// Fewer dropped rows cost nothing.
const MANY_DROPPED: i64 = 10_000;

const LARGER: &str = "batches are very short: a larger batch_size would be faster";
const SMALLER: &str = "batches take over a second: a smaller batch_size would pause and recover sooner";
const FEWER_PAGES: &str = "batches take over a second, and most of that before the first row of a page, because the query is \
    computed anew for every page (an aggregate, or no index in the order of the walk): a larger batch_size takes fewer pages, \
    and with an index, or placeholders in the query, a page computes its own rows only";
const WHOLE_QUERY: &str = "the batch took over a second, and most of that before its first row, because the query is computed \
    as a whole (an aggregate, or no index in the order of the walk): a smaller batch_size would compute it more often; with \
    an index, or placeholders in the query, a page computes its own rows only";
const SEE_ERROR: &str = "some attempts failed: the run's `error` is that of the last one";

/// What advice about a run follows from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    pub batches: i64,
    /// Attempts that failed.
    pub attempts: i32,
    pub seconds: f64,
    /// The share of a page's cost that comes before its first row, where the planner was asked.
    pub fixed_share: Option<f64>,
    pub steps: &'a [RunStep],
}

impl<'a> Facts<'a> {
    /// Those of a run that has ended.
    pub fn of(run: &'a Run) -> Option<Self> {
        let seconds = (run.finished_at? - run.started_at?).as_seconds_f64();
        Some(Self { batches: run.batches, attempts: run.attempts, seconds, fixed_share: None, steps: &run.steps })
    }

    pub fn batches_are_long(&self) -> bool {
        self.seconds_per_batch() > LONG_BATCH_SECONDS
    }

    /// The sentences, those about steps first: a limit explains a long batch.
    pub fn advice(&self) -> Vec<String> {
        let mut advice: Vec<_> = self.steps.iter().filter_map(|step| self.about_step(step)).collect();
        advice.extend(self.about_batches(advice.is_empty()).map(str::to_owned));
        advice
    }

    fn seconds_per_batch(&self) -> f64 {
        self.seconds / self.batches.max(1) as f64
    }

    /// A smaller batch helps only where its time is in its rows, and no size where it is in a step.
    fn about_batches(&self, by_size: bool) -> Option<&'static str> {
        let per_batch = self.seconds_per_batch();
        if by_size && self.batches > MANY_BATCHES && per_batch < SHORT_BATCH_SECONDS {
            return Some(LARGER);
        }
        if by_size && per_batch > LONG_BATCH_SECONDS {
            return match self.fixed_share {
                Some(share) if share > MOSTLY_FIXED && self.batches > 1 => Some(FEWER_PAGES),
                Some(share) if share > MOSTLY_FIXED => Some(WHOLE_QUERY),
                Some(_) => Some(SMALLER),
                None => None,
            };
        }
        (self.attempts > 0).then_some(SEE_ERROR)
    }

    fn about_step(&self, step: &RunStep) -> Option<String> {
        self.about_waiting(step)
            .or_else(|| about_rejected(step))
            .or_else(|| self.about_time(step))
            .or_else(|| about_dropped(step))
    }

    /// Calls that wait for their limit need fewer others beside them: in the rest of the time the limit lets all of them through.
    fn about_waiting(&self, step: &RunStep) -> Option<String> {
        let share = self.share_of_run(step.waited_us)?;
        let limit = step.waited_for.as_deref()?;
        let enough = |concurrency: i32| ((f64::from(concurrency) * (1.0 - share)).ceil() as i32).max(1);
        let fewer = step.concurrency.map(|now| (now, enough(now))).filter(|(now, enough)| enough < now);
        let remedy = match fewer {
            Some((_, enough)) => format!("concurrency {enough} would do"),
            None => "only more tokens or keys would make it faster".to_owned(),
        };
        Some(format!("the limit `{limit}` held the run back {} of its time: {remedy}", percent(share)))
    }

    fn about_time(&self, step: &RunStep) -> Option<String> {
        let share = self.share_of_run(step.duration_us)?;
        Some(format!(
            "the step `{}` took {} of the run's time: what it does decides how long the run takes, not batch_size, and more \
             workers help only other runs",
            step.step,
            percent(share),
        ))
    }

    /// The part of the run, if it is most of a run that was not short. Ranges side by side may take longer than their run.
    fn share_of_run(&self, micros: i64) -> Option<f64> {
        let share = (micros as f64 / 1_000_000.0 / self.seconds).min(1.0);
        (self.seconds >= LONG_RUN_SECONDS && share >= MOST_OF_THE_RUN).then_some(share)
    }
}

fn about_rejected(step: &RunStep) -> Option<String> {
    let most = step.rejected * 2 > step.rows_in;
    most.then(|| format!("most rows were rejected by `{}`: the dead letters have the reasons", step.step))
}

fn about_dropped(step: &RunStep) -> Option<String> {
    let most = step.dropped >= MANY_DROPPED && step.dropped * 2 >= step.rows_in;
    most.then(|| {
        format!("most rows were dropped by `{}`: a condition in the query would leave them on the server", step.step)
    })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(batches: i64, seconds: f64) -> Facts<'static> {
        Facts { batches, seconds, ..Facts::default() }
    }

    fn advice_of(step: RunStep) -> Vec<String> {
        Facts { steps: &[step], ..run(10, 10.0) }.advice()
    }

    fn step(name: &str) -> RunStep {
        RunStep { place: 2, step: name.to_owned(), rows_in: 20_000, rows_out: 20_000, ..RunStep::default() }
    }

    #[test]
    fn long_batches_are_made_smaller_only_where_their_time_is_in_their_rows() {
        let of = |batches, fixed_share| Facts { fixed_share, ..run(batches, 30.0) }.advice();
        assert_eq!(of(10, Some(0.01)), [SMALLER]);
        assert_eq!(of(10, Some(0.99)), [FEWER_PAGES]);
        assert_eq!(of(1, Some(0.99)), [WHOLE_QUERY]);
        assert!(of(10, None).is_empty(), "what the planner does not know is not advised");
    }

    #[test]
    fn many_short_batches_are_made_larger_and_others_left_alone() {
        assert_eq!(run(1_000, 5.0).advice(), [LARGER]);
        assert!(run(10, 0.1).advice().is_empty());
        assert_eq!(Facts { attempts: 1, ..run(10, 1.0) }.advice(), [SEE_ERROR]);
    }

    #[test]
    fn a_limit_that_holds_the_run_back_is_named_with_the_concurrency_that_would_do() {
        let waited = RunStep {
            waited_us: 8_000_000,
            waited_for: Some("openai".to_owned()),
            concurrency: Some(8),
            ..step("http")
        };
        let held = "the limit `openai` held the run back 80 % of its time: ";
        assert_eq!(advice_of(waited.clone()), [format!("{held}concurrency 2 would do")]);
        let more = [format!("{held}only more tokens or keys would make it faster")];
        for concurrency in [Some(1), None] {
            assert_eq!(advice_of(RunStep { concurrency, ..waited.clone() }), more);
        }
        assert!(advice_of(RunStep { waited_us: 4_000_000, ..waited }).is_empty(), "the run had other things to do");
    }

    #[test]
    fn the_step_that_takes_the_run_is_named_and_no_batch_size_is_blamed_for_it() {
        let slow = RunStep { duration_us: 27_000_000, ..step("slug") };
        let facts = Facts { steps: &[step("trim"), slow], fixed_share: Some(0.0), ..run(10, 30.0) };
        let advice = facts.advice();
        assert_eq!(advice.len(), 1, "{advice:?}");
        assert!(advice[0].starts_with("the step `slug` took 90 % of the run's time"), "{advice:?}");
        assert!(Facts { seconds: 0.03, ..facts }.advice().is_empty(), "a short run needs none");
    }

    #[test]
    fn steps_that_reject_or_drop_most_rows_are_named_however_short_the_run_was() {
        let cast = RunStep { rows_in: 3, rows_out: 1, rejected: 2, ..step("cast") };
        let filter = RunStep { rows_out: 5_000, dropped: 15_000, ..step("filter") };
        let facts = Facts { steps: &[cast, filter], ..run(1, 0.1) };
        let advice = facts.advice();
        assert!(advice[0].starts_with("most rows were rejected by `cast`"), "{advice:?}");
        assert!(advice[1].starts_with("most rows were dropped by `filter`"), "{advice:?}");
        let few = RunStep { rows_out: 5_000, rejected: 10_000, dropped: 5_000, ..step("half") };
        assert!(advice_of(few).is_empty());
    }
}
