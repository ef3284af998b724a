//! The settings of a session that an editor shows and changes: mode, model and effort.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use ibeam_output::{Catalogue, EditorLine};
use ibeam_protocol::PermissionMode;

/// The id of the option for the mode.
pub const MODE_OPTION: &str = "mode";
/// The id of the option for the model.
pub const MODEL_OPTION: &str = "model";
/// The id of the option for the amount of reasoning.
pub const EFFORT_OPTION: &str = "effort";

/// The value of [`EFFORT_OPTION`] that leaves the amount to the configuration.
const DEFAULT_EFFORT: &str = "default";
/// The id and name of each amount.
const EFFORTS: [(&str, EditorLine<'static>); 8] = [
    (DEFAULT_EFFORT, EditorLine::EffortDefault),
    ("none", EditorLine::EffortNone),
    ("minimal", EditorLine::EffortMinimal),
    ("low", EditorLine::EffortLow),
    ("medium", EditorLine::EffortMedium),
    ("high", EditorLine::EffortHigh),
    ("xhigh", EditorLine::EffortXhigh),
    ("max", EditorLine::EffortMax),
];
/// The id, name and description of each mode.
const MODES: [(&str, EditorLine<'static>, EditorLine<'static>); 3] = [
    ("agent", EditorLine::Agent, EditorLine::AgentAbout),
    ("plan", EditorLine::Plan, EditorLine::PlanAbout),
    ("ask", EditorLine::Ask, EditorLine::AskAbout),
];

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOption {
    /// The name as `--model` takes it.
    pub value: String,
    /// The name for people.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    /// The mode, of which [`mode_name`] is the id.
    pub mode: PermissionMode,
    /// The value of the chosen model, which is among the models.
    pub model: String,
    /// All models that can be chosen.
    pub models: Vec<ModelOption>,
    /// The amount of reasoning; `None` leaves it to the configuration.
    pub effort: Option<String>,
}

impl SessionSettings {
    /// Sets the amount of reasoning.
    ///
    /// # Errors
    /// The message that `value` is unknown.
    pub fn set_effort(&mut self, value: &str) -> Result<(), String> {
        if !EFFORTS.iter().any(|(effort, _)| *effort == value) {
            let efforts: Vec<&str> = EFFORTS.iter().map(|(effort, _)| *effort).collect();
            return Err(format!("unknown effort `{value}`; use one of: {}", efforts.join(", ")));
        }
        self.effort = (value != DEFAULT_EFFORT).then(|| value.to_owned());
        Ok(())
    }
}

/// Returns the mode of this id.
///
/// # Errors
/// The message that `id` is unknown.
pub fn parse_mode(id: &str) -> Result<PermissionMode, String> {
    match id {
        "agent" | "default" => Ok(PermissionMode::Default),
        "plan" => Ok(PermissionMode::Plan),
        "ask" => Ok(PermissionMode::Ask),
        other => Err(format!("unknown mode `{other}`; use one of: agent, plan, ask")),
    }
}

/// Returns the id of a mode.
pub fn mode_name(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default | PermissionMode::Force => "agent",
        PermissionMode::Plan => "plan",
        PermissionMode::Ask => "ask",
    }
}

/// Returns the modes and the current one.
pub fn mode_state(mode: PermissionMode, catalogue: &Catalogue) -> SessionModeState {
    let modes = MODES.map(|(id, name, description)| {
        SessionMode::new(id, catalogue.line(&name)).description(catalogue.line(&description))
    });
    SessionModeState::new(mode_name(mode), modes.to_vec())
}

/// Returns all options with their current values.
pub fn config_options(settings: &SessionSettings, catalogue: &Catalogue) -> Vec<SessionConfigOption> {
    let modes: Vec<_> = MODES
        .iter()
        .map(|(id, name, description)| {
            SessionConfigSelectOption::new(*id, catalogue.line(name)).description(catalogue.line(description))
        })
        .collect();
    let models: Vec<_> = settings
        .models
        .iter()
        .map(|model| SessionConfigSelectOption::new(model.value.clone(), model.name.as_str()))
        .collect();
    let efforts: Vec<_> = EFFORTS
        .iter()
        .map(|(effort, name)| SessionConfigSelectOption::new(*effort, catalogue.line(name)))
        .collect();
    let name = |line: EditorLine<'_>| catalogue.line(&line);
    let effort = settings.effort.clone().unwrap_or_else(|| DEFAULT_EFFORT.to_owned());
    vec![
        SessionConfigOption::select(MODE_OPTION, name(EditorLine::Mode), mode_name(settings.mode), modes)
            .category(SessionConfigOptionCategory::Mode),
        SessionConfigOption::select(MODEL_OPTION, name(EditorLine::Model), settings.model.clone(), models)
            .category(SessionConfigOptionCategory::Model),
        SessionConfigOption::select(EFFORT_OPTION, name(EditorLine::Effort), effort, efforts)
            .category(SessionConfigOptionCategory::ThoughtLevel),
    ]
}
