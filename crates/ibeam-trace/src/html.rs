//! `html`: one page for one or more runs, written as events arrive.
//!
//! The page is a viewer and the rows that it shows, as JSON lines. The viewer renders the rows near the visible part, so
//! that long sessions open at once, and creates text nodes only: the content security policy allows no script but the
//! viewer, no markup made of data, and no request. A browser without scripts shows the same rows as plain markup, up to
//! [`MAX_STATIC_BYTES`]. Times are UTC.

mod call_row;
mod row;
mod static_page;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ibeam_output::{Catalogue, EventWriter, PageLine, permission_mode_name};
use ibeam_protocol::{
    Event, EventKind, ModelCallId, RunFinished, RunOutcome, RunStarted, StopReason, ToolCall, ToolOutcome,
    escape_invisible,
};
use serde_json::json;
use sha2::{Digest, Sha256};

use self::row::Row;
use self::static_page::StaticPage;

const STYLE: &str = include_str!("html/viewer.css");
const VIEWER: &str = include_str!("html/viewer.js");

/// The maximum length in bytes of the markup for browsers without scripts. A longer session refers to the viewer.
const MAX_STATIC_BYTES: usize = 512 << 10;

/// The maximum length of the title of a page in characters.
const MAX_TITLE_CHARACTERS: usize = 80;

/// Writes a page for people.
pub struct Html<W> {
    out: W,
    catalogue: Arc<Catalogue>,
    /// The rows before the head of the page, which needs a prompt for its title.
    pending_rows: Vec<String>,
    static_page: StaticPage,
    /// The text of the answer since the last row.
    answer: String,
    answer_at_ms: u64,
    /// Calls without a result so far.
    open_calls: Vec<OpenCall>,
    runs: u64,
    /// The first words of the first prompt.
    title: Option<String>,
    session: String,
    /// The model of the current run, as the page names it.
    model: String,
    has_head: bool,
    is_ended: bool,
}

/// A call without a result so far, with the time of its start.
struct OpenCall {
    model_call_id: ModelCallId,
    call: ToolCall,
    at_ms: u64,
}

impl<W: Write> Html<W> {
    /// Returns a writer of one page for any number of runs, in the language of `catalogue`. Without a title, the page has
    /// the first line of the first prompt as its title.
    pub fn new(out: W, catalogue: Arc<Catalogue>, title: Option<String>) -> Self {
        Self {
            out,
            catalogue,
            pending_rows: Vec::new(),
            static_page: StaticPage::new(MAX_STATIC_BYTES),
            answer: String::new(),
            answer_at_ms: 0,
            open_calls: Vec::new(),
            runs: 0,
            title: title.map(|title| text(&title)),
            session: String::new(),
            model: String::new(),
            has_head: false,
            is_ended: false,
        }
    }

    fn line(&self, line: &PageLine<'_>) -> String {
        self.catalogue.line(line)
    }

    fn push(&mut self, row: &Row) -> io::Result<()> {
        self.static_page.push(row, &self.catalogue);
        // Strings, numbers and lists always become JSON.
        let json = serde_json::to_string(row).unwrap_or_default();
        let line = script_json(&json);
        if self.has_head {
            return writeln!(self.out, "{line}");
        }
        self.pending_rows.push(line);
        // The prompt follows the start of the run, possibly after notices.
        if self.title.is_some() || matches!(row, Row::Answer { .. } | Row::Call(_) | Row::End { .. }) {
            return self.write_head();
        }
        Ok(())
    }

    fn write_head(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.has_head, true) {
            return Ok(());
        }
        let title = self.title.clone().unwrap_or_else(|| format!("ibeam {}", self.session));
        let labels = self.labels();
        let label = |name: &str| labels.get(name).map(String::as_str).unwrap_or_default();
        let page = json!({ "lang": self.catalogue.locale_code(), "labels": labels });
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'; \
             require-trusted-types-for 'script'; trusted-types 'none'",
            hash(VIEWER),
            hash(STYLE)
        );
        let [lang, title, session] =
            [self.catalogue.locale_code(), &title, &self.session].map(static_page::escape);
        let keys = ["j k", "J K", "o", "/", "n N", "t", "?"]
            .into_iter()
            .zip(["key_row", "key_prompt", "key_open", "search", "key_match", "theme", "keys"])
            .fold(String::new(), |mut list, (key, name)| {
                // Writing to a string does not fail.
                let _ = write!(list, "<dt><kbd>{key}</kbd><dd>{}", static_page::escape(label(name)));
                list
            });
        let text = |name: &str| static_page::escape(label(name));
        write!(
            self.out,
            "<!doctype html>\n<html lang=\"{lang}\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n<script>{VIEWER}</script>\n<body>\n\
             <a class=\"skip\" href=\"#rows-view\">{skip}</a>\n<header>\n<h1>{title}</h1>\n\
             <p class=\"quiet\">ibeam <code>{session}</code></p>\n<p id=\"totals\"></p>\n<div id=\"time-line\"></div>\n\
             </header>\n<div id=\"viewer\" hidden>\n<div id=\"tools\" role=\"search\">\n\
             <input id=\"search\" type=\"search\" aria-label=\"{search}\" placeholder=\"{search}\" \
             aria-keyshortcuts=\"/\">\n<span id=\"matches\" role=\"status\"></span>\n\
             <button id=\"previous\" type=\"button\">{previous}</button>\n\
             <button id=\"next\" type=\"button\">{next}</button>\n\
             <button id=\"theme\" type=\"button\">{theme}</button>\n<button id=\"keys\" type=\"button\">{keys_title}</button>\n\
             </div>\n<div id=\"layout\">\n<nav aria-label=\"{contents}\"><h3>{contents}</h3><ol id=\"contents\"></ol></nav>\n\
             <main id=\"rows-view\" tabindex=\"-1\"></main>\n</div>\n\
             <dialog id=\"help\" aria-label=\"{keys_title}\"><dl>{keys}</dl>\
             <form method=\"dialog\"><button>{close}</button></form></dialog>\n</div>\n",
            skip = text("skip"),
            search = text("search"),
            previous = text("previous"),
            next = text("next"),
            theme = text("theme"),
            keys_title = text("keys"),
            contents = text("contents"),
            close = text("close"),
        )?;
        let page = script_json(&page.to_string());
        write!(
            self.out,
            "<script type=\"application/json\" id=\"page\">{page}</script>\n\
             <script type=\"application/json\" id=\"rows\">\n"
        )?;
        for row in std::mem::take(&mut self.pending_rows) {
            writeln!(self.out, "{row}")?;
        }
        Ok(())
    }

    /// Returns the texts that the viewer shows, by their names. `NAME_one` is the unit of the number 1.
    fn labels(&self) -> BTreeMap<&'static str, String> {
        let lines = [
            ("run", PageLine::Run),
            ("prompt", PageLine::Prompt),
            ("withheld", PageLine::WithheldPrompt),
            ("answer", PageLine::Answer),
            ("no_result", PageLine::NoResult),
            ("request", PageLine::Request),
            ("requests_one", PageLine::RequestCount { count: 1 }),
            ("requests", PageLine::RequestCount { count: 2 }),
            ("calls_one", PageLine::CallCount { count: 1 }),
            ("calls", PageLine::CallCount { count: 2 }),
            ("failed_run", PageLine::FailedRun),
            ("failed_calls_one", PageLine::FailedCalls { count: 1 }),
            ("failed_calls", PageLine::FailedCalls { count: 2 }),
            ("tokens_in_one", PageLine::TokensRead { count: 1 }),
            ("tokens_in", PageLine::TokensRead { count: 2 }),
            ("tokens_cached", PageLine::TokensCached),
            ("tokens_out_one", PageLine::TokensWritten { count: 1 }),
            ("tokens_out", PageLine::TokensWritten { count: 2 }),
            ("changed", PageLine::ChangedFiles),
            ("time_line", PageLine::TimeLine),
            ("model_time", PageLine::ModelTime),
            ("tool_time", PageLine::ToolTime),
            ("contents", PageLine::Contents),
            ("search", PageLine::Search),
            ("previous", PageLine::PreviousMatch),
            ("next", PageLine::NextMatch),
            ("theme", PageLine::Theme),
            ("keys", PageLine::Keys),
            ("key_row", PageLine::KeyRow),
            ("key_prompt", PageLine::KeyPrompt),
            ("key_open", PageLine::KeyOpen),
            ("key_match", PageLine::KeyMatch),
            ("skip", PageLine::SkipToRows),
            ("close", PageLine::Close),
        ];
        lines.into_iter().map(|(name, line)| (name, self.line(&line))).collect()
    }

    fn write_run_head(&mut self, head: &RunStarted, at_ms: u64) -> io::Result<()> {
        // Calls that are still open belong to a previous run, which was killed.
        self.close_calls()?;
        self.runs += 1;
        self.session = head.session_id.to_string();
        self.model = text(&head.model.display);
        let row = Row::Run {
            run: self.runs,
            at_ms,
            model: self.model.clone(),
            cwd: text(&head.cwd.to_string_lossy()),
            mode: permission_mode_name(head.permission_mode),
        };
        self.push(&row)
    }

    fn write_prompt(
        &mut self,
        content: &[String],
        files: Vec<String>,
        is_withheld: bool,
        at_ms: u64,
    ) -> io::Result<()> {
        let content: Vec<_> = content.iter().map(|part| text(part)).collect();
        if self.title.is_none() {
            let line = content.iter().flat_map(|part| part.lines()).find(|line| !line.trim().is_empty());
            self.title = line.map(|line| match line.trim().char_indices().nth(MAX_TITLE_CHARACTERS) {
                None => line.trim().to_owned(),
                Some((end, _)) => format!("{}…", line.trim().get(..end).unwrap_or_default()),
            });
        }
        self.push(&Row::Prompt { at_ms, text: content, files, is_withheld })
    }

    /// Writes the text of the answer so far as a row.
    fn end_answer(&mut self) -> io::Result<()> {
        let answer = std::mem::take(&mut self.answer);
        if answer.trim().is_empty() {
            return Ok(());
        }
        self.push(&Row::Answer { at_ms: self.answer_at_ms, text: text(answer.trim_matches('\n')) })
    }

    fn write_call(
        &mut self,
        model_call_id: &ModelCallId,
        call: &ToolCall,
        outcome: &ToolOutcome,
        at_ms: u64,
    ) -> io::Result<()> {
        let is_same = |open: &OpenCall| open.call.id == call.id && open.model_call_id == *model_call_id;
        let started_ms =
            self.open_calls.iter().position(is_same).map(|index| self.open_calls.remove(index).at_ms);
        // Some events of streams have no time.
        let timed_start = started_ms.filter(|started_ms| *started_ms > 0);
        let duration_ms = timed_start.and_then(|started_ms| at_ms.checked_sub(started_ms));
        let row =
            call_row::finished(call, outcome, started_ms.unwrap_or(at_ms), duration_ms, &self.catalogue);
        self.push(&Row::Call(row))
    }

    /// Shows the calls that have no result at the end of a run.
    fn close_calls(&mut self) -> io::Result<()> {
        for OpenCall { call, at_ms, .. } in std::mem::take(&mut self.open_calls) {
            let row = call_row::open(&call, at_ms, &self.catalogue);
            self.push(&Row::Call(row))?;
        }
        Ok(())
    }

    fn write_run_end(&mut self, run: &RunFinished, at_ms: u64) -> io::Result<()> {
        self.close_calls()?;
        let (is_completed, line) = match &run.outcome {
            RunOutcome::Completed => (true, self.line(&PageLine::Completed { duration_ms: run.duration_ms })),
            RunOutcome::Failed(failure) => {
                let message = self.catalogue.failure(failure).message;
                (false, self.line(&PageLine::Failed { message: &message }))
            }
        };
        let totals = &run.totals;
        self.push(&Row::End {
            at_ms,
            is_completed,
            text: text(&line),
            requests: totals.turns,
            usage: totals.usage,
            cost_micros: totals.cost_micros,
            files: totals.files_changed.iter().map(|path| text(&path.to_string_lossy())).collect(),
        })
    }
}

impl<W: Write> EventWriter for Html<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        let at_ms = event.at_ms;
        match &event.kind {
            EventKind::TextDelta { text } => {
                if self.answer.is_empty() {
                    self.answer_at_ms = at_ms;
                }
                self.answer.push_str(text);
                return Ok(());
            }
            EventKind::ThinkingDelta { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::RulesAdded { .. }
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::CallInterrupted { .. } => return Ok(()),
            EventKind::ModelRequestFinished { .. }
            | EventKind::RunStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::HookMessage { .. }
            | EventKind::ToolCallStarted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::Retrying { .. }
            | EventKind::Compacted(_)
            | EventKind::Notice(_)
            | EventKind::RunFinished(_) => self.end_answer()?,
        }
        match &event.kind {
            EventKind::RunStarted(head) => self.write_run_head(head, at_ms),
            EventKind::UserMessage { content, attachments } => {
                let files = attachments.iter().map(|attachment| text(attachment.name())).collect();
                self.write_prompt(content, files, false, at_ms)
            }
            EventKind::PromptWithheld { content } => self.write_prompt(content, Vec::new(), true, at_ms),
            EventKind::ModelRequestFinished { answer, api_ms, cost_micros, .. } => {
                let stop = match &answer.stop {
                    StopReason::EndTurn | StopReason::ToolUse => None,
                    StopReason::MaxTokens => Some("max_tokens".to_owned()),
                    StopReason::Paused => Some("paused".to_owned()),
                    StopReason::Refusal => Some("refusal".to_owned()),
                    StopReason::Unknown(reason) => Some(text(reason)),
                };
                let (usage, cost_micros) = (answer.usage, *cost_micros);
                let model = self.model.clone();
                self.push(&Row::Request { at_ms, duration_ms: *api_ms, model, usage, cost_micros, stop })
            }
            EventKind::ToolCallStarted { model_call_id, call } => {
                let (model_call_id, call) = (model_call_id.clone(), call.clone());
                self.open_calls.push(OpenCall { model_call_id, call, at_ms });
                Ok(())
            }
            EventKind::ToolCallFinished { model_call_id, call, outcome } => {
                self.write_call(model_call_id, call, outcome, at_ms)
            }
            EventKind::Retrying { attempt, delay_ms, reason, usage: _ } => {
                let line = self.catalogue.retry_warning(*attempt, *delay_ms, reason);
                self.push(&Row::Notice { at_ms, text: text(&line) })
            }
            EventKind::Compacted(compacted) => {
                let line = self.catalogue.compaction_warning(compacted);
                self.push(&Row::Notice { at_ms, text: text(&line) })
            }
            EventKind::HookMessage { text: message } => {
                self.push(&Row::Notice { at_ms, text: text(message) })
            }
            EventKind::Notice(notice) => {
                let line = self.catalogue.notice(notice);
                self.push(&Row::Notice { at_ms, text: text(&line) })
            }
            EventKind::RunFinished(run) => self.write_run_end(run, at_ms),
            EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::RulesAdded { .. }
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::CallInterrupted { .. } => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn finish_incomplete_run(&mut self) -> io::Result<()> {
        self.end_answer()?;
        self.close_calls()?;
        self.flush()
    }

    fn end_document(&mut self) -> io::Result<()> {
        if self.runs == 0 || std::mem::replace(&mut self.is_ended, true) {
            return self.flush();
        }
        self.end_answer()?;
        self.close_calls()?;
        self.write_head()?;
        let note = static_page::escape(&self.line(&PageLine::NeedsScript));
        let rows = self.static_page.finish(&note);
        write!(self.out, "</script>\n<noscript>\n{rows}</noscript>\n")?;
        self.flush()
    }
}

/// Returns text for people: invisible characters are visible escapes.
fn text(text: &str) -> String {
    escape_invisible(text).into_owned()
}

/// Returns the same JSON document without `<`, which could end the element or open a comment.
fn script_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Returns the hash of an inline script or style, as a source of a content security policy.
fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content.as_bytes())))
}
