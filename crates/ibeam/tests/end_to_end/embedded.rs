//! A run with the real embedded model if it is installed, and errors of a build without its engine.

use std::path::PathBuf;
use std::time::Duration;

use ibeam_testkit::scene::Scene;
use ibeam_testkit::{Ibeam, Workspace, program_path};

const FILE: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";
const README: &str = "# Tide tables\n\nA small program that prints the tides of the North Sea for a given day.\n\n\
                      ## Usage\n\n    tides 2026-11-21 Cuxhaven\n\nIt reads its data from `tides.csv`.\n";

/// Whether this build has the engine.
const ENGINE: bool = cfg!(feature = "embedded");
const MISSING: &str = "this program was built without the embedded model";

/// Returns the path of the installed model.
fn model_file() -> Option<PathBuf> {
    let own = std::env::var_os("IBEAM_LOCAL_MODEL").map(PathBuf::from);
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    own.or_else(|| Some(data?.join("ibeam/models").join(FILE))).filter(|file| file.is_file())
}

#[test]
fn the_embedded_model_reads_a_file_and_writes_a_summary() {
    if !ENGINE {
        eprintln!("SKIP: this build is without the embedded model's engine (the feature `embedded`)");
        return;
    }
    let Some(file) = model_file() else {
        eprintln!("SKIP: the embedded model is not set up on this machine; `ibeam setup` installs it");
        return;
    };
    let workspace = Workspace::new().file("README.md", README);
    let prompt = "Read README.md and write a summary to summary.txt";
    let run = Ibeam::new(program_path(), &workspace).args(["-p", "--model", "embedded", prompt]);
    // A debug build on a slow machine takes a while for its first token.
    let output = run.env("IBEAM_LOCAL_MODEL", file).timeout(Duration::from_secs(600)).run().succeeded();
    let stream = output.stream();
    assert_eq!(stream.init()["model"], "Qwen2.5-Coder 1.5B (embedded)");
    assert_eq!(
        (&stream.init()["apiKeySource"], &stream.init()["ibeam"]["api_key"]),
        (&"env".into(), &"none".into())
    );
    let summary = workspace.read("summary.txt").unwrap_or_default();
    assert!(!summary.trim().is_empty(), "{output}");
    assert_eq!(workspace.read("README.md").as_deref(), Some(README), "other files are not changed");
    let outline = stream.outline();
    let position = |expected: &str| {
        outline
            .iter()
            .position(|event| event == expected)
            .unwrap_or_else(|| panic!("no {expected}; {output}"))
    };
    assert!(position("completed read") < position("started write"), "{outline:?}");
    assert!(
        output.stderr_lines("warning: ").iter().any(|line| line.contains("Qwen2.5-Coder 1.5B")),
        "{output}"
    );
}

#[test]
fn two_replays_of_the_embedded_model_are_byte_identical() {
    let Some(file) = model_file().filter(|_| ENGINE) else {
        eprintln!("SKIP: this build is without the embedded model's engine, or the model is not set up");
        return;
    };
    let workspace = || Workspace::new().file("README.md", README);
    let recorded_in = workspace();
    let recordings = recorded_in.outside().join("recordings");
    let run = |workspace: &Workspace, flag: &str| {
        let prompt = "What is the title of README.md?";
        let run = Ibeam::new(program_path(), workspace).args(["-p", "--sandbox", "disabled", prompt, flag]);
        run.args([&recordings]).timeout(Duration::from_secs(600))
    };
    let recorded = run(&recorded_in, "--record").args(["--model", "embedded"]);
    let recorded = recorded.env("IBEAM_LOCAL_MODEL", file).run().succeeded();
    // A replay needs neither the model nor the directory of the recorded run.
    let replayed_in = workspace();
    let first = run(&replayed_in, "--from-recording").run().succeeded();
    let second = run(&replayed_in, "--from-recording").run().succeeded();
    assert_eq!((&first.stdout, &first.stderr), (&second.stdout, &second.stderr));
    let (recorded, replayed) = (recorded.stream(), first.stream());
    assert_eq!(replayed.outline(), recorded.outline());
    assert_eq!(replayed.last()["result"], recorded.last()["result"]);
    assert_eq!(replayed.last()["usage"], recorded.last()["usage"]);
}

#[test]
fn about_models_and_doctor_report_whether_this_build_has_the_engine() {
    let scene = Scene::new([]);
    let about = scene.ibeam_without_model(["about", "--format", "json"]).run().succeeded().json();
    assert_eq!(about["embeddedEngine"], ENGINE);
    let models = scene.ibeam_without_model(["models"]).run().succeeded();
    assert_eq!(models.stdout.contains("embedded/qwen2.5-coder-1.5b"), ENGINE, "{models}");
    assert_eq!(models.stderr.contains(MISSING) && models.stderr.contains("ibeam login"), !ENGINE, "{models}");
    let doctor = scene.ibeam_without_model(["doctor"]).run().succeeded();
    assert_eq!(doctor.stdout.contains(&format!("missing embedded model: {MISSING}; ")), !ENGINE, "{doctor}");
}

#[test]
fn a_key_of_an_unsupported_service_is_reported_with_the_embedded_model() {
    if !ENGINE {
        eprintln!("SKIP: this build lacks the embedded model's engine (the feature `embedded`)");
        return;
    }
    let scene = Scene::new([]);
    let file = scene.workspace.home().join("model.gguf");
    std::fs::write(&file, "GGUF").unwrap();
    for (variable, service) in [("COPILOT_GITHUB_TOKEN", "GitHub Copilot")] {
        let run = |args: &[&str]| scene.ibeam_without_model(args).env(variable, "unused-1");
        let [installed, missing] =
            [run(&["-p", "x"]).env("IBEAM_LOCAL_MODEL", &file).run(), run(&["-p", "x"]).run()];
        for output in [installed, missing] {
            let is_reported =
                output.stderr.contains(&format!("`${variable}` is set")) && output.stderr.contains(service);
            assert!(is_reported && output.stderr.contains("ibeam login openrouter"), "{output}");
            assert!(!output.stderr.contains("unused-1") && !output.stdout.contains("unused-1"), "{output}");
        }
        let status = run(&["status"]).env("IBEAM_LOCAL_MODEL", &file).run().succeeded();
        assert!(status.stdout.contains(variable), "{status}");
        let named = run(&["-p", "x", "--model", "embedded"]).env("IBEAM_LOCAL_MODEL", &file).run();
        assert!(!named.stderr.contains(variable), "{named}");
    }
}

#[test]
fn without_the_engine_an_installed_model_is_not_used() {
    if ENGINE {
        eprintln!("SKIP: this build has the embedded model's engine (the feature `embedded`)");
        return;
    }
    let scene = Scene::new([]);
    let file = scene.workspace.home().join("model.gguf");
    std::fs::write(&file, "GGUF").unwrap();
    for arguments in [["setup"].as_slice(), &["--setup", "-p", "x"], &["-p", "x", "--model", "embedded"]] {
        for (locale, message) in [("en_GB.UTF-8", MISSING), ("fr_FR.UTF-8", "sans le modèle intégré")] {
            let output = scene
                .ibeam_without_model(arguments.iter().copied())
                .env("IBEAM_LOCAL_MODEL", &file)
                .env("LC_ALL", locale)
                .run();
            assert_eq!(output.code, Some(21), "{output}");
            assert!(output.stderr.contains(message) && output.stderr.contains("ibeam login"), "{output}");
        }
    }
}
