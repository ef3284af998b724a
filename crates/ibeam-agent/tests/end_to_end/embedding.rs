//! Programs that embed the agent. Each runs in a process with a home directory of its own.

#[path = "../../examples/quickstart.rs"]
#[allow(unreachable_pub, reason = "the example is a program")]
mod quickstart;

use ibeam_agent::{Agent, Approval, EventKind, HostTool, Reason, RunOptions, SessionTarget};
use ibeam_testkit::{Answer, Ibeam, ModelServer, ProgramOutput, Wire, Workspace};
use serde_json::json;

/// The id of a session that does not exist.
const UNKNOWN: &str = "6f1c2f2e-0000-4000-8000-000000000000";

/// Runs the ignored test `name` as a program, with a model server that gives these answers.
fn run(name: &str, workspace: &Workspace, server: &ModelServer) -> ProgramOutput {
    let program = Ibeam::new(std::env::current_exe().unwrap(), workspace);
    let wire = Wire::Anthropic;
    program
        .args([
            &*format!("end_to_end::embedding::{name}"),
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("IBEAM_MODEL", wire.model_name())
        .env(wire.base_url_variable(), server.url())
        .env(wire.key_variable(), "key-0123456789abcdef")
        .run()
}

#[test]
fn the_example_of_the_front_page_runs_answers_a_question_and_resumes() {
    let shell = json!({ "command": "echo failing" });
    let write = json!({ "path": "new.txt", "fileText": "x" });
    let answers = [
        Answer::new().text("I look. ").call("c1", "shell", &shell).call("c2", "write", &write),
        Answer::new().text("one does"),
        Answer::new().text("fixed"),
    ];
    let (workspace, server) = (Workspace::new(), ModelServer::start(answers));
    let output = run("quickstart", &workspace, &server);
    output.succeeded();
    let requests = server.requests();
    let last = requests.last().unwrap().transcript().join("\n");
    assert!(last.contains("Which tests fail?") && last.contains("Fix the first one."), "{last}");
    assert!(last.contains("only commands are allowed"), "the approval is asked: {last}");
}

#[test]
#[ignore = "the program of another test"]
fn quickstart() {
    quickstart::main().unwrap();
}

#[test]
fn a_program_adds_a_tool_and_decides_on_its_calls() {
    let lookup = |id| json!({ "id": id });
    let answers = [
        Answer::new().call("c1", "ticket", &lookup(7)).call("c2", "ticket", &lookup(8)),
        Answer::new().text("The door squeaks."),
        Answer::new().text("resumed"),
    ];
    let (workspace, server) = (Workspace::new(), ModelServer::start(answers));
    let output = run("tool_program", &workspace, &server);
    output.succeeded();
    let transcript = server.requests()[1].transcript().join("\n");
    assert!(transcript.contains("the door squeaks"), "{transcript}");
    assert!(transcript.contains("not this one"), "{transcript}");
}

#[test]
#[ignore = "the program of another test"]
fn tool_program() {
    let schema =
        json!({ "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] });
    let tool =
        HostTool::new("ticket", "Returns a ticket", schema, |arguments| match arguments["id"].as_u64() {
            Some(7) => Ok("the door squeaks".to_owned()),
            _ => Err("no such ticket".to_owned()),
        });
    let agent = Agent::new(RunOptions::default()).with_tool(tool).with_approval(|call, _| {
        match call.arguments["id"] == 7 {
            true => Approval::Granted,
            false => Approval::Refused(Some("not this one".to_owned())),
        }
    });
    let mut session = agent.open().unwrap();
    let mut turn = session.prompt("What is ticket 7 about?");
    let calls =
        turn.by_ref().filter(|event| matches!(event.kind, EventKind::ToolCallFinished { .. })).count();
    let answer = turn.finish().unwrap();
    assert_eq!((calls, answer.text.as_str(), answer.run.totals.turns), (2, "The door squeaks.", 2));
    let id = session.id().to_string();
    session.close().unwrap();

    let options = RunOptions { session: SessionTarget::Named(id), ..RunOptions::default() };
    let mut session = Agent::new(options).open().unwrap();
    assert_eq!(session.prompt("And now?").finish().unwrap().text, "resumed");
}

#[test]
fn an_asynchronous_program_cancels_a_turn_and_continues_the_session() {
    let sleep = json!({ "command": "sleep 60" });
    let answers = [Answer::new().call("c1", "shell", &sleep), Answer::new().text("after")];
    let (workspace, server) = (Workspace::new(), ModelServer::start(answers));
    run("asynchronous_program", &workspace, &server).succeeded();
}

#[test]
#[ignore = "the program of another test"]
fn asynchronous_program() {
    let mut session = Agent::new(RunOptions::default()).open().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut turn = session.prompt("Sleep.");
        let canceller = turn.canceller();
        while let Some(event) = turn.next_event().await {
            if matches!(event.kind, EventKind::ToolCallStarted { .. }) {
                canceller.cancel();
            }
        }
        let error = turn.finished().await.unwrap_err();
        assert!(matches!(error.failure.reason, Reason::Signalled(_)), "{error}");
        assert_eq!(session.prompt("Go on.").finished().await.unwrap().text, "after");
    });
    session.close().unwrap();
}

#[test]
fn an_opening_that_fails_names_the_wrong_value() {
    let (workspace, server) = (Workspace::new(), ModelServer::start([]));
    run("failing_program", &workspace, &server).succeeded();
}

#[test]
#[ignore = "the program of another test"]
fn failing_program() {
    let default = RunOptions::default;
    for (options, part) in [
        (RunOptions { approval: Some("sometimes".to_owned()), ..default() }, "sometimes"),
        (RunOptions { without: vec!["shel".to_owned()], ..default() }, "did you mean `shell`?"),
        (RunOptions { heartbeat: Some(5), ..default() }, "`--heartbeat` has no effect"),
        (RunOptions { session: SessionTarget::Named(UNKNOWN.to_owned()), ..default() }, UNKNOWN),
        (RunOptions { worktree: Some("x".to_owned()), ..default() }, "git repository"),
    ] {
        let error = Agent::new(options).open().unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
