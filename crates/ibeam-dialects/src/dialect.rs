//! The trait that every dialect implements.

use crate::json::text_at;
use crate::losses::{LossKind, report_differences};
use crate::step::{Payload, PayloadKind, StepDecoder, StepEncoder};

/// A part of a run outside of the payloads. Some dialects cannot represent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    Prompt,
    /// The boundaries between the blocks of a prompt.
    PromptBlocks,
    /// The thinking of the model.
    Thought,
    /// The time of a piece of text.
    TextTime,
    /// The id of the model's answer that contains a text.
    TextAnswerId,
    CallStartTime,
    CallEndTime,
    /// The id of the model's answer that contains a call.
    CallAnswerId,
    Call,
    /// The boundaries between the pieces of a text.
    TextPieces,
}

/// The format of one agent's output.
pub(crate) trait Dialect: Sync {
    /// Returns a decoder before the first event.
    fn decoder(&self) -> Box<dyn StepDecoder + Send>;

    /// Returns an encoder before the first step.
    fn encoder(&self) -> Box<dyn StepEncoder + Send>;

    /// Converts a payload into contract 1. `cwd` is the working directory of the run, for paths that must be absolute.
    fn to_contract(&self, kind: PayloadKind, payload: Payload, cwd: &str) -> Payload;

    /// Converts a payload of contract 1. `base` is the directory of relative paths, for paths that must be absolute;
    /// empty where the directory is not known.
    #[expect(clippy::wrong_self_convention, reason = "the dialect is the target, not the source")]
    fn from_contract(&self, kind: PayloadKind, payload: Payload, base: &str) -> Payload;

    /// Returns the key that contains a feature; `None` if the dialect cannot represent the feature.
    fn feature_key(&self, feature: Feature) -> Option<&'static str>;

    /// Returns the name of the tool of a call.
    fn tool_name<'a>(&self, call: &'a Payload) -> Option<&'a str>;

    /// Returns the keys that contain the id of a call.
    fn call_id_keys(&self) -> &'static [&'static str];

    /// Whether the part of a call at `path` is expected to differ between the start and the end of the call.
    fn is_result_path(&self, path: &str) -> bool;

    /// Returns the key that contains the id of the session.
    fn session_id_key(&self) -> &'static str {
        "session_id"
    }

    /// Returns the id of a session in the form of the dialect.
    fn session_id(&self, id: &str) -> String {
        id.to_owned()
    }

    /// Whether the dialect has the text of the model in complete segments instead of pieces.
    fn has_complete_texts(&self) -> bool {
        false
    }

    /// Whether the dialect has one prompt, before all other events of the run.
    fn has_prompt_first(&self) -> bool {
        false
    }

    /// Whether a stream may have several turns of one session, each with an end.
    fn has_turns(&self) -> bool {
        false
    }

    /// Whether a stream has the start of the run once, although it may have several turns.
    fn has_one_start(&self) -> bool {
        false
    }

    /// Whether all calls of this tool in a stream share one id, the id of the first call.
    fn shares_call_id(&self, _call: &Payload) -> bool {
        false
    }

    /// Whether the dialect reports only the end of this call and not its start.
    fn reports_only_call_end(&self, call: &Payload) -> bool {
        self.shares_call_id(call)
    }
}

/// The directories of a run that the conversion of payloads depends on.
#[derive(Clone, Debug)]
pub(crate) struct Directories {
    /// The working directory in the source; `/` if the source does not contain it.
    pub(crate) source: String,
    /// The working directory in the target; `/` if the target does not contain it.
    pub(crate) target: String,
    /// The directory of relative paths: the working directory in the source; empty if the source does not contain it.
    pub(crate) base: String,
}

/// Converts a payload of `from` to `to` and back, and reports the parts that are missing or different afterwards.
pub(crate) fn report_losses(
    (from, to): (&dyn Dialect, &dyn Dialect),
    kind: PayloadKind,
    payload: &Payload,
    directories: &Directories,
    report: &mut impl FnMut(&str, LossKind),
) {
    let contract = from.to_contract(kind, payload.clone(), &directories.source);
    let target = to.from_contract(kind, contract, &directories.base);
    let contract = to.to_contract(kind, target, &directories.target);
    let returned = from.from_contract(kind, contract, "");
    report_differences(payload, Some(&returned), &mut String::new(), report);
}

/// Reports the parts of a call, except its result, that differ between its start and its end.
pub(crate) fn report_changes(
    dialect: &dyn Dialect,
    started: &Payload,
    ended: &Payload,
    report: &mut impl FnMut(&str, LossKind),
) {
    let mut report = |path: &str, kind| {
        if !dialect.is_result_path(path) {
            report(path, kind);
        }
    };
    report_differences(started, Some(ended), &mut String::new(), &mut report);
    report_differences(ended, Some(started), &mut String::new(), &mut report);
}

/// Returns the working directory in the `init` event of contract 1.
pub(crate) fn cwd_in_contract(init: &Payload) -> Option<&str> {
    Some(text_at(init, "/system~1init/cwd")).filter(|cwd| cwd.starts_with('/'))
}
