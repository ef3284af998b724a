//! `html`: one page for one or more runs, written as events arrive.
//!
//! The page needs no script and loads nothing, which its content security policy enforces. It is complete after every
//! event, because HTML does not require the last end tags. Times are UTC.

mod markup;
mod payload;
mod prose;

use std::io::{self, Write};
use std::sync::Arc;

use ibeam_protocol::{
    Event, EventKind, ModelCallId, RunFinished, RunOutcome, SessionStarted, ToolCall, ToolOutcome,
};
use ibeam_wire::tool::SUCCESS;
use serde_json::Value;

use self::markup::Markup;
use self::prose::Prose;
use crate::catalogue::{Action, ActionEnding, Catalogue, PageLine};
use crate::line_buffer::LineBuffer;
use crate::run_lines::permission_mode;
use crate::text::detail;
use crate::tool_call_line::call_result;
use crate::writer::EventWriter;

/// The start of the page. Its content security policy forbids scripts and all external content.
const HEAD: &str = "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";

/// Writes a page for people.
pub struct Html<W> {
    lines: LineBuffer<W>,
    catalogue: Arc<Catalogue>,
    prose: Prose,
    /// Calls without a result so far.
    open_calls: Vec<OpenCall>,
    /// Whether the head of the page is written.
    has_head: bool,
}

/// A call without a result so far, with the time of its start.
struct OpenCall {
    model_call_id: ModelCallId,
    call: ToolCall,
    at_ms: u64,
}

impl<W: Write> Html<W> {
    /// Returns a writer of one page for any number of runs, in the language of `catalogue`.
    pub fn new(out: W, catalogue: Arc<Catalogue>) -> Self {
        Self {
            lines: LineBuffer::new(out),
            catalogue,
            prose: Prose::default(),
            open_calls: Vec::new(),
            has_head: false,
        }
    }

    fn line(&self, line: &PageLine<'_>) -> String {
        self.catalogue.line(line)
    }

    fn write_page_head(&mut self, session: &str, page: &mut Markup) {
        if std::mem::replace(&mut self.has_head, true) {
            return;
        }
        page.raw("<!doctype html>\n<html lang=\"")
            .text(self.catalogue.locale().code())
            .raw("\">\n")
            .raw(HEAD);
        page.raw("<title>ibeam ").text(session).raw("</title>\n<style>\n").raw(include_str!("html/page.css"));
        page.raw("</style>\n<body>\n<h1>ibeam <code>").text(session).raw("</code></h1>\n");
    }

    fn write_run_head(&mut self, head: &SessionStarted, at_ms: u64, page: &mut Markup) {
        self.write_page_head(&head.session_id.to_string(), page);
        // Calls that are still open belong to a previous run, which was killed.
        self.close_calls(page);
        page.raw("<h2>").text(&head.model.display).date(at_ms).raw("</h2>\n<p class=\"quiet\"><code>");
        page.text(&head.cwd.to_string_lossy()).raw("</code> · ").text(permission_mode(head.permission_mode));
        page.raw("</p>\n");
    }

    fn write_prompt(&mut self, title: &PageLine<'_>, content: &[String], at_ms: u64, page: &mut Markup) {
        page.raw("<h3>").text(&self.line(title)).time(at_ms).raw("</h3>\n<div class=\"prompt\">\n");
        for text in content {
            page.raw("<p>").text(text).raw("</p>\n");
        }
        page.raw("</div>\n");
    }

    fn write_delta(&mut self, text: &str, at_ms: u64, page: &mut Markup) {
        if self.prose.is_empty() {
            page.raw("<h3>").text(&self.line(&PageLine::Answer)).time(at_ms).raw("</h3>\n");
        }
        self.prose.push(text, page);
    }

    fn write_call(
        &mut self,
        at: (&ModelCallId, u64),
        call: &ToolCall,
        outcome: &ToolOutcome,
        page: &mut Markup,
    ) {
        let (model_call_id, at_ms) = at;
        let is_same = |open: &OpenCall| open.call.id == call.id && open.model_call_id == *model_call_id;
        let started_ms =
            self.open_calls.iter().position(is_same).map(|index| self.open_calls.remove(index).at_ms);
        let ending = ActionEnding::for_outcome(outcome);
        let class = match ending {
            ActionEnding::Done => "<details class=\"done\"><summary><b>",
            ActionEnding::Failed | ActionEnding::Refused => "<details class=\"failed\"><summary><b>",
        };
        page.raw(class)
            .text(&self.catalogue.action(&Action::for_call(call, outcome), ending, None))
            .raw("</b>");
        self.write_call_head(call, started_ms.unwrap_or(at_ms), page);
        if let Some(duration_ms) =
            started_ms.and_then(|started_ms| at_ms.checked_sub(started_ms)).filter(|ms| *ms > 0)
        {
            page.raw(" <span class=\"quiet\">")
                .text(&self.line(&PageLine::CallDuration { duration_ms }))
                .raw("</span>");
        }
        page.raw("</summary>\n");
        self.write_arguments(call, page);
        page.raw("<h3>").text(&self.line(&PageLine::Result)).raw("</h3>\n");
        // Strings, numbers and lists always become a value.
        let result = serde_json::to_value(call_result(&call.name, outcome)).unwrap_or_default();
        match result.get(SUCCESS).filter(|_| result.as_object().is_some_and(|result| result.len() == 1)) {
            Some(success) => payload::show(success, &call.arguments, page),
            None => payload::show(&result, &call.arguments, page),
        }
        page.raw("</details>\n");
    }

    /// Shows the calls that have no result at the end of a run.
    fn close_calls(&mut self, page: &mut Markup) {
        for OpenCall { call, at_ms, .. } in std::mem::take(&mut self.open_calls) {
            page.raw("<details class=\"failed\"><summary><b>").text(&call.name).raw("</b>");
            self.write_call_head(&call, at_ms, page);
            page.raw(" <span class=\"quiet\">").text(&self.line(&PageLine::NoResult));
            page.raw("</span></summary>\n");
            self.write_arguments(&call, page);
            page.raw("</details>\n");
        }
    }

    fn write_call_head(&self, call: &ToolCall, at_ms: u64, page: &mut Markup) {
        if let Some(detail) = detail(call) {
            page.raw(" <code>").text(&detail).raw("</code>");
        }
        page.time(at_ms);
    }

    fn write_arguments(&self, call: &ToolCall, page: &mut Markup) {
        page.raw("<h3>").text(&self.line(&PageLine::Arguments)).raw("</h3>\n");
        payload::show(&call.arguments, &Value::Null, page);
    }

    fn write_notice(text: &str, at_ms: u64, page: &mut Markup) {
        page.raw("<p class=\"notice\">").text(text).time(at_ms).raw("</p>\n");
    }

    fn write_run_end(&mut self, run: &RunFinished, page: &mut Markup) {
        self.close_calls(page);
        let (class, line) = match &run.outcome {
            RunOutcome::Completed => {
                ("<p class=\"end done\">", self.line(&PageLine::Completed { duration_ms: run.duration_ms }))
            }
            RunOutcome::Failed(failure) => {
                let message = self.catalogue.failure(failure).message;
                let line = PageLine::Failed { message: &message };
                ("<p class=\"end failed\">", self.line(&line))
            }
        };
        page.raw(class).text(&line).raw("</p>\n");
        let totals = &run.totals;
        if totals.turns > 0 {
            let requests = self.line(&PageLine::Requests { count: totals.turns.into() });
            page.raw("<p class=\"quiet\">").text(&requests);
            if let Some(usage) = totals.usage {
                let input = usage.input + usage.cache_read + usage.cache_write;
                let tokens = self.line(&PageLine::Tokens { input, output: usage.output });
                page.raw(" · ").text(&tokens);
            }
            page.raw("</p>\n");
        }
        if !totals.files_changed.is_empty() {
            let paths: Vec<_> = totals.files_changed.iter().map(|path| path.to_string_lossy()).collect();
            page.raw("<h3>")
                .text(&self.line(&PageLine::ChangedFiles))
                .raw("</h3>\n")
                .block(&paths.join("\n"));
        }
    }
}

impl<W: Write> EventWriter for Html<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        let (page, at_ms) = (&mut Markup::default(), event.at_ms);
        // Only events that add content to the page end a paragraph.
        match &event.kind {
            EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::RulesAdded { .. }
            | EventKind::CheckpointTaken(_)
            | EventKind::CallInterrupted { .. } => {}
            EventKind::SessionStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::ToolCallStarted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::Retrying { .. }
            | EventKind::Compacted(_)
            | EventKind::Notice(_)
            | EventKind::RunFinished(_) => self.prose.end(page),
        }
        match &event.kind {
            EventKind::SessionStarted(head) => self.write_run_head(head, at_ms, page),
            EventKind::UserMessage { content, .. } => {
                self.write_prompt(&PageLine::Prompt, content, at_ms, page)
            }
            EventKind::PromptWithheld { content } => {
                self.write_prompt(&PageLine::WithheldPrompt, content, at_ms, page)
            }
            EventKind::TextDelta { text } => self.write_delta(text, at_ms, page),
            EventKind::ToolCallStarted { model_call_id, call } => {
                let (model_call_id, call) = (model_call_id.clone(), call.clone());
                self.open_calls.push(OpenCall { model_call_id, call, at_ms });
            }
            EventKind::ToolCallFinished { model_call_id, call, outcome } => {
                self.write_call((model_call_id, at_ms), call, outcome, page);
            }
            EventKind::Retrying { attempt, delay_ms, reason, usage: _ } => {
                Self::write_notice(&self.catalogue.retry_warning(*attempt, *delay_ms, reason), at_ms, page);
            }
            EventKind::Compacted(compacted) => {
                Self::write_notice(&self.catalogue.compaction_warning(compacted), at_ms, page);
            }
            EventKind::Notice(notice) => Self::write_notice(&self.catalogue.notice(notice), at_ms, page),
            EventKind::RunFinished(run) => self.write_run_end(run, page),
            EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::RulesAdded { .. }
            | EventKind::CheckpointTaken(_)
            | EventKind::CallInterrupted { .. } => {}
        }
        self.lines.append(|bytes| bytes.write_all(page.as_bytes()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    fn finish_incomplete_run(&mut self) -> io::Result<()> {
        let page = &mut Markup::default();
        self.prose.end(page);
        self.close_calls(page);
        self.lines.append(|bytes| bytes.write_all(page.as_bytes()))?;
        self.flush()
    }
}
