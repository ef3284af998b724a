//! `doctor`: what is missing here and how to get it. Always succeeds; it only tells.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use ibeam_protocol::Failure;

use super::say;
use crate::app::App;
use crate::model;

pub(super) fn doctor(app: &App, stdout: &mut File) -> Result<(), Failure> {
    let mut text = format!("ibeam {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |good: bool, what: &str, said: &str| {
        text.push_str(&format!("{} {what}: {said}\n", if good { "ok     " } else { "missing" }));
    };
    match model::choose(app) {
        Ok(choice) => {
            let info = choice.info();
            line(
                true,
                "model",
                &format!("{} ({}/{}; {})", info.display, info.provider, info.id, choice.why()),
            );
        }
        Err(reason) => {
            let explained = app.catalogue.reason(&reason);
            line(false, "model", &format!("{}; {}", explained.message, explained.hints.join("; ")));
        }
    }
    let keys = model::keys(app);
    for (provider, source) in &keys {
        line(true, "key", &format!("{provider}, from {source}"));
    }
    if keys.is_empty() {
        line(
            false,
            "key",
            "none; `ibeam login PROVIDER` stores one, a variable such as ANTHROPIC_API_KEY gives one",
        );
    }
    if cfg!(feature = "local-model") {
        let file = model::model_file(app);
        match model::is_installed(app) {
            true => line(true, "embedded model", &file.display().to_string()),
            false => line(false, "embedded model", "`ibeam setup` fetches it (1.1 GB)"),
        }
    } else {
        line(false, "embedded model", "this program was built without the feature `local-model`");
    }
    for (program, what_for) in [
        ("bash", "the shell tool runs commands with it"),
        ("git", "optional; commands of the model may want it"),
        ("python3", "optional; `ibeam setup` fetches the embedded model with its pip"),
    ] {
        match version_of(program) {
            Some(version) => line(true, program, &version),
            None => line(false, program, what_for),
        }
    }
    for (what, directory) in [("sessions", app.places.sessions()), ("cache", app.places.cache.clone())] {
        line(writable(&directory), what, &directory.display().to_string());
    }
    for path in [&app.places.user_config, &app.places.project_config] {
        let said = if path.is_file() { "read" } else { "none, which is fine" };
        line(true, "configuration", &format!("{} ({said})", path.display()));
    }
    line(
        false,
        "sandbox",
        "this version has none; commands run with the rights of the user who started ibeam",
    );
    say(stdout, &text)
}

fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// Whether files can be made in the directory, or in the nearest one above it that exists.
fn writable(directory: &Path) -> bool {
    let nearest = directory.ancestors().find(|directory| directory.exists());
    nearest.is_some_and(|nearest| {
        let access = rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK);
        access.is_ok() && fs::metadata(nearest).is_ok_and(|metadata| metadata.is_dir())
    })
}
