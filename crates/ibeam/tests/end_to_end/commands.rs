//! The sub-commands.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use ibeam_testkit::scene::{KEY, Scene, answer_text};
use ibeam_testkit::{Answer, Stdin, Workspace};

/// Commands that need no configuration, and a part of their output.
pub(crate) const OFFLINE: &[(&[&str], &str)] = &[
    (&["check", "es.ndjson"], "keeps contract 1"),
    (&["convert", "--from", "cursor", "--to", "codex", "es.ndjson"], "thread.started"),
    (&["replay", "es.ndjson"], "session_id"),
    (&["replay", "es.ndjson", "--output-format", "html"], "<html"),
    (&["schema"], "$schema"),
    (&["errors"], "usage"),
    (&["completions", "bash"], "_ibeam"),
    (&["shim", "bin"], "cursor-agent"),
];

/// Writes the sample stream that these commands read.
pub(crate) fn write_sample(scene: &Scene) {
    std::fs::write(scene.workspace.path().join("es.ndjson"), include_str!("../samples/es.ndjson")).unwrap();
}

#[test]
fn commands_without_configuration_ignore_a_broken_one() {
    for broken in [".config/ibeam/config.toml", ".config/ibeam/credentials.toml", ".cursor/cli-config.json"] {
        let scene = Scene::new([]);
        write_sample(&scene);
        let path = scene.workspace.home().join(broken);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "= [").unwrap();
        assert_eq!(scene.ibeam_without_model(["status"]).run().code, Some(78), "{broken}");
        for (args, expect) in OFFLINE {
            let output = scene.ibeam_without_model(*args).env("IBEAM_TIMEOUT", "soon").run().succeeded();
            assert!(output.stdout.contains(expect), "{broken}, {args:?}: {output}");
        }
    }
}

#[test]
fn commands_without_configuration_use_a_valid_one() {
    let scene = Scene::new([]);
    write_sample(&scene);
    let path = scene.workspace.home().join(".config/ibeam/config.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "lang = \"fr\"\n").unwrap();
    let output = scene.ibeam_without_model(["check", "es.ndjson"]).run().succeeded();
    assert!(output.stdout.contains("respecte le contrat"), "{output}");
    for args in [["errors", "--lang", "xx"], ["errors", "--timeout", "soon"], ["errors", "--contract", "9"]] {
        assert_eq!(scene.ibeam_without_model(args).run().code, Some(2), "{args:?}");
    }
}

#[test]
fn version_prints_only_the_version() {
    for flag in ["--version", "-v", "-V"] {
        let output = Scene::new([]).ibeam_without_model([flag]).run().succeeded();
        assert_eq!(output.stdout, concat!(env!("CARGO_PKG_VERSION"), "\n"));
    }
    let at_terminal = Scene::new([]).ibeam_without_model(["--version"]).terminal().run().succeeded();
    let shown = format!("{}{}", at_terminal.stdout, at_terminal.stderr);
    assert_eq!(shown.trim(), concat!("ibeam ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_is_one_screen_and_names_the_lists_of_the_rest() {
    let scene = Scene::new([]);
    let stdout = |args: &[&str]| scene.ibeam_without_model(args).run().succeeded().stdout;
    let help = stdout(&["--help"]);
    let expected =
        ["Usage", "login", "models", "resume", "--print", "--output-format", "--resume", "--force"];
    for expected in expected {
        assert!(help.contains(expected), "{expected}; {help}");
    }
    assert!(!help.contains('\u{1b}') && help.lines().count() < 45, "{help}");
    assert_eq!(stdout(&["-h"]), help);
    assert!(help.contains("ibeam help commands") && stdout(&["help", "commands"]).contains("create-chat"));
    assert!(help.contains("ibeam help flags") && stdout(&["help", "flags"]).contains("--max-tool-calls"));
}

#[test]
fn what_help_does_not_list_still_works() {
    let scene = Scene::new([]);
    let stdout = |args: &[&str]| scene.ibeam_without_model(args).run().succeeded().stdout;
    for (hidden, listed) in [
        (&["providers"][..], &["models", "--providers"][..]),
        (&["providers", "--json"], &["models", "--providers", "--json"]),
        (&["--list-models"], &["models"]),
        (&["version"], &["about"]),
        (&["ls", "--all"], &["sessions", "list", "--all"]),
    ] {
        assert_eq!(stdout(hidden), stdout(listed), "{hidden:?}");
    }
    let help = stdout(&["help", "commands"]);
    assert!(!help.contains("\n  ls ") && !help.contains("\n  providers "), "{help}");
    assert!(stdout(&["ls", "--help"]).contains("--all"));
}

#[test]
fn help_is_a_command_too() {
    let scene = Scene::new([answer_text("I can.")]);
    let stdout = |args: &[&str]| scene.ibeam_without_model(args).run().succeeded().stdout;
    for command in [&[][..], &["doctor"], &["trust", "show"], &["login"]] {
        let (before, after) = ([&["help"], command].concat(), [command, &["--help"]].concat());
        assert_eq!(stdout(&before), stdout(&after), "{command:?}");
        assert_eq!(
            stdout(&[&["agent", "--lang", "fr"], &before[..]].concat()),
            stdout(&[&["--lang", "fr"], &after[..]].concat())
        );
    }
    let output = scene.ibeam_without_model(["help", "nobody"]).run();
    assert_eq!(
        (output.code, output.stderr.contains("nobody"), output.stdout.as_str()),
        (Some(2), true, ""),
        "{output}"
    );
    scene.ibeam(["-p", "help"]).run().succeeded();
    scene.server.assert_all_answers_sent();
}

#[test]
fn help_shows_the_pages_of_the_documentation() {
    let scene = Scene::new([]);
    let page = scene.ibeam_without_model(["help", "permissions"]).run().succeeded();
    assert!(page.stdout.starts_with("## Permissions") && page.stdout.contains("Shell(cargo:*)"), "{page}");
    let unknown = scene.ibeam_without_model(["help", "permisions"]).run();
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.stderr.contains("hint: did you mean `ibeam help permissions`?"), "{unknown}");
}

#[test]
fn a_stored_key_is_used_and_deleted() {
    let scene = Scene::new([answer_text("hi")]);
    let login = scene
        .ibeam_without_model(["login", "--no-check"])
        .stdin(Stdin::Piped(format!("{KEY}\n").into_bytes()))
        .run()
        .succeeded();
    assert!(!login.stdout.contains(KEY) && !login.stderr.contains(KEY), "{login}");
    let path = scene.workspace.home().join(".config/ibeam/credentials.toml");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let status = scene.ibeam_without_model(["status", "--format", "json"]).run().succeeded().json();
    assert_eq!(status["isAuthenticated"], true);
    assert_eq!(status["providers"][0]["provider"], "anthropic");
    assert!(!status.to_string().contains(KEY));

    let stream = scene.ibeam_without_key(["-p", "x"]).run().succeeded().stream();
    assert_eq!(stream.init()["apiKeySource"], "login");
    assert_eq!(scene.server.requests()[0].header("x-api-key"), Some(KEY));

    assert_eq!(
        scene.ibeam_without_model(["logout"]).run().succeeded().stdout,
        "deleted the stored key for anthropic\n"
    );
    assert_eq!(
        scene.ibeam_without_model(["logout"]).run().succeeded().stdout,
        "there was no stored key to delete\n"
    );
    assert_eq!(scene.ibeam_without_key(["-p", "x"]).run().code, Some(20));
    assert_eq!(
        scene.ibeam_without_model(["whoami", "--format", "json"]).run().succeeded().json()["isAuthenticated"],
        false
    );
}

#[test]
fn login_reports_a_provider_without_keys() {
    let scene = Scene::new([]);
    let output = scene.ibeam_without_model(["login", "ollama"]).stdin(Stdin::Closed).run();
    assert_eq!((output.code, output.stderr.contains("`ollama` needs no key")), (Some(2), true), "{output}");
    scene.ibeam_without_model(["login", "ollama", "--no-check", "--api-key", KEY]).run().succeeded();
}

#[test]
fn only_a_similar_provider_name_is_suggested() {
    let config = "[providers.workshop]\nbase_url = \"http://127.0.0.1:9\"\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    for (typed, similar) in [("openia", Some("openai")), ("worksop", Some("workshop")), ("nope", None)] {
        let login = scene.ibeam_without_model(["login", typed]).stdin(Stdin::Closed).run();
        let model = format!("{typed}/gpt-x");
        let keys = [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
        let run = keys
            .iter()
            .fold(scene.ibeam_without_model(["-p", "x", "--model", &model]), |run, (name, key)| {
                run.env(name, key)
            });
        let run = run.run();
        assert_eq!((login.code, run.code), (Some(21), Some(21)), "{login} {run}");
        match similar {
            Some(similar) => {
                assert!(login.stderr.contains(&format!("did you mean `{similar}`?")), "{login}");
                assert!(run.stderr.contains(&format!("did you mean `{similar}/gpt-x`?")), "{run}");
            }
            None => assert!(!format!("{login} {run}").contains("did you mean"), "{login} {run}"),
        }
    }
}

#[test]
fn the_providers_are_listed_with_the_sources_of_their_keys() {
    let config = "[providers.workshop]\nbase_url = \"http://127.0.0.1:9\"\nkey_variable = \"WORKSHOP_KEY\"\n\
                  [providers.attic]\nbase_url = \"http://127.0.0.1:9\"\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    scene.ibeam_without_model(["login", "groq", "--no-check", "--api-key", KEY]).run().succeeded();
    let output =
        scene.ibeam_without_model(["models", "--providers"]).env("ANTHROPIC_API_KEY", KEY).run().succeeded();
    for line in [
        "anthropic - Anthropic: key from $ANTHROPIC_API_KEY",
        "openai - OpenAI: no key; set `$OPENAI_API_KEY`, or run `ibeam login openai`",
        "ollama - Ollama: needs no key",
        "workshop - from your configuration: no key; set `$WORKSHOP_KEY`, or run `ibeam login workshop`",
        "attic - from your configuration: needs no key",
    ] {
        assert!(output.stdout.lines().any(|printed| printed == line), "{line}\n{output}");
    }
    let stored =
        |line: &str| line.starts_with("groq - Groq: key from ") && line.ends_with("/credentials.toml");
    assert!(output.stdout.lines().any(stored) && !output.stdout.contains(KEY), "{output}");
    let nope = scene.ibeam_without_model(["login", "nope"]).stdin(Stdin::Closed).run();
    assert!(nope.stderr.contains("`ibeam models --providers`"), "{nope}");
    let same = scene.ibeam_without_model(["providers"]).env("ANTHROPIC_API_KEY", KEY).run().succeeded();
    assert_eq!(same.stdout, output.stdout);
    let json = scene.ibeam_without_model(["providers", "--json"]).run().succeeded().json();
    let row = |name: &str| {
        let rows = json["providers"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{json}")).clone()
    };
    assert_eq!((&row("groq")["has_key"], &row("openai")["has_key"]), (&true.into(), &false.into()));
    assert_eq!(row("openai")["key_variable"], "OPENAI_API_KEY");
    assert_eq!(row("ollama")["key_variable"], serde_json::Value::Null);
}

#[test]
fn a_key_is_not_stored_for_an_unknown_provider() {
    let scene = Scene::new([]);
    let output = scene
        .ibeam_without_model(["login", "nobody"])
        .stdin(Stdin::Piped(format!("{KEY}\n").into_bytes()))
        .run();
    assert_ne!(output.code, Some(0), "{output}");
    assert!(!scene.workspace.home().join(".config/ibeam/credentials.toml").exists());
}

#[test]
fn models_are_listed_as_ids_and_labels() {
    let scene = Scene::new([]);
    let output = scene.ibeam(["models"]).run().succeeded();
    assert!(
        output.stdout.contains("\nanthropic/claude-sonnet-4-6 - Claude Sonnet 4.6 (current)\n"),
        "{output}"
    );
    assert!(output.stdout.contains("\nopenrouter/scripted-1 - Scripted One\n"), "{output}");
    assert_eq!(scene.ibeam(["--list-models"]).run().succeeded().stdout, output.stdout);
}

fn list_cache(scene: &Scene) -> std::path::PathBuf {
    scene.workspace.home().join(".cache/ibeam/model-lists.json")
}

#[test]
fn a_list_of_models_is_requested_once_an_hour_or_with_refresh() {
    let scene = Scene::new([]);
    let first = scene.ibeam(["models"]).run().succeeded();
    assert!(first.stdout.ends_with(
        "Tip: this list is less than a minute old; `ibeam models --refresh` requests it again.\n"
    ));
    // Every line that is not empty is the title, a model or a tip: clients take any other line for a model.
    let mut lines = first.stdout.lines().skip(1).filter(|line| !line.is_empty());
    assert!(lines.all(|line| line.contains(" - ") || line.starts_with("Tip: ")), "{first}");
    let file = list_cache(&scene);
    let cached = std::fs::read_to_string(&file).unwrap();
    assert!(!cached.contains(KEY), "{cached}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, cached.replace("Scripted One", "Kept")).unwrap();
    let models = |args: &[&str]| scene.ibeam(args).run().succeeded().stdout;
    assert!(models(&["models"]).contains("openrouter/scripted-1 - Kept\n"));
    assert!(models(&["models", "--refresh"]).contains("openrouter/scripted-1 - Scripted One\n"));
    // Another key may see other models.
    std::fs::write(&file, cached.replace("Scripted One", "Kept")).unwrap();
    let other =
        scene.ibeam(["models"]).env("ANTHROPIC_API_KEY", "another").env("OPENROUTER_API_KEY", "another");
    assert!(!other.run().succeeded().stdout.contains("Kept"));
}

#[test]
fn an_old_list_is_used_if_the_provider_cannot_be_reached() {
    let scene = Scene::new([]);
    scene.ibeam(["models"]).run().succeeded();
    let file = list_cache(&scene);
    let mut cache: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for list in cache["providers"].as_object_mut().unwrap().values_mut() {
        let listed_at_ms = list["listed_at_ms"].as_u64().unwrap();
        list["listed_at_ms"] = (listed_at_ms - 3 * 3_600_000 - 60_000).into();
    }
    std::fs::write(&file, cache.to_string()).unwrap();
    let url = scene.server.url();
    let scene = scene.with_answers([]);
    let models = scene.ibeam(["models"]).env("OPENROUTER_BASE_URL", &url).env("ANTHROPIC_BASE_URL", &url);
    let output = models.run().succeeded();
    assert!(output.stdout.contains("openrouter/scripted-1 - Scripted One\n"), "{output}");
    assert!(output.stdout.contains("this list is 3 hours old"), "{output}");
    assert!(output.stderr.contains("warning: openrouter: "), "{output}");
}

#[test]
fn models_have_details_for_people_and_for_programs() {
    let config = "[models.prices]\nscripted-1 = \"0.5/2\"\n[models.context]\nscripted-1 = 4096\n\
                  [models.aliases]\nquick = \"scripted-1\"\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    let output = scene.ibeam(["models", "--details"]).run().succeeded();
    let expect = "\nanthropic/claude-sonnet-4-6 - Claude Sonnet 4.6 (current)\n    \
                  context 1,000,000 tokens; $3 in, $15 out per million tokens; \
                  tools, images, reasoning, structured output\n";
    assert!(output.stdout.contains(expect), "{output}");
    let expect = "\nopenrouter/scripted-1 - Scripted One\n    \
                  context 4,096 tokens; $0.5 in, $2 out per million tokens; abilities unknown; \
                  from the configuration: context_window, prices\n";
    assert!(output.stdout.contains(expect), "{output}");
    let output = scene.ibeam(["models", "--json"]).run().succeeded();
    let list: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let find = |id: &str| list["models"].as_array().unwrap().iter().find(|model| model["id"] == id).unwrap();
    let known = find("anthropic/claude-sonnet-4-6");
    assert_eq!(known["context_window"], 1_000_000, "{output}");
    assert_eq!(known["dollars_per_million_tokens"]["cache_read"], 0.3);
    assert!(known["current"] == true && known["abilities"]["tools"] == true, "{output}");
    assert!(known["source"]["name"].is_string() && known["source"]["date"].is_string(), "{output}");
    let configured = find("openrouter/scripted-1");
    assert!(configured["abilities"]["tools"].is_null() && configured["max_output_tokens"].is_null());
    assert_eq!(list["aliases"], serde_json::json!([{ "name": "quick", "model": "scripted-1" }]));
    assert_eq!(list["age_seconds"], 0);
    for flag in ["--details", "--refresh"] {
        assert_eq!(scene.ibeam(["models", "--providers", flag]).run().code, Some(2), "{flag}");
    }
}

/// Starts a server that answers every request with this list of models, and returns its URL.
fn serve_list(models: &serde_json::Value) -> String {
    let body = serde_json::json!({ "data": models }).to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
            while head.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let length = body.len();
            drop(write!(
                stream,
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            ));
        }
    });
    url
}

#[test]
fn what_a_service_lists_takes_precedence_over_the_table_and_is_cached() {
    let url = serve_list(&serde_json::json!([
        {
            "id": "claude-sonnet-4-5", "display_name": "Claude Sonnet 4.5", "lifecycle": "deprecated", "line": "sonnet",
            "retires_at": "2026-11-30T17:00:00Z", "max_input_tokens": 1_000_000, "max_tokens": 64_000,
            "capabilities": { "structured_outputs": { "supported": true } },
        },
        { "id": "claude-new", "max_input_tokens": "many" },
        { "id": "claude-sonnet-4", "lifecycle": "retired" },
    ]));
    let scene = Scene::new([]);
    let models = |args: &[&str]| {
        let run = scene.ibeam(args).env("ANTHROPIC_BASE_URL", &url).run();
        run.succeeded().stdout
    };
    let text = models(&["models", "--details"]);
    let expect = "\nanthropic/claude-sonnet-4-5 - Claude Sonnet 4.5\n    \
                  context 1,000,000 tokens; $3 in, $15 out per million tokens; tools, images, reasoning, structured \
                  output; deprecated; retires on 2026-11-30; replaced by `claude-sonnet-5-5`; listed by the service: \
                  context, abilities\n";
    assert!(text.contains(expect), "{text}");
    assert!(
        text.contains("anthropic/claude-new - ") && !text.contains("anthropic/claude-sonnet-4 "),
        "{text}"
    );
    assert_eq!(models(&["models", "--details"]), text, "from the cache");
    let list: serde_json::Value = serde_json::from_str(&models(&["models", "--json"])).unwrap();
    let listed = list["models"].as_array().unwrap().iter().find(|model| model["line"] == "sonnet").unwrap();
    assert_eq!((&listed["retires"], &listed["max_output_tokens"]), (&"2026-11-30".into(), &64_000.into()));
    let expect = serde_json::json!(["context_window", "max_output_tokens", "abilities"]);
    assert_eq!(listed["listed"], expect);
}

#[test]
fn an_unknown_model_is_reported_with_the_nearest_names() {
    let scene = Scene::new([answer_text("x")]);
    scene.ibeam(["models"]).run().succeeded();
    for (name, near) in [
        ("claud-sonnet-5-5", "did you mean `anthropic/claude-sonnet-5-5`"),
        ("scripted-2", "/scripted-1`"),
        ("gtp-6-luna", "`openai/gpt-6-luna`"),
    ] {
        let run = scene.ibeam_without_model(["-p", "x", "--model", name]);
        let run = run.env("ANTHROPIC_API_KEY", KEY).env("OPENAI_API_KEY", KEY).run();
        assert!(run.code == Some(21) && run.stderr.contains(near), "{name}: {run}");
    }
    let unknown = Answer::error(404, "not_found_error", "model: claude-sonnet-4-50");
    let scene = scene.with_answers([unknown]);
    let run = scene.ibeam_without_model(["-p", "x", "--model", "anthropic/claude-sonnet-4-50"]);
    let run = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY).run();
    assert!(run.code == Some(21) && run.stderr.contains("`anthropic/claude-sonnet-4-5`"), "{run}");
}

/// Clients of the original program reject a model that is not listed.
#[test]
fn aliases_are_listed_with_their_models() {
    let config = "[models.aliases]\ncomposer-1 = \"anthropic/claude-sonnet-4-6\"\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    let output = scene.ibeam_without_model(["models"]).run().succeeded();
    assert!(output.stdout.contains("\ncomposer-1 - anthropic/claude-sonnet-4-6\n"), "{output}");
}

#[test]
fn create_chat_prints_one_uuid() {
    let output = Scene::new([]).ibeam_without_model(["create-chat"]).run().succeeded();
    let id = output.stdout.strip_suffix('\n').unwrap();
    assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
}

#[test]
fn config_explain_shows_the_origin_of_each_value() {
    let config = "[limits]\nmax_turns = 7\n[models.aliases]\nquick = \"anthropic/claude-haiku\"\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    let output = scene
        .ibeam_without_model(["config", "explain", "--model", "quick"])
        .env("IBEAM_LANG", "fr")
        .run()
        .succeeded();
    assert!(
        output.stdout.contains("config.toml:2")
            && output.stdout.contains("$IBEAM_LANG")
            && output.stdout.contains("--model"),
        "{output}"
    );
    let stream = scene.with_answers([answer_text("hi")]);
    let stream = stream.print::<&str>([]).run().succeeded().stream();
    assert_eq!(stream.init()["ibeam"]["limits"]["max_turns"], 7);
}

#[test]
fn an_alias_names_a_model() {
    let config = "[models.aliases]\nquick = \"anthropic/claude-sonnet-4-6\"\nauto = \"quick\"\n";
    for name in ["quick", "auto"] {
        let scene = Scene::new([answer_text("hi")]).with_workspace(Workspace::new().user_config(config));
        let run = scene.ibeam_without_model(["-p", "x", "--model", name]);
        let stream = run
            .env("ANTHROPIC_BASE_URL", scene.server.url())
            .env("ANTHROPIC_API_KEY", KEY)
            .run()
            .succeeded()
            .stream();
        assert_eq!(stream.init()["model"], "Claude Sonnet 4.6");
        assert_eq!(scene.server.requests()[0].body["model"], "claude-sonnet-4-6");
    }
}

#[test]
fn the_first_provider_with_a_key_is_the_default() {
    let scene = Scene::new([answer_text("hi")]);
    let run = scene
        .ibeam_without_model(["-p", "x"])
        .env("ANTHROPIC_BASE_URL", scene.server.url())
        .env("ANTHROPIC_API_KEY", KEY);
    run.run().succeeded();
    let model = scene.server.requests()[0].body["model"].clone();
    assert!(model.as_str().is_some_and(|model| model.starts_with("claude")), "{model}");
}

#[test]
fn completions_about_and_doctor_print_output() {
    let scene = Scene::new([]);
    assert!(scene.ibeam_without_model(["completions", "bash"]).run().succeeded().stdout.contains("_ibeam"));
    let about = scene.ibeam_without_model(["about", "--format", "json"]).run().succeeded().json();
    assert!(about.to_string().contains(env!("CARGO_PKG_VERSION")), "{about}");
    let doctor = scene.ibeam_without_model(["doctor"]).run();
    assert!(doctor.stdout.contains("ibeam setup") || doctor.stdout.contains("ibeam login"), "{doctor}");
    let key_line = |args: &[&str]| {
        let output = scene.ibeam_without_model(["doctor"]).args(args).run();
        output.stdout.lines().find(|line| line.contains(" key: ")).unwrap_or_default().to_owned()
    };
    let missing = key_line(&["--model", "openai/m"]);
    assert!(missing.starts_with("missing key: no API key is set or stored; `ibeam login"), "{missing}");
    assert_eq!(key_line(&["--model", "ollama/m"]), "ok      key: not needed: m works without one");
    assert_eq!(key_line(&["--model", "openai/m", "--api-key", "k"]), "ok      key: openai, from --api-key");
}

#[test]
fn a_closed_stdout_of_a_command_is_an_io_failure() {
    let output = Scene::new([]).ibeam_without_model(["completions", "bash"]).closed_stdout().run();
    assert_eq!(output.code, Some(74), "{output}");
}

/// A program such as `head` closes its input early.
#[test]
fn a_command_with_a_closed_stdout_prints_no_error() {
    let scene = Scene::new([]);
    write_sample(&scene);
    let own: [&[&str]; 11] = [
        &["models"],
        &["about"],
        &["status"],
        &["doctor"],
        &["ls", "--format", "json"],
        &["create-chat"],
        &["config", "explain"],
        &["config", "path"],
        &["policy", "list"],
        &["mcp", "list"],
        &["trust", "list"],
    ];
    let offline = OFFLINE.iter().map(|(args, _)| *args).filter(|args| args[0] != "shim");
    for args in offline.chain(own) {
        let output = scene.ibeam(args).closed_stdout().run();
        assert_eq!((output.code, output.stderr.as_str()), (Some(74), ""), "{args:?}: {output}");
    }
    // `--error-format json` still prints the error object.
    let output = scene.ibeam_without_model(["schema", "--error-format", "json"]).closed_stdout().run();
    assert!(output.stderr.contains("\"exit_code\":74"), "{output}");
}

#[test]
fn a_command_without_its_sub_command_prints_its_help() {
    let scene = Scene::new([]);
    for (command, expect) in [
        ("config", "explain, path"),
        ("mcp", "list, list-tools, add, remove, login, logout, enable, disable, serve"),
        ("policy", "test, list"),
        ("sessions", "list, show, search, rename, rm, prune, export, import, check"),
        ("trust", "list, forget, show"),
    ] {
        let output = scene.ibeam_without_model([command]).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(&format!("Usage: ibeam {command}")), "{output}");
        let error = format!("error: `ibeam {command}` needs a command: {expect}");
        let hint = format!("hint: `ibeam {command} --help` lists its arguments and flags");
        assert_eq!(output.stderr.lines().rev().take(2).collect::<Vec<_>>(), [hint, error], "{output}");
        let output = scene.ibeam_without_model([command, "--error-format", "json"]).run();
        assert_eq!((output.code, output.stderr.lines().count()), (Some(2), 1), "{output}");
    }
}

#[test]
fn a_command_without_all_its_arguments_prints_its_help() {
    for command in ["batch", "shim", "completions", "fleet report"] {
        let output = Scene::new([]).ibeam_without_model(command.split(' ')).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(&format!("Usage: ibeam {command}")), "{output}");
        let hint = format!("hint: `ibeam {command} --help` lists its arguments and flags");
        assert_eq!(output.stderr.lines().last(), Some(hint.as_str()), "{output}");
    }
}

#[test]
fn a_usage_error_refers_to_the_help_of_its_command() {
    let scene = Scene::new([]);
    for (args, command) in [
        (&["check", "--wrong"][..], "check"),
        (&["shim"], "shim"),
        (&["completions", "nothing"], "completions"),
        (&["config", "nothing"], "config"),
        (&["policy", "test"], "policy test"),
        (&["--lang", "en", "trust", "forget", "/nowhere"], "trust forget"),
        (&["mcp", "list-tools", "nobody"], "mcp list-tools"),
        (&["login", "--api-key", "two words"], "login"),
        (&["replay", "x.ndjson", "--speed", "soon"], "replay"),
    ] {
        let output = scene.ibeam_without_model(args).run();
        let hint = format!("hint: `ibeam {command} --help` lists its arguments and flags");
        assert_eq!(
            (output.code, output.stderr.lines().last()),
            (Some(2), Some(hint.as_str())),
            "{args:?}: {output}"
        );
        assert!(
            scene
                .ibeam_without_model(command.split(' ').chain(["--help"]))
                .run()
                .succeeded()
                .stdout
                .contains("Usage")
        );
    }
    let output = scene.ibeam_without_model(["-p", "x", "--wrong"]).run();
    assert!(
        output
            .stderr
            .ends_with("hint: `ibeam help flags` lists the flags, `ibeam help commands` the commands\n"),
        "{output}"
    );
    // Where the message says what to write, it is the only line.
    for args in
        [&["--heartbeet", "5"][..], &["--stdin", "never"], &["--timeout", "soon"], &["--effort", "some"]]
    {
        let output = scene.ibeam_without_model(["-p", "x"]).args(args).run();
        assert_eq!((output.code, output.stderr.lines().count()), (Some(2), 1), "{output}");
    }
    let output = scene.ibeam_without_model(["check", "--wrong", "--lang", "fr"]).run();
    assert!(output.stderr.contains("affiche ses arguments"), "{output}");
}
