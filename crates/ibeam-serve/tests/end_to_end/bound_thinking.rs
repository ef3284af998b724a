//! Thinking that is bound to what came before it, on a service that refuses it anywhere else: long sessions whose settings
//! change between runs.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ibeam_protocol::{StopReason, Usage};
use ibeam_testkit::message_stream::{FLAGS, message};
use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text};
use ibeam_testkit::{
    Answer, Ibeam, ModelServer, PNG, Request, ServiceModel, Stdin, StrictService, Wire, Workspace,
};
use serde_json::{Value, json};

use super::dialect::events;
use super::input_stream::select_type;

const MODEL: &str = "anthropic/claude-sonnet-5-5";
const PROMPTS: usize = 5;

fn service() -> StrictService {
    StrictService::new([ServiceModel::SONNET_5_5])
}

/// Returns the number of blocks of thinking in a request.
fn count_thoughts(request: &Request) -> usize {
    let blocks = request.messages().iter().filter_map(|message| message["content"].as_array()).flatten();
    blocks.filter(|block| block["type"] == "thinking").count()
}

/// Returns the number of blocks of thinking in each request so far.
fn thoughts(scene: &Scene) -> Vec<usize> {
    scene.server.requests().iter().map(count_thoughts).collect()
}

/// Returns the last message with the role `system`, or the system prompt.
fn latest_instructions(request: &Request) -> String {
    let later = request.messages().iter().rev().find(|message| message["role"] == "system");
    later.unwrap_or(&request.body["system"]).to_string()
}

/// Returns the answer to a request: a call after each prompt, a text after its result. The usage is that of the request.
fn answer(request: &Request, number: usize) -> Answer {
    let last = request.messages().last().map(Value::to_string).unwrap_or_default();
    let answer = if request.body["tools"].is_null() {
        answer_text("The summary of what was done.")
    } else if !last.contains("tool_result") {
        answer_call(&format!("t{number}"), "read", &json!({ "path": "a.txt" }))
    } else if latest_instructions(request).contains("\\\"city\\\"") {
        answer_text("{\"city\":\"Oslo\"}")
    } else {
        answer_text("Done.")
    };
    let input = request.body.to_string().len() as u64 / 4;
    answer.usage(Usage { input, output: 50, ..Usage::default() })
}

/// Facts about the requests of a session.
#[derive(Default)]
struct Seen {
    /// The number of requests without thinking.
    thoughtless: u64,
    /// The number of requests with less thinking than the one before.
    losses: u64,
    last_thoughts: usize,
    /// The different system prompts, and the different lists of tools.
    systems: HashSet<String>,
    tools: HashSet<String>,
}

impl Seen {
    fn add(&mut self, request: &Request) {
        let thoughts = count_thoughts(request);
        self.thoughtless += u64::from(thoughts == 0);
        let [system, tools] = ["system", "tools"].map(|field| &request.body[field]);
        // A request without tools is one for a summary.
        if !tools.is_null() {
            self.losses += u64::from(thoughts < self.last_thoughts);
            self.last_thoughts = thoughts;
            self.systems.insert(system.to_string());
            self.tools.insert(tools.to_string());
        }
    }
}

fn ibeam<'a>(scene: &Scene, args: impl IntoIterator<Item = &'a str>) -> Ibeam {
    let run = scene.ibeam_without_model(args).args(["--model", MODEL]);
    run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY)
}

/// A change between two runs: what is written into the workspace, and the flags of the next run.
struct Change {
    name: &'static str,
    file: Option<(&'static str, String)>,
    flags: &'static [&'static str],
}

fn flags(name: &'static str, flags: &'static [&'static str]) -> Change {
    Change { name, file: None, flags }
}

fn file(path: &'static str, text: &str) -> Change {
    Change { name: path, file: Some((path, text.to_owned())), flags: &["--trust"] }
}

/// The changes of a session, in the order of its runs. Flags are those of one run, files stay.
fn changes() -> Vec<Change> {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    let mut changes = vec![
        flags("nothing", &[]),
        flags("mode", &["--mode", "plan"]),
        Change {
            name: "schema",
            file: Some(("schema.json", schema.to_owned())),
            flags: &["--json-schema", "schema.json"],
        },
        flags("system prompt", &["--append-system-prompt", "Be brief."]),
        file("AGENTS.md", "Use tabs.\n"),
        file(".cursor/rules/style.mdc", "---\nalwaysApply: true\n---\nUse short names.\n"),
        file(".git/HEAD", "ref: refs/heads/trunk\n"),
        flags("sandbox", &["--trust", "--sandbox", "disabled"]),
        // A new tool each.
        file(".claude/skills/review/SKILL.md", "---\nname: review\ndescription: Reviews\n---\nRead.\n"),
        flags("force", &["--trust", "--force"]),
    ];
    if let Some(python) = ibeam_testkit::stdio_mcp_server::python() {
        let server = json!({ "mcpServers": { "test": { "command": python, "args": ["server.py"] } } });
        let file = Some(("servers.json", server.to_string()));
        let flags = &["--trust", "--mcp-config", "servers.json"];
        changes.push(Change { name: "server", file, flags });
    }
    changes
}

fn write(workspace: &Workspace, path: &str, text: &str) {
    let path = workspace.path().join(path);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_session_of_fifty_turns_keeps_its_thinking_with_every_change() {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let log = Arc::clone(&seen);
    let server = ModelServer::strict_with_rule(service(), move |request, number| {
        log.lock().unwrap().add(request);
        answer(request, number)
    });
    // After some 25 turns the conversation is too long, and again after some 15.
    let workspace = Workspace::new()
        .user_config("[models.context]\n\"claude-sonnet-5-5\" = 18000\n")
        .file("a.txt", "A line of a file.\n".repeat(60))
        .file("server.py", ibeam_testkit::stdio_mcp_server::SERVER);
    let scene = Scene { wire: Wire::Anthropic, workspace, server };
    let mut session: Option<String> = None;
    let (mut turns, mut compactions) = (0, 0);
    for Change { name, file, flags } in changes() {
        if let Some((path, text)) = file {
            write(&scene.workspace, path, &text);
        }
        let resume = session.iter().flat_map(|id| ["--resume", id]);
        let args = FLAGS.into_iter().chain(flags.iter().copied()).chain(resume);
        let prompts: String = (0..PROMPTS).map(|number| message(&format!("{name}, {number}"))).collect();
        let output = ibeam(&scene, args).stdin(Stdin::Piped(prompts.into())).run();
        assert_eq!((output.code, scene.server.refusals()), (Some(0), vec![]), "{name}: {output}");
        let lines = events(&output);
        let results = select_type(&lines, "result");
        assert_eq!((results.len(), output.stderr_lines("error").len()), (PROMPTS, 0), "{name}: {output}");
        let shortened =
            results.iter().filter_map(|result| result["ibeam"]["compactions"].as_u64()).sum::<u64>();
        (turns, compactions) = (turns + results.len(), compactions + shortened);
        let mut seen = seen.lock().unwrap();
        // Without thinking are the first request, those for a summary, and the first one after a summary.
        let thoughtless = std::mem::take(&mut seen.thoughtless);
        let most = u64::from(session.is_none()) + 2 * shortened;
        assert!(thoughtless <= most, "{name}: {thoughtless} requests without thinking");
        assert!(seen.losses <= compactions, "{name}: {} losses", seen.losses);
        // A compaction makes the current prompt that of the session.
        assert!(
            seen.systems.len() <= 1 + compactions as usize,
            "{name}: {} system prompts",
            seen.systems.len()
        );
        let tools = seen.tools.len();
        assert!(tools <= 1 + compactions as usize, "{name}: {tools} lists of tools");
        session = lines[0]["session_id"].as_str().map(str::to_owned);
    }
    assert!(turns >= 50 && compactions >= 2, "{turns} turns, {compactions} compactions");
}

/// The service has an earlier version of the API: the tool comes in the list, which costs the earlier thinking.
#[test]
fn a_new_tool_comes_in_the_list_where_the_service_accepts_no_messages_with_tools() {
    let answers = [answer_text("one"), answer_text("two"), answer_text("three")];
    let server = ModelServer::strict(service().without_added_tools(), answers);
    let scene = Scene { wire: Wire::Anthropic, workspace: Workspace::new(), server };
    ibeam(&scene, ["-p", "begin"]).run().succeeded();
    let output = ibeam(&scene, ["-p", "go on", "--continue", "--force"]).run().succeeded();
    assert_eq!((thoughts(&scene), scene.server.refusals().len()), (vec![0, 1, 0], 1), "{output}");
    let lists_tool = |request: &Request| request.body["tools"].to_string().contains("web_fetch");
    assert_eq!(scene.server.requests().iter().map(lists_tool).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(output.stderr, "");
    // The next process does not try again.
    let skill = ".claude/skills/review/SKILL.md";
    write(&scene.workspace, skill, "---\nname: review\ndescription: Reviews\n---\nRead.\n");
    let args = ["-p", "go on", "--continue", "--force", "--trust"];
    ibeam(&scene, args).run().succeeded();
    assert_eq!((scene.server.requests().len(), scene.server.refusals().len()), (4, 1));
}

/// The prefix is equal, but the service refuses the thinking: its account has changed.
#[test]
fn thinking_that_the_service_refuses_all_the_same_is_left_out_with_a_warning() {
    let begin = ModelServer::strict(service(), [answer_text("one")]);
    let scene = Scene { wire: Wire::Anthropic, workspace: Workspace::new(), server: begin };
    ibeam(&scene, ["-p", "begin"]).run().succeeded();
    let answers = || [answer_call("t1", "ls", &json!({ "path": "." })), answer_text("two")];
    let other = ModelServer::strict(service().account("second"), answers());
    let scene = Scene { server: other, ..scene };
    let output = ibeam(&scene, ["-p", "go on", "--continue"]).run().succeeded();
    // The refused request, the same without thinking, and the one after the call with the new thinking.
    assert_eq!((thoughts(&scene), scene.server.refusals().len()), (vec![1, 0, 1], 1), "{output}");
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    assert!(output.stderr.contains("refused the model's earlier reasoning"), "{output}");
    scene.server.assert_all_answers_sent();
    // What was left out stays so.
    let scene = Scene { server: ModelServer::strict(service().account("second"), answers()), ..scene };
    let output = ibeam(&scene, ["-p", "go on", "--continue"]).run().succeeded();
    assert_eq!((thoughts(&scene), scene.server.refusals()), (vec![2, 3], vec![]), "{output}");
    assert_eq!(output.stderr, "");
}

#[test]
fn thinking_stays_bound_after_answers_that_are_cut_invalid_or_empty() {
    let answers = [
        answer_text("Half an an").cut(),
        answer_text("swer."),
        answer_text("A long").stop(StopReason::MaxTokens),
        answer_text(" answer."),
        Answer::new().text("Reading.").call_as_written("t1", "read", "{\"path\":"),
        answer_call("t2", "read", &json!({ "path": "a.png" })),
        answer_call("t3", "read", &json!({ "path": "missing" })).call("t4", "ls", &json!({ "path": "." })),
        // Thinking alone.
        Answer::new(),
        answer_text("The end."),
    ];
    let workspace =
        Workspace::new().user_config("[retry]\nattempts = 2\nfirst_pause = \"1ms\"\n").file("a.png", PNG);
    let server = ModelServer::strict(service(), answers);
    let scene = Scene { wire: Wire::Anthropic, workspace, server };
    for args in [&["-p", "one"][..], &["-p", "two", "--continue"], &["-p", "three", "--continue"]] {
        let output = ibeam(&scene, args.iter().copied()).run().succeeded();
        assert_eq!(scene.server.refusals(), Vec::<String>::new(), "{output}");
    }
    ibeam(&scene, ["-p", "four", "--continue"]).run().succeeded();
    // The thinking of the answer that broke off is lost.
    assert_eq!(thoughts(&scene), [0, 0, 1, 2, 3, 4, 5, 6, 7]);
    scene.server.assert_all_answers_sent();
}

/// Another level in the field of the request would cost GPT-6 its earlier reasoning.
#[test]
fn a_session_of_gpt_6_states_a_new_tool_and_another_level_in_its_input() {
    let answers = ["one", "two", "three", "four"].map(answer_text);
    let server = ModelServer::strict(StrictService::new([ServiceModel::GPT_6_2_SOL]), answers);
    let scene = Scene { wire: Wire::Responses, workspace: Workspace::new(), server };
    let run = |args: &[&'static str]| {
        let ibeam = scene.ibeam_without_model(["-p", "go on"]).args(args.iter().copied());
        let ibeam = ibeam.args(["--model", "openai/gpt-6.2-sol"]).env("OPENAI_API_KEY", KEY);
        ibeam.env("OPENAI_BASE_URL", scene.server.url()).run().succeeded();
    };
    run(&[]);
    run(&["--continue", "--effort", "high"]);
    run(&["--continue", "--effort", "high", "--force"]);
    run(&["--continue", "--force"]);
    assert_eq!(scene.server.refusals(), Vec::<String>::new());
    let requests = scene.server.requests();
    for (earlier, later) in requests.iter().zip(&requests[1..]) {
        assert!(later.messages().starts_with(earlier.messages()));
        assert_eq!(
            (&earlier.body["tools"], &earlier.body["reasoning"]),
            (&later.body["tools"], &later.body["reasoning"])
        );
    }
    let shown = |item: &Value| match item["type"].as_str() {
        Some("configuration_update") => Some(item["reasoning"]["effort"].to_string()),
        Some("additional_tools") => Some(item["tools"][0]["name"].to_string()),
        _ => None,
    };
    let changes: Vec<String> = requests[3].messages().iter().filter_map(shown).collect();
    assert_eq!(changes, ["\"high\"", "\"web_fetch\"", "\"medium\""]);
}
