//! From a notice to its sentence.

use ibeam_protocol::Notice;

use super::words::Words;

pub(crate) fn words(notice: &Notice) -> Words {
    match notice {
        Notice::EmbeddedModel { model } => Words::new("notice-embedded-model").text("model", model),
        Notice::StdinIgnored { waited_ms } => Words::new("notice-stdin-ignored").seconds(*waited_ms),
        Notice::CallsDenied { count } => Words::new("notice-calls-denied").count("count", *count),
        Notice::UnknownStopReason { word } => Words::new("notice-unknown-stop-reason").text("word", word),
        Notice::AnswerCut => Words::new("notice-answer-cut"),
        Notice::EmptyAnswer => Words::new("notice-empty-answer"),
        Notice::RepeatedCall { tool, count } => {
            Words::new("notice-repeated-call").text("tool", tool).count("count", *count)
        }
        Notice::UnknownConfigKey { path, key } => {
            Words::new("notice-unknown-config-key").text("path", path).text("key", key)
        }
        Notice::UntrustedConfigKey { path, key } => {
            Words::new("notice-untrusted-config-key").text("path", path).text("key", key)
        }
        Notice::BackgroundStopped { count } => Words::new("notice-background-stopped").count("count", *count),
    }
}
