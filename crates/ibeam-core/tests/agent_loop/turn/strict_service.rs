//! A service that refuses thinking after any prefix but its own, and runs against it in all orders.

use std::collections::BTreeSet;

use ibeam_core::{FallbackModel, Steering};
use proptest::prelude::*;

use super::*;

/// The reaction of the service to a request.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Answers with thinking and a call whose result is long.
    Call,
    /// Answers with a call, without thinking.
    PlainCall,
    /// Ends the turn with thinking and a text.
    Text,
    /// Answers with nothing but thinking.
    ThinkingOnly,
    /// Writes a secret before the thinking, which the journal does not keep.
    Secret,
    /// Cuts the answer at the output limit.
    Cut,
    /// Breaks off in the text.
    BreakOff,
    /// The conversation is too long.
    TooLong,
    /// The model is overloaded.
    Unavailable,
    /// Refuses the thinking in the request, whatever its prefix.
    Refuse,
}

/// An answer that the service gave.
struct Given {
    has_thinking: bool,
    /// Everything before the thinking, if it is bound to that.
    prefix: Option<Value>,
}

/// The state of the service: what it gave, and what requests have left out.
#[derive(Default)]
struct Service {
    steps: Mutex<VecDeque<Step>>,
    given: Mutex<Vec<Given>>,
    /// The numbers of the answers whose thinking some request has left out.
    omitted: Mutex<BTreeSet<usize>>,
    /// The last request that was answered, if the next one is to begin with it.
    answered: Mutex<Option<ModelRequest>>,
    /// Whether messages may add tools.
    appends_tools: bool,
}

/// A model of the service.
#[derive(Clone)]
struct StrictModel {
    provider: &'static str,
    binds: bool,
    service: Arc<Service>,
}

/// Returns the number of the answer of a message, and whether its thinking is in it.
fn number(message: &Message) -> Option<(usize, bool)> {
    let Message::Assistant(blocks) = message else { return None };
    blocks.iter().find_map(|block| match block {
        Block::Thinking { original, .. } => {
            Some((original.as_ref().unwrap().raw["n"].as_u64().unwrap() as usize, true))
        }
        Block::Text(text) => Some((text.strip_prefix("answer ")?.parse().unwrap(), false)),
        Block::ToolCall(call) => Some((call.id.as_str().strip_prefix("call ")?.parse().unwrap(), false)),
        Block::Opaque(_) => None,
    })
}

/// Returns everything before the message at `index`, without thinking.
fn prefix(provider: &str, request: &ModelRequest, index: usize) -> Value {
    let shown = |message: &Arc<Message>| match message.as_ref() {
        Message::Assistant(blocks) if blocks.is_empty() => None,
        Message::Assistant(blocks) => {
            let rest: Vec<_> =
                blocks.iter().filter(|block| !matches!(block, Block::Thinking { .. })).collect();
            Some(json!({ "assistant": rest }))
        }
        Message::Update(update) if update.is_empty() => None,
        Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::ToolResults(_) => {
            Some(serde_json::to_value(message.as_ref()).unwrap())
        }
    };
    let tools: BTreeSet<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
    let messages: Vec<Value> = request.messages[..index].iter().filter_map(shown).collect();
    json!([provider, &*request.system, tools, messages])
}

/// Checks that a request begins with an earlier one, except for thinking that is left out.
fn check_prefix(appends_tools: bool, earlier: &ModelRequest, request: &ModelRequest) {
    assert_eq!(earlier.system, request.system);
    let has_same_list = earlier.tools == request.tools;
    assert!(
        has_same_list || !appends_tools && request.tools.starts_with(&earlier.tools),
        "tools are only added"
    );
    let shown = |message: &Arc<Message>| match message.as_ref() {
        Message::Assistant(blocks) => {
            let rest = blocks.iter().filter(|block| !matches!(block, Block::Thinking { .. })).cloned();
            Message::Assistant(rest.collect())
        }
        other => other.clone(),
    };
    let [earlier, later] =
        [earlier, request].map(|request| request.messages.iter().map(shown).collect::<Vec<_>>());
    assert!(later.starts_with(&earlier), "{earlier:#?}\n{later:#?}");
}

impl StrictModel {
    /// Checks that each thinking comes after its prefix, that none comes back, and that none is missing without need.
    fn check(&self, request: &ModelRequest) {
        let given = self.service.given.lock().unwrap();
        let mut omitted = self.service.omitted.lock().unwrap();
        let answers: Vec<(usize, usize, bool)> = request
            .messages
            .iter()
            .enumerate()
            .filter_map(|(index, message)| number(message).map(|(number, sent)| (index, number, sent)))
            .filter(|(_, number, _)| given[*number].has_thinking)
            .collect();
        let is_valid = |(index, number, _): &&(usize, usize, bool)| {
            given[*number].prefix.as_ref() == Some(&prefix(self.provider, request, *index))
        };
        let candidates = answers.iter().filter(|(_, number, _)| !omitted.contains(number));
        let last_invalid =
            candidates.rev().find(|answer| self.binds && !is_valid(answer)).map(|(index, ..)| *index);
        // Thinking whose prefix lost a message of thinking alone is left out with it. No request shows that message.
        let has_lost = request
            .messages
            .iter()
            .any(|message| matches!(message.as_ref(), Message::Assistant(blocks) if blocks.is_empty()));
        for (index, number, sent) in &answers {
            if *sent {
                assert!(!omitted.contains(number), "the thinking {number} comes back");
                assert!(last_invalid.is_none_or(|last| *index > last), "the thinking {number} is invalid");
            } else if !omitted.contains(number) {
                let is_needless = last_invalid.is_none_or(|last| *index > last);
                assert!(!is_needless || has_lost, "the thinking {number} is missing without need");
            }
        }
        let sent: BTreeSet<usize> =
            answers.iter().filter(|(.., sent)| *sent).map(|(_, number, _)| *number).collect();
        omitted.extend((0..given.len()).filter(|number| !sent.contains(number)));
    }

    fn reply(&self, request: &ModelRequest, step: Step) -> Reply {
        let fail = |reason: Reason, retry| ProviderError::new(reason, retry);
        let detail = String::new;
        let provider = || self.provider.to_owned();
        match step {
            Step::BreakOff => {
                let deltas = vec![ModelEvent::TextDelta("half ".to_owned())];
                let reason = Reason::ProviderFailed { provider: provider(), detail: detail() };
                return Reply::BreakOff(deltas, fail(reason, Retry::Fast));
            }
            Step::TooLong => {
                let reason = Reason::ContextTooLong { provider: provider(), detail: detail() };
                return Reply::Fail(fail(reason, Retry::Never));
            }
            Step::Unavailable => {
                let reason = Reason::QuotaExhausted { provider: provider(), detail: detail() };
                return Reply::Fail(ProviderError { is_unavailable: true, ..fail(reason, Retry::Never) });
            }
            Step::Refuse
                if request.messages.iter().any(|message| matches!(number(message), Some((_, true)))) =>
            {
                let given = self.service.given.lock().unwrap().len();
                self.service.omitted.lock().unwrap().extend(0..given);
                let part = ibeam_protocol::RequestPart::Reasoning;
                let reason = Reason::BadRequest { provider: provider(), detail: detail(), part };
                return Reply::Fail(fail(reason, Retry::without(RefusedPart::Thinking)));
            }
            Step::Call
            | Step::PlainCall
            | Step::Text
            | Step::ThinkingOnly
            | Step::Secret
            | Step::Cut
            | Step::Refuse => {}
        }
        *self.service.answered.lock().unwrap() = Some(request.clone());
        let mut given = self.service.given.lock().unwrap();
        let number = given.len();
        let has_thinking = !matches!(step, Step::PlainCall);
        let is_bound = self.binds && !matches!(step, Step::Secret);
        let prefix = is_bound.then(|| prefix(self.provider, request, request.messages.len()));
        given.push(Given { has_thinking, prefix });
        let original = OriginalBlock { wire: "w".to_owned(), raw: json!({ "n": number }) };
        let thinking = Block::Thinking { text: "hm".to_owned(), original: Some(original) };
        let text = Block::Text(format!("answer {number}"));
        let arguments = json!({ "n": number, "bytes": 9000 });
        let call = Block::ToolCall(call(&format!("call {number}"), "repeat", arguments));
        let (blocks, stop) = match step {
            Step::PlainCall => (vec![call], StopReason::ToolUse),
            Step::Call => (vec![thinking, call], StopReason::ToolUse),
            Step::Secret => (vec![Block::Text(SECRET.to_owned()), thinking, call], StopReason::ToolUse),
            Step::ThinkingOnly => (vec![thinking], StopReason::EndTurn),
            Step::Cut => (vec![thinking, text], StopReason::MaxTokens),
            Step::Text | Step::BreakOff | Step::TooLong | Step::Unavailable | Step::Refuse => {
                (vec![thinking, text], StopReason::EndTurn)
            }
        };
        Reply::Complete(vec![finished(blocks, stop)])
    }
}

impl Provider for StrictModel {
    fn appends_tools(&self) -> bool {
        self.service.appends_tools
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let is_summary = request.tools.is_empty();
        let too_long = || matches!(self.service.steps.lock().unwrap().front(), Some(Step::TooLong));
        if is_summary || too_long() {
            // The conversation becomes another one.
            *self.service.answered.lock().unwrap() = None;
        } else if let Some(earlier) = &*self.service.answered.lock().unwrap() {
            check_prefix(self.service.appends_tools, earlier, &request);
        }
        let reply = if is_summary && !too_long() {
            text_reply(&["a summary"])
        } else if is_summary {
            self.reply(&request, self.service.steps.lock().unwrap().pop_front().unwrap())
        } else {
            self.check(&request);
            let step = self.service.steps.lock().unwrap().pop_front().unwrap_or(Step::Text);
            self.reply(&request, step)
        };
        let provider = ScriptedProvider { replies: Mutex::new([reply].into()), requests: Mutex::default() };
        provider.stream(request)
    }
}

/// A message that arrives before the second request of a run.
struct Second(AtomicUsize);

impl Steering for Second {
    fn next_message(&self) -> Option<UserPrompt> {
        let is_second = self.0.fetch_add(1, Ordering::SeqCst) == 1;
        is_second.then(|| vec!["use tabs".to_owned()].into())
    }
}

/// A run of a session.
#[derive(Clone, Debug)]
struct Plan {
    steps: Vec<Step>,
    system: u8,
    has_all_tools: bool,
    has_preface: bool,
    has_mode: bool,
    binds: bool,
    /// The model that takes over: its provider, and whether it binds its thinking.
    fallback: Option<(&'static str, bool)>,
    is_steered: bool,
    /// The place where the process is killed.
    killed: Option<prop::sample::Index>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let step = prop_oneof![
        6 => Just(Step::Call),
        1 => Just(Step::PlainCall),
        1 => Just(Step::ThinkingOnly),
        1 => Just(Step::Secret),
        1 => Just(Step::Cut),
        1 => Just(Step::BreakOff),
        2 => Just(Step::TooLong),
        1 => Just(Step::Unavailable),
        1 => Just(Step::Refuse),
    ];
    let often = || prop::bool::weighted(0.8);
    let fallback = prop::option::of((prop::sample::select(vec!["p", "q"]), any::<bool>()));
    (
        prop::collection::vec(step, 0..6),
        prop_oneof![4 => Just(0_u8), 1 => Just(1)],
        often(),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.3),
        often(),
        fallback,
        prop::bool::weighted(0.2),
        prop::option::weighted(0.2, any::<prop::sample::Index>()),
    )
        .prop_map(
            |(steps, system, has_all_tools, has_preface, has_mode, binds, fallback, is_steered, killed)| {
                Plan {
                    steps,
                    system,
                    has_all_tools,
                    has_preface,
                    has_mode,
                    binds,
                    fallback,
                    is_steered,
                    killed,
                }
            },
        )
}

/// Runs a plan on a session. Returns the session.
fn run_plan(plan: &Plan, service: &Arc<Service>, mut session: Vec<Event>) -> Vec<Event> {
    let model = |provider, binds| Arc::new(StrictModel { provider, binds, service: Arc::clone(service) });
    *service.steps.lock().unwrap() = plan.steps.clone().into();
    let mut fixture = fixture(vec![]);
    let run = &mut fixture.run;
    (run.provider, run.binds_thinking) = (model("p", plan.binds), plan.binds);
    run.prompt[0].text = format!("be good {}", plan.system);
    if plan.has_mode {
        run.prompt.push(prompt_part("mode", PromptOwner::User, "plan"));
    }
    if plan.has_preface {
        run.prompt.push(prompt_part("repository", PromptOwner::Repository, "rules"));
    }
    if !plan.has_all_tools {
        run.tools.remove("hang");
    }
    run.fallbacks.extend(plan.fallback.map(|(provider, binds_thinking)| FallbackModel {
        model: ModelInfo { provider: provider.into(), id: "n".into(), display: "N".into() },
        provider: model(provider, binds_thinking),
        context_window: None,
        max_output_tokens: None,
        binds_thinking,
        request_limits: RequestLimits::default(),
        prices: None,
    }));
    if plan.is_steered {
        run.steering = Arc::new(Second(AtomicUsize::new(0)));
    }
    let (_, mut events) = run_turn(&fixture, &session);
    if let Some(killed) = &plan.killed {
        events.truncate(killed.index(events.len()) + 1);
    }
    session.extend(events);
    // The next process reads the journal.
    let session: Vec<Event> = serde_json::from_str(&serde_json::to_string(&session).unwrap()).unwrap();
    if plan.killed.is_some() {
        *service.answered.lock().unwrap() = None;
        // What the process had not recorded, it had not left out.
        let history = History::replay(&session);
        let kept = history.messages().iter().filter_map(|message| number(message));
        let kept: BTreeSet<usize> = kept.filter(|(_, sent)| *sent).map(|(number, _)| number).collect();
        let given = service.given.lock().unwrap().len();
        *service.omitted.lock().unwrap() = (0..given).filter(|number| !kept.contains(number)).collect();
    }
    session
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_thinking_is_sent_after_another_prefix_or_comes_back(
        plans in prop::collection::vec(plan(), 1..6),
        appends_tools: bool,
    ) {
        let service = Arc::new(Service { appends_tools, ..Service::default() });
        plans.iter().fold(Vec::new(), |session, plan| run_plan(plan, &service, session));
    }
}
