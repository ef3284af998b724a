//! The text before the conversation and the tools: recorded once, sent as they were, and continued with messages.

use std::sync::atomic::AtomicBool;

use super::*;

fn requests(fixture: &Fixture) -> Vec<Arc<ModelRequest>> {
    fixture.provider.requests.lock().unwrap().clone()
}

/// Runs a prompt with one answer after a change of the run. Returns the request, and all events of the session.
fn run_after(past: &[Event], change: impl FnOnce(&mut Run)) -> (Arc<ModelRequest>, Vec<Event>) {
    let mut fixture = fixture(vec![text_reply(&["ok"])]);
    change(&mut fixture.run);
    let (outcome, events) = run_turn(&fixture, past);
    assert_eq!(outcome, RunOutcome::Completed);
    let session: Vec<Event> = past.iter().chain(&events).cloned().collect();
    // The next process reads the journal.
    let session = serde_json::from_str(&serde_json::to_string(&session).unwrap()).unwrap();
    (requests(&fixture).pop().unwrap(), session)
}

/// Returns the messages as lines: `U` for the user, `I` for instructions, `A` for answers.
fn shown(request: &ModelRequest) -> Vec<String> {
    let text = |parts: &[UserPart]| parts.iter().map(UserPart::as_text).collect::<Vec<_>>().join(" + ");
    let line = |message: &Arc<Message>| match message.as_ref() {
        Message::User(parts) => format!("U {}", text(parts)),
        Message::Instructions(parts) => format!("I {}", text(parts)),
        Message::Update(RequestUpdate { tools, effort }) => {
            let names: Vec<_> = tools.iter().map(|tool| &*tool.name).chain(effort.as_deref()).collect();
            format!("C {}", names.join(" "))
        }
        Message::Assistant(_) => "A".to_owned(),
        Message::ToolResults(results) => format!("R {}", results[0].text),
    };
    request.messages.iter().map(line).collect()
}

/// Returns the kinds of the records of prompts.
fn records(events: &[Event]) -> Vec<String> {
    let is_record = |event: &&Event| matches!(event.kind, EventKind::PromptRecorded(_));
    events.iter().filter(is_record).map(|event| kind_name(&event.kind)).collect()
}

fn tool_names(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| &*tool.name).collect()
}

/// Journals of earlier versions have the changes only: another text would change what their sessions have sent.
#[test]
fn the_message_of_a_change_is_the_same_in_every_version() {
    let user = |name: &str, text: &str| prompt_part(name, PromptOwner::User, text);
    let project = |name: &str, text: &str| prompt_part(name, PromptOwner::Project, text);
    let repository = |text: &str| prompt_part("repository", PromptOwner::Repository, text);
    let (first, session) = run_after(&[], |run| {
        run.prompt = vec![
            user("role", "be good"),
            user("mode", "You are in plan mode: nothing may be changed."),
            project("rules A", "\n# Rules of A\n\nUse tabs.\nAnd more.\n"),
        ];
    });
    assert_eq!(
        &*first.system,
        "be goodYou are in plan mode: nothing may be changed.\n# Rules of A\n\nUse tabs.\nAnd more.\n"
    );
    let (second, session) = run_after(&session, |run| {
        run.prompt = vec![
            user("role", "be better"),
            project("rules A", "\n# Rules of A\n\nUse spaces.\n"),
            user("instructions", "Be brief."),
            repository("by others"),
        ];
        run.tools.remove("hang");
        run.tools.remove("wait");
    });
    let texts = "U [The texts of the project have changed. The following are the current ones.]\n\n\
                 In place of the text that begins with \"Rules of A: Use tabs.\":\n\n# Rules of A\n\nUse spaces.\n\n\
                 by others";
    let instructions = "I [The instructions of this session have changed. From here on the following holds, whatever was \
                        said before.]\n\nIn place of the text that begins with \"be good\":\n\nbe better\n\nBe brief.\n\n\
                        These tools cannot be used now, and calls to them fail: `hang`, `wait`.\n\n\
                        No longer in force, so do not follow it: the text that begins with \"You are in plan mode: \
                        nothing may be changed.\".";
    assert_eq!(shown(&second), ["U do it", "A", texts, instructions, "U do it"]);
    assert_eq!((&second.system, &second.tools), (&first.system, &first.tools));
    // What holds now is not repeated; what ends is.
    let (third, session) = run_after(&session, |run| {
        run.prompt = vec![user("role", "be better")];
        run.tools.remove("hang");
    });
    let texts = "U [The texts of the project have changed. The following are the current ones.]\n\n\
                 No longer in force, so do not follow it: the text that begins with \"Rules of A: Use spaces.\".\n\n\
                 No longer in force, so do not follow it: the text that begins with \"by others\".";
    let instructions = "I [The instructions of this session have changed. From here on the following holds, whatever was \
                        said before.]\n\nIn place of the text that begins with \"These tools cannot be used now, and calls \
                        to them fail: `hang`, `wait`.\":\n\nThese tools cannot be used now, and calls to them fail: \
                        `hang`.\n\nNo longer in force, so do not follow it: the text that begins with \"Be brief.\".";
    assert_eq!(shown(&third)[5..], ["A", texts, instructions, "U do it"]);
    assert_eq!(records(&session), ["Prompt", "Change", "Change"]);
}

#[test]
fn equal_runs_record_the_prompt_once() {
    let (_, session) = run_after(&[], |_| ());
    let (_, session) = run_after(&session, |_| ());
    assert_eq!(records(&session), ["Prompt"]);
}

#[test]
fn a_session_of_an_earlier_version_gets_the_prompt_of_its_next_run() {
    let (_, mut session) = run_after(&[], |_| ());
    session.retain(|event| !matches!(event.kind, EventKind::PromptRecorded(_)));
    session.iter_mut().enumerate().for_each(|(seq, event)| event.seq = seq as u64);
    let (request, session) = run_after(&session, |run| run.prompt[0].text = "be better".to_owned());
    assert_eq!(
        (&*request.system, shown(&request)),
        ("be better", vec!["U do it".into(), "A".into(), "U do it".into()])
    );
    assert_eq!(records(&session), ["Prompt"]);
}

#[test]
fn a_prompt_that_no_answer_followed_is_replaced() {
    let failed = fixture(vec![failed_reply(Retry::Never)]);
    let (_, session) = run_turn(&failed, &[]);
    let (request, session) = run_after(&session, |run| run.prompt[0].text = "be better".to_owned());
    assert_eq!((&*request.system, shown(&request).len()), ("be better", 2));
    assert_eq!(records(&session), ["Prompt", "Prompt"]);
}

#[test]
fn a_new_tool_is_added_after_the_others_and_a_lost_one_stays() {
    let (first, session) = run_after(&[], |run| drop(run.tools.remove("change")));
    let (second, session) = run_after(&session, |run| drop(run.tools.remove("hang")));
    let mut expect = tool_names(&first);
    expect.push("change");
    assert_eq!(tool_names(&second), expect);
    let (third, _) = run_after(&session, |_| ());
    assert_eq!(tool_names(&third), expect);
}

/// A model for which messages add tools until its service refuses that.
struct Appending {
    scripted: Arc<ScriptedProvider>,
    effort: Option<&'static str>,
    is_refused: AtomicBool,
}

impl Provider for Appending {
    fn appends_tools(&self) -> bool {
        !self.is_refused.load(Ordering::SeqCst)
    }

    fn appended_effort(&self) -> Option<&'static str> {
        self.effort.filter(|_| self.appends_tools())
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let adds = request.messages.iter().any(|message| matches!(message.as_ref(), Message::Update(_)));
        let refuses = self.scripted.replies.lock().unwrap().len() > 1;
        self.is_refused.fetch_or(adds && refuses, Ordering::SeqCst);
        self.scripted.stream(request)
    }
}

fn append_tools(run: &mut Run, fixture: &Arc<ScriptedProvider>) {
    append_updates(run, fixture, None);
}

fn append_updates(run: &mut Run, fixture: &Arc<ScriptedProvider>, effort: Option<&'static str>) {
    let scripted = Arc::clone(fixture);
    run.provider = Arc::new(Appending { scripted, effort, is_refused: AtomicBool::new(false) });
}

#[test]
fn a_model_that_appends_tools_gets_a_new_tool_in_a_message() {
    let (first, session) = run_after(&[], |run| drop(run.tools.remove("change")));
    let mut fixture = fixture(vec![text_reply(&["ok"])]);
    append_tools(&mut fixture.run, &fixture.provider);
    let (_, events) = run_turn(&fixture, &session);
    let second = requests(&fixture).pop().unwrap();
    assert_eq!(first.tools, second.tools);
    assert_eq!(shown(&second), ["U do it", "A", "C change", "U do it"]);
    // Another model of the session gets the same tools in its list.
    let session: Vec<Event> = session.into_iter().chain(events).collect();
    let (third, _) = run_after(&session, |_| ());
    assert_eq!(shown(&third), ["U do it", "A", "C ", "U do it", "A", "U do it"]);
    assert_eq!(tool_names(&third).last(), Some(&"change"));
}

#[test]
fn a_changed_effort_is_a_message_and_the_first_one_stays() {
    let mut session = Vec::new();
    let mut shown_efforts = Vec::new();
    for effort in [Some("default"), Some("default"), Some("high"), Some("default"), None] {
        let mut fixture = fixture(vec![text_reply(&["ok"])]);
        append_updates(&mut fixture.run, &fixture.provider, effort);
        session.extend(run_turn(&fixture, &session).1);
        let request = requests(&fixture).pop().unwrap();
        let changes = shown(&request).into_iter().filter(|line| line.starts_with('C'));
        shown_efforts.push((request.effort.clone(), changes.collect::<Vec<_>>().join(", ")));
    }
    let first = || Some("default".to_owned());
    let expect = [
        (first(), String::new()),
        (first(), String::new()),
        (first(), "C high".to_owned()),
        (first(), "C high, C default".to_owned()),
        // Another model of the session gets the level as a field of the request.
        (None, "C , C ".to_owned()),
    ];
    assert_eq!(shown_efforts, expect);
}

#[test]
fn a_tool_in_a_message_that_the_service_refuses_comes_in_the_list() {
    let (_, session) = run_after(&[], |run| drop(run.tools.remove("change")));
    let refused = failed_reply(Retry::without(RefusedPart::Update));
    let mut fixture = fixture(vec![refused, text_reply(&["ok"])]);
    append_tools(&mut fixture.run, &fixture.provider);
    assert_eq!(run_turn(&fixture, &session).0, RunOutcome::Completed);
    let requests = requests(&fixture);
    assert_eq!((shown(&requests[0])[2].as_str(), requests.len()), ("C change", 2));
    assert_eq!((shown(&requests[1])[2].as_str(), tool_names(&requests[1]).last()), ("C ", Some(&"change")));
}

/// A tool with another description.
struct Renewed;

impl Tool for Renewed {
    fn spec(&self) -> ToolSpec {
        ToolSpec { description: "looks twice".into(), ..probe().spec() }
    }
    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        probe().prepare(arguments)
    }
}

#[test]
fn a_tool_that_has_changed_is_described_in_a_message() {
    let (first, session) = run_after(&[], |_| ());
    let (second, _) = run_after(&session, |run| drop(run.tools.insert("look".to_owned(), Arc::new(Renewed))));
    assert_eq!(first.tools, second.tools);
    let text = &shown(&second)[2];
    let expect =
        "The tool `look` is now described like this: looks twice\nIts parameters: {\"type\":\"object\"}";
    assert!(text.starts_with("U ") && text.ends_with(expect), "{text}");
}

#[test]
fn a_call_to_a_tool_of_an_earlier_run_fails_with_the_reason() {
    let (_, session) = run_after(&[], |_| ());
    let calls = vec![call("1", "hang", json!({})), call("2", "never", json!({}))];
    let mut fixture = fixture(vec![calls_reply(calls), text_reply(&["ok"])]);
    fixture.run.tools.remove("hang");
    assert_eq!(run_turn(&fixture, &session).0, RunOutcome::Completed);
    let last = requests(&fixture).pop().unwrap();
    let Message::ToolResults(results) = last.messages.last().unwrap().as_ref() else { panic!() };
    assert!(results[0].text.contains("the tool `hang` cannot be used now"), "{results:?}");
    assert!(results[1].text.contains("there is no tool `never`"), "{results:?}");
}

#[test]
fn a_secret_in_the_prompt_is_neither_recorded_nor_a_change() {
    let with_secret = |run: &mut Run| {
        run.prompt.push(prompt_part("rules", PromptOwner::Project, &format!("\nthe key is {SECRET}")));
    };
    let (request, session) = run_after(&[], with_secret);
    assert_eq!(&*request.system, "be good\nthe key is ***");
    let (_, session) = run_after(&session, with_secret);
    assert_eq!(records(&session), ["Prompt"]);
    assert!(!serde_json::to_string(&session).unwrap().contains(SECRET));
}

#[test]
fn after_a_compaction_the_prompt_is_the_current_one() {
    let long = json!({ "say": "x".repeat(2000) });
    let (_, session) = run_after(&[], |_| ());
    let too_long = Reason::ContextTooLong { provider: "p".into(), detail: String::new() };
    let mut fixture = fixture(vec![
        calls_reply(vec![call("1", "look", long)]),
        Reply::Fail(ProviderError::new(too_long, Retry::Never)),
        text_reply(&["a summary"]),
        text_reply(&["ok"]),
    ]);
    fixture.run.prompt[0].text = "be better".to_owned();
    fixture.run.tools.remove("hang");
    let (outcome, events) = run_turn(&fixture, &session);
    assert_eq!(outcome, RunOutcome::Completed);
    let requests = requests(&fixture);
    assert_eq!(
        requests.iter().map(|request| &*request.system).collect::<Vec<_>>()[..2],
        ["be good", "be good"]
    );
    let last = requests.last().unwrap();
    assert_eq!((&*last.system, tool_names(last).contains(&"hang")), ("be better", false));
    assert!(shown(last).iter().all(|line| !line.starts_with('I')), "{:?}", shown(last));
    let session: Vec<Event> = session.iter().chain(&events).cloned().collect();
    assert_eq!(records(&session), ["Prompt", "Change", "Prompt"]);
    // The prompt of a compaction stays if it is the same.
    let (request, session) = run_after(&session, |run| {
        run.prompt[0].text = "be better".to_owned();
        run.tools.remove("hang");
    });
    assert_eq!((&*request.system, records(&session).len()), ("be better", 3));
}
