//! The content of stdout in each format.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{KEY, Scene, WIRES, answer_call, answer_text, model_name};
use ibeam_testkit::{Answer, Ibeam, Stream, Wire, Workspace, program_path};
use serde_json::{Value, json};

const FORMATS: [&str; 3] = ["text", "json", "stream-json"];

/// Returns the answers of a run with thinking, text, a read, a write, an edit, a failed call and a refused call.
fn mixed_answers() -> Vec<Answer> {
    vec![
        Answer::new().thinking("a secret thought", "sig-1").text("First I ").text("look.\n").call(
            "toolu_1",
            "read",
            &json!({ "path": "notes.txt" }),
        ),
        answer_call("toolu_2", "write", &json!({ "path": "new.txt", "fileText": "one\ntwo\n" })),
        answer_call(
            "toolu_3",
            "edit",
            &json!({ "path": "notes.txt", "oldText": "alpha", "newText": "beta" }),
        ),
        answer_call("toolu_4", "read", &json!({ "path": "missing.txt" })),
        answer_call("toolu_5", "shell", &json!({ "command": "make all" })),
        Answer::new()
            .thinking("another secret thought", "sig-2")
            .text("All ")
            .text("done: \u{2028}\"é\u{7}日\"."),
    ]
}

/// Returns a workspace in which a command that no rule covers is refused.
fn workspace() -> Workspace {
    Workspace::new().file("notes.txt", "alpha\n").user_config("approval = \"allowlist\"\n")
}

#[test]
fn json_is_one_object_with_its_keys_in_order() {
    for wire in WIRES {
        let scene = Scene::with_wire(wire, mixed_answers()).with_workspace(workspace());
        let output = scene.print(["--output-format", "json"]).run().succeeded();
        let object = output.json();
        let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "type",
                "subtype",
                "is_error",
                "duration_ms",
                "duration_api_ms",
                "result",
                "session_id",
                "request_id",
                "usage",
                "ibeam"
            ]
        );
        assert_eq!((&object["type"], &object["subtype"]), (&json!("result"), &json!("success")));
        assert_eq!(object["is_error"], false);
        assert_eq!(object["result"], "First I look.\nAll done: \u{2028}\"é\u{7}日\".");
        assert_eq!(object["duration_ms"], object["duration_api_ms"]);
        assert_eq!(object["usage"]["inputTokens"], 600);
        assert_eq!(object["ibeam"]["turns"], 6);
        assert_eq!(object["ibeam"]["failed_tool_calls"], 1);
        assert_eq!(object["ibeam"]["permission_denials"][0]["call_id"], "toolu_5");
        let changed = ["new.txt", "notes.txt"].map(|name| scene.workspace.path().join(name));
        assert_eq!(object["ibeam"]["files_changed"], json!(changed));
    }
}

#[test]
fn stream_json_follows_the_contract_and_is_the_default() {
    for wire in WIRES {
        for args in [&["--output-format", "stream-json"][..], &["--output-format=stream-json"], &[]] {
            let scene = Scene::with_wire(wire, mixed_answers()).with_workspace(workspace());
            let output = scene.print(args).run().succeeded();
            let stream = output.stream();
            assert_eq!(
                stream.outline(),
                [
                    "system",
                    "user",
                    "text",
                    "text",
                    "started read",
                    "completed read",
                    "started write",
                    "completed write",
                    "started edit",
                    "completed edit",
                    "started read",
                    "completed read",
                    "started shell",
                    "completed shell",
                    "text",
                    "text",
                    "result"
                ]
            );
            assert_eq!(stream.deltas(), ["First I ", "look.\n", "All ", "done: \u{2028}\"é\u{7}日\"."]);
            assert_eq!(stream.init()["model"], "Claude Sonnet 4.6");
            assert_eq!(stream.init()["apiKeySource"], "env");
            assert_eq!(stream.init()["ibeam"]["api_key"], "env");
            assert_eq!(stream.init()["permissionMode"], "default");
            assert_eq!(stream.init()["cwd"], scene.workspace.path().to_str().unwrap());
            let arms: Vec<&String> = stream
                .completed()
                .iter()
                .map(|(_, body)| body["result"].as_object().unwrap().keys().next().unwrap())
                .collect();
            assert_eq!(arms, ["success", "success", "success", "fileNotFound", "rejected"]);
        }
    }
}

#[test]
fn print_mode_is_inferred_when_stdout_is_a_pipe() {
    let scene = Scene::new([answer_text("hi")]);
    let stream = scene.ibeam(["do it"]).run().succeeded().stream();
    assert_eq!(stream.deltas(), ["hi"]);
}

/// Checks the lines of [`mixed_answers`] in a language: read, created, edited, failed to read, refused to run.
#[track_caller]
fn check_text(lang: &str, lines: [&str; 5]) {
    let expected = format!("{}\n\nAll done: \u{2028}\"é\\u{{7}}日\".\n", lines.join("\n"));
    for by_flag in [true, false] {
        let scene = Scene::new(mixed_answers()).with_workspace(workspace());
        let run = scene.print(["--output-format", "text"]);
        let run = match by_flag {
            true => run.args(["--lang", lang]),
            false => run.env("LANG", format!("{lang}_XX.UTF-8")),
        };
        let output = run.run().succeeded();
        assert_eq!(output.stdout, expected);
        assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    }
}

#[test]
fn text_has_a_line_per_action_in_english() {
    let lines = [
        "Read file",
        "Created new file",
        "Edited file",
        "Failed to read file",
        "Not allowed to run terminal command",
    ];
    check_text("en", lines);
}

#[test]
fn text_has_a_line_per_action_in_spanish() {
    check_text(
        "es",
        [
            "Leyó un archivo",
            "Creó un archivo nuevo",
            "Editó un archivo",
            "No pudo leer un archivo",
            "No tuvo permiso para ejecutar un comando en la terminal",
        ],
    );
}

#[test]
fn text_has_a_line_per_action_in_indonesian() {
    check_text(
        "id",
        [
            "Membaca file",
            "Membuat file baru",
            "Mengedit file",
            "Gagal membaca file",
            "Tidak diizinkan menjalankan perintah di terminal",
        ],
    );
}

#[test]
fn text_has_a_line_per_action_in_japanese() {
    check_text(
        "ja",
        [
            "ファイルを読み取りました",
            "新しいファイルを作成しました",
            "ファイルを編集しました",
            "ファイルを読み取れませんでした",
            "ターミナルでのコマンドの実行は許可されませんでした",
        ],
    );
}

#[test]
fn text_has_a_line_per_action_in_french() {
    check_text(
        "fr",
        [
            "Fichier lu",
            "Nouveau fichier créé",
            "Fichier modifié",
            "Échec de la lecture du fichier",
            "Exécution de la commande dans le terminal non autorisée",
        ],
    );
}

#[test]
fn text_has_a_line_per_action_in_portuguese() {
    check_text(
        "pt",
        [
            "Leu o arquivo",
            "Criou um novo arquivo",
            "Editou o arquivo",
            "Não conseguiu ler o arquivo",
            "Não teve permissão para executar um comando no terminal",
        ],
    );
}

/// The refused command of [`mixed_answers`] has another line.
#[test]
fn a_command_that_ran_has_its_line_in_every_language() {
    for (lang, line) in [
        ("en", "Ran terminal command"),
        ("es", "Ejecutó un comando en la terminal"),
        ("id", "Menjalankan perintah di terminal"),
        ("ja", "ターミナルでコマンドを実行しました"),
        ("fr", "Commande exécutée dans le terminal"),
        ("pt", "Executou um comando no terminal"),
    ] {
        let scene = Scene::new([ibeam_testkit::scene::answer_shell("true"), answer_text("ok")]);
        let output = scene.print(["--output-format=text", "--force", "--lang", lang]).run().succeeded();
        assert_eq!(output.stdout, format!("{line}\n\nok\n"));
    }
}

#[test]
fn verbose_text_names_the_path_and_the_command() {
    let scene = Scene::new(mixed_answers()).with_workspace(workspace());
    let output = scene.print(["--output-format", "text", "--verbose"]).run().succeeded();
    assert!(output.stdout.starts_with("Read file: notes.txt\nCreated new file: new.txt\n"), "{output}");
    assert!(output.stdout.contains("command: make all\n"), "{output}");
}

#[test]
fn thinking_appears_on_no_stream_in_any_format() {
    for wire in WIRES {
        for format in FORMATS {
            let scene = Scene::with_wire(wire, mixed_answers()).with_workspace(workspace());
            let output = scene.print(["--output-format", format, "--verbose"]).run().succeeded();
            assert!(
                !output.stdout.contains("secret thought") && !output.stderr.contains("secret thought"),
                "{output}"
            );
            assert!(!output.stdout.contains("sig-1"), "{output}");
            assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY), "{output}");
        }
    }
}

/// Returns the lines of a machine format without ids and times.
fn without_ids_and_times(stdout: &str) -> String {
    fn remove_own_values(value: &mut Value) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    let own = [
                        "session_id",
                        "model_call_id",
                        "timestamp_ms",
                        "duration_ms",
                        "duration_api_ms",
                        "api_ms",
                    ];
                    if own.contains(&key.as_str()) { *value = Value::Null } else { remove_own_values(value) }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(remove_own_values),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let lines = stdout.lines().map(|line| {
        let mut value = serde_json::from_str(line).unwrap();
        remove_own_values(&mut value);
        format!("{value}\n")
    });
    lines.collect()
}

#[test]
fn the_locale_changes_no_byte_of_the_machine_formats() {
    for format in ["json", "stream-json"] {
        let mut workspace = workspace();
        let mut seen: Option<String> = None;
        for locale in ["C", "es_ES.UTF-8", "id_ID.UTF-8", "ja_JP.UTF-8", "fr_FR.UTF-8", "pt_PT.UTF-8"] {
            std::fs::write(workspace.path().join("notes.txt"), "alpha\n").unwrap();
            let scene = Scene::new(mixed_answers()).with_workspace(workspace);
            let output = scene
                .print(["--output-format", format])
                .env("LC_ALL", locale)
                .env("LANG", locale)
                .run()
                .succeeded();
            let bytes = without_ids_and_times(&output.stdout);
            assert_eq!(*seen.get_or_insert_with(|| bytes.clone()), bytes, "{locale}");
            workspace = scene.workspace;
        }
    }
}

/// The error of a failed run on stdout is the same in every locale; the `error:` line is in the language of the user.
#[test]
fn the_locale_changes_no_byte_of_a_failure_on_stdout() {
    let mut seen: Vec<(String, String)> = Vec::new();
    let mut workspace = Workspace::new();
    for locale in ["C", "ja_JP.UTF-8"] {
        let scene = Scene::new([Answer::error(400, "invalid_request_error", "no")]).with_workspace(workspace);
        let output = scene.print(["--output-format", "stream-json"]).env("LC_ALL", locale).run();
        assert_eq!(output.code, Some(22), "{output}");
        seen.push((without_ids_and_times(&output.stdout), output.stderr));
        workspace = scene.workspace;
    }
    assert_eq!(seen[0].0, seen[1].0);
    assert_ne!(seen[0].1, seen[1].1);
}

#[test]
fn each_delta_is_printed_on_arrival() {
    for wire in WIRES {
        let scene = Scene::with_wire(wire, [answer_text("first ").stall()]);
        let running = scene.print::<&str>([]).start();
        running.wait_for_stdout(r#""text":"first ""#);
        running.signal(Signal::Term);
        assert_eq!(running.finish().code, Some(143));
    }
}

/// A slow reader slows the run down: no event is dropped, and the memory for waiting events is limited.
#[test]
fn a_slow_reader_gets_everything_without_more_memory() {
    const DELTAS: usize = 20_000;
    let answer = || {
        (0..DELTAS)
            .fold(Answer::new(), |answer, number| answer.text(format!("{number} ")))
            .text("end")
            .stall()
    };
    let peak = |slow: bool| {
        let scene = Scene::new([answer()]);
        let run = scene.print::<&str>([]);
        let running = if slow { run.slow_reader() } else { run }.start();
        running.wait_for_stdout(r#""text":"end""#);
        let peak = running.peak_memory();
        running.signal(Signal::Term);
        let output = running.finish();
        assert_eq!(Stream::check(&output.stdout).unwrap().deltas().len(), DELTAS + 1);
        peak
    };
    let (fast, slow) = (peak(false), peak(true));
    assert!(
        slow < fast + 8 * 1024 * 1024,
        "peak memory: {slow} bytes with a slow reader, {fast} with a fast one"
    );
}

/// A file that the program opens must not get the number of a standard descriptor that was closed at the start.
#[test]
fn a_run_with_closed_descriptors_loses_nothing() {
    for redirect in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let scene = Scene::new([answer_text("hi"), answer_text("still intact")]);
        let script =
            format!("exec {} -p x --model {} {redirect}", program_path(), model_name(Wire::Anthropic));
        let run = Ibeam::new("/bin/sh", &scene.workspace).args(["-c", &script]);
        let output = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY).run();
        if redirect.contains(">&- ") || redirect.starts_with(">&-") {
            assert_eq!(output.code, Some(74), "nothing can be printed; {redirect}: {output}");
            continue;
        }
        assert_eq!(output.succeeded().stream().deltas(), ["hi"]);
        scene.print(["--continue"]).run().succeeded();
    }
}

#[test]
fn a_workspace_path_may_be_other_than_utf_8() {
    let scene = Scene::new([
        answer_call("t", "write", &json!({ "path": "a.txt", "fileText": "x" })),
        answer_text("done"),
    ]);
    let directory = scene.workspace.path().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&directory).unwrap();
    let run = scene.print([OsStr::new("--workspace"), directory.as_os_str()]);
    let stream = run.run().succeeded().stream();
    assert!(stream.init()["cwd"].as_str().unwrap().ends_with("/caf\u{fffd}"));
    assert_eq!(std::fs::read_to_string(directory.join("a.txt")).unwrap(), "x");
    let again = Scene { server: ibeam_testkit::ModelServer::start([answer_text("more")]), ..scene };
    again
        .print([OsStr::new("--continue"), OsStr::new("--workspace"), directory.as_os_str()])
        .run()
        .succeeded();
}

#[test]
fn a_heartbeat_is_on_stderr_only() {
    let scene = Scene::new([answer_text("slow").pause(std::time::Duration::from_millis(2300))]);
    let output = scene.print(["--heartbeat", "1"]).run().succeeded();
    assert_eq!(
        output.stderr_lines("heartbeat: "),
        ["heartbeat: 1 s: the model is writing", "heartbeat: 2 s: the model is writing"]
    );
    assert_eq!(output.stream().deltas(), ["slow"]);
}
