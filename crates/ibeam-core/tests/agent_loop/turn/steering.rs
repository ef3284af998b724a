//! Messages that the user adds to a running turn.

use ibeam_core::{HookBlock, HookDecision, HookEvent, HookOutput, Hooks, Steering};

use super::*;

/// One message, which arrives once the model has received this many requests.
struct ArrivesAfter {
    requests: usize,
    provider: Arc<ScriptedProvider>,
    message: Mutex<Option<Vec<String>>>,
}

impl Steering for ArrivesAfter {
    fn next_message(&self) -> Option<UserPrompt> {
        let received = self.provider.requests.lock().unwrap().len();
        if received < self.requests {
            None
        } else {
            self.message.lock().unwrap().take().map(UserPrompt::from)
        }
    }
}

fn steered(requests: usize, replies: Vec<Reply>) -> (Fixture, Arc<ArrivesAfter>) {
    let mut fixture = fixture(replies);
    let message = Mutex::new(Some(vec!["use tabs".to_owned()]));
    let steering = Arc::new(ArrivesAfter { requests, provider: Arc::clone(&fixture.provider), message });
    fixture.run.steering = Arc::clone(&steering) as _;
    (fixture, steering)
}

fn look() -> Reply {
    calls_reply(vec![call("1", "look", json!({}))])
}

#[test]
fn a_steering_message_is_part_of_the_next_request_of_the_turn() {
    let (fixture, steering) = steered(1, vec![look(), text_reply(&["ok"])]);
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) User Text(ok) Answer Completed");
    assert_eq!(*steering.message.lock().unwrap(), None);
    let requests = fixture.provider.requests.lock().unwrap();
    let [.., results, message] = &requests[1].messages[..] else { panic!() };
    assert!(matches!(results.as_ref(), Message::ToolResults(_)));
    assert!(matches!(message.as_ref(), Message::User(_)));
}

#[test]
fn a_steering_message_does_not_prolong_a_turn() {
    let (fixture, steering) = steered(2, vec![look(), text_reply(&["ok"])]);
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) Text(ok) Answer Completed");
    assert!(steering.message.lock().unwrap().is_some(), "the message waits for the next turn");
}

#[test]
fn a_steering_message_does_not_come_between_a_paused_answer_and_its_completion() {
    let raw = json!({ "type": "server_tool_use" });
    let blocks = vec![Block::Opaque(OriginalBlock { wire: "anthropic".to_owned(), raw })];
    let paused = Reply::Complete(vec![finished(blocks, StopReason::Paused)]);
    let (fixture, _) = steered(1, vec![paused, look(), text_reply(&["ok"])]);
    check(
        &fixture,
        "Started User Answer AnswerPaused Answer Call(1) Allowed(1) Done(1) User Text(ok) Answer Completed",
    );
}

/// Blocks every message but the prompt.
struct BlockSteering;

impl Hooks for BlockSteering {
    fn wants_tool_results(&self) -> bool {
        false
    }

    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        let blocks = matches!(event, HookEvent::PromptSubmit(content) if content != ["do it"]);
        let block = HookBlock { hook: "guard".into(), message: "no".into(), for_people: None, ask: false };
        let decision = if blocks { HookDecision::Block(block) } else { HookDecision::Continue };
        Some(Box::pin(async { HookOutput { decision, ..HookOutput::default() } }))
    }
}

#[test]
fn a_hook_that_blocks_a_steering_message_ends_the_turn() {
    let (mut fixture, _) = steered(1, vec![look()]);
    fixture.run.hooks = Arc::new(BlockSteering);
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) Refused Failed(denied)");
}
