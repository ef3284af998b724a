//! Home directories that are missing, read-only, not listed or owned by another user.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ibeam_testkit::fault_injection::{check_failure, is_root, launcher_works, make_accessible_to_all, skip};
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Ibeam, Workspace};
use serde_json::json;

use super::expect_success;

const NO_MOUNTS: &str = "no mount namespace in which the user database could be replaced";

/// Returns a path in the root directory at which nothing exists.
fn missing_in_root() -> String {
    let path = format!("/ibeam-missing-{}", std::process::id());
    assert!(!Path::new(&path).exists(), "{path}");
    path
}

/// Returns the entries of `/`.
fn root_entries() -> BTreeSet<PathBuf> {
    std::fs::read_dir("/").unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Returns a run with `home` as HOME and without XDG variables, where the user database gives `listed` as the home
/// directory. `None` if this system does not permit the mount.
fn run_with_home(scene: &Scene, home: Option<&str>, listed: &Path) -> Option<Ibeam> {
    with_listed_home(scene, scene.print::<&str>([]), home, listed)
}

/// Like [`run_with_home`], with any command.
fn with_listed_home(scene: &Scene, mut ibeam: Ibeam, home: Option<&str>, listed: &Path) -> Option<Ibeam> {
    let users = scene.workspace.outside().join("passwd");
    let id = rustix::process::getuid().as_raw();
    std::fs::write(&users, format!("user:x:{id}:{id}::{}:/bin/sh\n", listed.display())).unwrap();
    let unshare: &[&str] = if is_root() { &["unshare", "--mount"] } else { return None };
    if !launcher_works(unshare) {
        return None;
    }
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        ibeam = ibeam.env_remove(name);
    }
    if let Some(home) = home {
        ibeam = ibeam.env("HOME", home);
    }
    Some(ibeam.after(&format!("mount --bind {} /etc/passwd", users.display())).through(unshare))
}

fn session_count(home: &Path) -> usize {
    std::fs::read_dir(home.join(".local/share/ibeam/sessions")).map_or(0, Iterator::count)
}

#[test]
fn f141_without_the_variable_the_home_is_looked_up() {
    let before = root_entries();
    for home in [None, Some("")] {
        let scene = Scene::new([answer_text("ok")]);
        let listed = scene.workspace.outside().join("listed");
        std::fs::create_dir(&listed).unwrap();
        let Some(ibeam) = run_with_home(&scene, home, &listed) else {
            return skip(NO_MOUNTS);
        };
        let output = ibeam.run().succeeded();
        assert_eq!(output.stream().deltas(), ["ok"], "{home:?}");
        assert_eq!(session_count(&listed), 1, "{home:?}");
        assert_eq!(root_entries(), before, "{home:?}: nothing was created in `/`");
    }
}

/// The home directory of the user database is writable but not used, because it may contain other rules.
#[test]
fn f141_a_home_that_cannot_be_written_is_an_error_that_names_a_variable() {
    let before = root_entries();
    for home in ["/", &missing_in_root(), "/proc/1"] {
        let scene = Scene::new([answer_text("never")]);
        let listed = scene.workspace.outside().join("listed");
        std::fs::create_dir(&listed).unwrap();
        let Some(ibeam) = run_with_home(&scene, Some(home), &listed) else {
            return skip(NO_MOUNTS);
        };
        let output = ibeam.run();
        check_failure(&output, 73);
        assert!(output.stderr.contains("XDG_DATA_HOME") && output.stderr.contains(home), "{output}");
        assert_eq!((session_count(&listed), scene.server.requests().len()), (0, 0), "{home}");
        assert_eq!(root_entries(), before, "{home}: nothing was created in `/`");
    }
}

/// With a relative path, files of the workspace would count as the user's configuration.
#[test]
fn f141_a_variable_with_a_relative_path_is_an_error() {
    for name in ["HOME", "CURSOR_CONFIG_DIR"] {
        let scene = Scene::new([answer_shell("echo a > made"), answer_text("never")]);
        let scene = scene.with_workspace(
            Workspace::new().file("own/cli-config.json", r#"{"permissions": {"allow": ["Shell(*:*)"]}}"#),
        );
        let output = scene.print(["--approval", "allowlist"]).env(name, "own").run();
        check_failure(&output, 78);
        assert!(
            output.stderr.contains(&format!("${name}")) && output.stderr.contains("absolute"),
            "{output}"
        );
        assert_eq!(scene.server.requests().len(), 0);
    }
}

/// The rules of a read-only home directory apply, and the error names a variable that can be set.
#[test]
fn f141_the_rules_of_a_read_only_home_apply() {
    if !is_root() || !launcher_works(&["unshare", "--mount"]) {
        return skip("no mount namespace in which a home is read-only");
    }
    let read_only = |scene: &Scene, ibeam: Ibeam| {
        let home = scene.workspace.home().display();
        let mount = format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}'");
        ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"]
            .into_iter()
            .fold(ibeam, Ibeam::env_remove)
            .after(&mount)
            .through(["unshare", "--mount"])
    };
    let scene = || {
        let scene = Scene::new([answer_shell("touch made"), answer_text("done")]);
        scene.with_workspace(Workspace::new().user_config("[permissions]\ndeny = [\"Shell(touch)\"]\n"))
    };
    let denied_scene = scene();
    let output = read_only(&denied_scene, denied_scene.print(["--force"])).run();
    check_failure(&output, 73);
    let home = denied_scene.workspace.home().to_str().unwrap();
    assert!(output.stderr.contains("XDG_DATA_HOME") && output.stderr.contains(home), "{output}");
    assert_eq!(denied_scene.server.requests().len(), 0);
    // `ibeam config explain` writes nothing and shows the rule.
    let explained =
        read_only(&denied_scene, denied_scene.ibeam_without_model(["config", "explain"])).run().succeeded();
    assert!(explained.stdout.contains("Shell(touch)"), "{explained}");
    let with_data_home = scene();
    let data = with_data_home.workspace.outside().join("data");
    let run = read_only(&with_data_home, with_data_home.print(["--force"])).env("XDG_DATA_HOME", &data);
    let output = run.run().succeeded();
    assert!(output.stdout.contains("rejected") && output.stdout.contains("Shell(touch)"), "{output}");
    assert_eq!(with_data_home.workspace.read("made"), None);
    assert!(data.join("ibeam/sessions").is_dir(), "{output}");
}

/// With another HOME the user's keys stay hidden.
#[test]
fn f141_credentials_of_the_listed_home_stay_hidden_with_another_home() {
    let scene = Scene::new([]);
    let listed = scene.workspace.outside().join("listed");
    let key = listed.join(".ssh/id_rsa");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    std::fs::write(&key, "SECRET-KEY").unwrap();
    let path = key.to_str().unwrap();
    let read = answer_call("r", "read", &json!({ "path": path }));
    let scene = scene.with_answers([read, answer_shell(&format!("cat '{path}'")), answer_text("done")]);
    let home = scene.workspace.home().to_str().unwrap().to_owned();
    let run = with_listed_home(&scene, scene.print(["--force"]), Some(&home), &listed);
    let Some(ibeam) = run else {
        return skip(NO_MOUNTS);
    };
    let output = ibeam.run().succeeded();
    assert!(!output.stdout.contains("SECRET-KEY"), "{output}");
    assert!(output.stdout.contains("is hidden from the model"), "{output}");
}

#[test]
fn f141_a_home_that_does_not_exist_is_created() {
    let scene = Scene::new([answer_text("ok")]);
    let fresh = scene.workspace.outside().join("fresh");
    let Some(ibeam) = run_with_home(&scene, fresh.to_str(), &scene.workspace.outside().join("listed")) else {
        return skip(NO_MOUNTS);
    };
    ibeam.run().succeeded();
    assert_eq!(session_count(&fresh), 1);
}

#[test]
fn f141_without_any_home_the_error_names_the_variable() {
    let before = root_entries();
    for home in [None, Some("/"), Some(missing_in_root().as_str())] {
        let scene = Scene::new([answer_text("never")]);
        let Some(ibeam) = run_with_home(&scene, home, Path::new("/")) else {
            return skip(NO_MOUNTS);
        };
        let output = ibeam.run();
        check_failure(&output, 73);
        assert!(output.stderr.contains("HOME"), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
        assert_eq!(root_entries(), before, "{home:?}");
    }
}

#[test]
fn f141_commands_that_need_no_home_work_without_one() {
    for (args, expect) in crate::end_to_end::commands::OFFLINE {
        let scene = Scene::new([]);
        crate::end_to_end::commands::write_sample(&scene);
        let Some(ibeam) = with_listed_home(&scene, scene.ibeam_without_model(*args), None, Path::new("/"))
        else {
            return skip(NO_MOUNTS);
        };
        let output = ibeam.run().succeeded();
        assert!(output.stdout.contains(expect), "{args:?}: {output}");
    }
}

/// The XDG variables are sufficient.
#[test]
fn f141_with_the_xdg_variables_no_home_is_needed() {
    for home in ["", "/", &missing_in_root()] {
        let scene = Scene::new([answer_text("ok")]);
        let before = root_entries();
        expect_success(&scene, scene.print::<&str>([]).env("HOME", home));
        assert_eq!(root_entries(), before, "{home:?}");
    }
}

/// The home directory of another user cannot be written.
#[test]
fn f141_a_home_of_another_user_is_not_used() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can become another user");
    }
    let scene = Scene::new([answer_text("ok")]);
    let run = scene.print::<&str>([]).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    let run = run.env_remove("XDG_STATE_HOME").env_remove("XDG_CACHE_HOME").env("HOME", "/root");
    make_accessible_to_all(&scene);
    let output = run.through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]).run();
    // The user database gives that user the home `/nonexistent`, if any.
    check_failure(&output, 73);
}
