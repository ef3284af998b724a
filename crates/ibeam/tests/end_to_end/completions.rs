//! The completion scripts of bash, elvish, fish and zsh, each in its shell. A test without its shell prints `SKIP`.

use std::process::Command;

use ibeam_testkit::program_path;
use ibeam_testkit::scene::{Scene, answer_text};

/// The lines that every shell completes, and a candidate for each.
const LINES: [(&str, &str); 6] = [
    ("logi", "login"),
    ("login anth", "anthropic"),
    ("check run", "run.ndjson"),
    ("--output-format=js", "--output-format=json"),
    ("help exit", "exit-codes"),
    ("logout --error-f", "--error-format"),
];

/// A program for zsh: types a line into an interactive zsh and waits until the list of candidates has a text.
const ZSH_PROGRAM: &str = r#"
zmodload zsh/zpty
zpty -b z zsh -f -i
zpty -w z "PS1='REA''DY '; stty -echo; autoload -Uz compinit; compinit -u -D; LISTMAX=1000; source '$1'"
zpty -w z "bindkey '^I' list-choices; print STAR''TED"
zpty -r -m z text '*STARTED*READY*' || exit 1
zpty -w -n z "$2"$'\t'
zpty -r -m z text "*$2*$3*" || exit 1
zpty -d z
print FOUND
"#;

fn is_installed(shell: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap();
    let is_installed = std::env::split_paths(&path).any(|directory| directory.join(shell).is_file());
    if !is_installed {
        eprintln!("SKIP: {shell} is not installed");
    }
    is_installed
}

/// Returns a shell that finds `ibeam`, in a workspace with a file.
fn shell(scene: &Scene, program: &str) -> Command {
    std::fs::write(scene.workspace.path().join("run.ndjson"), "").unwrap();
    let directory = std::path::Path::new(program_path()).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("timeout");
    shell.args(["60", program]).current_dir(scene.workspace.path()).env_clear();
    shell.env("PATH", format!("{}:{path}", directory.display())).env("HOME", scene.workspace.home());
    shell.env("TERM", "dumb");
    shell
}

/// Writes the script of a shell outside the workspace. Returns its path.
fn script(scene: &Scene, shell: &str) -> String {
    let script = scene.ibeam_without_model(["completions", shell]).run().succeeded().stdout;
    assert!(script.len() < 60_000, "{}", script.len());
    let path = scene.workspace.outside().join("completions");
    std::fs::write(&path, script).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Lets bash complete a line with the script of `completions`. Returns the candidates.
fn completed_in_bash(scene: &Scene, line: &str) -> Vec<String> {
    let script = scene.ibeam_without_model(["completions", "bash"]).run().succeeded().stdout;
    assert!(script.len() < 60_000, "{}", script.len());
    let line = format!("{} {line}", program_path());
    let command = format!(
        "{script}\nCOMP_LINE='{line}' COMP_POINT={}\n_ibeam\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        line.len()
    );
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", &command]).current_dir(scene.workspace.path()).env_clear();
    bash.env("PATH", std::env::var("PATH").unwrap()).env("HOME", scene.workspace.home());
    let output = bash.output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_models_sessions_providers_and_files() {
    let scene = Scene::new([answer_text("hi")]);
    let id = scene.ibeam(["-p", "x"]).run().succeeded().stream().session_id().to_owned();
    std::fs::write(scene.workspace.path().join("run.ndjson"), "").unwrap();
    let check = |line: &str, expected: &str| {
        let found = completed_in_bash(&scene, line);
        assert!(found.iter().any(|candidate| candidate == expected), "{line}: {found:?}");
    };
    check("logi", "login");
    check("login anth", "anthropic");
    check("-p --model anthropic/claude-s", "anthropic/claude-sonnet-5-5");
    check("--model=anthropic/claude-s", "anthropic/claude-sonnet-5-5");
    check("--resume ", &id);
    check("resume ", &id);
    check("check run", "run.ndjson");
    check("replay run", "run.ndjson");
    check("--output-format=js", "json");
    check("sessions ", "check");
    check("help exit", "exit-codes");
    check("logout --error-f", "--error-format");
    assert!(!completed_in_bash(&scene, "logout --max").iter().any(|flag| flag == "--max-turns"));
    assert_eq!(completed_in_bash(&scene, "--model run"), [""]);
    assert_eq!(completed_in_bash(&scene, "help sess"), ["sessions", "session-format"]);
}

#[test]
fn fish_completes_commands_values_and_files() {
    if !is_installed("fish") {
        return;
    }
    let scene = Scene::new([]);
    let script = script(&scene, "fish");
    for (line, expected) in LINES {
        let program = format!("source '{script}'; complete -C 'ibeam {line}'");
        let output = shell(&scene, "fish").args(["--no-config", "-c", &program]).output().unwrap();
        let found = String::from_utf8(output.stdout).unwrap();
        let mut values = found.lines().filter_map(|line| line.split('\t').next());
        assert!(values.any(|value| value == expected), "{line}: {found}");
    }
}

/// elvish has its editor only on a terminal, which `script` makes.
#[test]
fn elvish_completes_commands_values_and_files() {
    if !is_installed("elvish") || !is_installed("script") {
        return;
    }
    let scene = Scene::new([]);
    let script = script(&scene, "elvish");
    for (line, expected) in LINES {
        let words = line.split(' ').map(|word| format!(" '{word}'")).collect::<String>();
        let program = format!(
            "eval (slurp < '{script}')\n\
             $edit:completion:arg-completer[ibeam] ibeam{words} | each {{|found| echo FOUND $found[stem] }}\n\
             exit\n"
        );
        let path = scene.workspace.outside().join("rc.elv");
        std::fs::write(&path, program).unwrap();
        let command = format!("elvish -rc {}", path.display());
        let output = shell(&scene, "script").args(["-qec", &command, "/dev/null"]).output().unwrap();
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(found.lines().any(|line| line.trim() == format!("FOUND {expected}")), "{line}: {found}");
    }
}

#[test]
fn zsh_completes_commands_values_and_files() {
    if !is_installed("zsh") {
        return;
    }
    let scene = Scene::new([]);
    let script = script(&scene, "zsh");
    for (line, expected) in LINES {
        let args = ["-f", "-c", ZSH_PROGRAM, "zsh", &script, &format!("ibeam {line}"), expected];
        let output = shell(&scene, "zsh").args(args).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "FOUND", "{line}: {output:?}");
    }
}
