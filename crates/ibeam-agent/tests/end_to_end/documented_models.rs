//! The commands and configurations of docs/models.md, run as they are printed against the scripted model server.
//!
//! Only the addresses are replaced, and `…` in keys. A new command needs an entry in [`COMMANDS`], a new configuration of
//! a provider needs a command that uses the provider.

use ibeam_providers::{PROVIDERS, known_provider};
use ibeam_testkit::scene::{KEY, answer_text};
use ibeam_testkit::{Ibeam, ModelServer, ProgramOutput, Wire, Workspace, program_path};

const PAGE: &str = include_str!("../../../../docs/models.md");

/// The models of the commands, with the path of the request.
const COMMANDS: &[(&str, &str)] = &[
    ("anthropic/claude-sonnet-5-5", "/v1/messages"),
    ("openai/gpt-6.2-sol", "/v1/responses"),
    ("openrouter/anthropic/claude-sonnet-5.5", "/v1/chat/completions"),
    ("groq/openai/gpt-oss-120b", "/v1/chat/completions"),
    ("deepseek/deepseek-flash", "/v1/chat/completions"),
    ("mistral/devstral-medium-latest", "/v1/chat/completions"),
    ("xai/grok-4.7", "/v1/chat/completions"),
    ("together/openai/gpt-oss-120b", "/v1/chat/completions"),
    ("zai/glm-5.3", "/v1/chat/completions"),
    ("moonshot/kimi-k3.1-pro", "/v1/chat/completions"),
    ("minimax/MiniMax-M3.1-Flash", "/v1/messages"),
    ("dashscope/qwen3.8-max", "/v1/chat/completions"),
    ("meta/muse-spark-1.3", "/v1/responses"),
    ("cerebras/gpt-oss-120b", "/v1/chat/completions"),
    ("fireworks/accounts/fireworks/routers/glm-latest", "/v1/chat/completions"),
    ("github-models/meta/llama-3.3-70b-instruct", "/v1/chat/completions"),
    ("lmstudio/qwen/qwen3-coder-30b", "/v1/chat/completions"),
    ("vllm/Qwen/Qwen3-Coder-30B-A3B-Instruct", "/v1/chat/completions"),
    ("llamacpp/qwen3-coder-30b", "/v1/chat/completions"),
    ("openai/gpt-5.3-codex", "/v1/responses"),
    ("gateway/gpt-5.3-codex", "/v1/responses"),
    ("azure/gpt-6.2-sol", "/openai/v1/responses"),
    ("gemini/gemini-4-argon", "/v1beta/models/gemini-4-argon:streamGenerateContent"),
    (
        "vertex/gemini-4-argon",
        "/v1/projects/PROJECT/locations/us-central1/publishers/google/models/gemini-4-argon:streamGenerateContent",
    ),
    ("bedrock/eu.anthropic.claude-sonnet-5-5", "/model/eu.anthropic.claude-sonnet-5-5/converse-stream"),
    (
        "vertex-anthropic/claude-sonnet-5-5",
        "/v1/projects/PROJECT/locations/us-east5/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict",
    ),
    ("ollama/qwen3:8b", "/api/chat"),
    ("ollama-cloud/gpt-oss:120b", "/api/chat"),
    ("cohere/command-a-03-2025", "/v2/chat"),
];

/// Providers whose configuration on the page has the only address of their requests.
const CONFIGURED: [&str; 3] = ["gateway", "vertex", "vertex-anthropic"];

/// Returns the code blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    PAGE.split(start.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Returns the commands that start a run, with their models.
fn commands() -> Vec<(&'static str, &'static str)> {
    let lines = blocks("sh").into_iter().flat_map(str::lines);
    let model = |line: &'static str| line.split_once("--model ")?.1.split(' ').next();
    lines.filter_map(|line| Some((line, model(line)?))).collect()
}

/// Returns the commands for a provider, with their models.
fn commands_of(provider: &str) -> Vec<(&'static str, &'static str)> {
    let is_of = |model: &str| model.split_once('/').is_some_and(|(name, _)| name == provider);
    let found: Vec<_> = commands().into_iter().filter(|(_, model)| is_of(model)).collect();
    assert!(!found.is_empty(), "docs/models.md has no command for the provider `{provider}`");
    found
}

/// Replaces the scheme and host of each URL, and each address of this machine, by those of the server.
fn with_addresses_of(server: &ModelServer, text: &str) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("https://").or_else(|| rest.find("http://")) {
        let (before, url) = rest.split_at(at);
        let host_at = url.find("//").unwrap() + 2;
        let end = url[host_at..].find(['/', '"', ' ', '\n']).map_or(url.len(), |end| host_at + end);
        replaced += before;
        replaced += &server.url();
        rest = &url[end..];
    }
    replaced += rest;
    let own = server.address().to_string();
    for port in ["11434", "1234", "8000", "8080"] {
        replaced = replaced.replace(&format!("=127.0.0.1:{port} "), &format!("={own} "));
    }
    replaced
}

/// Returns a setting of a provider in a configuration.
fn setting<'a>(config: &'a str, provider: &str, key: &str) -> Option<&'a str> {
    let table = config.split(&format!("[providers.{provider}]\n")).nth(1)?.split("\n[").next()?;
    let line = table.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    Some(line.trim_matches('"'))
}

/// Runs a command of the page, with this configuration. Variables name the server as the base URL of the provider, except
/// if the configuration contains the address.
fn run(server: &ModelServer, config: &str, command: &str, provider: &str) -> ProgramOutput {
    let config = with_addresses_of(server, config);
    // The program waits for the content of an empty file that was just created.
    let workspace = match config.is_empty() {
        true => Workspace::new(),
        false => Workspace::new().user_config(&config),
    };
    let script = with_addresses_of(server, command).replace("=… ", &format!("={KEY} "));
    let script = format!("ibeam() {{ \"$0\" \"$@\"; }}\ngcloud() {{ echo {KEY}; }}\n{script}");
    let mut ibeam = Ibeam::new(program_path(), &workspace).through(["/bin/bash", "-c", &script]);
    let variables = known_provider(provider).map_or(&[][..], |known| known.base_url_variables);
    let is_set = variables.iter().any(|variable| command.contains(variable));
    if let Some(variable) =
        variables.first().filter(|_| !is_set && setting(&config, provider, "base_url").is_none())
    {
        ibeam = ibeam.env(variable, server.url());
    }
    ibeam.run()
}

/// Checks that the model answered with one delta, and returns the API and the path of its request.
#[track_caller]
fn request_of(server: &ModelServer, output: ProgramOutput, what: &str) -> (Wire, String) {
    assert_eq!(output.code, Some(0), "{what}\n{output}");
    assert_eq!(output.stream().deltas(), ["hi"], "{what}\n{output}");
    let [request] = &server.requests()[..] else { panic!("{what}: not one request\n{output}") };
    (request.wire, request.path.clone())
}

#[test]
fn every_documented_command_reaches_its_service() {
    let commands = commands();
    for (command, model) in &commands {
        let expected = COMMANDS.iter().find(|(name, _)| name == model);
        let (_, expected) = expected.unwrap_or_else(|| panic!("no entry in COMMANDS: {command}"));
        let (provider, _) = model.split_once('/').unwrap();
        let configs = blocks("toml");
        let header = format!("[providers.{provider}]");
        let config = configs.iter().find(|config| config.contains(&header) && CONFIGURED.contains(&provider));
        let server = ModelServer::start([answer_text("hi")]);
        let output = run(&server, config.unwrap_or(&""), command, provider);
        assert_eq!(request_of(&server, output, command).1, *expected, "{command}");
    }
    for (model, _) in COMMANDS {
        assert!(
            commands.iter().any(|(_, other)| other == model),
            "docs/models.md has no command for {model}"
        );
    }
}

/// The order counts: the first provider with a key is the default. The embedded model is no row of the code, and needs no
/// command.
#[test]
fn the_table_of_providers_is_that_of_the_code() {
    let rows = PAGE.lines().skip_while(|line| !line.starts_with("| provider |")).skip(2);
    let rows = rows.map_while(|line| line.strip_prefix("| `")?.split_once("` |"));
    let rows: Vec<(&str, &str)> = rows.filter(|(name, _)| *name != "embedded").collect();
    let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, PROVIDERS.iter().map(|provider| provider.name).collect::<Vec<_>>());
    for ((name, cells), provider) in rows.iter().zip(PROVIDERS) {
        for variable in provider.key_variables.iter().chain(provider.base_url_variables) {
            assert!(cells.contains(&format!("`{variable}`")), "{name}: {variable} is missing in {cells}");
        }
        commands_of(name);
    }
}

#[test]
fn every_documented_configuration_selects_its_api() {
    for config in blocks("toml") {
        let providers = config.lines().filter_map(|line| line.strip_prefix("[providers.")?.strip_suffix(']'));
        let mut providers: Vec<&str> = providers.collect();
        if providers.is_empty() {
            // Of every provider, for example a price.
            providers.push("anthropic");
        }
        for provider in providers {
            for (command, model) in commands_of(provider) {
                check_configuration(config, provider, command, model);
            }
        }
    }
}

/// Checks that a command with this configuration of its provider sends one request: over the API of `wire`, else over that
/// of the command, and below the configured base URL.
#[track_caller]
fn check_configuration(config: &str, provider: &str, command: &str, model: &str) {
    let value = |key: &str| setting(config, provider, key);
    // The variable of the command would replace the base URL of the configuration.
    let command = match value("base_url") {
        Some(_) => command.replace("OLLAMA_HOST=", "UNUSED=").replace("AZURE_OPENAI_ENDPOINT=", "UNUSED="),
        None => command.to_owned(),
    };
    let server = ModelServer::start([answer_text("hi")]);
    let output = run(&server, config, &command, provider);
    let what = format!("{config}\n{command}");
    let (wire, path) = request_of(&server, output, &what);
    if let Some(name) = value("wire") {
        assert_eq!(wire, wire_named(name), "{what}");
    } else {
        let (_, expected) = COMMANDS.iter().find(|(name, _)| *name == model).unwrap();
        let operation = expected.rsplit(['/', ':']).next().unwrap();
        assert!(path.ends_with(operation), "{path}: {what}");
    }
    if let Some(url) = value("base_url") {
        let prefix = url.splitn(4, '/').nth(3).unwrap_or_default().split('?').next().unwrap();
        assert!(path.starts_with(&format!("/{prefix}")), "{path}: {what}");
    }
}

/// Returns the API that `wire` of a provider's configuration selects.
fn wire_named(name: &str) -> Wire {
    match name {
        "openai" => Wire::OpenAi,
        "openai-responses" => Wire::Responses,
        "gemini-interactions" => Wire::GeminiInteractions,
        "bedrock-anthropic" => Wire::BedrockAnthropic,
        _ => panic!("unknown API `{name}`; add it here"),
    }
}
