//! The program's own directories if the workspace is the home directory or a parent of it.

use std::os::unix::fs::symlink;
use std::path::Path;

use ibeam_testkit::fault_injection::check_failure;
use ibeam_testkit::scene::{Scene, answer_shell, answer_text};
use ibeam_testkit::{ProgramOutput, Workspace};

const HOOKS: &str = r#"{"version": 1, "hooks": {"sessionStart": [{"command": "touch \"$HOME\"/hooked"}]}}"#;

/// Runs a command that may write to `root`, then starts another run in the same home.
fn attack(scene: Scene, root: &Path, command: &str) -> (ProgramOutput, ProgramOutput, Scene) {
    let scene = scene.with_answers([answer_shell(command), answer_text("done")]);
    let workspace = root.to_str().unwrap().to_owned();
    let first = scene.print(["--force", "--workspace", &workspace]).run();
    let scene = scene.with_answers([answer_text("again")]);
    let second = scene.print(["--force", "--workspace", &workspace]).run();
    (first, second, scene)
}

#[test]
fn commands_cannot_plant_a_configuration_for_the_next_run() {
    for is_above in [false, true] {
        for directory in [".config/ibeam", ".cursor"] {
            for template in [
                "mkdir -p D; printf '%s' \"$H\" > D/hooks.json",
                "mkdir -p x/D; printf '%s' \"$H\" > x/D/hooks.json; mv ${P} old; mv x/${P} ${P}",
                "mkdir -p x; printf '%s' \"$H\" > x/hooks.json; rm -rf D; ln -s \"$PWD/x\" D",
            ] {
                let scene = Scene::new([]);
                let home = scene.workspace.home().to_owned();
                let root = if is_above { scene.workspace.outside().to_owned() } else { home.clone() };
                let parent = directory.split('/').next().unwrap();
                let script = template.replace('D', directory).replace("${P}", parent);
                let command = format!("cd '{}'; H='{HOOKS}'; {script}", home.display());
                let (first, second, _scene) = attack(scene, &root, &command);
                assert!(!home.join("hooked").exists(), "{command}: {first} {second}");
                assert!(!home.join(directory).join("hooks.json").exists(), "{command}: {first} {second}");
                second.succeeded();
            }
        }
    }
}

#[test]
fn commands_cannot_redirect_own_files_with_links() {
    for directory in ["background", "quarantine", ""] {
        let scene = Scene::new([]);
        let home = scene.workspace.home().to_owned();
        let target = scene.workspace.outside().join("target");
        std::fs::create_dir(&target).unwrap();
        let command = format!(
            "rm -rf .cache/ibeam/{directory}; mkdir -p .cache/ibeam; rmdir .cache/ibeam/{directory}; \
             ln -s '{}' .cache/ibeam/{directory}",
            target.display()
        );
        let (first, second, scene) = attack(scene, &home, &command);
        first.succeeded();
        second.succeeded();
        // Protected files are moved to the quarantine directory.
        let scene = scene.with_answers([answer_shell("printf x > .envrc"), answer_text("done")]);
        let output = scene.print(["--force", "--workspace", home.to_str().unwrap()]).run();
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0, "{output}");
    }
}

#[test]
fn planted_links_are_not_followed() {
    for name in ["background", "quarantine"] {
        let scene = Scene::new([answer_text("never")]);
        let (home, target) = (scene.workspace.home(), scene.workspace.outside().join("target"));
        std::fs::create_dir(&target).unwrap();
        std::fs::create_dir_all(home.join(".cache/ibeam")).unwrap();
        symlink(&target, home.join(".cache/ibeam").join(name)).unwrap();
        let output = scene.print::<&str>([]).run();
        check_failure(&output, 73);
        assert!(output.stderr.contains(name) && output.stderr.contains("XDG_CACHE_HOME"), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
    }
    // The model could write to a configuration directory that is a link into the workspace.
    let workspace = Workspace::new().file("own/config.toml", "");
    let scene = Scene::new([answer_text("never")]).with_workspace(workspace);
    std::fs::create_dir_all(scene.workspace.home().join(".config")).unwrap();
    symlink(scene.workspace.path().join("own"), scene.workspace.home().join(".config/ibeam")).unwrap();
    check_failure(&scene.print::<&str>([]).run(), 73);
}

/// Dotfile managers create such links.
#[test]
fn linked_configuration_directories_work_where_commands_cannot_write_them() {
    for (link, to) in [(".config", "dotfiles"), (".config/ibeam", "dotfiles/ibeam"), (".cache", "dotfiles")] {
        let scene = Scene::new([answer_shell("touch made"), answer_text("done")]);
        let (home, dotfiles) = (scene.workspace.home(), scene.workspace.outside().join("dotfiles"));
        std::fs::create_dir_all(dotfiles.join("ibeam")).unwrap();
        std::fs::create_dir_all(home.join(link).parent().unwrap()).unwrap();
        std::fs::write(dotfiles.join("ibeam/config.toml"), "[permissions]\ndeny = [\"Shell(touch)\"]\n")
            .unwrap();
        symlink(scene.workspace.outside().join(to), home.join(link)).unwrap();
        let output = scene.print(["--force"]).run().succeeded();
        assert_eq!(output.stdout.contains("rejected"), link != ".cache", "{output}");
    }
}
