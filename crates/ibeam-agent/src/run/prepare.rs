//! The head of a run: its model, its limits, and its session.

use std::sync::Arc;

use ibeam_core::{FallbackModel, Provider, ReplaceableDefault, ResumedState};
use ibeam_protocol::{
    Failure, FailureCode, Limits, Notice, PermissionMode, Reason, RunStarted, Sandbox, SessionId,
};
use ibeam_session::Session;
use ibeam_tools::PastFileAccess;

use super::default_replacement::replaceable_default;
use super::session_opener::{OpenedSession, SessionOpener, is_ephemeral, session_options};
use super::{resources, rule_markers, sandbox};
use crate::app::AppContext;
use crate::model::{FallbackChain, ModelChoice, Parking, choose_model, model_info};
use crate::run_options::WorkMode;
use crate::{hooks, mcp};

/// The parts of a run that come from its session and its model.
pub(super) struct PreparedRun {
    pub(super) head: RunStarted,
    pub(super) provider: Arc<dyn Provider>,
    /// `--park-requests`.
    pub(super) parking: Option<Parking>,
    pub(super) fallbacks: Vec<FallbackModel>,
    pub(super) default_model: Option<ReplaceableDefault>,
    /// `None` for an ephemeral run.
    pub(super) session: Option<Session>,
    pub(super) past: ResumedState,
    pub(super) past_file_access: PastFileAccess,
    pub(super) notices: Vec<Notice>,
}

/// Connects the model and builds the head of a run in the opened session.
///
/// # Errors
/// The errors of [`ModelChoice::connect`].
pub(super) fn prepare(
    app: &Arc<AppContext>,
    opened: OpenedSession,
    choice: ModelChoice,
    chain: FallbackChain,
) -> Result<PreparedRun, Failure> {
    let OpenedSession { id, session, past, past_file_access, parent, environment } = opened;
    let journal_gaps = past.gaps();
    let mut notices: Vec<Notice> = choice.notice().into_iter().collect();
    let choices = std::iter::once(&choice).chain(&chain.choices);
    notices.extend(choices.filter_map(|choice| choice.reasoning_notice(&app.base.settings)));
    notices.extend(chain.notices);
    let resumed = !past.is_empty();
    let head = RunStarted { resumed, journal_gaps, parent, environment, ..head_of(app, id, &choice) };
    let parking = choice.parking_provider(app, id)?;
    let default_model = replaceable_default(app, &choice, id);
    let (provider, ..) = choice.connect(app, id)?;
    let connect = |choice| resources::connect_fallback(app, choice, id);
    let fallbacks = chain.choices.into_iter().map(connect).collect::<Result<Vec<_>, _>>()?;
    Ok(PreparedRun {
        head,
        provider,
        parking,
        fallbacks,
        default_model,
        session,
        past,
        past_file_access,
        notices,
    })
}

/// Returns the notices about the configuration and the opened session, which come before those of [`prepare`]. Updates the
/// markers of configuration files.
pub(super) fn session_notices(app: &AppContext, session: Option<&Session>, journal_gaps: u64) -> Vec<Notice> {
    let mut notices = app.base.config.notices.clone();
    notices.extend(rule_markers::update(app, session.is_none()));
    notices.extend((journal_gaps > 0).then_some(Notice::SessionGaps { count: journal_gaps }));
    let lease_file = session.and_then(Session::lease_file);
    notices.extend(lease_file.map(|path| Notice::SessionLeaseFile { path: path.display().to_string() }));
    notices
}

/// Returns the head of a run in the session `id`, as far as flags and configuration define it.
fn head_of(app: &AppContext, id: SessionId, choice: &ModelChoice) -> RunStarted {
    let limits = &app.base.settings.limits;
    let small = |number| u32::try_from(number).unwrap_or(u32::MAX);
    RunStarted {
        session_id: id,
        cwd: app.workspace.clone(),
        model: choice.info().clone(),
        key_source: choice.key_source(),
        permission_mode: permission_mode(app),
        tools: Vec::new(),
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        limits: Limits {
            max_turns: small(limits.max_turns.value),
            max_tokens: limits.max_tokens.value,
            max_cost_micros: limits.max_cost.value,
            max_tool_calls: limits.max_tool_calls.value.map(small),
            timeout_ms: limits.timeout.value.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        },
        resumed: false,
        continues: app.base.options.unpark,
        message_turn: 0,
        journal_gaps: 0,
        ephemeral: is_ephemeral(app),
        parent: None,
        environment: None,
    }
}

/// Returns the head of a run whose session is not open yet; `None` where the session has to be found first.
pub(super) fn expected_head(
    app: &AppContext,
    opener: &SessionOpener,
    choice: &ModelChoice,
) -> Option<RunStarted> {
    let id = opener.expected_id()?;
    Some(RunStarted { resumed: opener.resumes(), ..head_of(app, id, choice) })
}

/// Checks the settings that a run needs, so that a run that cannot start with them leaves no session.
///
/// # Errors
/// `Usage` if the cost is limited and the price of a model is unknown; `BadConfig` for an invalid value.
pub(super) fn check_settings(
    app: &AppContext,
    choice: &ModelChoice,
    chain: &FallbackChain,
) -> Result<(), Reason> {
    resources::waits_for_background(&app.base.settings)?;
    let mut choices = std::iter::once(choice).chain(&chain.choices);
    choices.try_for_each(|choice| model_info::check_price(app, choice.info()).map(drop))
}

/// Returns the errors of the configuration for which a run would not start, besides those that were found when the files
/// were read.
pub fn config_errors(app: &AppContext) -> Vec<Reason> {
    let model = choose_model(app);
    let price = model.as_ref().map(|choice| model_info::prices(app, choice.info()).err()).unwrap_or_default();
    let results = [
        sandbox::check_settings(app).err(),
        resources::waits_for_background(&app.base.settings).err(),
        session_options(app).err(),
        model.err(),
        price,
    ];
    let files = hooks::check_files(app).into_iter().chain(mcp::check_files(app));
    let of_files = files.filter_map(|(_, error)| error);
    let errors = results.into_iter().flatten().chain(of_files).chain(mcp::declaration_errors(app));
    errors.filter(|reason| reason.code() == FailureCode::Config).collect()
}

/// Returns the permission mode of the options. The read-only modes take precedence over `force`.
pub fn permission_mode(app: &AppContext) -> PermissionMode {
    match (app.base.options.mode, app.base.options.force) {
        (WorkMode::Plan, _) => PermissionMode::Plan,
        (WorkMode::Ask, _) => PermissionMode::Ask,
        (WorkMode::Agent, true) => PermissionMode::Force,
        (WorkMode::Agent, false) => PermissionMode::Default,
    }
}
