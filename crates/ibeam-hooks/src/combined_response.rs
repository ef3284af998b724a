//! The combined response of all hooks of an event.

use ibeam_core::{HookBlock, HookOutput};
use ibeam_protocol::Notice;
use serde_json::{Map, Value};

use crate::event_name::EventName;
use crate::hook_config::{Hook, HookFormat};
use crate::response::{HookResponse, Permission};

/// The arguments with which a hook replaces those of a call.
pub(crate) struct HookInput {
    pub(crate) hook: String,
    pub(crate) format: HookFormat,
    pub(crate) input: Map<String, Value>,
}

/// The combined response of several hooks: the first refusal, the first required approval and the first arguments.
#[derive(Default)]
pub(crate) struct CombinedResponse {
    /// Context and notices; the decision is not set.
    pub(crate) output: HookOutput,
    pub(crate) refusal: Option<HookBlock>,
    question: Option<HookBlock>,
    /// The first arguments that a hook returned.
    pub(crate) input: Option<HookInput>,
}

impl CombinedResponse {
    /// Returns the refusal; without one, the required approval.
    pub(crate) fn into_block(self) -> Option<HookBlock> {
        self.refusal.or(self.question)
    }

    /// Adds the response of `hook` to `event`, or the reason why the hook failed. `follow_ups` is the number of messages
    /// with which hooks have continued the run.
    pub(crate) fn add(
        &mut self,
        event: EventName,
        hook: &Hook,
        follow_ups: u32,
        response: Result<HookResponse, String>,
    ) {
        let block = |message, for_people, ask| {
            let hook = hook.name.clone();
            HookBlock { hook, message, for_people, ask }
        };
        let HookResponse { permission, message, for_people, input, context, follow_up } = match response {
            Ok(response) => response,
            Err(error) if hook.fail_closed && event.can_refuse() => {
                let message = format!("a hook that must agree (`failClosed`) failed: {error}");
                self.refusal.get_or_insert(block(message, None, false));
                return;
            }
            Err(error) => return self.warn(event, hook, error),
        };
        match (permission, event.can_refuse()) {
            (Permission::None, _) | (Permission::Ask, false) => {}
            (Permission::Ask, true) => {
                let message = message.unwrap_or(
                    "a hook requires the approval of a person, and no person approved it".to_owned(),
                );
                self.question.get_or_insert(block(message, for_people, true));
            }
            (Permission::Deny, true) => {
                let message = message.unwrap_or("a hook refused it".to_owned());
                self.refusal.get_or_insert(block(message, for_people, false));
            }
            (Permission::Deny, false) => {
                self.warn(event, hook, message.unwrap_or("it refused what cannot be refused".to_owned()));
            }
        }
        if let Some(input) = input {
            let (hook, format) = (hook.name.clone(), hook.format);
            self.input.get_or_insert(HookInput { hook, format, input });
        }
        if let Some(context) = context.filter(|_| event.can_add_context()) {
            self.output.context.push(format!("Context from the hook `{}`:\n{context}", hook.name));
        }
        if let Some(message) = follow_up.filter(|_| event.can_continue()) {
            self.add_follow_up(event, hook, follow_ups, message);
        }
    }

    /// Adds a message that continues the run, as far as the limit of the hook allows it.
    fn add_follow_up(&mut self, event: EventName, hook: &Hook, follow_ups: u32, message: String) {
        match hook.loop_limit {
            Some(limit) if follow_ups >= limit => {
                let detail = format!("its message was not sent, because `loop_limit` is {limit}");
                self.warn(event, hook, detail);
            }
            Some(_) | None => {
                self.output.follow_up.get_or_insert(message);
            }
        }
    }

    fn warn(&mut self, event: EventName, hook: &Hook, detail: String) {
        let event = hook.format.event_name(event).to_owned();
        self.output.notices.push(Notice::HookFailed { hook: hook.name.clone(), event, detail });
    }
}
