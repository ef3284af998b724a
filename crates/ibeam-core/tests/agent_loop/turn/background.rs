//! Background commands: a run never ends before them.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use ibeam_core::Background;
use ibeam_protocol::BackgroundEnd;

use super::*;

/// Two background commands, which end by themselves if the run waits, and are stopped otherwise.
#[derive(Default)]
struct TwoCommands {
    waited: AtomicBool,
    /// The exit codes of the commands that have ended by themselves, and are not reported.
    ended: Mutex<Vec<i32>>,
}

impl Background for TwoCommands {
    fn running_count(&self) -> u32 {
        2
    }
    fn take_ended(&self) -> Vec<BackgroundEnd> {
        let end = |exit_code| BackgroundEnd { call_id: "1".into(), command: "make".to_owned(), exit_code };
        self.ended.lock().unwrap().drain(..).map(end).collect()
    }
    fn finish<'a>(&'a self, wait: bool, _: &'a Stop) -> BoxFuture<'a, u32> {
        self.waited.store(wait, Ordering::SeqCst);
        Box::pin(std::future::ready(if wait { 0 } else { 2 }))
    }
}

fn with_two_commands(replies: Vec<Reply>, wait: bool) -> (Fixture, Arc<TwoCommands>) {
    let commands = Arc::new(TwoCommands::default());
    let mut fixture = fixture(replies);
    fixture.run.background = commands.clone();
    fixture.run.await_background = wait;
    (fixture, commands)
}

#[test]
fn background_commands_are_stopped_and_reported_before_the_end() {
    let (fixture, _) = with_two_commands(vec![text_reply(&["ok"])], false);
    let events = check(&fixture, "Started User Text(ok) Answer BackgroundStopped Completed");
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!(end.totals.background_stopped, 2);
}

#[test]
fn background_commands_are_awaited_on_request() {
    let (fixture, commands) = with_two_commands(vec![text_reply(&["ok"])], true);
    check(&fixture, "Started User Text(ok) Answer BackgroundAwaited Completed");
    assert!(commands.waited.load(Ordering::SeqCst));
}

#[test]
fn a_failed_run_does_not_wait_for_background_commands() {
    let (fixture, commands) = with_two_commands(vec![failed_reply(Retry::Never)], true);
    check(&fixture, "Started User BackgroundStopped Failed(provider)");
    assert!(!commands.waited.load(Ordering::SeqCst));
}

#[test]
fn stopped_background_commands_can_fail_the_run() {
    let (mut fixture, _) = with_two_commands(vec![text_reply(&["ok"])], false);
    fixture.run.fail_on.background = true;
    check(&fixture, "Started User Text(ok) Answer BackgroundStopped Failed(denied)");
}

#[test]
fn the_model_learns_the_end_of_a_background_command_and_a_failure_counts() {
    for (exit_code, failed) in [(0, 0), (4, 1), (143, 0)] {
        let (fixture, commands) = with_two_commands(vec![text_reply(&["ok"])], true);
        commands.ended.lock().unwrap().push(exit_code);
        let events =
            check(&fixture, "Started User BackgroundEnded Text(ok) Answer BackgroundAwaited Completed");
        let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
        assert_eq!(end.totals.failed_tool_calls, failed, "{exit_code}");
        let ends: Vec<i32> = end.totals.background_ended.iter().map(|end| end.exit_code).collect();
        assert_eq!(ends, [exit_code]);
        let message = format!("The background command `make` has ended with exit code {exit_code}.");
        let sent = format!("{:?}", fixture.provider.requests.lock().unwrap());
        assert!(sent.contains(&message), "{sent}");
    }
}

#[test]
fn a_background_command_that_failed_can_fail_the_run() {
    let (mut fixture, commands) = with_two_commands(vec![text_reply(&["ok"])], true);
    fixture.run.fail_on.tool_error = true;
    commands.ended.lock().unwrap().push(4);
    check(&fixture, "Started User BackgroundEnded Text(ok) Answer BackgroundAwaited Failed(denied)");
}

#[test]
fn a_run_ends_when_its_workspace_is_gone() {
    let mut fixture = fixture(vec![calls_reply(vec![call("1", "look", json!({}))]), text_reply(&["never"])]);
    let checks = AtomicUsize::new(0);
    fixture.run.precondition = Arc::new(move || {
        let is_gone = checks.fetch_add(1, Ordering::SeqCst) > 0;
        is_gone.then(|| Reason::WorkspaceGone { path: "/w".into() })
    });
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) Failed(noinput)");
}
