//! Tools, files and reasoning that a service refuses: the session continues without them.

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text};
use ibeam_testkit::stdio_mcp_server::python;
use ibeam_testkit::{Answer, ModelServer, PNG, ProgramOutput, ServiceModel, StrictService, Wire, Workspace};
use serde_json::{Value, json};

/// An MCP server with the tools that its first argument lists.
const SERVER: &str = r#"
import json, sys
TOOLS = json.loads(sys.argv[1])
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    result = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": TOOLS}}.get(method)
    if method == "tools/call":
        result = {"content": [{"type": "text", "text": json.dumps(message["params"]["arguments"])}]}
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"#;

fn workspace(tools: &Value) -> Option<Workspace> {
    let args = ["server.py".to_owned(), tools.to_string()];
    let table = format!("[mcp_servers.srv]\ncommand = {:?}\nargs = {args:?}\n", python()?);
    Some(Workspace::new().file("server.py", SERVER).user_config(&table))
}

fn scene(wire: Wire, workspace: Workspace, answers: impl IntoIterator<Item = Answer>) -> Scene {
    let models = [ServiceModel::HAIKU_4_5, ServiceModel::GPT_5];
    let server = ModelServer::strict(StrictService::new(models), answers);
    Scene { wire, workspace, server }
}

/// Runs a prompt, with the variables of both services.
fn run(scene: &Scene, args: &[&str]) -> ProgramOutput {
    let model = match scene.wire {
        Wire::Anthropic => "anthropic/claude-haiku-4-5",
        _ => "openai/gpt-5",
    };
    let run = scene.ibeam_without_model(args).args(["--model", model, "--approve-mcps"]);
    let run = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY);
    run.env("OPENAI_BASE_URL", scene.server.url()).env("OPENAI_API_KEY", KEY).run()
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": "d", "inputSchema": schema })
}

fn offered(scene: &Scene, request: usize) -> Vec<String> {
    let requests = scene.server.requests();
    let tools = requests[request].body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| {
        tool.pointer("/function/name").or(tool.get("name")).and_then(Value::as_str).map(str::to_owned)
    };
    tools.iter().filter_map(name).filter(|name| name.starts_with("mcp_")).collect()
}

#[test]
fn tools_with_schemas_that_services_refuse_are_offered_in_another_form() {
    let tools = json!([
        tool(
            "click",
            json!({ "anyOf": [{ "required": ["x"], "properties": { "x": { "type": "integer" } } }] })
        ),
        tool("list", json!({ "type": "object", "properties": { "ids[]": { "type": "array" } } })),
    ]);
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let Some(workspace) = workspace(&tools) else { return };
        let call = answer_call("t1", "mcp_srv_list", &json!({ "ids__": [1, 2] }));
        let scene = scene(wire, workspace, [call, answer_text("done")]);
        let output = run(&scene, &["-p", "go", "--force"]).succeeded();
        assert_eq!((scene.server.refusals(), offered(&scene, 0).len()), (vec![], 2), "{output}");
        let sent = scene.server.requests()[1].body.to_string();
        assert!(sent.contains("ids[]") && sent.contains(r#"\": [1, 2]}"#), "{sent}");
    }
}

#[test]
fn a_refused_tool_is_left_out_and_named_for_the_whole_session() {
    let bad = json!({ "type": "object", "properties": { "a": { "type": "file" } } });
    let tools = json!([tool("good", json!({})), tool("bad", bad)]);
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let Some(workspace) = workspace(&tools) else { return };
        let scene = scene(wire, workspace, [answer_text("one"), answer_text("two")]);
        let output = run(&scene, &["-p", "go"]).succeeded();
        assert!(output.stderr_lines("warning: ")[0].contains("srv:bad"), "{output}");
        let output = run(&scene, &["-p", "go on", "--continue"]).succeeded();
        assert_eq!((scene.server.refusals().len(), output.stderr.as_str()), (1, ""), "{output}");
        let last = scene.server.requests().len() - 1;
        assert_eq!(offered(&scene, last), ["mcp_srv_good"]);
    }
}

#[test]
fn more_tools_than_the_service_accepts_are_named() {
    let tools: Vec<Value> = (0..150).map(|number| tool(&format!("tool_{number:03}"), json!({}))).collect();
    let Some(workspace) = workspace(&json!(tools)) else { return };
    let scene = scene(Wire::OpenAi, workspace, [answer_text("done")]);
    let output = run(&scene, &["-p", "go"]).succeeded();
    assert_eq!(
        (scene.server.refusals(), scene.server.requests()[0].body["tools"].as_array().unwrap().len()),
        (vec![], 128)
    );
    let warnings = output.stderr_lines("warning: ");
    assert!(warnings[0].contains("at most 128 tools") && warnings[0].contains("srv:tool_1"), "{output}");
}

#[test]
fn a_file_that_is_refused_or_damaged_does_not_end_the_session() {
    let wide = {
        let mut wide = PNG.to_vec();
        wide[16..20].copy_from_slice(&9000_u32.to_be_bytes());
        wide
    };
    // The PDF is refused, the images are not sent at all.
    for (name, content, refusals) in
        [("scan.pdf", &b"%PDF-1.7\n1 0 obj"[..], 1), ("cut.png", &PNG[..45], 0), ("wide.png", &wide, 0)]
    {
        let read = answer_call("t1", "read", &json!({ "path": name }));
        let workspace = Workspace::new().file(name, content);
        let scene = scene(Wire::Anthropic, workspace, [read, answer_text("one"), answer_text("two")]);
        let output = run(&scene, &["-p", "read it"]).succeeded();
        assert_eq!(scene.server.refusals().len(), refusals, "{output}");
        assert!(output.stderr_lines("warning: ")[0].contains(name), "{output}");
        let output = run(&scene, &["-p", "go on", "--continue"]).succeeded();
        assert_eq!((scene.server.refusals().len(), output.stderr.as_str()), (refusals, ""), "{output}");
        let requests = scene.server.requests();
        assert!(requests.last().unwrap().body.to_string().contains("left out: the service"), "{output}");
    }
}

#[test]
fn reasoning_that_a_service_requires_is_sent_back_and_remembered() {
    let missing = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    let answers = |text: &str| {
        let call = Answer::new().thinking("Let me see.", "").call("t1", "read", &json!({ "path": "a.txt" }));
        (call, answer_text(text))
    };
    let (call, done) = answers("one");
    let (second_call, second_done) = answers("two");
    let workspace = Workspace::new().file("a.txt", "content\n");
    let refused = Answer::error(400, "invalid_request_error", missing);
    let scene = Scene::with_wire(Wire::OpenAi, [call, refused, done, second_call, second_done])
        .with_workspace(workspace);
    let output = scene.print(["go"]).run().succeeded();
    let has_reasoning = |request: usize| {
        scene.server.requests()[request].body["messages"]
            .to_string()
            .contains(r#""reasoning_content":"Let me see.""#)
    };
    assert_eq!((has_reasoning(1), has_reasoning(2)), (false, true), "{output}");
    let output = scene.print(["go again"]).run().succeeded();
    assert_eq!((scene.server.requests().len(), has_reasoning(4)), (5, true), "{output}");
}
