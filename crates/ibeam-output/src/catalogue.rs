//! Texts for people, in six languages.
//!
//! The texts are in `locales/*.ftl`. This module finds the text of a failure, a notice or a line and inserts its arguments.
//! A locale is parsed when its first text is needed. A text that a locale lacks is English.

mod action;
pub(crate) mod lines;
mod message;
mod numbers;
mod question;
mod translations;

use std::fmt;
use std::sync::OnceLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentMessage, FluentResource, FluentValue};
use ibeam_protocol::{
    Compacted, Failure, FailureCode, Notice, Reason, RunFinished, Sentence, ToolCall, ToolOutcome, UnusedKey,
};
use serde::Serialize;
use unic_langid::LanguageIdentifier;

pub(crate) use self::action::{Action, ActionEnding};
use self::lines::CatalogueLine;
use self::message::{Message, line_message, notice_message, reason_message, variant_message};
pub use self::question::ApprovalQuestion;
pub use self::translations::decompress;
use crate::locale::Locale;
use crate::text::printable_line;

/// The prefix of the names of hints that suggest to resume the session.
const RESUME_HINT: &str = "hint-resume";

/// The name of the hint that suggests the embedded model.
const LOCAL_HINT: &str = "hint-local";

/// The shortest wait that the message of a failure contains. The retries of a run wait at most this long.
const LONG_WAIT_MS: u64 = 60_000;

type Bundle = FluentBundle<FluentResource>;

/// The texts of one locale.
pub struct Catalogue {
    locale: Locale,
    bundle: OnceLock<Bundle>,
}

/// Returns the English catalogue: the fallback, and the language of every machine message.
pub(crate) fn english() -> &'static Catalogue {
    static ENGLISH: Catalogue = Catalogue::new(Locale::En);
    &ENGLISH
}

/// A failure for people: a message and hints. Displays as `error: …` and `hint: …` lines without a last line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// One sentence on one line.
    pub message: String,
    /// Possible solutions, the most likely first.
    pub hints: Vec<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl Catalogue {
    /// Returns the catalogue of `locale`. Its texts are parsed later.
    pub const fn new(locale: Locale) -> Self {
        Self { locale, bundle: OnceLock::new() }
    }

    /// Returns the message and the hints for a reason.
    pub fn reason(&self, reason: &Reason) -> Explanation {
        let mut reason_message = reason_message(reason);
        if let Reason::Usage { detail }
        | Reason::BadConfig { detail, .. }
        | Reason::InvalidJsonSchema { detail, .. }
        | Reason::AnswerMismatch { detail, .. } = reason
        {
            reason_message = reason_message.text("detail", &self.sentence(detail));
        }
        if let Reason::InvalidJsonSchema { place, .. } = reason {
            reason_message = reason_message.text("place", &self.sentence(place));
        }
        let reason_message = self.with_detail_in_language(reason_message);
        let mut hints = self.hints(&reason_message);
        if let Reason::NoKey { without_engine: true, .. } = reason {
            let local = self.hints_named(&reason_message, LOCAL_HINT);
            hints.retain(|hint| !local.contains(hint));
        }
        if let Reason::UnknownProvider { near: Some(near), .. } = reason {
            hints.insert(0, self.render(&Message::new("failure-near-name").text("near", near), None));
        }
        if let Reason::UnknownModel { near: Some(near), also_near, .. } = reason {
            // The text of the message has the quotes before the first and after the last name.
            let names = also_near.iter().fold(near.clone(), |names, name| format!("{names}`, `{name}"));
            hints.insert(0, self.render(&Message::new("failure-near-name").text("near", &names), None));
        }
        if let Reason::ModelNotInstalled { unused_key: Some(key), .. }
        | Reason::NoModel { unused_key: Some(key) } = reason
        {
            hints.insert(0, self.unused_key(key));
        }
        Explanation { message: self.render(&reason_message, None), hints }
    }

    /// Returns the message and the hints for a failure: those of its reason, a long wait that the provider requests, and the
    /// provider's id of the failed request.
    pub fn failure(&self, failure: &Failure) -> Explanation {
        let mut explanation = self.reason(&failure.reason);
        if let Some(wait) = failure.retry_after_ms.filter(|wait| *wait >= LONG_WAIT_MS) {
            let message = Message::new("failure-retry-after").text("message", &explanation.message);
            explanation.message = self.render(&message.text("time", &hours_and_minutes(wait)), None);
        }
        if let Some(id) = &failure.request_id {
            explanation.hints.push(self.render(&Message::new("failure-request-id").text("id", id), None));
        }
        explanation
    }

    /// Returns the message and the hints for a failure of a prompt. Without a stored session or a run, no hint suggests to
    /// resume.
    pub fn failed_run(&self, failure: &Failure, run: Option<&RunFinished>) -> Explanation {
        let mut explanation = self.failure(failure);
        if run.is_none_or(|run| run.ephemeral) {
            let resume_hints = self.hints_named(&reason_message(&failure.reason), RESUME_HINT);
            explanation.hints.retain(|hint| !resume_hints.contains(hint));
        }
        explanation
    }

    /// Returns the message with its detail in the language, if the whole text has a translation.
    fn with_detail_in_language(&self, message: Message) -> Message {
        let translation = match message.args.get("detail") {
            Some(FluentValue::String(text)) => {
                translations::translation(self.locale, text).map(str::to_owned)
            }
            Some(
                FluentValue::Number(_) | FluentValue::Custom(_) | FluentValue::None | FluentValue::Error,
            )
            | None => None,
        };
        match translation {
            Some(text) => message.text("detail", &text),
            None => message,
        }
    }

    /// Returns a sentence in the locale, or else in English.
    pub fn sentence(&self, sentence: &Sentence) -> String {
        sentence.translate(&|template| Some(translations::translation(self.locale, template)?.to_owned()))
    }

    /// Returns the translation of a text that has no arguments, e.g. of `--help`, or else the text.
    pub fn text(&self, english: &str) -> String {
        translations::translation(self.locale, english).unwrap_or(english).to_owned()
    }

    /// Returns the message and the hints for an error that only sub-commands report. `error` is a variant of an enum: its tag
    /// is the message id without `cli-`, and its fields are the arguments.
    pub fn cli_error(&self, error: &impl Serialize) -> Explanation {
        self.explanation(&self.with_detail_in_language(variant_message("cli", error)))
    }

    /// Like [`Self::cli_error`], for an error whose field `detail` is this sentence.
    pub fn cli_error_with_detail(&self, error: &impl Serialize, detail: &Sentence) -> Explanation {
        self.explanation(&variant_message("cli", error).text("detail", &self.sentence(detail)))
    }

    fn explanation(&self, message: &Message) -> Explanation {
        Explanation { message: self.render(message, None), hints: self.hints(message) }
    }

    /// Returns the meaning of a class of failures, for a table.
    pub fn code_meaning(&self, code: FailureCode) -> String {
        self.render(&Message::new(format!("code-{}", code.as_str().replace('_', "-"))), None)
    }

    /// Returns the text of a `warning:` line. Several details follow on indented lines.
    pub fn notice(&self, notice: &Notice) -> String {
        let mut message = self.with_detail_in_language(notice_message(notice, self));
        if let Notice::AnswerMismatch { detail, .. } = notice {
            message = message.text("detail", &self.sentence(detail));
        }
        let sentence = self.render(&message, None);
        if let Notice::EmbeddedModel { unused_key: Some(key), .. } = notice {
            let message = Message::new("notice-embedded-model-with-key").text("message", &sentence);
            return self.render(&message.text("detail", &self.unused_key(key)), None);
        }
        let Notice::CallsDenied { reasons, .. } = notice else { return sentence };
        match reasons.as_slice() {
            [] => sentence,
            [reason] => format!("{sentence}: {}", printable_line(&self.sentence(reason))),
            reasons => {
                let lines =
                    reasons.iter().map(|reason| format!("\n  {}", printable_line(&self.sentence(reason))));
                format!("{sentence}:{}", lines.collect::<String>())
            }
        }
    }

    /// Returns the text about a key of a service that is not a provider.
    pub fn unused_key(&self, key: &UnusedKey) -> String {
        let message = Message::new("unused-key").text("variable", &key.variable);
        self.render(&message.text("service", &key.service), None)
    }

    /// Returns the text of a `warning:` line about a request that failed and is repeated after `delay_ms`.
    pub fn retry_warning(&self, attempt: u32, delay_ms: u64, reason: &Reason) -> String {
        let cause = self.reason(reason).message;
        let id = if delay_ms == 0 { "retrying-at-once" } else { "retrying" };
        let message = Message::new(id).text("message", &cause).count("attempt", attempt);
        self.render(&message.seconds(delay_ms), None)
    }

    /// Returns the text of a `warning:` line about a conversation that was shortened.
    pub fn compaction_warning(&self, compacted: &Compacted) -> String {
        let Compacted { before_tokens, after_tokens, .. } = compacted;
        let message = Message::new("compacted").count("before", *before_tokens).count("after", *after_tokens);
        self.render(&message, None)
    }

    /// Returns the line of `text` for an action, with its path or command in `detail`.
    pub(crate) fn action(&self, action: &Action<'_>, ending: ActionEnding, detail: Option<&str>) -> String {
        let phrase = self.render(&line_message(action), ending.attribute());
        match detail {
            None => phrase,
            Some(detail) => self.render(
                &Message::new("action-with-detail").text("action", &phrase).text("detail", detail),
                None,
            ),
        }
    }

    /// Returns the phrase for a call that ended with `outcome`, such as `Read file`.
    pub fn call_action(&self, call: &ToolCall, outcome: &ToolOutcome) -> String {
        self.action(&Action::for_call(call, outcome), ActionEnding::for_outcome(outcome), None)
    }

    /// Returns a line of a report or a page.
    pub fn line(&self, line: &impl CatalogueLine) -> String {
        self.render(&line_message(line), None)
    }

    /// Returns a question for the line on which the answer is typed, with the colon at its end.
    pub fn prompt(&self, line: &impl CatalogueLine) -> String {
        let message = line_message(line);
        self.find(&message.id, None, &message.args).unwrap_or_else(|| message.id.to_string())
    }

    /// Returns the code of the locale, e.g. `en`.
    pub fn locale_code(&self) -> &'static str {
        self.locale.code()
    }

    /// Returns a text of `--help` by its id without the prefix `help-`, e.g. `usage`. An unknown id is returned unchanged.
    pub fn help(&self, id: &str) -> String {
        let full = format!("help-{id}");
        self.find(&full, None, &FluentArgs::new()).unwrap_or_else(|| id.to_owned())
    }

    /// Returns the text of a message, or of one of its attributes, in the locale or else in English.
    fn render(&self, message: &Message, attribute: Option<&str>) -> String {
        let text = self.find(&message.id, attribute, &message.args).unwrap_or_else(|| message.id.to_string());
        // A message whose last argument is empty ends with a colon.
        text.trim_end_matches([':', '：', ' ', '\u{a0}']).to_owned()
    }

    fn hints(&self, message: &Message) -> Vec<String> {
        self.hints_named(message, "hint")
    }

    /// Returns the hints whose names start with `prefix`.
    fn hints_named(&self, message: &Message, prefix: &str) -> Vec<String> {
        let Some(found) = self.fluent_message(&message.id).or_else(|| english().fluent_message(&message.id))
        else {
            return Vec::new();
        };
        let names = found.attributes().map(|attribute| attribute.id()).filter(|id| id.starts_with(prefix));
        names.map(|name| self.render(message, Some(name))).collect()
    }

    /// Returns a text in the locale, or else in English; `None` for an unknown id.
    fn find(&self, id: &str, attribute: Option<&str>, args: &FluentArgs<'_>) -> Option<String> {
        self.format(id, attribute, args).or_else(|| english().format(id, attribute, args))
    }

    /// Returns a text in the locale; `None` if the locale lacks the text or an argument is missing.
    fn format(&self, id: &str, attribute: Option<&str>, args: &FluentArgs<'_>) -> Option<String> {
        let message = self.fluent_message(id)?;
        let pattern = match attribute {
            None => message.value()?,
            Some(name) => message.get_attribute(name)?.value(),
        };
        let mut errors = Vec::new();
        let text = self.bundle().format_pattern(pattern, Some(args), &mut errors);
        errors.is_empty().then(|| text.into_owned())
    }

    /// Returns the parsed message with its attributes.
    fn fluent_message(&self, id: &str) -> Option<FluentMessage<'_>> {
        self.bundle().get_message(id)
    }

    /// Returns the parsed texts. The first call parses them.
    fn bundle(&self) -> &Bundle {
        self.bundle.get_or_init(|| {
            // Neither can fail, because the tests parse every file and every language code.
            let language = self.locale.code().parse::<LanguageIdentifier>().unwrap_or_default();
            let resource = match FluentResource::try_new(translations::messages(self.locale)) {
                Ok(resource) | Err((resource, _)) => resource,
            };
            let mut bundle = Bundle::new_concurrent(vec![language]);
            // The isolation marks of Fluent are invisible characters, which people would copy with a path or a command.
            bundle.set_use_isolating(false);
            bundle.set_formatter(numbers::formatter(self.locale));
            bundle.add_resource_overriding(resource);
            bundle
        })
    }
}

/// Returns `24 h`, `1 h 30 min` or `5 min`, rounded up. All six languages use these symbols.
fn hours_and_minutes(ms: u64) -> String {
    let minutes = ms.div_ceil(60_000);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}
