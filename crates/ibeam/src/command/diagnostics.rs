//! `about`, `status` and `doctor`: what this program is, which keys it has, and whether the installation is complete.
//!
//! `doctor` succeeds even if something is missing; `doctor --sandbox` fails if commands cannot be confined.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use ibeam_protocol::{Reason, Sandbox};
use serde_json::json;

use super::{explain_in_line, print_text, report};
use crate::app::AppContext;
use crate::cli::{ReportFormat, Switch};
use crate::cli_error::CliError;
use crate::model;
use crate::run::sandbox::{PendingSandbox, RunSandbox};

pub(super) fn about(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let version = env!("CARGO_PKG_VERSION");
    let model = crate::model::choose_model(app).map(|choice| choice.info().display.clone()).ok();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let engine = cfg!(feature = "embedded");
    let contract = app.base.contract().as_str();
    let text = format!(
        "ibeam {version}\ncontract: {contract}\nmodel: {}\nembedded engine: {}\nplatform: {os} {arch}\nlicence: MIT OR Apache-2.0\n",
        model.as_deref().unwrap_or("none"),
        if engine { "yes" } else { "no" },
    );
    let json = json!({
        "cliVersion": version,
        "model": model,
        "osPlatform": os,
        "osArch": arch,
        "contract": contract,
        "embeddedEngine": engine,
    });
    report(stdout, format, &text, &json)
}

pub(super) fn status(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let keys = model::key_sources(app);
    let mut text = String::new();
    if keys.is_empty() {
        text.push_str("Not logged in: no key is set or stored (`ibeam login PROVIDER`)\n");
    }
    for (provider, source) in &keys {
        text.push_str(&format!("Logged in as {provider} (key from {source})\n"));
    }
    let choice = model::choose_model(app);
    let model = choice.as_ref().ok().map(|choice| choice.info().clone());
    match (&model, &choice) {
        (Some(info), Ok(choice)) => {
            text.push_str(&format!(
                "Model: {} ({}/{}; {})\n",
                info.display,
                info.provider,
                info.id,
                choice.origin()
            ));
        }
        (_, Err(reason)) => {
            text.push_str(&format!("Model: none ({})\n", app.base.catalogue.reason(reason).message))
        }
        (None, Ok(_)) => {}
    }
    let authenticated = !keys.is_empty();
    let providers: Vec<_> =
        keys.iter().map(|(provider, source)| json!({ "provider": provider, "source": source })).collect();
    let json = json!({
        "status": if authenticated { "authenticated" } else { "unauthenticated" },
        "isAuthenticated": authenticated,
        "hasAccessToken": authenticated,
        "hasRefreshToken": false,
        "providers": providers,
        "model": model.as_ref().map(|info| &info.display),
        "message": if authenticated { "Logged in" } else { "Not logged in" },
    });
    report(stdout, format, &text, &json)
}

pub(super) fn doctor(app: &AppContext, stdout: &mut File) -> Result<(), CliError> {
    let pending = RunSandbox::spawn(app, true).map_err(|failure| failure.reason);
    let sandbox = pending.and_then(PendingSandbox::join).map(|sandbox| sandbox.report);
    if app.base.flags.sandbox == Some(Switch::Enabled) {
        return print_layers(stdout, sandbox);
    }
    let mut text = format!("ibeam {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |is_ok: bool, subject: &str, detail: &str| {
        text.push_str(&format!("{} {subject}: {detail}\n", if is_ok { "ok     " } else { "missing" }));
    };
    match model::choose_model(app) {
        Ok(choice) => {
            let info = choice.info();
            line(
                true,
                "model",
                &format!("{} ({}/{}; {})", info.display, info.provider, info.id, choice.origin()),
            );
        }
        Err(reason) => line(false, "model", &explain_in_line(app, &reason)),
    }
    let keys = model::key_sources(app);
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
    if cfg!(feature = "embedded") {
        let file = model::model_file(app);
        match model::is_installed(app) {
            true => line(true, "embedded model", &file.display().to_string()),
            false => line(false, "embedded model", "`ibeam setup` fetches it (1.1 GB)"),
        }
    } else {
        line(false, "embedded model", &explain_in_line(app, &Reason::NoLocalEngine));
    }
    for (program, what_for) in [
        ("bash", "the shell tool runs commands with it"),
        ("git", "optional; commands of the model may want it"),
        ("python3", "optional; `ibeam setup` fetches the embedded model with its pip"),
    ] {
        match app.programs.command(program).and_then(version_of) {
            Some(version) => line(true, program, &version),
            None => line(false, program, what_for),
        }
    }
    for (what, directory) in [("sessions", app.dirs.sessions()), ("cache", app.dirs.cache.clone())] {
        line(is_writable(&directory), what, &directory.display().to_string());
    }
    let is_valid =
        |path: &&Path| !app.base.config_errors.iter().any(|fault| file_of_error(fault) == Some(*path));
    for path in app.dirs.config_files().filter(|path| path.is_file()).filter(is_valid) {
        line(true, "configuration", &path.display().to_string());
    }
    match &sandbox {
        Ok(sandbox) if sandbox.layers.is_empty() => line(true, "sandbox", &sandbox.reason),
        Ok(sandbox) => line(true, "sandbox", &format!("{}; {}", sandbox.layers.join(", "), sandbox.reason)),
        Err(reason) => line(false, "sandbox", &explain_in_line(app, reason)),
    }
    for fault in &app.base.config_errors {
        text.push_str(&format!("wrong   configuration: {}\n", app.base.catalogue.reason(fault).message));
    }
    print_text(stdout, &text)
}

/// Returns the file of an error of the configuration.
fn file_of_error(error: &Reason) -> Option<&Path> {
    let (Reason::BadConfig { path, .. } | Reason::UnreadableConfig { path, .. }) = error else { return None };
    Some(Path::new(path))
}

/// Prints the layers of the sandbox for commands; fails if there is no sandbox.
fn print_layers(stdout: &mut File, sandbox: Result<Sandbox, Reason>) -> Result<(), CliError> {
    let Sandbox { layers, reason, .. } = sandbox?;
    let lines: String = layers.iter().map(|layer| format!("ok      {layer}\n")).collect();
    print_text(stdout, &format!("{lines}{reason}\n"))
}

fn version_of(mut program: Command) -> Option<String> {
    let output = program.arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// Whether files can be created in the directory, or in its nearest existing parent.
fn is_writable(directory: &Path) -> bool {
    let nearest = directory.ancestors().find(|directory| directory.exists());
    nearest.is_some_and(|nearest| {
        let access = rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK);
        access.is_ok() && fs::metadata(nearest).is_ok_and(|metadata| metadata.is_dir())
    })
}
