//! Packages of the registries at pinned versions, without the programs that they would bring along.
//!
//! What is there already with the same pin is kept.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A package of PyPI, from its source, in an environment of its own; or what is missing on this machine.
pub(super) fn of_python(directory: &Path, pin: &str) -> Result<(), String> {
    let own = directory.join("bin/python").display().to_string();
    let place = directory.display().to_string();
    let name = pin.split("==").next().unwrap_or(pin);
    let venv = ["python3", "-m", "venv", "--clear", &place];
    let pip = [&*own, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-binary", name, pin];
    install(directory, pin, &[&venv, &pip])
}

/// A package of npm, without what it would run or fetch beside itself; or what is missing on this machine.
pub(super) fn of_node(directory: &Path, pin: &str) -> Result<(), String> {
    let place = directory.display().to_string();
    let npm = ["npm", "install", "--prefix", &place, "--omit=optional", "--ignore-scripts", "--no-audit"];
    let npm: Vec<&str> = npm.into_iter().chain(["--no-fund", "--silent", pin]).collect();
    let made = fs::create_dir_all(directory);
    made.and_then(|()| fs::write(directory.join("package.json"), "{\"private\":true}\n"))
        .map_err(|error| format!("{place}: {error}"))?;
    install(directory, pin, &[&["node", "--version"], &npm])
}

/// Runs the steps unless they were run to their end with this pin; gives what is missing on this machine.
fn install(directory: &Path, pin: &str, steps: &[&[&str]]) -> Result<(), String> {
    let mark = directory.join("installed-pin");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == pin) {
        return Ok(());
    }
    println!("== installing {pin}");
    for step in steps {
        let Some((program, args)) = step.split_first() else { continue };
        let output =
            Command::new(program).args(args).output().map_err(|error| format!("`{program}`: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{}` failed: {}", step.join(" "), said.lines().last().unwrap_or_default()));
        }
    }
    fs::write(&mark, pin).map_err(|error| error.to_string())
}
