//! Every word people read, in six languages.
//!
//! The words stand in `locales/*.ftl`; here is the way from a reason, a notice or an action to its sentence. A
//! bundle is parsed when its first word is needed, so a run that says nothing pays nothing. What a locale
//! lacks is said in English.

mod action;
mod check;
mod command;
mod convert;
mod message;
mod page;
mod policy;
mod question;
mod replay;
mod session;
mod shim;
mod variant;

use std::fmt;
use std::sync::OnceLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentMessage, FluentResource};
use ibeam_protocol::{Compacted, Failure, FailureCode, Notice, Reason, RunFinished, UnusedKey};
use serde::Serialize;
use unic_langid::LanguageIdentifier;

pub use self::action::{Action, Ending};
pub use self::check::CheckLine;
pub use self::command::SubcommandLine;
pub use self::convert::ConvertLine;
use self::message::Message;
pub(crate) use self::page::PageLine;
pub use self::policy::PolicyLine;
pub use self::question::ApprovalQuestion;
pub use self::replay::ReplayLine;
pub use self::session::SessionLine;
pub use self::shim::ShimLine;
use crate::locale::Locale;
use crate::printable::one_line;

/// How the name of a hint begins that advises to resume the session of the run.
const RESUME_HINT: &str = "hint-resume";

/// From here on a wait is part of the message: no attempt of the run itself waits longer.
const LONG_WAIT_MS: u64 = 60_000;

type Bundle = FluentBundle<FluentResource>;

/// The words of one locale.
pub struct Catalogue {
    locale: Locale,
    own: OnceLock<Bundle>,
}

/// The English words: the fallback, and the language of every machine message.
pub(crate) fn english() -> &'static Catalogue {
    static ENGLISH: Catalogue = Catalogue::new(Locale::En);
    &ENGLISH
}

/// What went wrong and the ways out. Printed as `error: …` and `hint: …` lines, the last without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// One sentence on one line.
    pub message: String,
    /// Ways out, most likely first; may be none.
    pub hints: Vec<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl Catalogue {
    /// The catalogue of `locale`; reads nothing yet.
    pub const fn new(locale: Locale) -> Self {
        Self { locale, own: OnceLock::new() }
    }

    /// The sentence and the hints for a reason.
    pub fn reason(&self, reason: &Reason) -> Explanation {
        let words = variant::reason_message(reason);
        let mut hints = self.hints(&words);
        if let Reason::UnknownProvider { near: Some(near), .. }
        | Reason::UnknownModel { near: Some(near), .. } = reason
        {
            hints.insert(0, self.say(&Message::new("failure-near-name").text("near", near), None));
        }
        if let Reason::ModelNotInstalled { unused_key: Some(key), .. } = reason {
            hints.insert(0, self.unused_key(key));
        }
        Explanation { message: self.say(&words, None), hints }
    }

    /// As `reason`; the message also has how long the provider asks to wait, where that is long, and one more hint the
    /// provider's id of the failed request.
    pub fn failure(&self, failure: &Failure) -> Explanation {
        let mut explained = self.reason(&failure.reason);
        if let Some(wait) = failure.retry_after_ms.filter(|wait| *wait >= LONG_WAIT_MS) {
            let words = Message::new("failure-retry-after").text("message", &explained.message);
            explained.message = self.say(&words.text("time", &hours_and_minutes(wait)), None);
        }
        if let Some(id) = &failure.request_id {
            explained.hints.push(self.say(&Message::new("failure-request-id").text("id", id), None));
        }
        explained
    }

    /// As `failure`, for a program that ran a prompt: where no session was kept, or no run had begun, no hint advises
    /// to resume it.
    pub fn failed_run(&self, failure: &Failure, run: Option<&RunFinished>) -> Explanation {
        let mut explained = self.failure(failure);
        if run.is_none_or(|run| run.ephemeral) {
            let advice = self.hints_named(&variant::reason_message(&failure.reason), RESUME_HINT);
            explained.hints.retain(|hint| !advice.contains(hint));
        }
        explained
    }

    /// Returns the sentence and the hints for an error that only a command reports: a variant of an enum whose tag is
    /// the message id without `cli-`, and whose fields are the arguments.
    pub fn cli_error(&self, error: &impl Serialize) -> Explanation {
        let message = variant::variant_message("cli", error);
        Explanation { message: self.say(&message, None), hints: self.hints(&message) }
    }

    /// What a class of failures means, for a table.
    pub fn code(&self, code: FailureCode) -> String {
        self.say(&Message::new(format!("code-{}", code.as_str().replace('_', "-"))), None)
    }

    /// The sentence of a `warning:` line; lines of details, each indented, follow where there are several.
    pub fn notice(&self, notice: &Notice) -> String {
        let sentence = self.say(&variant::notice_message(notice, self), None);
        if let Notice::EmbeddedModel { unused_key: Some(key), .. } = notice {
            let words = Message::new("notice-embedded-model-with-key").text("message", &sentence);
            return self.say(&words.text("detail", &self.unused_key(key)), None);
        }
        let Notice::CallsDenied { reasons, .. } = notice else { return sentence };
        match reasons.as_slice() {
            [] => sentence,
            [reason] => format!("{sentence}: {}", one_line(reason)),
            reasons => {
                let lines = reasons.iter().map(|reason| format!("\n  {}", one_line(reason)));
                format!("{sentence}:{}", lines.collect::<String>())
            }
        }
    }

    /// Returns the sentence about a key of a service that is no provider.
    fn unused_key(&self, key: &UnusedKey) -> String {
        let words = Message::new("unused-key").text("variable", &key.variable);
        self.say(&words.text("service", &key.service), None)
    }

    /// The sentence of a `warning:` line about a request that failed and is repeated after `delay_ms`.
    pub fn retrying(&self, attempt: u32, delay_ms: u64, reason: &Reason) -> String {
        let message = self.reason(reason).message;
        let words = Message::new("retrying").text("message", &message).count("attempt", attempt);
        self.say(&words.seconds(delay_ms), None)
    }

    /// The sentence of a `warning:` line about a conversation that became too long.
    pub fn compacted(&self, compacted: &Compacted) -> String {
        let Compacted { before_tokens, after_tokens, .. } = compacted;
        let words = Message::new("compacted").count("before", *before_tokens).count("after", *after_tokens);
        self.say(&words, None)
    }

    /// The sentence of a `warning:` line about a run that was asked for a change and changed no file; `uncounted`
    /// where something ran whose changes are not counted.
    pub fn no_file_changed(&self, uncounted: bool) -> String {
        let id = if uncounted { "no-file-changed-by-tools" } else { "no-file-changed" };
        self.say(&Message::new(id), None)
    }

    /// The line of `text` for an action, with the path or command where `detail` gives one.
    pub fn action(&self, action: &Action<'_>, ending: Ending, detail: Option<&str>) -> String {
        let phrase = self.say(&action::message_for(action), ending.attribute());
        match detail {
            None => phrase,
            Some(detail) => self.say(
                &Message::new("action-with-detail").text("action", &phrase).text("detail", detail),
                None,
            ),
        }
    }

    /// A line that tells how a policy decides.
    pub fn policy(&self, line: &PolicyLine<'_>) -> String {
        self.say(&policy::message_for(line), None)
    }

    /// A line of the report on a stream.
    pub fn check(&self, line: &CheckLine<'_>) -> String {
        self.say(&check::message_for(line), None)
    }

    /// Returns a line that a sub-command prints about what it did.
    pub fn command(&self, line: &SubcommandLine<'_>) -> String {
        self.say(&command::message_for(line), None)
    }

    /// A line of what a conversion lost.
    pub fn convert(&self, line: &ConvertLine<'_>) -> String {
        self.say(&convert::message_for(line), None)
    }

    /// A line of the report on a stored session.
    pub fn session(&self, line: &SessionLine<'_>) -> String {
        self.say(&session::message_for(line), None)
    }

    /// A line of the report on links.
    pub fn shim(&self, line: &ShimLine<'_>) -> String {
        self.say(&shim::message_for(line), None)
    }

    /// The sentence of a `warning:` line about what is replayed.
    pub fn replay(&self, line: &ReplayLine<'_>) -> String {
        self.say(&replay::message_for(line), None)
    }

    /// A line of a page.
    pub(crate) fn page(&self, line: &PageLine<'_>) -> String {
        self.say(&page::message_for(line), None)
    }

    /// Its locale.
    pub(crate) fn locale(&self) -> Locale {
        self.locale
    }

    /// A word of `--help`: `id` without the prefix `help-`, e.g. `usage`. An unknown id is given back.
    pub fn help(&self, id: &str) -> String {
        let full = format!("help-{id}");
        self.find(&full, None, &FluentArgs::new()).unwrap_or_else(|| id.to_owned())
    }

    fn say(&self, words: &Message, attribute: Option<&str>) -> String {
        let said = self.find(&words.id, attribute, &words.args).unwrap_or_else(|| words.id.to_string());
        // A sentence that ends in the words of another who said nothing ends in its colon.
        said.trim_end_matches([':', '：', ' ', '\u{a0}']).to_owned()
    }

    fn hints(&self, words: &Message) -> Vec<String> {
        self.hints_named(words, "hint")
    }

    /// The hints whose names begin so.
    fn hints_named(&self, words: &Message, prefix: &str) -> Vec<String> {
        let Some(message) = self.message(&words.id).or_else(|| english().message(&words.id)) else {
            return Vec::new();
        };
        let names = message.attributes().map(|attribute| attribute.id()).filter(|id| id.starts_with(prefix));
        names.map(|name| self.say(words, Some(name))).collect()
    }

    fn find(&self, id: &str, attribute: Option<&str>, args: &FluentArgs<'_>) -> Option<String> {
        self.format(id, attribute, args).or_else(|| english().format(id, attribute, args))
    }

    fn format(&self, id: &str, attribute: Option<&str>, args: &FluentArgs<'_>) -> Option<String> {
        let message = self.message(id)?;
        let pattern = match attribute {
            None => message.value()?,
            Some(name) => message.get_attribute(name)?.value(),
        };
        let mut errors = Vec::new();
        let text = self.bundle().format_pattern(pattern, Some(args), &mut errors);
        errors.is_empty().then(|| text.into_owned())
    }

    fn message(&self, id: &str) -> Option<FluentMessage<'_>> {
        self.bundle().get_message(id)
    }

    fn bundle(&self) -> &Bundle {
        self.own.get_or_init(|| {
            // Files and codes are ours; the tests parse every file strictly and know every code.
            let language = self.locale.code().parse::<LanguageIdentifier>().unwrap_or_default();
            let resource = match FluentResource::try_new(source(self.locale).to_owned()) {
                Ok(resource) | Err((resource, _)) => resource,
            };
            let mut bundle = Bundle::new_concurrent(vec![language]);
            // The marks would stand in paths and commands that people copy.
            bundle.set_use_isolating(false);
            bundle.add_resource_overriding(resource);
            bundle
        })
    }
}

/// `24 h`, `1 h 30 min`, `5 min`, rounded up. The symbols are those of all six languages.
fn hours_and_minutes(ms: u64) -> String {
    let minutes = ms.div_ceil(60_000);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

fn source(locale: Locale) -> &'static str {
    match locale {
        Locale::En => include_str!("../locales/en.ftl"),
        Locale::Es => include_str!("../locales/es.ftl"),
        Locale::Id => include_str!("../locales/id.ftl"),
        Locale::Ja => include_str!("../locales/ja.ftl"),
        Locale::Fr => include_str!("../locales/fr.ftl"),
        Locale::Pt => include_str!("../locales/pt.ftl"),
    }
}
