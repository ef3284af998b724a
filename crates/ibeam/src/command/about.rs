//! `about`: what this program is.

use std::fs::File;

use serde_json::json;

use super::report;
use crate::app::AppContext;
use crate::cli::ReportFormat;
use crate::cli_error::CliError;

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
