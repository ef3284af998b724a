//! The set-up of a model at the start, where no key and no embedded model exist, and the line about the model that a
//! person sees at the first start.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ibeam_output::Catalogue;
use ibeam_protocol::{FailureCode, Reason};
use ibeam_providers::default_models::default_model;
use ibeam_providers::model_label;
use ibeam_providers::provider_table::{KnownProvider, PROVIDERS};
use ibeam_tui::{DialogGuard, DialogInput, DialogReply, EscapeEffect, TuiLine};
use toml_edit::{Item, Table, value};

use super::person_approver::edit_config;
use super::start_dialog::{LineKind, StartDialog, StartQuestion};
use super::trust_question::reload;
use super::write_private;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::key_check::{check_key, store_key};
use ibeam_agent::model::{self, ConfiguredProvider, ModelChoice};
use ibeam_agent::model_installation::{self, DOWNLOAD_GB, InstallProgress};
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run::thread_error;
use ibeam_agent::run_error::RunError;
use ibeam_agent::run_options::RunOptions;
use ibeam_agent::stderr;

/// The time between two drawings of a progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// The number of models of a server from which a person chooses.
const MAX_MODELS: usize = 60;
/// The name of the provider that a server of the person becomes.
const SERVER_NAME: &str = "server";

/// The next step of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A model may be usable now.
    Done,
    /// The previous question is asked again.
    Back,
    /// The person leaves.
    Leave,
}

/// A way to get a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Key,
    Install,
    Server,
    Leave,
}

/// Makes sure that a model can be used, asks what to set up if none can, and prints at the first start which model is
/// used. Returns `false` if the person leaves.
///
/// # Errors
/// The errors of [`model::choose_model`] for a model that is configured; the reason of a signal.
pub(super) fn ensure_model<D: StartDialog>(
    process: &mut RunProcess<'_>,
    options: &RunOptions,
    dialog: &D,
) -> Result<bool, RunError> {
    // Keys that were typed before the first question are not an answer.
    let mut guard = DialogGuard::AgainstText;
    loop {
        match model::choose_model(&process.app) {
            Ok(choice) => {
                print_first_model(&process.app, &choice, dialog);
                return Ok(true);
            }
            Err(reason) if can_set_up(&process.app, &reason) => {
                match set_up(process, options, dialog, &reason, guard)? {
                    Step::Done => reload(process, options)?,
                    Step::Back => {}
                    Step::Leave => return Ok(false),
                }
                guard = DialogGuard::None;
            }
            Err(reason) => return Err(reason.into()),
        }
    }
}

/// Whether no model is named, so that whichever is set up is used.
fn can_set_up(app: &AppContext, reason: &Reason) -> bool {
    let is_missing = matches!(
        reason,
        Reason::ModelNotInstalled { .. } | Reason::NoModel { .. } | Reason::NoDefaultModel { .. }
    );
    is_missing && app.base.settings.model.value.first().is_none_or(|name| name == "auto")
}

/// Prints which model is used, why, and how to change it, unless an earlier start has.
fn print_first_model<D: StartDialog>(app: &AppContext, choice: &ModelChoice, dialog: &D) {
    let record = app.dirs.data.join("first-start");
    if record.exists() {
        return;
    }
    write_private(&record, b"");
    let info = choice.info();
    let line = TuiLine::FirstModel {
        model: &info.display,
        id: &format!("{}/{}", info.provider, info.id),
        origin: &app.base.catalogue.sentence(choice.origin()),
        path: &app.dirs.user_config.display().to_string(),
    };
    dialog.print(LineKind::Plain, &app.base.catalogue.line(&line));
    let settings = &app.base.settings;
    if settings.approval.value == "sandboxed" && settings.sandbox.mode.value.as_deref() != Some("disabled") {
        dialog.print(LineKind::Plain, &app.base.catalogue.line(&TuiLine::FirstRules));
    }
}

/// Asks what to use, and sets it up.
fn set_up<D: StartDialog>(
    process: &RunProcess<'_>,
    options: &RunOptions,
    dialog: &D,
    reason: &Reason,
    guard: DialogGuard,
) -> Result<Step, RunError> {
    let catalogue = &process.app.base.catalogue;
    if let Reason::ModelNotInstalled { unused_key: Some(_), .. } | Reason::NoModel { unused_key: Some(_) } =
        reason
    {
        // A key is set that no provider uses: the hints name it.
        let explanation = catalogue.reason(reason);
        explanation.hints.iter().for_each(|hint| dialog.print(LineKind::Warning, hint));
    }
    let install = model_installation::download_bytes()
        .is_ok()
        .then_some((Way::Install, TuiLine::SetupInstall { size: DOWNLOAD_GB }));
    let ways: Vec<(Way, TuiLine<'_>)> = [(Way::Key, TuiLine::SetupKey)]
        .into_iter()
        .chain(install)
        .chain([(Way::Server, TuiLine::SetupServer), (Way::Leave, TuiLine::DialogLeave)])
        .collect();
    let input = DialogInput::Choice(ways.iter().map(|(_, line)| catalogue.line(line)).collect());
    let title = catalogue.line(&TuiLine::SetupQuestion);
    let question = StartQuestion { title, input, guard, escape: EscapeEffect::Leaves };
    let way = match dialog.ask(process, question)? {
        DialogReply::Choice(at) => ways.get(at).map_or(Way::Leave, |(way, _)| *way),
        DialogReply::Text(_) | DialogReply::Back | DialogReply::Leave => Way::Leave,
    };
    match way {
        Way::Key => add_key(process, dialog),
        Way::Install => install_model(process, dialog),
        Way::Server => add_server(process, options, dialog),
        Way::Leave => Ok(Step::Leave),
    }
}

/// Returns the services that need only a key and have a default model.
fn services() -> Vec<(&'static KnownProvider, &'static str)> {
    // An address with a placeholder needs settings of the account besides.
    let needs_only_key =
        |provider: &&KnownProvider| !provider.base_url.is_empty() && !provider.base_url.contains('{');
    let services = PROVIDERS.iter().filter(needs_only_key);
    let today = ibeam_agent::clock::utc_date();
    services.filter_map(|provider| Some((provider, default_model(provider.name, &today)?))).collect()
}

/// Asks for a service and its key, checks the key like `ibeam login`, and stores it.
fn add_key<D: StartDialog>(process: &RunProcess<'_>, dialog: &D) -> Result<Step, RunError> {
    let app = &process.app;
    let catalogue = &app.base.catalogue;
    let services = services();
    loop {
        let label = |(provider, model): &(&KnownProvider, &str)| {
            format!("{}: {}", provider.label, model_label(provider.name, model))
        };
        let input = DialogInput::Choice(services.iter().map(label).collect());
        let provider = match dialog
            .ask(process, StartQuestion::following(catalogue.line(&TuiLine::SetupProvider), input))?
        {
            DialogReply::Choice(at) => services.get(at).map(|(provider, _)| *provider),
            DialogReply::Text(_) | DialogReply::Back => None,
            DialogReply::Leave => return Ok(Step::Leave),
        };
        let Some(provider) = provider else { return Ok(Step::Back) };
        match ask_key(process, provider, dialog)? {
            Step::Back => {}
            done @ (Step::Done | Step::Leave) => return Ok(done),
        }
    }
}

/// Asks for the key of `provider` until the service accepts one.
fn ask_key<D: StartDialog>(
    process: &RunProcess<'_>,
    provider: &KnownProvider,
    dialog: &D,
) -> Result<Step, RunError> {
    let app = &process.app;
    let catalogue = &app.base.catalogue;
    loop {
        let title = catalogue.line(&TuiLine::SetupEnterKey { provider: provider.label });
        let key = match dialog.ask(process, StartQuestion::following(title, DialogInput::Secret))? {
            DialogReply::Text(key) => key,
            DialogReply::Choice(_) | DialogReply::Back => return Ok(Step::Back),
            DialogReply::Leave => return Ok(Step::Leave),
        };
        if key.contains(char::is_whitespace) {
            dialog.print(LineKind::Failure, &catalogue.line(&TuiLine::SetupKeyIsWord));
            continue;
        }
        let checking = catalogue.line(&TuiLine::SetupChecking { provider: provider.label });
        let check = check_key(app, provider.name, &key);
        match dialog.wait(process, checking, check)? {
            None => {}
            Some(Err(failure)) => {
                dialog.print(LineKind::Failure, &catalogue.failure(&failure).message);
            }
            Some(Ok(check)) => match store_key(app, provider.name, &key, Some(&check)) {
                Ok(text) => {
                    dialog.print(LineKind::Success, &text);
                    return Ok(Step::Done);
                }
                Err(error) => {
                    dialog.print(LineKind::Failure, &catalogue.reason(&error.into()).message);
                    return Ok(Step::Back);
                }
            },
        }
    }
}

/// Downloads the embedded model, and shows the progress.
fn install_model<D: StartDialog>(process: &RunProcess<'_>, dialog: &D) -> Result<Step, RunError> {
    let catalogue = Arc::clone(&process.app.base.catalogue);
    let is_ended = Arc::new(AtomicBool::new(false));
    let (sender, installed) = tokio::sync::oneshot::channel();
    let (sink, replaces) = (dialog.progress_sink(), dialog.replaces_progress());
    let work = {
        let (app, is_ended) = (Arc::clone(&process.app), Arc::clone(&is_ended));
        let mut steps = ProgressSteps { replaces, last: None };
        move || {
            let mut on_progress = |progress: InstallProgress| {
                if is_ended.load(Ordering::Acquire) {
                    return ControlFlow::Break(());
                }
                if steps.is_due(progress) {
                    sink(progress_text(&app, progress));
                }
                ControlFlow::Continue(())
            };
            let outcome = model_installation::install_model(&app, None, &mut on_progress, &mut |text| {
                stderr::write_line(&format!("warning: {text}"));
            });
            // The person may have ended the wait.
            let _ = sender.send(outcome.map_err(|error| error.explain(&app.base.catalogue).message));
        }
    };
    thread::Builder::new().name("install".to_owned()).spawn(work).map_err(thread_error)?;
    let start = InstallProgress { is_verifying: false, done: 0, total: 1 };
    let first = progress_text(&process.app, start);
    let ended = dialog.wait(process, first, installed);
    is_ended.store(true, Ordering::Release);
    match ended? {
        Some(Ok(Ok(_))) => {
            dialog.print(LineKind::Success, &catalogue.line(&TuiLine::SetupInstalled));
            Ok(Step::Done)
        }
        Some(Ok(Err(message))) => {
            dialog.print(LineKind::Failure, &message);
            Ok(Step::Back)
        }
        // The thread ends at its next progress.
        Some(Err(_)) | None => {
            dialog.print(LineKind::Warning, &catalogue.line(&TuiLine::SetupCancelled));
            Ok(Step::Back)
        }
    }
}

/// Selects the progress that is shown.
struct ProgressSteps {
    /// Whether a progress replaces the one before. Otherwise one is shown for every ten per cent.
    replaces: bool,
    last: Option<(Instant, InstallProgress)>,
}

impl ProgressSteps {
    fn is_due(&mut self, progress: InstallProgress) -> bool {
        let is_due = match self.last {
            None => true,
            Some((_, last)) if last.is_verifying != progress.is_verifying => true,
            Some((at, _)) if self.replaces => at.elapsed() >= PROGRESS_INTERVAL,
            Some((_, last)) => percent(progress) / 10 > percent(last) / 10,
        };
        if is_due {
            self.last = Some((Instant::now(), progress));
        }
        is_due
    }
}

fn percent(progress: InstallProgress) -> u64 {
    progress.done.saturating_mul(100) / progress.total.max(1)
}

fn progress_text(app: &AppContext, progress: InstallProgress) -> String {
    let percent = percent(progress);
    let gigabytes =
        |bytes: u64| format!("{}.{:02}", bytes / 1_000_000_000, bytes % 1_000_000_000 / 10_000_000);
    let (done, total) = (gigabytes(progress.done), gigabytes(progress.total));
    app.base.catalogue.line(&match progress.is_verifying {
        true => TuiLine::SetupVerifying { percent },
        false => TuiLine::SetupFetching { percent, done: &done, total: &total },
    })
}

/// A server that has answered with its models.
struct AskedServer {
    base_url: String,
    key: Option<String>,
    models: Vec<String>,
}

/// Asks for the address of a server and one of its models, and makes that the default model.
fn add_server<D: StartDialog>(
    process: &RunProcess<'_>,
    options: &RunOptions,
    dialog: &D,
) -> Result<Step, RunError> {
    let catalogue = &process.app.base.catalogue;
    loop {
        let title = catalogue.line(&TuiLine::SetupEnterUrl);
        let url = match dialog.ask(process, StartQuestion::following(title, DialogInput::Text))? {
            DialogReply::Text(url) => url,
            DialogReply::Choice(_) | DialogReply::Back => return Ok(Step::Back),
            DialogReply::Leave => return Ok(Step::Leave),
        };
        let server = match ask_server(process, options, dialog, &url)? {
            Ok(server) => server,
            Err(Step::Leave) => return Ok(Step::Leave),
            Err(Step::Back | Step::Done) => continue,
        };
        let (title, input) = match server.models.is_empty() {
            true => (TuiLine::SetupEnterModel, DialogInput::Text),
            false => (TuiLine::SetupModel, DialogInput::Choice(server.models.clone())),
        };
        let model = match dialog.ask(process, StartQuestion::following(catalogue.line(&title), input))? {
            DialogReply::Choice(at) => server.models.get(at).cloned(),
            DialogReply::Text(model) => Some(model),
            DialogReply::Back => None,
            DialogReply::Leave => return Ok(Step::Leave),
        };
        let Some(model) = model else { continue };
        let path = process.app.dirs.user_config.display().to_string();
        match store_server(&process.app, &server, &model) {
            Ok(model) => {
                let line = TuiLine::SetupServerStored { model: &model, path: &path };
                dialog.print(LineKind::Success, &catalogue.line(&line));
                return Ok(Step::Done);
            }
            Err(detail) => {
                let line = TuiLine::SetupNotStored { path: &path, detail: &detail };
                dialog.print(LineKind::Failure, &catalogue.line(&line));
                return Ok(Step::Back);
            }
        }
    }
}

/// Requests the models of the server at `url`, with a key if it wants one. A failure is printed.
fn ask_server<D: StartDialog>(
    process: &RunProcess<'_>,
    options: &RunOptions,
    dialog: &D,
    url: &str,
) -> Result<Result<AskedServer, Step>, RunError> {
    let catalogue = &process.app.base.catalogue;
    let mut key = None;
    loop {
        let options = RunOptions {
            endpoint: Some(url.to_owned()),
            api_key: key.clone(),
            model: None,
            ..options.clone()
        };
        let (app, provider) = match probe(process, options) {
            Ok(probe) => probe,
            Err(reason) => {
                print_server_failure(catalogue, dialog, url, &reason);
                return Ok(Err(Step::Back));
            }
        };
        let asking = catalogue.line(&TuiLine::SetupAsking { url });
        let failure = match dialog.wait(process, asking, model::list_models(&app, &provider))? {
            None => return Ok(Err(Step::Back)),
            Some(Ok(listed)) => {
                let models = listed.into_iter().take(MAX_MODELS).map(|model| model.id).collect();
                return Ok(Ok(AskedServer { base_url: provider.base_url, key, models }));
            }
            Some(Err(failure)) => failure,
        };
        let wants_key = failure.reason.code() == FailureCode::Auth;
        if !wants_key {
            print_server_failure(catalogue, dialog, url, &failure.reason);
            return Ok(Err(Step::Back));
        }
        if key.is_some() {
            dialog.print(LineKind::Failure, &catalogue.failure(&failure).message);
        }
        let title = catalogue.line(&TuiLine::SetupEnterKey { provider: url });
        match dialog.ask(process, StartQuestion::following(title, DialogInput::Secret))? {
            DialogReply::Text(text) => key = Some(text),
            DialogReply::Choice(_) | DialogReply::Back => return Ok(Err(Step::Back)),
            DialogReply::Leave => return Ok(Err(Step::Leave)),
        }
    }
}

/// Prints why the server at `url` cannot be used. Its address is asked for again.
fn print_server_failure<D: StartDialog>(catalogue: &Catalogue, dialog: &D, url: &str, reason: &Reason) {
    let detail = match reason {
        // The person has typed the address, and written no configuration.
        Reason::BadConfig { detail, .. } => catalogue.sentence(detail),
        reason => catalogue.reason(reason).message,
    };
    let line = TuiLine::SetupServerFailed { url, detail: &detail };
    dialog.print(LineKind::Failure, &catalogue.line(&line));
}

/// Returns the provider of the server at the address of the options.
fn probe(process: &RunProcess<'_>, options: RunOptions) -> Result<(AppContext, ConfiguredProvider), Reason> {
    let app = AppContext::new(options, ConfigUse::Needed, process.app.started_at)?;
    let unknown = || Reason::UnknownProvider { provider: "openai".to_owned(), near: None };
    let mut provider =
        ConfiguredProvider::find(&app, "openai")?.ok_or_else(unknown)?.with_connection(&app)?;
    // Failures name the server, not the service whose API it has.
    SERVER_NAME.clone_into(&mut provider.name);
    Ok((app, provider))
}

/// Adds the server to the user's configuration as a provider, and makes `model` the default model. Returns its name.
///
/// # Errors
/// The reason why a file cannot be read or written.
fn store_server(app: &AppContext, server: &AskedServer, model: &str) -> Result<String, String> {
    let is_free = |name: &String| {
        let stored = app.base.settings.providers.get(name);
        stored.is_none_or(|stored| stored.base_url.value.as_deref() == Some(server.base_url.as_str()))
    };
    let numbered = (2..).map(|number: u32| format!("{SERVER_NAME}-{number}"));
    let name = std::iter::once(SERVER_NAME.to_owned()).chain(numbered).find(is_free).unwrap_or_default();
    if let Some(key) = &server.key {
        store_key(app, &name, key, None).map_err(|error| error.to_string())?;
    }
    let model = format!("{name}/{model}");
    edit_config(&app.dirs.user_config, |document| {
        let mut providers = Table::new();
        providers.set_implicit(true);
        let providers = document.entry("providers").or_insert_with(|| Item::Table(providers));
        let providers = providers.as_table_like_mut().ok_or("`providers` is not a table")?;
        let provider = providers.entry(&name).or_insert_with(|| Item::Table(Table::new()));
        let provider =
            provider.as_table_like_mut().ok_or_else(|| format!("`providers.{name}` is not a table"))?;
        provider.insert("base_url", value(server.base_url.as_str()));
        document.insert("model", value(model.as_str()));
        Ok(())
    })?;
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_need_only_a_key() {
        let names: Vec<&str> = services().iter().map(|(provider, _)| provider.name).collect();
        assert_eq!(names.first(), Some(&"anthropic"));
        assert!(
            names.contains(&"openai") && !names.contains(&"bedrock") && !names.contains(&"vertex-anthropic")
        );
    }

    #[test]
    fn a_progress_that_stays_is_shown_every_ten_per_cent() {
        let mut steps = ProgressSteps { replaces: false, last: None };
        let mut shown = Vec::new();
        for (is_verifying, done) in
            [(false, 0), (false, 9), (false, 10), (false, 19), (false, 35), (true, 36)]
        {
            if steps.is_due(InstallProgress { is_verifying, done, total: 100 }) {
                shown.push(done);
            }
        }
        assert_eq!(shown, [0, 10, 35, 36]);
    }
}
