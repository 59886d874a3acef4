//! The queue that runs a plan: bounded, delayed, verified again right before each execution, and stoppable.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jig_session_schema::bulk::EntryOutcome;
use jig_session_schema::time::Timestamp;

use super::step::{Report, Step};

/// Runs the steps of a plan: verifies that a pane is unchanged right before its turn, then executes.
pub trait Executor: Sync {
    /// Whether the pane is still the one that was planned for; the error says what changed.
    fn verify(&self, step: &Step) -> Result<(), String>;
    /// Executes the step.
    fn execute(&self, step: &Step) -> Outcome;
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit code; none when it could not be run or was ended by a signal.
    pub exit_code: Option<i32>,
    /// What it printed on stderr.
    pub message: String,
}

/// The time of day, injected.
pub type Clock<'a> = &'a (dyn Fn() -> Timestamp + Sync);

/// How often a waiting worker checks whether the run was cancelled.
const POLL: Duration = Duration::from_millis(20);

/// Runs the steps, at most `concurrency` at once, each not before its delay. Once `stop` is set nothing new
/// begins; what has begun is finished. Every step is reported, in the order of the steps.
pub fn run(
    steps: &[Step],
    concurrency: usize,
    executor: &dyn Executor,
    stop: &AtomicBool,
    clock: Clock<'_>,
) -> Vec<Report> {
    let began = Instant::now();
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::with_capacity(steps.len()));
    // Workers take the steps in the order of their turns.
    let mut order: Vec<&Step> = steps.iter().collect();
    order.sort_by_key(|step| (step.delay_ms, step.index));
    thread::scope(|scope| {
        for _ in 0..concurrency.clamp(1, steps.len().max(1)) {
            scope.spawn(|| {
                while let Some(step) = order.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let report = turn(step, began, executor, stop, clock);
                    if let Ok(mut reports) = reports.lock() {
                        reports.push(report);
                    }
                }
            });
        }
    });
    let mut reports = reports.into_inner().unwrap_or_default();
    reports.sort_by_key(|report| report.index);
    reports
}

fn turn(step: &Step, began: Instant, executor: &dyn Executor, stop: &AtomicBool, clock: Clock<'_>) -> Report {
    let due = Duration::from_millis(step.delay_ms);
    while !stop.load(Ordering::SeqCst) {
        let left = due.saturating_sub(began.elapsed());
        if left.is_zero() {
            break;
        }
        thread::sleep(left.min(POLL));
    }
    let mut report = Report {
        index: step.index,
        outcome: EntryOutcome::Cancelled,
        exit_code: None,
        message: "the run was cancelled".to_owned(),
        started_at: None,
        ended_at: None,
    };
    if stop.load(Ordering::SeqCst) {
        return report;
    }
    report.started_at = Some(clock());
    match executor.verify(step) {
        Err(why) => {
            report.outcome = EntryOutcome::Refused;
            report.message = why;
        }
        // Verifying takes a moment; a run cancelled meanwhile has begun nothing yet.
        Ok(()) if stop.load(Ordering::SeqCst) => report.started_at = None,
        Ok(()) => {
            let outcome = executor.execute(step);
            report.outcome = if outcome.exit_code == Some(0) { EntryOutcome::Done } else { EntryOutcome::Failed };
            report.exit_code = outcome.exit_code;
            report.message = outcome.message;
        }
    }
    report.ended_at = report.started_at.as_ref().map(|_| clock());
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake {
        running: AtomicUsize,
        most: AtomicUsize,
        acted: Mutex<Vec<usize>>,
        stop_after: Option<usize>,
        stop: AtomicBool,
    }

    impl Fake {
        fn new(stop_after: Option<usize>) -> Self {
            Self {
                running: AtomicUsize::new(0),
                most: AtomicUsize::new(0),
                acted: Mutex::new(Vec::new()),
                stop_after,
                stop: AtomicBool::new(false),
            }
        }
    }

    impl Executor for Fake {
        fn verify(&self, step: &Step) -> Result<(), String> {
            if step.argv == ["changed"] { Err("pane is active now".into()) } else { Ok(()) }
        }

        fn execute(&self, step: &Step) -> Outcome {
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(2));
            self.running.fetch_sub(1, Ordering::SeqCst);
            let mut acted = self.acted.lock().expect("not poisoned");
            acted.push(step.index);
            if Some(acted.len()) == self.stop_after {
                self.stop.store(true, Ordering::SeqCst);
            }
            let failed = step.argv == ["fails"];
            Outcome {
                exit_code: Some(i32::from(failed)),
                message: if failed { "no such pane".into() } else { String::new() },
            }
        }
    }

    fn step(index: usize, delay_ms: u64, word: &str) -> Step {
        Step { index, delay_ms, argv: vec![word.to_owned()] }
    }

    fn at() -> Timestamp {
        Timestamp::from_epoch_ms(0)
    }

    #[test]
    fn every_step_is_reported_with_its_own_outcome() {
        let fake = Fake::new(None);
        let steps = [step(0, 0, "runs"), step(2, 0, "changed"), step(5, 1, "fails")];
        let reports = run(&steps, 2, &fake, &fake.stop, &at);
        let outcomes: Vec<_> = reports.iter().map(|report| (report.index, report.outcome)).collect();
        assert_eq!(outcomes, [(0, EntryOutcome::Done), (2, EntryOutcome::Refused), (5, EntryOutcome::Failed)]);
        assert_eq!(reports[1].exit_code, None, "a refused pane is not touched");
        assert_eq!(reports[2].message, "no such pane");
        assert_eq!(fake.acted.lock().expect("not poisoned").len(), 2);
    }

    #[test]
    fn no_more_than_the_bound_run_at_once() {
        let fake = Fake::new(None);
        let steps: Vec<_> = (0..24).map(|index| step(index, 0, "runs")).collect();
        assert_eq!(run(&steps, 3, &fake, &fake.stop, &at).len(), 24);
        assert!(fake.most.load(Ordering::SeqCst) <= 3);
    }

    #[test]
    fn a_cancelled_run_begins_nothing_new() {
        let fake = Fake::new(Some(2));
        let mut steps: Vec<_> = (0..6).map(|index| step(index, 0, "runs")).collect();
        steps.push(step(6, 3_600_000, "runs"));
        let reports = run(&steps, 1, &fake, &fake.stop, &at);
        let done = reports.iter().filter(|report| report.outcome == EntryOutcome::Done).count();
        let cancelled = reports.iter().filter(|report| report.outcome == EntryOutcome::Cancelled).count();
        assert_eq!((done, cancelled), (2, 5));
        assert!(reports.iter().all(|report| report.outcome != EntryOutcome::Cancelled || report.started_at.is_none()));
    }
}
