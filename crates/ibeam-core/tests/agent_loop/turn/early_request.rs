//! The first request of a run, sent before the run begins.

use futures_util::stream;
use ibeam_core::EarlyRequest;

use super::*;

/// A provider whose events arrive one after another: each lets the other futures run first.
struct SlowProvider(Arc<ScriptedProvider>);

impl Provider for SlowProvider {
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let event_after_pause = async |event| {
            tokio::task::yield_now().await;
            event
        };
        self.0.stream(request).then(event_after_pause).boxed()
    }
}

fn send(run: &Run, ready: impl Future<Output = ()>) -> Option<EarlyRequest> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let redactor = Redactor::new([SECRET.to_owned()]);
    runtime.block_on(async {
        let mut early = EarlyRequest::send(run, vec!["do it".to_owned()].into(), redactor).await?;
        early.receive_until(ready).await;
        Some(early)
    })
}

fn slow_fixture(replies: &[Reply]) -> Fixture {
    let mut fixture = fixture(replies.to_vec());
    fixture.run.provider = Arc::new(SlowProvider(Arc::clone(&fixture.provider)));
    fixture
}

fn names(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| kind_name(&event.kind)).collect()
}

/// Checks that a run is the same whenever it becomes ready, and that no tool runs before.
#[track_caller]
fn check_every_moment(replies: &[Reply]) {
    let plain = slow_fixture(replies);
    let (outcome, events) = run_turn(&plain, &[]);
    for moment in 0..12 {
        let mut fixture = slow_fixture(replies);
        let max_running = Arc::clone(&fixture.max_running);
        let early = send(&fixture.run, async move {
            for _ in 0..moment {
                tokio::task::yield_now().await;
            }
            assert_eq!(max_running.load(Ordering::SeqCst), 0);
        });
        fixture.run.provider = early.unwrap().into_provider(fixture.run.provider);
        let (early_outcome, early_events) = run_turn(&fixture, &[]);
        assert_eq!((&early_outcome, names(&early_events)), (&outcome, names(&events)), "{moment}");
        let requests = |fixture: &Fixture| fixture.provider.requests.lock().unwrap().len();
        assert_eq!(requests(&fixture), requests(&plain), "{moment}");
    }
}

#[test]
fn a_run_takes_over_the_answer_whenever_its_sandbox_is_ready() {
    check_every_moment(&[text_reply(&["a", "b", "c"])]);
    check_every_moment(&[calls_reply(vec![call("1", "look", json!({}))]), text_reply(&["done"])]);
    check_every_moment(&[failed_reply(Retry::Once), text_reply(&["done"])]);
    let broken = Reply::BreakOff(
        vec![ModelEvent::TextDelta("half".to_owned())],
        ProviderError::new(Reason::EmptyAnswer, Retry::Once),
    );
    check_every_moment(&[broken, text_reply(&[" whole"])]);
}

#[test]
fn a_run_with_another_first_request_sends_that_one() {
    let answer = text_reply(&["done"]);
    let mut fixture = slow_fixture(&[answer.clone(), answer]);
    let early = send(&fixture.run, async {}).unwrap();
    fixture.run.prompt = vec![prompt_part("role", PromptOwner::User, "be better")];
    fixture.run.provider = early.into_provider(fixture.run.provider);
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    assert_eq!(names(&events).iter().filter(|name| *name == "Text(done)").count(), 1);
    let requests = fixture.provider.requests.lock().unwrap();
    assert_eq!(requests.iter().map(|request| &*request.system).collect::<Vec<_>>(), ["be good", "be better"]);
}

#[test]
fn a_run_that_ends_at_its_start_sends_nothing() {
    let stopped = slow_fixture(&[]);
    stopped.run.stop.request(Reason::Signalled(Signal::Term));
    let mut removed = slow_fixture(&[]);
    removed.run.precondition = Arc::new(|| Some(Reason::EmptyPrompt));
    for fixture in [stopped, removed] {
        assert!(send(&fixture.run, async {}).is_none());
        assert!(fixture.provider.requests.lock().unwrap().is_empty());
    }
}

#[test]
fn the_request_ends_when_it_is_dropped() {
    /// A provider that never answers and counts its requests.
    struct Silent(Arc<()>);

    impl Provider for Silent {
        fn stream(&self, _: Arc<ModelRequest>) -> ModelStream {
            let request = Arc::clone(&self.0);
            let answer = async move {
                let _request = request;
                std::future::pending().await
            };
            stream::once(answer).boxed()
        }
    }

    let mut fixture = slow_fixture(&[]);
    let requests = Arc::new(());
    fixture.run.provider = Arc::new(Silent(Arc::clone(&requests)));
    let early = send(&fixture.run, tokio::task::yield_now());
    assert_eq!(Arc::strong_count(&requests), 3);
    drop(early);
    assert_eq!(Arc::strong_count(&requests), 2);
}
