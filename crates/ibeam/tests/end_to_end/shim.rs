//! `ibeam shim`: links and scripts under the names by which clients start the program.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ibeam_testkit::scene::{KEY, Scene, answer_text};
use ibeam_testkit::{Answer, Ibeam, ProgramOutput, program_path};
use serde_json::json;

const NAMES: [&str; 2] = ["agent", "cursor-agent"];

fn shim(scene: &Scene, directory: &Path) -> ProgramOutput {
    scene.ibeam_without_model(["shim", directory.to_str().unwrap()]).run()
}

/// Asserts that both names are links to the program.
#[track_caller]
fn check_links(directory: &Path) {
    for name in NAMES {
        let target = fs::read_link(directory.join(name)).unwrap();
        assert_eq!(target, Path::new(program_path()).canonicalize().unwrap(), "{name}");
    }
    assert_eq!(fs::read_dir(directory).unwrap().count(), NAMES.len());
}

/// Asserts that no link is created, and that the error names the file and the hint the solution.
#[track_caller]
fn check_refused(scene: &Scene, directory: &Path, path: &Path) {
    let output = shim(scene, directory);
    assert_eq!((output.code, output.stdout.as_str()), (Some(73), ""), "{output}");
    let message = format!("error: `{}` already exists and was not made by this program", path.display());
    assert_eq!(output.stderr_lines(&message).len(), 1, "{output}");
    assert_eq!(output.stderr_lines("hint: move it away").len(), 1, "{output}");
}

#[test]
fn the_links_are_created_with_their_directory_and_printed() {
    let scene = Scene::new([]);
    let directory = scene.workspace.outside().canonicalize().unwrap().join("new/bin");
    let output = shim(&scene, &directory).succeeded();
    check_links(&directory);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{output}");
    for (line, name) in lines.iter().zip(NAMES) {
        assert!(
            line.starts_with(&format!("made `{}`, which starts `", directory.join(name).display())),
            "{output}"
        );
    }
}

#[test]
fn leftovers_of_an_interrupted_call_are_ignored() {
    let scene = Scene::new([]);
    let directory = scene.workspace.outside().join("bin");
    fs::create_dir(&directory).unwrap();
    symlink("/gone/ibeam", directory.join("agent")).unwrap();
    fs::write(directory.join("agent.new"), "").unwrap();
    shim(&scene, &directory).succeeded();
    assert_eq!(
        fs::read_link(directory.join("agent")).unwrap(),
        Path::new(program_path()).canonicalize().unwrap()
    );
}

#[test]
fn a_file_in_place_of_the_directory_is_an_error() {
    let scene = Scene::new([]);
    let file = scene.workspace.outside().join("a file");
    fs::write(&file, "x").unwrap();
    let output = shim(&scene, &file);
    assert_eq!((output.code, output.stderr.contains("not a directory")), (Some(73), true), "{output}");
}

#[test]
fn a_run_by_either_name_prints_the_contract() {
    for name in NAMES {
        let scene = Scene::new([
            Answer::new().text("First ").call("t1", "read", &json!({ "path": "a" })),
            answer_text("Done."),
        ]);
        let directory = scene.workspace.outside().join("bin");
        shim(&scene, &directory).succeeded();
        let run = Ibeam::new(directory.join(name), &scene.workspace)
            .args(["-p", "--output-format=stream-json", "--model", "anthropic/claude-sonnet-4-6", "do it"])
            .env("ANTHROPIC_BASE_URL", scene.server.url())
            .env("ANTHROPIC_API_KEY", KEY);
        let stream = run.run().succeeded().stream();
        assert_eq!(stream.last()["result"], "First Done.", "{name}");
    }
}

#[test]
fn a_second_call_changes_nothing_under_any_name() {
    let scene = Scene::new([]);
    let directory = scene.workspace.outside().join("bin");
    shim(&scene, &directory).succeeded();
    for program in [PathBuf::from(program_path()), directory.join("agent")] {
        let again = Ibeam::new(program, &scene.workspace).args(["shim", directory.to_str().unwrap()]);
        let output = again.run().succeeded();
        assert_eq!(output.stdout.matches("is there already").count(), 2, "{output}");
        check_links(&directory);
    }
}

#[test]
fn a_link_of_an_earlier_installation_is_replaced() {
    let scene = Scene::new([]);
    let directory = scene.workspace.outside().join("bin");
    fs::create_dir(&directory).unwrap();
    symlink("/nowhere/now/ibeam", directory.join("agent")).unwrap();
    let output = shim(&scene, &directory).succeeded();
    assert_eq!(output.stdout.matches("made `").count(), 2, "{output}");
    check_links(&directory);
}

#[test]
fn files_of_others_are_kept_and_no_link_is_created() {
    type Create = fn(&Path);
    let file: Create = |path| fs::write(path, "mine").unwrap();
    let link: Create = |path| symlink("/usr/bin/true", path).unwrap();
    let dangling: Create = |path| symlink("/nowhere/agent-of-another", path).unwrap();
    let directory: Create = |path| fs::create_dir(path).unwrap();
    for (name, create) in
        NAMES.iter().flat_map(|name| [file, link, dangling, directory].map(|create| (name, create)))
    {
        let scene = Scene::new([]);
        let bin = scene.workspace.outside().canonicalize().unwrap().join("bin");
        fs::create_dir(&bin).unwrap();
        create(&bin.join(name));
        let before = fs::symlink_metadata(bin.join(name)).unwrap().modified().unwrap();
        check_refused(&scene, &bin, &bin.join(name));
        assert_eq!(fs::symlink_metadata(bin.join(name)).unwrap().modified().unwrap(), before);
        assert_eq!(fs::read_dir(&bin).unwrap().count(), 1);
    }
}

#[test]
fn dialects_are_repeated_or_listed() {
    let scene = Scene::new([]);
    for flags in [&["--dialect", "claude,codex"][..], &["--dialect=claude", "--dialect", "codex"]] {
        let directory = scene.workspace.outside().join(format!("bin{}", flags.len()));
        let output =
            scene.ibeam_without_model(["shim", directory.to_str().unwrap()]).args(flags).run().succeeded();
        assert_eq!(output.stdout.matches("made `").count(), 4, "{output}");
        assert!(directory.join("claude").is_file() && directory.join("codex").is_file());
    }
}

#[test]
fn a_script_prints_the_dialect_of_its_name() {
    let scene = Scene::new([answer_text("Done.")]);
    // A path that must be quoted for a shell.
    let home = scene.workspace.outside().join("it's $HOME");
    fs::create_dir(&home).unwrap();
    let program = home.join("ibeam");
    fs::copy(program_path(), &program).unwrap();
    let directory = home.join("bin");
    let create = |program: &Path| {
        let args = ["shim", directory.to_str().unwrap(), "--dialect", "claude", "--dialect=codex"];
        Ibeam::new(program, &scene.workspace).args(args).run().succeeded()
    };
    let output = create(&program);
    assert_eq!(output.stdout.matches("made `").count(), 4, "{output}");
    let run = Ibeam::new(directory.join("claude"), &scene.workspace)
        .args(["-p", "do it", "--output-format", "json", "--model", "anthropic/claude-sonnet-4-6"])
        .env("ANTHROPIC_BASE_URL", scene.server.url())
        .env("ANTHROPIC_API_KEY", KEY);
    let result = run.run().succeeded().json();
    // Only this dialect has `num_turns`.
    assert_eq!((&result["result"], &result["num_turns"]), (&json!("Done."), &json!(1)), "{result}");

    assert_eq!(create(&program).stdout.matches("is there already").count(), 4);
    // A script of another installation is replaced and starts this program.
    assert_eq!(create(Path::new(program_path())).stdout.matches("made `").count(), 4);
    let script = fs::read_to_string(directory.join("codex")).unwrap();
    assert!(script.contains(program_path()) && !script.contains("HOME"), "{script}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 4);

    fs::write(directory.join("claude"), "#!/bin/sh\nexec something-else\n").unwrap();
    let args = ["shim", directory.to_str().unwrap(), "--dialect", "claude"];
    let output = scene.ibeam_without_model(args).run();
    assert_eq!((output.code, output.stdout.as_str()), (Some(73), ""), "{output}");
    assert!(fs::read_to_string(directory.join("claude")).unwrap().contains("something-else"));
}

#[test]
fn a_directory_that_cannot_be_created_is_named() {
    let scene = Scene::new([]);
    let file = scene.workspace.outside().join("file");
    fs::write(&file, "").unwrap();
    for directory in [file.clone(), file.join("bin")] {
        let output = shim(&scene, &directory);
        assert_eq!((output.code, output.stdout.as_str()), (Some(73), ""), "{output}");
        assert!(
            output.stderr.starts_with(&format!("error: cannot create `{}`", directory.display())),
            "{output}"
        );
    }
    let output = scene.ibeam_without_model(["shim", ""]).run();
    assert_eq!(output.code, Some(2), "{output}");
}

#[test]
fn the_output_reports_whether_clients_find_the_links() {
    let scene = Scene::new([]);
    let directory = scene.workspace.outside().join("it's bin");
    let reported = |path: &str| {
        let run = scene.ibeam_without_model(["shim", directory.to_str().unwrap()]).env("PATH", path);
        run.run().succeeded().stderr
    };
    let usual = std::env::var("PATH").unwrap();
    let message = reported(&usual);
    assert!(message.starts_with("hint: `") && message.contains("is not in PATH"), "{message}");

    // The printed command works.
    let command = message.split('`').nth(3).unwrap();
    let script = format!("{command}; command -v agent");
    let found = std::process::Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
    assert_eq!(
        String::from_utf8(found.stdout).unwrap().trim_end(),
        directory.join("agent").to_str().unwrap()
    );

    let first = format!("{}:{usual}", directory.display());
    assert_eq!(reported(&first), format!("`{}` is in PATH\n", directory.display()));

    let others = scene.workspace.outside().join("others");
    fs::create_dir(&others).unwrap();
    fs::write(others.join("cursor-agent"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(others.join("cursor-agent"), fs::Permissions::from_mode(0o755)).unwrap();
    let message = reported(&format!("{}:{first}", others.display()));
    let warning = format!("warning: in PATH, `cursor-agent` is `{}`", others.join("cursor-agent").display());
    assert!(message.contains(&warning) && !message.contains("`agent` is"), "{message}");
}
