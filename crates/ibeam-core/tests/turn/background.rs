//! What tools leave running: a run never ends before it.

use std::sync::atomic::AtomicBool;

use ibeam_core::Background;

use super::*;

/// Two commands that end by themselves when they are waited for, and are ended otherwise.
#[derive(Default)]
struct Two {
    waited: AtomicBool,
}

impl Background for Two {
    fn running(&self) -> u32 {
        2
    }
    fn finish<'a>(&'a self, wait: bool, _: &'a Stop) -> BoxFuture<'a, u32> {
        self.waited.store(wait, Ordering::SeqCst);
        Box::pin(std::future::ready(if wait { 0 } else { 2 }))
    }
}

fn with_two(lines: Vec<Line>, wait: bool) -> (Stage, Arc<Two>) {
    let two = Arc::new(Two::default());
    let mut stage = stage(lines);
    stage.run.background = two.clone();
    stage.run.await_background = wait;
    (stage, two)
}

#[test]
fn what_still_runs_is_stopped_and_reported_before_the_end() {
    let (stage, _) = with_two(vec![say(&["ok"])], false);
    let events = check(&stage, "Started User Text(ok) Answer BackgroundStopped Completed");
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!(end.totals.background_stopped, 2);
}

#[test]
fn what_still_runs_is_waited_for_when_asked() {
    let (stage, two) = with_two(vec![say(&["ok"])], true);
    check(&stage, "Started User Text(ok) Answer BackgroundAwaited Completed");
    assert!(two.waited.load(Ordering::SeqCst));
}

#[test]
fn a_run_that_failed_waits_for_nothing() {
    let (stage, two) = with_two(vec![failing(Retry::Never)], true);
    check(&stage, "Started User BackgroundStopped Failed(provider)");
    assert!(!two.waited.load(Ordering::SeqCst));
}

#[test]
fn what_had_to_be_stopped_can_be_made_a_failure() {
    let (mut stage, _) = with_two(vec![say(&["ok"])], false);
    stage.run.fail_on.background = true;
    check(&stage, "Started User Text(ok) Answer BackgroundStopped Failed(denied)");
}

#[test]
fn nothing_goes_on_where_the_workspace_is_gone() {
    let mut stage = stage(vec![calls(vec![call("1", "look", json!({}))]), say(&["never"])]);
    let looked = AtomicUsize::new(0);
    stage.run.precondition = Arc::new(move || {
        let gone = looked.fetch_add(1, Ordering::SeqCst) > 0;
        gone.then(|| Reason::WorkspaceGone { path: "/w".into() })
    });
    check(&stage, "Started User Answer Call(1) Allowed(1) Done(1) Failed(noinput)");
}
