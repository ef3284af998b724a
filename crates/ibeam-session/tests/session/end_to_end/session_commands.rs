//! Short IDs, and the commands of `sessions`.

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::json;

const UUID: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";
const NEIGHBOUR: &str = "0f0e0d0d-0b0a-4908-8706-050403020100";

/// Returns a scene with two sessions whose IDs start alike.
fn two_sessions() -> Scene {
    let write = answer_call("t", "write", &json!({ "path": "a.txt", "fileText": "one\n" }));
    let scene =
        Scene::new([write, answer_text("It has the needle inside.")]).with_workspace(Workspace::new());
    scene.ibeam(["-p", "--force", "first prompt", "--resume", UUID]).run().succeeded();
    let scene = scene.with_answers([answer_text("other")]);
    scene.ibeam(["-p", "second prompt", "--resume", NEIGHBOUR]).run().succeeded();
    scene
}

fn sessions(scene: &Scene, args: &[&str]) -> ProgramOutput {
    scene.ibeam_without_model(["sessions"]).args(args).run()
}

#[test]
fn the_beginning_of_an_id_names_a_session_everywhere() {
    let scene = two_sessions();
    for args in [
        &["sessions", "check", "0f0e0d0c"][..],
        &["sessions", "check", "-1"],
        &["sessions", "check", UUID],
        &["sessions", "show", "0f0e0d0c"],
        &["sessions", "show", "-2"],
        &["sessions", "show", UUID],
        &["replay", "0f0e0d0c"],
        &["replay", "-1"],
        &["replay", UUID],
        &["sessions", "export", "0F0E0D0C"],
        &["sessions", "export", "-1"],
        &["sessions", "export", UUID],
        &["diff", "-1", "-2"],
        &["diff", "0f0e0d0c", "0F0E0D0D"],
        &["diff", UUID, "-1"],
    ] {
        scene.ibeam_without_model(args).run().succeeded();
    }
    for args in [
        &["sessions", "check", "-3"][..],
        &["sessions", "show", "-3"],
        &["replay", "-3"],
        &["sessions", "export", "-3"],
        &["diff", "-3"],
        &["diff", "-1", "-3"],
        &["undo", "-3"],
        &["-p", "go on", "--resume=-3"],
        &["-p", "go on", "--from-plan=-3"],
        &["sessions", "show", "first prompt"],
    ] {
        let output = scene.ibeam(args).run();
        assert_eq!(output.code, Some(66), "{args:?}: {output}");
    }
    let diff = scene.ibeam_without_model(["diff", "0f0e0d0c-0b"]).run();
    assert!(diff.stderr.contains("session `0f0e0d0c-0b0a-4908-8706-050403020100` changed files"), "{diff}");
    let scene = scene.with_answers([answer_text("more")]);
    let resumed = scene.ibeam(["-p", "go on", "--resume", "0f0e0d0d"]).run().succeeded();
    assert_eq!(resumed.stream().session_id(), NEIGHBOUR);
    for args in
        [&["-p", "go on", "--resume", "0f0e0"][..], &["replay", "0f0e0"], &["sessions", "show", "0f0e0"]]
    {
        let output = scene.ibeam(args).run();
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(UUID) && output.stderr.contains(NEIGHBOUR), "{output}");
    }
    for name in ["0f0", "ffff", "0f0e0d0cx"] {
        assert_eq!(sessions(&scene, &["show", name]).code, Some(66), "{name}");
    }
    let too_short = "the beginning `0f0` of a session ID is too short; give at least 4 characters";
    for args in [
        &["resume", "0f0", "-p", "go on"][..],
        &["-p", "go on", "--resume=0f0"],
        &["sessions", "show", "0f0"],
        &["sessions", "check", "0f0"],
        &["diff", "0f0"],
        &["undo", "0f0"],
    ] {
        let output = scene.ibeam(args).run();
        assert_eq!(output.code, Some(66), "{args:?}: {output}");
        assert!(output.stderr.contains(too_short), "{args:?}: {output}");
    }
    for args in [&["replay", "0f0"][..], &["diff", "-1", "0f0"]] {
        let output = scene.ibeam(args).run();
        assert_eq!(output.code, Some(66), "{args:?}: {output}");
        assert!(output.stderr.contains("`0f0` is neither a session nor a file"), "{args:?}: {output}");
        assert!(output.stderr.contains("needs at least 4 characters"), "{args:?}: {output}");
    }
}

#[test]
fn a_person_who_mistypes_an_id_gets_an_error() {
    let scene = Scene::new([answer_text("one")]);
    let typed = ["-p", "--output-format", "text", "begin", "--resume", UUID];
    let output = scene.ibeam(typed).terminal().after("exec 2>&1").run();
    assert_eq!(output.code, Some(66), "{output}");
    assert!(scene.server.requests().is_empty());
    scene.ibeam(typed).run().succeeded();
}

#[test]
fn sessions_are_listed_shown_found_and_renamed() {
    let scene = two_sessions();
    let listed = sessions(&scene, &["list"]).succeeded().stdout;
    assert!(listed.starts_with("0f0e0d0d  ") && listed.contains("\n0f0e0d0c  "), "{listed}");
    assert!(listed.contains(" kB  first prompt\n"), "{listed}");
    let rows = sessions(&scene, &["list", "--all", "--json"]).succeeded().json();
    assert!(rows[1]["bytes"].as_u64().unwrap() > 1000, "{rows}");
    assert!(sessions(&scene, &["list", "--all"]).succeeded().stdout.contains("  [/"));

    let shown = sessions(&scene, &["show", UUID]).succeeded().stdout;
    assert!(shown.starts_with(&format!("session `{UUID}`: first prompt\ndirectory: /")), "{shown}");
    assert!(shown.contains("runs: 1, model requests: 2, calls: 1\n"), "{shown}");
    assert!(shown.ends_with("changed files: 1\n"), "{shown}");

    let found = sessions(&scene, &["search", "NEEDLE"]).succeeded().stdout;
    assert!(
        found.starts_with("0f0e0d0c  ") && found.contains("\n    It has the needle inside.\n"),
        "{found}"
    );
    let none = sessions(&scene, &["search", "haystack"]).succeeded();
    assert_eq!(none.stdout, "");
    assert!(none.stderr.starts_with("no session of this directory contains `haystack`"), "{none}");

    let renamed = sessions(&scene, &["rename", "0f0e0d0c", "The", "needle"]).succeeded();
    assert_eq!(renamed.stdout, "");
    assert_eq!(renamed.stderr, format!("renamed: {UUID} → The needle\n"));
    let page = || {
        let args = ["replay", "0f0e0d0c", "--output-format", "html"];
        scene.ibeam_without_model(args).run().succeeded().stdout
    };
    assert!(page().contains("<title>The needle</title>"), "{}", page());
    let listed = scene.ibeam_without_model(["ls"]).run().succeeded().stdout;
    assert!(listed.contains("  The needle\n") && !listed.contains("first prompt"), "{listed}");
    let renamed = sessions(&scene, &["rename", "0f0e0d0c"]).succeeded();
    assert_eq!(renamed.stderr, format!("renamed: {UUID} → first prompt\n"));
    assert!(page().contains("<title>first prompt</title>"), "{}", page());
    assert!(scene.ibeam_without_model(["ls"]).run().succeeded().stdout.contains("first prompt"));
}

#[test]
fn sessions_are_removed_only_after_consent() {
    let scene = two_sessions();
    let refused = sessions(&scene, &["rm", UUID]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("--yes"), "{refused}");
    for (answer, expected) in [("n\n", "nothing was removed"), ("y\n", "removed: ")] {
        let running =
            scene.ibeam_without_model(["sessions", "rm", UUID]).terminal().after("exec 2>&1").start();
        running.wait_for_stdout("[y/N]");
        running.type_text(answer);
        let output = running.finish().succeeded();
        assert!(output.stdout.contains(expected) && !output.stdout.contains("error:"), "{output}");
    }
    assert_eq!(sessions(&scene, &["show", UUID]).code, Some(66));
    assert_eq!(sessions(&scene, &["rm", UUID, "--yes"]).code, Some(66));
    assert!(scene.workspace.read("a.txt").is_some(), "the files of the workspace stay");
    let kept = sessions(&scene, &["prune", "--older-than", "1", "--yes"]).succeeded();
    assert_eq!(kept.stdout, "there is nothing to remove\n");
    std::thread::sleep(std::time::Duration::from_millis(5));
    let dry = sessions(&scene, &["prune", "--older-than", "0", "--dry-run"]).succeeded();
    assert!(dry.stdout.starts_with("0f0e0d0d  "), "{dry}");
    let pruned = sessions(&scene, &["prune", "--older-than", "0", "--yes"]).succeeded();
    assert_eq!(pruned.stdout, format!("removed: {NEIGHBOUR}\n"));
    assert_eq!(sessions(&scene, &["list"]).succeeded().stdout, "");
}

#[test]
fn a_prompt_in_place_of_a_session_is_a_usage_error() {
    let scene = two_sessions();
    let output = scene.ibeam(["resume", "go on now", "-p"]).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("`ibeam resume -1 \"…\"`"), "{output}");
}

#[test]
fn an_empty_list_of_sessions_is_explained_on_stderr() {
    let scene = Scene::new([answer_text("one")]).with_workspace(Workspace::new());
    let check = |args: &[&str], stdout: &str, stderr: &str| {
        let output = scene.ibeam_without_model(args).run().succeeded();
        assert_eq!((output.stdout.as_str(), output.stderr.trim_end()), (stdout, stderr), "{args:?}");
    };
    let none_here = "no session of this directory is stored; `--all` lists those of other directories, \
                     `ibeam \"PROMPT\"` begins one";
    let none = "no session is stored; `ibeam \"PROMPT\"` begins one";
    for list in [&["ls"][..], &["sessions", "list"]] {
        check(list, "", none_here);
        check(&[list, &["--all"]].concat(), "", none);
        let spanish = "no hay ninguna sesión guardada; `ibeam \"PROMPT\"` inicia una";
        check(&[list, &["--all", "--lang", "es"]].concat(), "", spanish);
    }
    check(&["ls", "--format", "json"], "[]\n", "");
    check(&["sessions", "list", "--json"], "[]\n", "");
    scene.ibeam(["-p", "begin"]).run().succeeded();
    let listed = scene.ibeam_without_model(["ls"]).run().succeeded();
    assert_eq!((listed.stdout.lines().count(), listed.stderr.as_str()), (1, ""));
}

#[test]
fn a_session_in_use_is_not_removed() {
    let scene = Scene::new([answer_text("slow ").stall()]);
    let running = scene.ibeam(["-p", "begin", "--resume", UUID]).start();
    running.wait_for_stdout("slow ");
    let output = sessions(&scene, &["rm", UUID, "--yes"]);
    assert_eq!(output.code, Some(75), "{output}");
    let output = sessions(&scene, &["prune", "--older-than", "0", "--yes"]).succeeded();
    assert!(output.stderr.starts_with("warning: not removed, because process "), "{output}");
    sessions(&scene, &["show", UUID]).succeeded();
    running.signal(ibeam_protocol::Signal::Term);
    running.finish();
}

#[test]
fn a_removal_deletes_the_checkpoints_of_the_session_only() {
    use ibeam_testkit::repository::{references, repository, shell};
    let scene = repository(shell("echo one > calc.py"));
    let first = scene.print(["--force"]).run().succeeded().stream().session_id().to_owned();
    let scene = scene.with_answers(shell("echo two > calc.py"));
    let second = scene.print(["--force"]).run().succeeded().stream().session_id().to_owned();
    sessions(&scene, &["rm", &first, "--yes"]).succeeded();
    let references = references(&scene);
    assert!(!references.contains(&first) && references.contains(&second), "{references}");
    assert_eq!(scene.workspace.read("calc.py").as_deref(), Some("two\n"));
}

#[test]
fn an_exported_session_is_imported_and_resumed_elsewhere() {
    let scene = two_sessions();
    let file = scene.workspace.path().join("session.export");
    let file = file.to_str().unwrap();
    let exported = sessions(&scene, &["export", "0f0e0d0c", file]).succeeded();
    assert!(exported.stderr.starts_with("exported: 0f0e0d0c"), "{exported}");
    let again = sessions(&scene, &["export", "0f0e0d0c", file]);
    assert_eq!(again.code, Some(73), "the file exists");
    assert!(again.stderr.contains("already exists\nhint: choose another name"), "{again}");
    assert_eq!(sessions(&scene, &["import", file]).code, Some(2), "the session exists");
    sessions(&scene, &["rm", UUID, "--yes"]).succeeded();
    let imported = sessions(&scene, &["import", file]).succeeded();
    assert!(imported.stdout.starts_with(&format!("imported: {UUID} (events: ")), "{imported}");
    let scene = scene.with_answers([answer_text("more")]);
    scene.ibeam(["-p", "go on", "--resume", UUID]).run().succeeded();
    assert_eq!(scene.server.requests()[0].transcript()[0], "user: first prompt");
    let bytes = std::fs::read(file).unwrap();
    std::fs::write(file, &bytes[..bytes.len() - 20]).unwrap();
    let output = sessions(&scene, &["import", file]);
    assert_eq!(output.code, Some(2), "it exists: {output}");
    sessions(&scene, &["rm", UUID, "--yes"]).succeeded();
    let output = sessions(&scene, &["import", file]);
    assert_eq!(output.code, Some(65), "{output}");
    assert!(
        output.stderr.contains("is incomplete or was changed\nhint: `ibeam sessions export "),
        "{output}"
    );
    for text in ["", "{\"type\":\"system\"}\n", "x"] {
        std::fs::write(file, text).unwrap();
        let output = sessions(&scene, &["import", file]);
        assert_eq!(output.code, Some(65), "{output}");
        assert!(
            output.stderr.contains("is not an exported session\nhint: `ibeam sessions export "),
            "{output}"
        );
    }
    let output = sessions(&scene, &["import", "/"]);
    assert!(output.code == Some(66) && output.stderr.contains("cannot read `/`"), "{output}");
}

#[test]
fn a_report_and_the_shown_settings_have_no_likely_secret() {
    let scene = Scene::new([]).with_workspace(Workspace::new());
    let config = scene.workspace.home().join(".config/ibeam");
    std::fs::create_dir_all(&config).unwrap();
    let text = r#"
        [providers.own]
        base_url = "https://me:hush-1@a.test/v1"
        [mcp_servers.a]
        command = "x"
        args = ["--token", "hush-2 with blanks", "--api-key=hush-3", "postgres://u:hush-4@db", "--verbose", "plain"]
        [mcp_servers.b]
        url = "https://a.test/mcp?team=t&access_token=hush-5"
    "#;
    std::fs::write(config.join("config.toml"), text).unwrap();
    let file = scene.workspace.path().join("report.txt");
    scene.ibeam(["report", file.to_str().unwrap()]).run().succeeded();
    let report = std::fs::read_to_string(file).unwrap();
    let shown = scene.ibeam(["config", "explain"]).run().succeeded().stdout;
    let json = scene.ibeam(["config", "explain", "--format", "json"]).run().succeeded().stdout;
    for text in [report, shown, json] {
        assert!(!text.contains("hush"), "{text}");
        assert!(text.contains("https://me:***@a.test/v1") && text.contains("plain"), "{text}");
    }
}

#[test]
fn a_report_contains_what_a_bug_report_needs_and_no_key() {
    let long = format!("{} {}", ibeam_testkit::scene::KEY, "x".repeat(5000));
    let scene = Scene::new([answer_text("done")]).with_workspace(Workspace::new());
    scene.ibeam(["-p", &format!("secret {long}")]).run().succeeded();
    let file = scene.workspace.path().join("report.txt");
    let file = file.to_str().unwrap();
    let listed = scene.ibeam(["report", file]).run().succeeded().stdout;
    let names: Vec<_> =
        listed.lines().filter_map(|line| line.split_once(": ")).map(|(name, _)| name).collect();
    assert_eq!(names, ["about", "doctor", "config explain", "session"], "{listed}");
    assert!(listed.contains(&format!("wrote `{file}`")), "{listed}");
    let report = std::fs::read_to_string(file).unwrap();
    for part in ["## about\n\nibeam ", "## doctor\n", "\nok      git: ", "## session\n\n", "\"run_finished\""]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(!report.contains(ibeam_testkit::scene::KEY), "{report}");
    assert!(report.len() < 20_000 && report.contains("characters)"), "{report}");
    assert_eq!(scene.ibeam(["report", file]).run().code, Some(73), "the file exists");
    let other = scene.workspace.path().join("other.txt");
    scene.ibeam(["report", "--no-session", other.to_str().unwrap()]).run().succeeded();
    assert!(!std::fs::read_to_string(other).unwrap().contains("## session"));
}
