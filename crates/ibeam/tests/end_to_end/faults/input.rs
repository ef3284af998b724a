//! Faults of the input: prompts, flags, files of the configuration, keys.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ibeam_testkit::{Answer, ProgramOutput, Stdin, Workspace};
use serde_json::json;

use super::{
    build_preload_library, check_failure, is_root, journal_line, launcher_works, make_accessible_to_all, skip,
};
use crate::scene::{
    KEY, Scene, answer_call, answer_shell, answer_text, check_journaled, journal, model_name,
};

// ---- prompts and flags

#[test]
fn f160_a_variable_of_ours_that_is_no_text_is_named() {
    for name in ["IBEAM_MODEL", "IBEAM_LANG", "IBEAM_NO_SUCH", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"] {
        let scene = Scene::new([]);
        let output = scene.print::<&str>([]).env(name, OsStr::from_bytes(b"br\xffken")).run();
        check_failure(&output, 2);
        assert!(output.stderr.contains(name), "{output}");
    }
}

/// Nobody else's broken variable is our business, and commands get it as it is.
#[test]
fn f160_other_variables_and_paths_need_not_be_text() {
    let odd = OsStr::from_bytes(b"br\xffken");
    let workspace = Workspace::new().user_config("[sandbox]\nenvironment = [\"THEIRS\"]\n");
    let scene = Scene::new([answer_shell("printf %s \"$THEIRS\" | od -An -tx1"), answer_text("ok")])
        .with_workspace(workspace);
    let home = scene.workspace.outside().join(odd);
    std::fs::create_dir(&home).unwrap();
    let run = scene
        .print(["--force", "--sandbox", "disabled"])
        .env("THEIRS", odd)
        .env("HOME", &home)
        .env("XDG_DATA_HOME", home.join("data"));
    let output = run.env("LANG", odd).run().succeeded();
    let shown = output.stream().completed()[0].1["result"]["success"]["stdout"].to_string();
    assert!(shown.contains("62 72 ff 6b 65 6e"), "{shown}");
    assert!(home.join("data/ibeam/sessions").is_dir(), "a home whose name is no text holds the session");
}

#[test]
fn f160_a_flag_that_is_no_text_is_an_error() {
    let odd = OsStr::from_bytes(b"--br\xffken");
    for args in [vec![OsStr::new("-p"), OsStr::new("x"), odd], vec![OsStr::new("--model"), odd]] {
        let scene = Scene::new([]);
        let output = scene.ibeam(args).run();
        check_failure(&output, 2);
    }
}

#[test]
fn f162_stdin_beside_a_prompt_is_waited_for_as_long_as_the_configuration_says() {
    let config = "[timeouts]\nstdin_context = \"200ms\"\n";
    let scene = Scene::new([answer_text("ok")]).with_workspace(Workspace::new().user_config(config));
    let output = scene.print::<&str>([]).stdin(Stdin::SilentPipe).run().succeeded();
    assert_eq!(output.stream().prompt(), ["do it"]);
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    assert!(output.elapsed < Duration::from_millis(2500), "{output}");
}

/// There are no slash commands when printing: whatever is said is said to the model.
#[test]
fn f164_a_prompt_that_begins_with_a_slash_is_text() {
    for prompt in ["/nope", "/help", "/", "/compact now", "!ls", "@file", "#note"] {
        let scene = Scene::new([answer_text("ok")]);
        let output = scene.ibeam(["-p", prompt]).run().succeeded();
        assert_eq!(output.stream().prompt(), [prompt]);
        assert_eq!(scene.server.requests()[0].transcript(), [format!("user: {prompt}")]);
    }
}

/// Before anything is sent.
#[test]
fn f165_a_model_that_nobody_knows_is_told_before_anything_is_sent() {
    for name in ["nope", "nobody/nope", "anthropic/"] {
        let scene = Scene::new([]);
        let output = scene
            .ibeam_without_model(["--model", name, "-p", "x"])
            .env("ANTHROPIC_BASE_URL", scene.server.url())
            .env("ANTHROPIC_API_KEY", "k")
            .env("OPENAI_API_KEY", "k")
            .run();
        check_failure(&output, 21);
        assert!(output.stderr.contains(name), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
    }
}

/// At once: nobody is asked to log in.
#[test]
fn f166_a_missing_key_is_told_at_once() {
    let scene = Scene::new([]);
    for stdin in [Stdin::Closed, Stdin::SilentPipe] {
        let output = scene.ibeam_without_key(["-p", "x"]).stdin(stdin).run();
        check_failure(&output, 20);
        assert!(output.stderr.contains("ANTHROPIC_API_KEY"), "{output}");
        assert!(output.elapsed < Duration::from_secs(2), "{output}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

// ---- configuration

/// A workspace whose configuration of the user is these bytes.
fn configured(bytes: &[u8]) -> Scene {
    let scene = Scene::new([answer_text("ok")]);
    let path = scene.workspace.home().join(".config/ibeam/config.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
    scene
}

/// The place of the error as editors take it.
#[track_caller]
fn check_refused(bytes: &[u8], place: &str) -> ProgramOutput {
    let scene = configured(bytes);
    let output = scene.print::<&str>([]).run();
    check_failure(&output, 78);
    assert!(output.stderr.contains(&format!("config.toml{place}")), "{place}: {output}");
    assert!(output.elapsed < Duration::from_secs(10), "{output}");
    assert_eq!(scene.server.requests().len(), 0);
    output
}

#[test]
fn f167_a_broken_configuration_is_told_with_file_line_and_column() {
    check_refused(b"model = \n", ":1:9");
    check_refused(b"{ \"model\": \"x\" }\n", ":1:1");
    check_refused(b"# fine\n[limits\nmax_turns = 1\n", ":2:8");
    check_refused(b"[retry]\n  attempts = \"many\"\n", ":2:14");
    check_refused("# é ü 日本\n[retry]\nfirst_pause = \"日\"\n".as_bytes(), ":3:15");
    check_refused(b"[limits]\nmax_turns = -1\n", ":2:13");
    check_refused(b"[limits]\ntimeout = 0\n", ":2:11");
    check_refused(b"[timeouts]\nidle = \"9999999h\"\n", ":2:8");
    check_refused(b"[timeouts]\nstdin = []\n", ":2:9");
    check_refused(b"[permissions]\ndeny = [1]\n", ":2:8");
    check_refused(b"model = \"a\"\nmodel = \"b\"\n", ":2:1");
    check_refused(b"model = \"a\"\n[x]\ny = \"br\xffken\"\n", ":3:8");
    check_refused(b"model = \"nul \0\"\n", ":1:14");
}

#[test]
fn f167_a_byte_order_mark_comments_and_line_ends_are_no_error() {
    let text = "\u{feff}# a comment\r\n[limits] # another\r\nmax_turns = 7\r\n";
    let scene = configured(text.as_bytes());
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(output.stream().init()["ibeam"]["limits"]["max_turns"], 7, "{output}");
    assert_eq!(output.stderr, "");
    check_refused("\u{feff}max = [\r\n".as_bytes(), ":");
}

#[test]
fn f167_unknown_keys_are_warned_of_and_a_flood_of_them_is_summed_up() {
    let output = configured(b"modle = \"x\"\n[limits]\nmax_turn = 3\n").print::<&str>([]).run().succeeded();
    assert_eq!(output.stderr_lines("warning: ").len(), 2, "{output}");
    assert!(output.stderr.contains("modle") && output.stderr.contains("limits.max_turn"), "{output}");
    let many: String = (0..20_000).map(|number| format!("unknown_key_{number} = {number}\n")).collect();
    let output = configured(many.as_bytes()).print::<&str>([]).run().succeeded();
    assert_eq!(output.stderr_lines("warning: ").len(), 11, "{output}");
    assert!(output.stderr.contains("+19990"), "{output}");
    assert!(output.elapsed < Duration::from_secs(20), "{output}");
}

#[test]
fn f167_a_configuration_of_50_mb_is_refused_without_being_read() {
    let output = check_refused(&vec![b'#'; 50 << 20], "");
    assert!(output.stderr.contains("larger than"), "{output}");
    assert!(output.elapsed < Duration::from_secs(3), "{output}");
}

/// Nested deeper than any parser's stack.
#[test]
fn f181_a_configuration_that_is_nested_deeply_is_refused() {
    for text in [
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1{}", "a = { b = ".repeat(20_000), "}".repeat(20_000)),
        format!("a{} = 1", ".b".repeat(100_000)),
        format!("[a{}]\nx = 1", ".b".repeat(100_000)),
    ] {
        // Not every parser knows where it gave up.
        let output = check_refused(text.as_bytes(), "");
        assert!(output.stderr.len() < 1000, "{output}");
    }
}

/// Every file that is read at the start, replaced by what would be waited for or read without end.
#[test]
fn f167_a_file_that_is_no_file_is_refused_at_once() {
    let places = [".config/ibeam/config.toml", ".config/ibeam/credentials.toml"];
    for place in places {
        for kind in ["mkfifo", "mkdir", "ln -s /dev/zero", "ln -s ."] {
            let scene = Scene::new([]);
            let path = scene.workspace.home().join(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let make = format!("{kind} {}", path.display());
            assert!(Command::new("/bin/sh").args(["-c", &make]).status().unwrap().success());
            let output = scene.print::<&str>([]).run();
            check_failure(&output, 78);
            assert!(output.stderr.contains(place), "{kind}: {output}");
            assert!(output.elapsed < Duration::from_secs(3), "{kind}: {output}");
        }
    }
}

/// A project cannot keep anybody waiting either.
#[test]
fn f167_a_project_whose_files_are_no_files_holds_nobody_up() {
    for (place, exit) in [(".ibeam/config.toml", 78), ("AGENTS.md", 0), (".git", 0), (".git/HEAD", 0)] {
        let scene = Scene::new([answer_text("ok")]);
        let path = scene.workspace.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let output = scene.print::<&str>([]).run();
        assert_eq!(output.code, Some(exit), "{place}: {output}");
        assert!(output.elapsed < Duration::from_secs(3), "{place}: {output}");
    }
}

#[test]
fn f167_a_configuration_that_may_not_be_read_is_refused() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can be a user without the right to read");
    }
    let scene = configured(b"model = \"x\"\n");
    let path = scene.workspace.home().join(".config/ibeam/config.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    make_accessible_to_all(&scene);
    let run =
        scene.print::<&str>([]).through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    let output = run.run();
    check_failure(&output, 78);
    assert!(output.stderr.contains("config.toml"), "{output}");
}

/// What each wait is bounded by, and where that comes from.
#[test]
fn every_bound_is_explained() {
    let config = "[timeouts]\nidle = \"7s\"\nshutdown = \"2s\"\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    let bounds = |name: &str| {
        let explained = scene.ibeam_without_model(["--model", name, "config", "explain", "--format", "json"]);
        let rows = explained.env("ANTHROPIC_API_KEY", "k").run().succeeded().json();
        let rows = rows.as_array().unwrap().clone();
        let keys: std::collections::BTreeSet<_> = rows.iter().map(|row| row["key"].to_string()).collect();
        assert_eq!(keys.len(), rows.len(), "each key once: {rows:?}");
        move |key: &str| {
            let row = rows.iter().find(|row| row["key"] == format!("timeouts.{key}"));
            row.map(|row| {
                (row["value"].as_str().unwrap().to_owned(), row["origin"].as_str().unwrap().to_owned())
            })
        }
    };
    let value = bounds(model_name(ibeam_testkit::Wire::Anthropic));
    for (key, expect) in [
        ("connect", "10s"),
        ("first_byte", "120s"),
        ("idle", "7s"),
        ("content_idle", "300s"),
        ("answer", "900s"),
        ("stdin", "30s"),
        ("stdin_context", "3s"),
        ("lock", "0s"),
        ("files", "60s"),
        ("tool", "120s"),
        ("tool_longest", "600s"),
        ("background", "600s"),
        ("hook", "60s"),
        ("mcp_start", "10s"),
        ("mcp_call", "120s"),
        ("shutdown", "2s"),
    ] {
        let (value, origin) = value(key).unwrap_or_else(|| panic!("`{key}` is not explained"));
        assert_eq!(value, expect, "{key} from {origin}");
        let set = ["idle", "shutdown"].contains(&key);
        assert_eq!(origin.contains("config.toml:"), set, "{key} from {origin}");
    }
    let local = bounds("ollama/x");
    assert_eq!(local("first_byte").unwrap(), ("600s".to_owned(), "default of ollama".to_owned()));
}

// ---- sessions

#[test]
fn f181_a_journal_that_is_nested_deeply_is_damaged() {
    let scene = Scene::new([answer_text("first")]);
    let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
    let path = scene.workspace.journal(&id);
    let whole = std::fs::read(&path).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for deep in
        ["[".repeat(100_000) + &"]".repeat(100_000), "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000)]
    {
        let call = format!("{{\"id\":\"t\",\"name\":\"read\",\"arguments\":{deep}}}");
        let event = format!(
            "{{\"seq\":0,\"at_ms\":0,\"kind\":{{\"tool_call_started\":{{\"model_call_id\":\"m\",\"call\":{call}}}}}}}"
        );
        std::fs::write(&path, [&whole[..header], &journal_line("event", &event), &whole[header..]].concat())
            .unwrap();
        let output = scene.print([format!("--resume={id}")]).run();
        check_failure(&output, 65);
        assert!(output.stderr.contains("line 2"), "{output}");
    }
}

/// What a model writes may be nested without end; it is not carried out, and the model is told.
#[test]
fn f181_arguments_that_are_nested_deeply_are_refused() {
    for wire in crate::scene::WIRES {
        let deep =
            format!("{{\"path\":\"a.txt\",\"fileText\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let scene = Scene::with_wire(
            wire,
            [Answer::new().call_as_written("t", "write", &deep), answer_text("sorry")],
        );
        let output = scene.print(["--force"]).run().succeeded();
        assert_eq!(scene.workspace.read("a.txt"), None);
        assert_eq!(output.stream().last()["result"], "sorry");
        let reported = scene.server.requests()[1].transcript();
        assert!(reported.iter().any(|line| line.starts_with("result ")), "{reported:?}");
        check_journaled(&scene, &output);
    }
}

/// Depth that is accepted once is accepted by the next run too.
#[test]
fn f181_arguments_that_are_nested_just_deeply_enough_can_be_resumed() {
    for depth in [10, 50, 100] {
        let deep = format!("{{\"pattern\":\"x\",\"deep\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        let scene = Scene::new([Answer::new().call_as_written("t", "grep", &deep), answer_text("first")]);
        let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
        let scene = scene.with_answers([answer_text("second")]);
        let output = scene.print([format!("--resume={id}")]).run();
        assert_eq!(output.code, Some(0), "nested {depth} deep: {output}");
    }
}

// ---- stdout belongs to the stream

/// A library that prints, a command that finds our descriptors, a bug of ours: the stream has none of it.
#[test]
fn f180_whatever_others_print_is_not_in_the_stream() {
    for format in ["stream-json", "json"] {
        let scene = Scene::new([
            answer_shell("echo spoiled by a child >/proc/$PPID/fd/1; echo done"),
            answer_text("ok"),
        ]);
        let Some(library) = build_preload_library(&scene) else { return };
        let run = scene.print(["--force", "--output-format", format]).env("LD_PRELOAD", library);
        let output = run.env("SPOIL_STDOUT", "1").run().succeeded();
        for line in output.stdout.lines() {
            let object: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{output}"));
            assert!(object["type"].is_string(), "{output}");
        }
        for spoiled in ["spoiled by printf", "spoiled by write"] {
            assert!(output.stderr.contains(spoiled), "the library did print; {output}");
        }
    }
}

#[test]
fn f180_fd_1_is_stderr_for_everybody_but_the_stream() {
    let scene = Scene::new([answer_text("one ").stall()]);
    let running = scene.print::<&str>([]).start();
    running.wait_for_stdout("one ");
    let at = |fd: u32| std::fs::read_link(format!("/proc/{}/fd/{fd}", running.pid())).unwrap();
    assert_eq!(at(1), at(2));
}

#[test]
fn f169_a_session_of_another_project_is_told() {
    let scene = Scene::new([answer_text("one")]);
    let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
    let other = scene.workspace.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    let scene = scene.with_answers([answer_text("never")]);
    let output = scene.print([format!("--resume={id}"), format!("--workspace={}", other.display())]).run();
    check_failure(&output, 66);
    assert!(output.stderr.contains(scene.workspace.path().to_str().unwrap()), "{output}");
    assert_eq!(scene.server.requests().len(), 0);
    let before = journal(&scene, &id).len();
    assert!(before > 0, "the session is as it was");
}

/// A chat that was only created belongs to whoever uses it first.
#[test]
fn f169_a_chat_that_nothing_was_said_in_is_of_no_project() {
    let scene = Scene::new([answer_text("one")]);
    let other = scene.workspace.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
    scene.print([format!("--resume={id}"), format!("--workspace={}", other.display())]).run().succeeded();
}

// ---- keys

/// In every form in which a value travels.
fn forms(key: &str) -> Vec<(&'static str, String)> {
    let base64 = |alphabet: &[u8; 64], padded: bool| {
        let mut text = String::new();
        for chunk in key.as_bytes().chunks(3) {
            let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - chunk.len()));
            for position in 0..4 {
                match position <= chunk.len() {
                    true => text.push(char::from(alphabet[(bits >> (18 - 6 * position) & 63) as usize])),
                    false if padded => text.push('='),
                    false => {}
                }
            }
        }
        text
    };
    let standard = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let url_safe = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let percent: String = key
        .bytes()
        .map(|byte| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect();
    vec![
        ("as it is", key.to_owned()),
        ("base64", base64(standard, true)),
        ("base64 for URLs", base64(url_safe, false)),
        ("percent-encoded", percent),
    ]
}

/// Every byte that a run has left in its home, with its path.
fn left_in(directory: &Path) -> Vec<(String, String)> {
    let mut left = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            left.extend(left_in(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            left.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    left
}

/// A key with what is written differently in base64 and in URLs.
const ODD_KEY: &str = "sk-odd+/key?>~0123456789abcdefghijklmnopqrstuvwxyz==";

/// Everybody on the machine may read the command line of a process.
#[test]
fn a_key_on_the_command_line_is_hidden_from_others() {
    let scene = Scene::new([answer_text("hello").stall()]);
    let token = "Authorization: Bearer of-a-token-0123456789";
    let flags = ["-p", "keep me", "-H", token, "--api-key=another-key-0123456789"];
    let running = scene.ibeam_without_key(flags).start();
    running.wait_for_stdout("hello");
    let shown = running.command_line();
    assert!(!shown.contains("another-key") && !shown.contains("of-a-token"), "{shown}");
    assert!(shown.contains("keep me") && shown.contains("--api-key"), "{shown}");
    drop(running);
    let request = &scene.server.requests()[0];
    assert_eq!(request.header("x-api-key"), Some("another-key-0123456789"));
    assert_eq!(request.header("authorization"), Some("Bearer of-a-token-0123456789"));
}

#[test]
fn the_key_is_nowhere() {
    let look = "env; printenv ANTHROPIC_API_KEY OPENROUTER_API_KEY; tr '\\0' '\\n' </proc/$$/environ; \
                cat /proc/$PPID/environ /proc/$PPID/cmdline; cat /proc/*/environ; set; export -p";
    let echo = forms(ODD_KEY).into_iter().map(|(_, form)| form).collect::<Vec<_>>().join(" and ");
    let unprivileged = is_root() && launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]);
    if !unprivileged {
        skip("only root can run as somebody else: /proc of the run itself is not looked at");
    }
    for (failing, sandbox) in [(false, "enabled"), (true, "enabled"), (false, "disabled"), (true, "disabled")]
    {
        // A new key may have come: one that is refused is tried once more.
        let refused = Answer::error(401, "authentication_error", &format!("the key {echo} is not valid"));
        let last =
            if failing { vec![refused.clone(), refused] } else { vec![answer_text("Nothing to see.")] };
        let found = answer_call("c", "read", &json!({ "path": "notes.txt" }));
        let searched = answer_call("d", "grep", &json!({ "pattern": "and" }));
        let background = answer_call("b", "shell", &json!({ "command": look, "isBackground": true }));
        let opening = [answer_shell(look), background, found, searched];
        let workspace = Workspace::new().file("notes.txt", &echo);
        let scene = Scene::new(opening.into_iter().chain(last)).with_workspace(workspace);
        make_accessible_to_all(&scene);
        let words =
            ["-p", "look around", "--force", "--verbose", "--allow", "Read(/proc/**)", "--sandbox", sandbox];
        let mut run = scene.ibeam_without_key(words).env("ANTHROPIC_API_KEY", ODD_KEY);
        if unprivileged {
            run = run.through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        let output = run.run();
        assert_eq!(output.code, Some(if failing { 20 } else { 0 }), "{output}");
        let looked = output.stdout.contains("GIT_TERMINAL_PROMPT=0") && output.stdout.contains("HOME=");
        assert!(looked, "the commands did look: {output}");
        let mut places = left_in(scene.workspace.home());
        assert!(places.iter().any(|(path, _)| path.ends_with("events.jsonl")), "the journal was searched");
        places.extend([
            ("stdout".to_owned(), output.stdout.clone()),
            ("stderr".to_owned(), output.stderr.clone()),
        ]);
        for (what, form) in forms(ODD_KEY) {
            for (place, text) in &places {
                assert!(!text.contains(&form), "the key, {what}, is in {place}: {text}");
                let escaped = form.replace('/', "\\/");
                assert!(!text.contains(&escaped), "the key, {what} in JSON, is in {place}");
            }
        }
    }
}

/// Other processes of the same user do not see our environment.
#[test]
fn the_environment_of_a_run_is_private() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("root sees everything, and only root can run as somebody else");
    }
    let somebody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let dump =
        "cat /proc/[0-9]*/environ /proc/$PPID/environ >all; env >own; tr '\\0' '\\n' </proc/$$/environ >>own";
    let scene = Scene::new([answer_shell(dump), answer_text("one ").stall()]);
    make_accessible_to_all(&scene);
    let running = scene.print(["--force", "--allow", "Read(/proc/**)"]).through(somebody).start();
    running.wait_for_stdout("one ");
    for file in ["environ", "mem", "maps"] {
        let path = format!("/proc/{}/{file}", running.pid());
        let read = Command::new("setpriv").args(&somebody[1..]).args(["cat", &path]).output().unwrap();
        assert!(!read.status.success() && read.stdout.is_empty(), "{file} is open to all of the same user");
    }
    // Looked for in what a command could see, before anything is taken out of its output.
    for file in ["all", "own"] {
        let seen = scene.workspace.read(file).unwrap();
        assert!(seen.contains("HOME="), "the command did look: {seen}");
        assert!(!seen.contains(KEY), "{file}: {seen}");
    }
}

/// Our privacy takes nothing from a user without rights: not files, not commands, not their place in line for memory.
#[test]
fn an_ordinary_user_can_do_everything() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can run as somebody else; all other tests run as the one who tests");
    }
    let scene = Scene::new([
        answer_call("a", "write", &json!({ "path": "made.txt", "fileText": "one\n" })),
        answer_call(
            "b",
            "edit",
            &json!({ "path": "made.txt", "strReplace": { "oldText": "one", "newText": "two" } }),
        ),
        answer_shell("cat made.txt /proc/self/oom_score_adj"),
        answer_text("done"),
    ]);
    make_accessible_to_all(&scene);
    let run = scene.print(["--force", "--allow", "Read(/proc/**)"]);
    let output =
        run.through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]).run().succeeded();
    assert_eq!(scene.workspace.read("made.txt").as_deref(), Some("two\n"), "{output}");
    let result = output.stream().completed()[2].1["result"].to_string();
    assert!(result.contains("two\\n1000\\n"), "{result}");
}

#[test]
fn the_bounds_of_commands_are_those_of_the_configuration() {
    let config = "[timeouts]\ntool = \"300ms\"\ntool_longest = \"600ms\"\n";
    let long = json!({ "command": "sleep 60", "timeout": 50_000 });
    let scene = Scene::new([answer_shell("sleep 60"), answer_call("b", "shell", &long), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(config));
    let output = scene.print(["--force"]).run().succeeded();
    assert!(output.elapsed < Duration::from_secs(12), "{output}");
    let results: Vec<String> =
        output.stream().completed().iter().map(|call| call.1["result"].to_string()).collect();
    assert!(results[0].contains("timeout") && results[0].contains("300"), "{results:?}");
    assert!(results[1].contains("600"), "{results:?}");
    let absurd = Workspace::new().user_config("[timeouts]\ntool = \"20m\"\n");
    let scene = Scene::new([]).with_workspace(absurd);
    let output = scene.print::<&str>([]).run();
    check_failure(&output, 78);
    assert!(output.stderr.contains("timeouts.tool_longest"), "{output}");
}
