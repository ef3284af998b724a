//! `html`: one page to read, of one run or of many, written as the events come.
//!
//! The page needs no script and loads nothing, which its own policy holds too. It is whole after every event: the
//! tags that would have to end last are those that HTML lets stand open. Times are UTC.

mod markup;
mod payload;
mod prose;

use std::io::{self, Write};
use std::sync::Arc;

use ibeam_protocol::{
    Event, EventKind, ModelCallId, RunFinished, RunOutcome, SessionStarted, ToolCall, ToolOutcome,
};
use serde_json::Value;

use self::markup::Markup;
use self::prose::Prose;
use crate::catalogue::{Action, ActionEnding, Catalogue, PageLine};
use crate::line_buffer::LineBuffer;
use crate::run_lines::permission_mode;
use crate::text::detail;
use crate::tool_call_line::call_result;
use crate::writer::EventWriter;

/// Nothing may be loaded and nothing run.
const HEAD: &str = "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";

/// Writes a page for people.
pub struct Html<W> {
    lines: LineBuffer<W>,
    catalogue: Arc<Catalogue>,
    prose: Prose,
    /// Calls that have no result yet.
    open: Vec<Open>,
    /// The head of the page is written.
    begun: bool,
}

struct Open {
    model_call_id: ModelCallId,
    call: ToolCall,
    at_ms: u64,
}

impl<W: Write> Html<W> {
    /// A writer of one page, in the language of `catalogue`. It takes run after run.
    pub fn new(out: W, catalogue: Arc<Catalogue>) -> Self {
        Self {
            lines: LineBuffer::new(out),
            catalogue,
            prose: Prose::default(),
            open: Vec::new(),
            begun: false,
        }
    }

    fn say(&self, line: &PageLine<'_>) -> String {
        self.catalogue.line(line)
    }

    fn page_began(&mut self, session: &str, page: &mut Markup) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        page.raw("<!doctype html>\n<html lang=\"")
            .text(self.catalogue.locale().code())
            .raw("\">\n")
            .raw(HEAD);
        page.raw("<title>ibeam ").text(session).raw("</title>\n<style>\n").raw(include_str!("html/page.css"));
        page.raw("</style>\n<body>\n<h1>ibeam <code>").text(session).raw("</code></h1>\n");
    }

    fn run_began(&mut self, head: &SessionStarted, at_ms: u64, page: &mut Markup) {
        self.page_began(&head.session_id.to_string(), page);
        // The run before was killed.
        self.close_calls(page);
        page.raw("<h2>").text(&head.model.display).date(at_ms).raw("</h2>\n<p class=\"quiet\"><code>");
        page.text(&head.cwd.to_string_lossy()).raw("</code> · ").text(permission_mode(head.permission_mode));
        page.raw("</p>\n");
    }

    fn prompt(&mut self, title: &PageLine<'_>, content: &[String], at_ms: u64, page: &mut Markup) {
        page.raw("<h3>").text(&self.say(title)).time(at_ms).raw("</h3>\n<div class=\"prompt\">\n");
        for text in content {
            page.raw("<p>").text(text).raw("</p>\n");
        }
        page.raw("</div>\n");
    }

    fn delta(&mut self, text: &str, at_ms: u64, page: &mut Markup) {
        if self.prose.is_new() {
            page.raw("<h3>").text(&self.say(&PageLine::Answer)).time(at_ms).raw("</h3>\n");
        }
        self.prose.take(text, page);
    }

    fn call_ended(
        &mut self,
        at: (&ModelCallId, u64),
        call: &ToolCall,
        outcome: &ToolOutcome,
        page: &mut Markup,
    ) {
        let (model_call_id, at_ms) = at;
        let is_it = |open: &Open| open.call.id == call.id && open.model_call_id == *model_call_id;
        let began = self.open.iter().position(is_it).map(|index| self.open.remove(index).at_ms);
        let ending = ActionEnding::for_outcome(outcome);
        let class = match ending {
            ActionEnding::Done => "<details class=\"done\"><summary><b>",
            ActionEnding::Failed | ActionEnding::Refused => "<details class=\"failed\"><summary><b>",
        };
        page.raw(class)
            .text(&self.catalogue.action(&Action::for_call(call, outcome), ending, None))
            .raw("</b>");
        self.call_head(call, began.unwrap_or(at_ms), page);
        if let Some(took) = began.filter(|began| at_ms > *began).map(|began| at_ms - began) {
            page.raw(" <span class=\"quiet\">")
                .text(&self.say(&PageLine::Took { duration_ms: took }))
                .raw("</span>");
        }
        page.raw("</summary>\n");
        self.arguments(call, page);
        page.raw("<h3>").text(&self.say(&PageLine::Result)).raw("</h3>\n");
        // Strings, numbers and lists always become a value.
        let result = serde_json::to_value(call_result(&call.name, outcome)).unwrap_or_default();
        match result.get("success").filter(|_| result.as_object().is_some_and(|result| result.len() == 1)) {
            Some(success) => payload::show(success, &call.arguments, page),
            None => payload::show(&result, &call.arguments, page),
        }
        page.raw("</details>\n");
    }

    /// What the run left without a result.
    fn close_calls(&mut self, page: &mut Markup) {
        for Open { call, at_ms, .. } in std::mem::take(&mut self.open) {
            page.raw("<details class=\"failed\"><summary><b>").text(&call.name).raw("</b>");
            self.call_head(&call, at_ms, page);
            page.raw(" <span class=\"quiet\">").text(&self.say(&PageLine::NoResult));
            page.raw("</span></summary>\n");
            self.arguments(&call, page);
            page.raw("</details>\n");
        }
    }

    fn call_head(&self, call: &ToolCall, at_ms: u64, page: &mut Markup) {
        if let Some(detail) = detail(call) {
            page.raw(" <code>").text(&detail).raw("</code>");
        }
        page.time(at_ms);
    }

    fn arguments(&self, call: &ToolCall, page: &mut Markup) {
        page.raw("<h3>").text(&self.say(&PageLine::Arguments)).raw("</h3>\n");
        payload::show(&call.arguments, &Value::Null, page);
    }

    fn notice(text: &str, at_ms: u64, page: &mut Markup) {
        page.raw("<p class=\"notice\">").text(text).time(at_ms).raw("</p>\n");
    }

    fn run_ended(&mut self, run: &RunFinished, page: &mut Markup) {
        self.close_calls(page);
        let (class, line) = match &run.outcome {
            RunOutcome::Completed => {
                ("<p class=\"end done\">", self.say(&PageLine::Completed { duration_ms: run.duration_ms }))
            }
            RunOutcome::Failed(failure) => {
                let message = self.catalogue.failure(failure).message;
                let line = PageLine::Failed { message: &message };
                ("<p class=\"end failed\">", self.say(&line))
            }
        };
        page.raw(class).text(&line).raw("</p>\n");
        let totals = &run.totals;
        if totals.turns > 0 {
            let requests = self.say(&PageLine::Requests { count: totals.turns.into() });
            page.raw("<p class=\"quiet\">").text(&requests);
            if let Some(usage) = totals.usage {
                let input = usage.input + usage.cache_read + usage.cache_write;
                let tokens = self.say(&PageLine::Tokens { input, output: usage.output });
                page.raw(" · ").text(&tokens);
            }
            page.raw("</p>\n");
        }
        if !totals.files_changed.is_empty() {
            let paths: Vec<_> = totals.files_changed.iter().map(|path| path.to_string_lossy()).collect();
            page.raw("<h3>").text(&self.say(&PageLine::Changed)).raw("</h3>\n").block(&paths.join("\n"));
        }
    }
}

impl<W: Write> EventWriter for Html<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        let (page, at_ms) = (&mut Markup::default(), event.at_ms);
        // Only what shows something ends a paragraph.
        match &event.kind {
            EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
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
            EventKind::SessionStarted(head) => self.run_began(head, at_ms, page),
            EventKind::UserMessage { content } => self.prompt(&PageLine::Prompt, content, at_ms, page),
            EventKind::PromptWithheld { content } => self.prompt(&PageLine::Withheld, content, at_ms, page),
            EventKind::TextDelta { text } => self.delta(text, at_ms, page),
            EventKind::ToolCallStarted { model_call_id, call } => {
                let (model_call_id, call) = (model_call_id.clone(), call.clone());
                self.open.push(Open { model_call_id, call, at_ms });
            }
            EventKind::ToolCallFinished { model_call_id, call, outcome } => {
                self.call_ended((model_call_id, at_ms), call, outcome, page);
            }
            EventKind::Retrying { attempt, delay_ms, reason } => {
                Self::notice(&self.catalogue.retrying(*attempt, *delay_ms, reason), at_ms, page);
            }
            EventKind::Compacted(compacted) => {
                Self::notice(&self.catalogue.compacted(compacted), at_ms, page);
            }
            EventKind::Notice(notice) => Self::notice(&self.catalogue.notice(notice), at_ms, page),
            EventKind::RunFinished(run) => self.run_ended(run, page),
            EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::CallInterrupted { .. } => {}
        }
        self.lines.append(|bytes| bytes.write_all(page.as_bytes()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    fn finish_incomplete(&mut self) -> io::Result<()> {
        let page = &mut Markup::default();
        self.prose.end(page);
        self.close_calls(page);
        self.lines.append(|bytes| bytes.write_all(page.as_bytes()))?;
        self.flush()
    }
}
