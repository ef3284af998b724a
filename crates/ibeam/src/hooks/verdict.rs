//! What the hooks of one event come to, one after the other.

use ibeam_core::{HookBlock, HookOutput};
use ibeam_protocol::Notice;
use serde_json::{Map, Value};

use super::answer::{Answer, Permission};
use super::event::Event;
use super::file::Hook;

/// The sum of what hooks say: of refusals, questions and inputs the first of each.
#[derive(Default)]
pub(super) struct Verdict {
    /// What goes on to the model and to people; its word is not set.
    pub(super) heard: HookOutput,
    pub(super) refused: Option<HookBlock>,
    asked: Option<HookBlock>,
    /// Who wants other arguments, and which.
    pub(super) input: Option<(String, Map<String, Value>)>,
}

impl Verdict {
    /// The objection that counts.
    pub(super) fn objection(self) -> Option<HookBlock> {
        self.refused.or(self.asked)
    }

    /// Adds what `hook` says of `event`, or why it failed.
    pub(super) fn add(&mut self, event: Event, hook: &Hook, answer: Result<Answer, String>) {
        let objection = |message, for_people, ask| {
            let hook = hook.name.clone();
            HookBlock { hook, message, for_people, ask }
        };
        let Answer { permission, message, for_people, input, context } = match answer {
            Ok(answer) => answer,
            Err(said) if hook.fail_closed && event.can_refuse() => {
                let message = format!("a hook that must agree (`failClosed`) failed: {said}");
                self.refused.get_or_insert(objection(message, None, false));
                return;
            }
            Err(said) => return self.warn(event, hook, said),
        };
        match (permission, event.can_refuse()) {
            (Permission::Silent, _) | (Permission::Ask, false) => {}
            (Permission::Ask, true) => {
                let message =
                    message.unwrap_or("a hook wants a person to approve it, and nobody did".to_owned());
                self.asked.get_or_insert(objection(message, for_people, true));
            }
            (Permission::Deny, true) => {
                let message = message.unwrap_or("a hook refused it".to_owned());
                self.refused.get_or_insert(objection(message, for_people, false));
            }
            (Permission::Deny, false) => {
                self.warn(event, hook, message.unwrap_or("it refused what cannot be refused".to_owned()));
            }
        }
        if let Some(input) = input {
            self.input.get_or_insert((hook.name.clone(), input));
        }
        if let Some(context) = context {
            self.heard.context.push(format!("Context from the hook `{}`:\n{context}", hook.name));
        }
    }

    fn warn(&mut self, event: Event, hook: &Hook, detail: String) {
        let event = event.name().to_owned();
        self.heard.notices.push(Notice::HookFailed { hook: hook.name.clone(), event, detail });
    }
}
