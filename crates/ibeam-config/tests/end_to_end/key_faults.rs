//! Keys and the environment of a run are not visible to commands, to other processes and in stored files.

use std::path::Path;
use std::process::Command;

use ibeam_testkit::fault_injection::{is_root, launcher_works, make_accessible_to_all, skip};
use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, Workspace};
use serde_json::json;

/// Returns the key in each encoding that programs use.
fn encodings(key: &str) -> Vec<(&'static str, String)> {
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
        ("unchanged", key.to_owned()),
        ("base64", base64(standard, true)),
        ("base64 for URLs", base64(url_safe, false)),
        ("percent-encoded", percent),
    ]
}

/// Returns the path and the content of each file below `directory`.
fn files_below(directory: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            files.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    files
}

/// A key with characters that base64 and URLs encode differently.
const SPECIAL_KEY: &str = "sk-odd+/key?>~0123456789abcdefghijklmnopqrstuvwxyz==";

/// All users of the machine can read the command line of a process.
#[test]
fn a_key_on_the_command_line_is_hidden_from_other_processes() {
    let scene = Scene::new([answer_text("hello").stall()]);
    let token = "Authorization: Bearer of-a-token-0123456789";
    let flags = ["-p", "keep me", "-H", token, "--api-key=another-key-0123456789"];
    let running = scene.ibeam_without_key(flags).start();
    running.wait_for_stdout("hello");
    let command_line = running.command_line();
    assert!(!command_line.contains("another-key") && !command_line.contains("of-a-token"), "{command_line}");
    assert!(command_line.contains("keep me") && command_line.contains("--api-key"), "{command_line}");
    drop(running);
    let request = &scene.server.requests()[0];
    assert_eq!(request.header("x-api-key"), Some("another-key-0123456789"));
    assert_eq!(request.header("authorization"), Some("Bearer of-a-token-0123456789"));
}

#[test]
fn the_key_is_in_no_output_and_no_file() {
    let search = "env; printenv ANTHROPIC_API_KEY OPENROUTER_API_KEY; tr '\\0' '\\n' </proc/$$/environ; \
                cat /proc/$PPID/environ /proc/$PPID/cmdline; cat /proc/*/environ; set; export -p";
    let all_forms =
        encodings(SPECIAL_KEY).into_iter().map(|(_, form)| form).collect::<Vec<_>>().join(" and ");
    let unprivileged = is_root() && launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]);
    if !unprivileged {
        skip("only root can become another user: /proc of the run is not searched");
    }
    for (failing, sandbox) in [(false, "enabled"), (true, "enabled"), (false, "disabled"), (true, "disabled")]
    {
        // The key may have been replaced, so a rejected key is tried once more.
        let rejected =
            Answer::error(401, "authentication_error", &format!("the key {all_forms} is not valid"));
        let last =
            if failing { vec![rejected.clone(), rejected] } else { vec![answer_text("Nothing to see.")] };
        let found = answer_call("c", "read", &json!({ "path": "notes.txt" }));
        let searched = answer_call("d", "grep", &json!({ "pattern": "and" }));
        let background = answer_call("b", "shell", &json!({ "command": search, "isBackground": true }));
        let opening = [answer_shell(search), background, found, searched];
        let workspace = Workspace::new().file("notes.txt", &all_forms);
        let scene = Scene::new(opening.into_iter().chain(last)).with_workspace(workspace);
        make_accessible_to_all(&scene);
        let flags =
            ["-p", "look around", "--force", "--verbose", "--allow", "Read(/proc/**)", "--sandbox", sandbox];
        let mut run = scene.ibeam_without_key(flags).env("ANTHROPIC_API_KEY", SPECIAL_KEY);
        if unprivileged {
            run = run.through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        let output = run.run();
        assert_eq!(output.code, Some(if failing { 20 } else { 0 }), "{output}");
        let has_searched = output.stdout.contains("GIT_TERMINAL_PROMPT=0") && output.stdout.contains("HOME=");
        assert!(has_searched, "the commands printed the environment: {output}");
        let mut texts = files_below(scene.workspace.home());
        assert!(texts.iter().any(|(path, _)| path.ends_with("events.jsonl")), "the journal was searched");
        texts.extend([
            ("stdout".to_owned(), output.stdout.clone()),
            ("stderr".to_owned(), output.stderr.clone()),
        ]);
        for (encoding, form) in encodings(SPECIAL_KEY) {
            for (source, text) in &texts {
                assert!(!text.contains(&form), "the key ({encoding}) is in {source}: {text}");
                let escaped = form.replace('/', "\\/");
                assert!(!text.contains(&escaped), "the key ({encoding}, in JSON) is in {source}");
            }
        }
    }
}

/// Other processes of the same user cannot read the environment of a run.
#[test]
fn the_environment_of_a_run_is_private() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("root can read everything, and only root can become another user");
    }
    let as_other_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let dump =
        "cat /proc/[0-9]*/environ /proc/$PPID/environ >all; env >own; tr '\\0' '\\n' </proc/$$/environ >>own";
    let scene = Scene::new([answer_shell(dump), answer_text("one ").stall()]);
    make_accessible_to_all(&scene);
    let running = scene.print(["--force", "--allow", "Read(/proc/**)"]).through(as_other_user).start();
    running.wait_for_stdout("one ");
    for file in ["environ", "mem", "maps"] {
        let path = format!("/proc/{}/{file}", running.pid());
        let read = Command::new("setpriv").args(&as_other_user[1..]).args(["cat", &path]).output().unwrap();
        assert!(
            !read.status.success() && read.stdout.is_empty(),
            "{file} is readable by other processes of the user"
        );
    }
    // The command writes files, because its output is redacted.
    for file in ["all", "own"] {
        let content = scene.workspace.read(file).unwrap();
        assert!(content.contains("HOME="), "the command printed the environment: {content}");
        assert!(!content.contains(KEY), "{file}: {content}");
    }
}

/// The protection of keys does not restrict a user without privileges: files, commands and the OOM score work.
#[test]
fn a_user_without_privileges_is_not_restricted() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can run as as_other_user else; all other tests run as the one who tests");
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
