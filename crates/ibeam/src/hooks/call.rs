//! Hooks before and after a call.
//!
//! Before it, those of every tool come first, then those of what the call is about to touch, and only where the
//! first let it pass as it is.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, FinishedCall, HookDecision, HookOutput};
use ibeam_files::regular_file;
use ibeam_protocol::ToolCall;
use serde_json::Value;
use tokio::sync::oneshot;

use super::event::Event;
use super::payload::{ToolCallPayload, post_tool_event};
use super::verdict::Verdict;
use super::{HookInvocation, HookRunner};

/// The most of a file that `beforeReadFile` is told.
const CONTENT: u64 = 1 << 20;
/// How long that file is waited for.
const CONTENT_PATIENCE: Duration = Duration::from_secs(5);

impl HookRunner {
    /// Tells of a call that has not begun; `None` when nobody listens.
    pub(super) fn before_call<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        rewritten: bool,
    ) -> Option<BoxFuture<'a, HookOutput>> {
        let told = ToolCallPayload::of(call, &self.workspace, self.sandboxed);
        let of_tool = self.invocation(Event::PreToolUse, Some(&told.name), self.documents.tool(&told));
        let of_access = told
            .access_event(access)
            .map(|(event, subject, document)| self.invocation(event, Some(&subject), document))
            .filter(|invocation| !invocation.hooks.is_empty());
        if of_tool.hooks.is_empty() && of_access.is_none() {
            return None;
        }
        Some(Box::pin(async move {
            let mut first = self.run(&of_tool).await;
            let mut notices = std::mem::take(&mut first.heard.notices);
            if first.refused.is_none()
                && !rewritten
                && let Some((hook, input)) = first.input.take()
                && told.input != Value::Object(input.clone())
            {
                let word = HookDecision::UpdateInput { hook, arguments: told.rewritten(input) };
                return HookOutput { decision: word, notices, ..HookOutput::default() };
            }
            let mut second = Verdict::default();
            if let (None, Some(mut invocation)) = (&first.refused, of_access) {
                add_content(&mut invocation, access).await;
                second = self.run(&invocation).await;
                notices.append(&mut second.heard.notices);
            }
            // A refusal of either beats a question of the other.
            let refused = first.refused.take().or(second.refused.take());
            let objection = refused.or_else(|| first.objection()).or_else(|| second.objection());
            HookOutput {
                decision: objection.map_or(HookDecision::Continue, HookDecision::Block),
                notices,
                ..HookOutput::default()
            }
        }))
    }

    /// Tells of a call that ended; `None` when nobody listens.
    pub(super) fn after_call<'a>(&'a self, ended: &'a FinishedCall) -> Option<BoxFuture<'a, HookOutput>> {
        let told = ToolCallPayload::of(&ended.call, &self.workspace, self.sandboxed);
        let (event, document) = self.documents.ended(&told, ended);
        let of_tool = self.invocation(event, Some(&told.name), document);
        let of_effect = post_tool_event(&told, ended)
            .map(|(event, subject, document)| self.invocation(event, Some(&subject), document));
        self.notify_all([of_tool].into_iter().chain(of_effect))
    }
}

/// Adds the content of the file that is about to be read.
async fn add_content(invocation: &mut HookInvocation<'_>, access: &Access) {
    if let (Access::Read(path), Some(document)) = (access, invocation.particular.as_object_mut()) {
        document.insert("content".to_owned(), content(path).await.into());
    }
}

/// The beginning of a file, as text; nothing of what is no regular file or does not come in time.
async fn content(path: &Path) -> String {
    let path = path.to_owned();
    let (sender, done) = oneshot::channel();
    // A thread of its own, which nobody waits for at the end of the program.
    let thread = std::thread::Builder::new().name("hook-content".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let file = regular_file::open(&path, true);
        let read = file.and_then(|file| file.take(CONTENT).read_to_end(&mut bytes));
        let text = read.map(|_| String::from_utf8_lossy(&bytes).into_owned());
        // Whoever waited may have given up.
        let _ = sender.send(text.unwrap_or_default());
    });
    match thread {
        Ok(_) => {
            let read = tokio::time::timeout(CONTENT_PATIENCE, done).await;
            read.ok().and_then(Result::ok).unwrap_or_default()
        }
        Err(_) => String::new(),
    }
}
