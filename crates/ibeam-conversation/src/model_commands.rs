//! `/model`: the models that a conversation can use, and the change of its model.

use ibeam_protocol::{Failure, sentence};
use ibeam_providers::{known_model, models_of};
use ibeam_tui::{Color, Style, TuiLine};

use super::command_display::INFORMATION;
use super::person_commands::CommandContext;
use super::session_status::{StatusItem, status_line};
use ibeam_agent::model::{self, ListCache};
use ibeam_agent::run_error::RunError;
use ibeam_agent::similar_names;

impl CommandContext<'_, '_> {
    /// Lets the person choose one of the models that runs can use.
    ///
    /// # Errors
    /// A failure that no further prompt can follow.
    pub(super) fn choose_model(&mut self) -> Result<(), RunError> {
        let Some((current, names)) = self.usable_models()? else { return Ok(()) };
        if let Some(name) = self.choose_value(StatusItem::Model, &current, names)? {
            self.set_model(&name);
        }
        Ok(())
    }

    /// Lets the following turns use another model.
    pub(super) fn set_model(&mut self, name: &str) {
        if name.contains(char::is_whitespace) {
            return self.report_usage(sentence!("the name of a model has no spaces"));
        }
        let choice = model::choose_model_named(self.app(), name, "/model").map_err(Failure::from);
        match choice.and_then(|choice| self.session.set_model(choice)) {
            Ok(()) => {
                self.options.model = Some(name.to_owned());
                self.warn_of_unknown_model(name);
                self.screen.show_status(self.session);
                self.screen.print(INFORMATION, &status_line(self.session, StatusItem::Model));
            }
            Err(failure) => self.session.report(&failure.into()),
        }
    }

    /// Warns of a name that is probably a mistyped model. A service may have models that the tables do not.
    fn warn_of_unknown_model(&self, name: &str) {
        let id = name.rsplit('/').next().unwrap_or(name);
        let is_named = |listed: String| {
            listed == name || listed.split_once('/').is_some_and(|(_, listed)| listed == name)
        };
        if known_model(id).is_some_and(|known| !known.is_assumed)
            || ListCache::load(&self.app().dirs.cache).names().any(is_named)
        {
            return;
        }
        let provider = self.session.provider();
        let models: Vec<_> = models_of(provider).collect();
        let line = match similar_names::closest(id, models.iter().map(|model| model.id)) {
            Some(nearest) => TuiLine::UnknownModelNear { name, nearest },
            None if !models.is_empty() => TuiLine::UnknownModel { name },
            // Of other services, any name may be right.
            None => return,
        };
        self.screen.print(Style::color(Color::Yellow), &self.app().base.catalogue.line(&line));
    }
}
