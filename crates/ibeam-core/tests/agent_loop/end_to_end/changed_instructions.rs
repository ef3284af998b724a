//! Changes between the runs of a session: everything that was sent stays, and the model receives the changes in the form
//! that it takes.

use std::fs;

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, ModelServer, Request, ServiceModel, StrictService, Wire, Workspace};
use serde_json::{Value, json};

const CHANGED: &str = "[The instructions of this session have changed.";
const PLAN: &str = "You are in plan mode: nothing may be changed or run.";

/// A service, the variables of its provider, and the name of its model there.
struct Target {
    service: StrictService,
    wire: Wire,
    variables: [&'static str; 2],
    model: &'static str,
}

fn claude(model: ServiceModel, name: &'static str) -> Target {
    let variables = ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"];
    Target { service: StrictService::new([model]), wire: Wire::Anthropic, variables, model: name }
}

fn sonnet() -> Target {
    claude(ServiceModel::SONNET_5_5, "anthropic/claude-sonnet-5-5")
}

fn haiku() -> Target {
    claude(ServiceModel::HAIKU_4_5, "anthropic/claude-haiku-4-5")
}

fn gpt() -> Target {
    let variables = ["OPENAI_BASE_URL", "OPENAI_API_KEY"];
    let service = StrictService::new([ServiceModel::GPT_6_2_SOL]);
    Target { service, wire: Wire::Responses, variables, model: "openai/gpt-6.2-sol" }
}

/// A session with a service.
struct Conversation {
    target: Target,
    scene: Scene,
}

impl Conversation {
    fn new(target: Target, workspace: Workspace) -> Self {
        let server = ModelServer::strict(target.service.clone(), []);
        let scene = Scene { wire: target.wire, workspace, server };
        Self { target, scene }
    }

    /// Runs a prompt with these flags in the newest session, or in a new one if there is none. Returns its requests.
    #[track_caller]
    fn run(&mut self, flags: &[&str], answers: impl IntoIterator<Item = Answer>) -> Vec<Request> {
        self.scene.server = ModelServer::strict(self.target.service.clone(), answers);
        let [address, key] = self.target.variables;
        let resume = self.session().map(|_| "--continue");
        let args = ["-p", "do it", "--model", self.target.model].into_iter().chain(resume);
        let run = self.scene.ibeam_without_model(args).args(flags);
        let output = run.env(address, self.scene.server.url()).env(key, KEY).run().succeeded();
        assert_eq!(self.scene.server.refusals(), Vec::<String>::new(), "{output}");
        self.scene.server.requests()
    }

    /// Returns the id of a session; `None` if there is none.
    fn session(&self) -> Option<String> {
        let sessions = self.scene.workspace.home().join(".local/share/ibeam/sessions");
        let entry = fs::read_dir(sessions).ok()?.next()?.unwrap();
        Some(entry.file_name().to_str().unwrap().to_owned())
    }

    /// Runs a prompt that is answered with a text. Returns the only request.
    #[track_caller]
    fn answered(&mut self, flags: &[&str]) -> Request {
        self.run(flags, [answer_text("done")]).remove(0)
    }
}

/// Returns each message as `ROLE: TEXTS`.
fn shown(request: &Request) -> Vec<String> {
    let text = |block: &Value| block["text"].as_str().unwrap_or_default().to_owned();
    let line = |message: &Value| {
        let texts: Vec<String> = match &message["content"] {
            Value::Array(blocks) => blocks.iter().map(text).filter(|text| !text.is_empty()).collect(),
            content => vec![content.as_str().unwrap_or_default().to_owned()],
        };
        format!("{}: {}", message["role"].as_str().unwrap_or("-"), texts.join(" + "))
    };
    request.messages().iter().map(line).collect()
}

/// Checks that a request begins with all of an earlier one.
#[track_caller]
fn check_prefix(earlier: &Request, later: &Request) {
    let without_marks =
        |value: &Value| value.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    for key in ["system", "instructions", "tools"] {
        assert_eq!(without_marks(&earlier.body[key]), without_marks(&later.body[key]), "{key}");
    }
    for (earlier, later) in earlier.messages().iter().zip(later.messages()) {
        assert_eq!(without_marks(earlier), without_marks(later));
    }
    assert!(earlier.messages().len() < later.messages().len());
}

#[test]
fn a_mode_is_announced_and_lifted_in_a_message_of_the_role_that_the_model_has() {
    for (target, role, system_in_messages) in [(sonnet(), "system", 0), (gpt(), "developer", 1)] {
        let model = target.model;
        let mut conversation = Conversation::new(target, Workspace::new());
        let first = conversation.answered(&[]);
        let second = conversation.answered(&["--mode", "plan"]);
        let third = conversation.answered(&[]);
        check_prefix(&first, &second);
        check_prefix(&second, &third);
        let role_lines = |request: &Request| -> Vec<String> {
            shown(request).into_iter().filter(|line| line.starts_with(&format!("{role}: "))).collect()
        };
        assert_eq!(role_lines(&first).len(), system_in_messages, "{model}");
        let announced = &role_lines(&second)[system_in_messages];
        assert!(
            announced.starts_with(&format!("{role}: {CHANGED}")) && announced.contains(PLAN),
            "{announced}"
        );
        let lifted = &role_lines(&third)[system_in_messages + 1];
        let expect = format!("No longer in force, so do not follow it: the text that begins with \"{PLAN}");
        assert!(lifted.contains(&expect), "{lifted}");
    }
}

#[test]
fn a_model_without_such_a_role_gets_a_text_of_the_user_before_the_prompt() {
    let mut conversation = Conversation::new(haiku(), Workspace::new());
    let first = conversation.answered(&[]);
    let second = conversation.answered(&["--append-system-prompt", "Be brief."]);
    check_prefix(&first, &second);
    let last = shown(&second).pop().unwrap();
    assert!(last.starts_with(&format!("user: {CHANGED}")) && last.ends_with("Be brief. + do it"), "{last}");
}

#[test]
fn rules_of_a_project_that_have_changed_are_a_text_of_the_user() {
    let mut conversation = Conversation::new(sonnet(), Workspace::new().file("AGENTS.md", "Use tabs.\n"));
    let first = conversation.answered(&["--trust"]);
    assert!(first.body["system"].to_string().contains("Use tabs."));
    fs::write(conversation.scene.workspace.path().join("AGENTS.md"), "Use spaces.\n").unwrap();
    let second = conversation.answered(&["--trust"]);
    check_prefix(&first, &second);
    let lines = shown(&second);
    assert!(lines.iter().all(|line| !line.starts_with("system: ")), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.contains("Use spaces.") && last.ends_with("+ do it"), "{last}");
    // What has not changed again is not sent again.
    let third = conversation.answered(&["--trust"]);
    assert_eq!(shown(&third).last().unwrap(), "user: do it");
}

#[test]
fn a_tool_that_a_run_lacks_stays_in_the_list_and_its_calls_fail() {
    let mut conversation = Conversation::new(sonnet(), Workspace::new().file("a.txt", "content\n"));
    let first = conversation.answered(&[]);
    let call = answer_call("t1", "read", &json!({ "path": "a.txt" }));
    let requests = conversation.run(&["--without", "read"], [call, answer_text("done")]);
    check_prefix(&first, &requests[0]);
    let lines = shown(&requests[0]);
    assert!(
        lines.last().unwrap().contains("These tools cannot be used now, and calls to them fail: `read`."),
        "{lines:?}"
    );
    let result = requests[1].messages().last().unwrap().to_string();
    assert!(result.contains("the tool `read` cannot be used now: this run does not have it"), "{result}");
}

#[test]
fn a_fork_keeps_the_prompt_of_its_session() {
    let mut conversation = Conversation::new(sonnet(), Workspace::new());
    let first = conversation.answered(&["--append-system-prompt", "Be brief."]);
    let second = conversation.answered(&["--fork"]);
    check_prefix(&first, &second);
    let last = shown(&second).pop().unwrap();
    assert!(last.contains("No longer in force") && last.contains("Be brief."), "{last}");
}

#[test]
fn the_journal_has_the_prompt_once_and_no_key_in_it() {
    let mut conversation =
        Conversation::new(sonnet(), Workspace::new().file("AGENTS.md", format!("{KEY}\n")));
    conversation.answered(&["--trust"]);
    conversation.answered(&["--trust"]);
    let request = conversation.answered(&["--trust", "--mode", "ask"]);
    assert!(request.body["system"].to_string().contains("***"));
    let id = conversation.session().unwrap();
    let events = journal(&conversation.scene, &id);
    let kind = |event: &Value| Some(event["kind"]["prompt_recorded"].as_object()?.keys().next()?.to_owned());
    assert_eq!(events.iter().filter_map(kind).collect::<Vec<_>>(), ["complete", "change"]);
    let text = fs::read_to_string(conversation.scene.workspace.journal(&id)).unwrap();
    assert!(!text.contains(KEY));
}
