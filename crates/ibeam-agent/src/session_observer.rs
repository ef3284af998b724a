//! Facts about sessions that no event has, for front ends.

use crate::slash_commands::slash_command::SlashCommand;

/// The limits of a model, in tokens, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelLimits {
    pub context_window: Option<u64>,
    pub max_output_tokens: Option<u64>,
    /// Whether the cost of the run is limited and the price of the model is not known.
    pub lacks_price: bool,
}

/// A receiver of facts about the sessions of a process that no event has.
pub trait SessionObserver: Send + Sync {
    /// Receives the limits of the model with the id `model`, which a run uses or may use.
    fn on_model(&self, model: &str, limits: ModelLimits);

    /// Whether the commands are wanted: those of MCP servers take time.
    fn wants_commands(&self) -> bool;

    /// Receives the slash commands and the names of the sub-agents of a session.
    fn on_commands(&self, commands: Vec<SlashCommand>, agents: &[String]);
}
