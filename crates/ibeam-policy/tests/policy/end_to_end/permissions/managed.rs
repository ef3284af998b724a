//! The managed configuration of an administrator, mounted in a mount namespace.

use ibeam_testkit::fault_injection::{check_failure, launcher_works, make_accessible_to_all};
use ibeam_testkit::managed_file::{can_mount_managed_files, with_managed_file};
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, only_result};
use ibeam_testkit::{ProgramOutput, Workspace};

/// Runs one command with `toml` as the managed file.
#[track_caller]
fn run(toml: &str, command: &str, flags: &[&str]) -> ProgramOutput {
    let scene = Scene::new([answer_shell(command), answer_text("done")]);
    with_managed_file(&scene, toml, scene.print(flags)).run()
}

#[test]
fn managed_rules_are_merged_with_all_others() {
    if !can_mount_managed_files() {
        return;
    }
    let rules =
        "approval = \"allowlist\"\n[permissions]\nallow = [\"Shell(echo)\"]\ndeny = [\"Shell(printf)\"]\n";
    assert_eq!(only_result(&run(rules, "echo a", &[]).succeeded()).0, "success");
    assert_eq!(only_result(&run(rules, "echo a", &["--deny", "Shell(echo)"]).succeeded()).0, "rejected");
    for flags in [&["--force"][..], &["--allow", "Shell(printf:*)"]] {
        let output = run(rules, "printf a", flags).succeeded();
        let (arm, payload) = only_result(&output);
        assert_eq!(arm, "rejected", "{output}");
        assert!(payload["reason"].as_str().unwrap().contains("Shell(printf)"), "{output}");
    }
}

#[test]
fn managed_values_override_files_and_variables() {
    if !can_mount_managed_files() {
        return;
    }
    let scene = Scene::new([answer_text("done")])
        .with_workspace(Workspace::new().user_config("[limits]\nmax_turns = 50\n"));
    let ibeam = with_managed_file(&scene, "[limits]\nmax_turns = 7\n", scene.print::<&str>([]));
    let output = ibeam.env("IBEAM_MAX_TURNS", "60").run().succeeded();
    assert_eq!(output.stream().init()["ibeam"]["limits"]["max_turns"], 7, "{output}");
}

#[test]
fn a_flag_that_contradicts_the_managed_file_is_a_usage_error() {
    if !can_mount_managed_files() {
        return;
    }
    let toml = "approval = \"allowlist\"\n\n[limits]\nmax_turns = 7\n\n[sandbox]\nmode = \"enabled\"\n\n\
                [providers.anthropic]\nbase_url = \"http://127.0.0.1:1\"\n";
    for (flags, origin) in [
        (&["--max-turns", "8"][..], "/etc/ibeam/config.toml:4"),
        (&["--max-turns", "6"], "/etc/ibeam/config.toml:4"),
        (&["--sandbox", "disabled"], "/etc/ibeam/config.toml:7"),
        (&["--endpoint", "http://127.0.0.1:2"], "/etc/ibeam/config.toml:10"),
    ] {
        let output = run(toml, "true", flags);
        check_failure(&output, 2);
        assert!(output.stderr.contains(origin) && output.stderr.contains(flags[0]), "{output}");
    }
    let same = run("[limits]\nmax_turns = 7\n", "echo a", &["--max-turns", "7"]).succeeded();
    assert_eq!(same.stream().init()["ibeam"]["limits"]["max_turns"], 7);
}

/// The managed address receives the key, even if the environment sets another address.
#[test]
fn a_managed_provider_address_overrides_the_environment() {
    if !can_mount_managed_files() {
        return;
    }
    let (managed_dir, other) = (Scene::new([answer_text("managed")]), Scene::new([answer_text("other")]));
    let toml = format!("[providers.anthropic]\nbase_url = \"{}\"\n", managed_dir.server.url());
    let output = with_managed_file(&other, &toml, other.print::<&str>([])).run().succeeded();
    assert_eq!(output.stream().last()["result"], "managed", "{output}");
    assert_eq!(other.server.requests().len(), 0);
}

#[test]
fn a_managed_file_that_others_can_write_is_refused() {
    if !can_mount_managed_files() {
        return;
    }
    let prepare = [
        ("chown 65534 \"$MANAGED\"/config.toml", "uid 65534"),
        ("chmod 666 \"$MANAGED\"/config.toml", "mode 0666"),
        ("chmod 620 \"$MANAGED\"/config.toml", "mode 0620"),
        ("chown 65534 \"$MANAGED\"", "its directory belongs to uid 65534"),
        ("chmod 777 \"$MANAGED\"", "write its directory"),
        ("rm \"$MANAGED\"/config.toml; mkfifo \"$MANAGED\"/config.toml", "not a regular file"),
        ("ln -sf /nowhere \"$MANAGED\"/config.toml", "a link to a file that does not exist"),
        ("echo deny >> \"$MANAGED\"/config.toml", "config.toml:2:"),
    ];
    for (script, expect) in prepare {
        let scene = Scene::new([]);
        let ibeam = scene.print(["--force"]).after(script);
        let output = with_managed_file(&scene, "[permissions]\n", ibeam).run();
        check_failure(&output, 78);
        assert!(
            output.stderr.contains("/etc/ibeam/config.toml") && output.stderr.contains(expect),
            "{script}: {output}"
        );
        assert_eq!(scene.server.requests().len(), 0);
    }
}

/// A command prefix that switches to an unprivileged user.
const ORDINARY_USER: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

#[test]
fn managed_rules_apply_to_ordinary_users() {
    if !can_mount_managed_files() || !launcher_works(&ORDINARY_USER) {
        eprintln!("SKIP: only root can become an ordinary user");
        return;
    }
    let scene = Scene::new([answer_shell("printf a"), answer_text("done")]);
    make_accessible_to_all(&scene);
    let ibeam = scene.print(["--force"]).through(ORDINARY_USER);
    let output =
        with_managed_file(&scene, "[permissions]\ndeny = [\"Shell(printf)\"]\n", ibeam).run().succeeded();
    assert_eq!(only_result(&output).0, "rejected", "{output}");
}

/// An unreadable policy is an error. It is never treated as empty.
#[test]
fn an_unreadable_managed_file_stops_the_run() {
    if !can_mount_managed_files() || !launcher_works(&ORDINARY_USER) {
        eprintln!("SKIP: only root can become a user without the right to read");
        return;
    }
    let scene = Scene::new([]);
    let ibeam = scene.print::<&str>([]).through(ORDINARY_USER).after("chmod 700 \"$MANAGED\"");
    make_accessible_to_all(&scene);
    let output = with_managed_file(&scene, "", ibeam).run();
    check_failure(&output, 78);
    assert!(output.stderr.contains("/etc/ibeam/config.toml"), "{output}");
}

#[test]
fn managed_hooks_that_others_can_write_are_refused() {
    if !can_mount_managed_files() {
        return;
    }
    let scene = Scene::new([]);
    let script = "echo '{}' > \"$MANAGED\"/hooks.json; chmod 666 \"$MANAGED\"/hooks.json";
    let output = with_managed_file(&scene, "", scene.print::<&str>([]).after(script)).run();
    check_failure(&output, 78);
    assert!(output.stderr.contains("/etc/ibeam/hooks.json"), "{output}");
}

/// The managed entry of a server replaces the user's entry completely.
#[test]
fn managed_mcp_servers_override_the_users() {
    if !can_mount_managed_files() {
        return;
    }
    let user = "[mcp_servers.one]\ncommand = \"false\"\nenabled = true\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(user));
    let toml = "[mcp_servers.one]\ncommand = \"true\"\nenabled = false\n";
    let output =
        with_managed_file(&scene, toml, scene.ibeam_without_model(["mcp", "list", "--format", "json"]))
            .run()
            .succeeded();
    let server = &output.json()[0];
    assert_eq!(
        (server["status"].as_str(), server["source"].as_str()),
        (Some("disabled"), Some("/etc/ibeam/config.toml:2"))
    );
}
