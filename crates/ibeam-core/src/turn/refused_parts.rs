//! Leaves out a part of a request after its service has refused the request because of it.
//!
//! The provider names the part as far as the service does. Otherwise it is what the last accepted request did not have. Each
//! omission is recorded before the request is repeated, and is final.

use std::sync::Arc;

use ibeam_protocol::{EventKind, Message, Notice, OmittedParts};

use super::Run;
use crate::journal::{Journal, JournalClosed};
use crate::omitted_parts::{PlacedMedia, placed_media};
use crate::ports::{ModelRequest, RefusedPart};
use crate::prefix::media_fingerprint;

impl Run {
    /// Leaves out what the service has refused in `request`. Returns false if the request has no such part.
    pub(super) async fn omit_refused_part(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        part: &RefusedPart,
    ) -> Result<bool, JournalClosed> {
        match part {
            RefusedPart::Thinking => self.omit_refused_thinking(journal, request).await,
            RefusedPart::Tools(names) => {
                let tools = self.refused_tools(request, names);
                self.omit_tools(journal, tools).await
            }
            RefusedPart::ToolsBeyond(limit) => {
                let tools = self.tools_beyond(*limit, request.offered_tools().map(|tool| &*tool.name));
                self.omit_tools(journal, tools).await
            }
            RefusedPart::Update => {
                let provider = &self.active_model(journal).provider;
                Ok(!provider.appends_tools() && provider.appended_effort().is_none())
            }
            RefusedPart::Media(fingerprints) => {
                let media = refused_media(request, fingerprints);
                self.omit_refused_media(journal, &media).await
            }
            RefusedPart::MediaSize => {
                self.omit_refused_media(journal, &older_half(placed_media(&request.messages).collect())).await
            }
            // Only what is new can be meant: everything else was accepted before.
            RefusedPart::Unknown if last_answer(&request.messages).is_some() => {
                self.omit_refused_media(journal, &new_media(&request.messages)).await
            }
            RefusedPart::Unknown => Ok(false),
        }
    }

    /// Returns the tools of a request with these names, or all those of MCP servers: the other ones are known to be accepted.
    fn refused_tools(&self, request: &ModelRequest, names: &[String]) -> Vec<String> {
        let offered = || request.offered_tools().map(|tool| tool.name.to_string());
        let named: Vec<_> = offered().filter(|name| names.contains(name)).collect();
        let is_of_server = |name: &String| self.tools.get(name).is_some_and(|tool| tool.origin().is_some());
        if named.is_empty() { offered().filter(is_of_server).collect() } else { named }
    }

    async fn omit_tools(&self, journal: &mut Journal, tools: Vec<String>) -> Result<bool, JournalClosed> {
        if tools.is_empty() {
            return Ok(false);
        }
        let labels = Notice::list(&self.tool_labels(&tools));
        let provider = self.active_model(journal).info.provider.clone();
        journal.record(EventKind::PartsOmitted(OmittedParts { tools, media: Vec::new() })).await?;
        journal.record(EventKind::Notice(Notice::ToolsRefused { provider, tools: labels })).await?;
        Ok(true)
    }

    async fn omit_refused_media(
        &self,
        journal: &mut Journal,
        media: &[PlacedMedia<'_>],
    ) -> Result<bool, JournalClosed> {
        if media.is_empty() {
            return Ok(false);
        }
        let provider = self.active_model(journal).info.provider.clone();
        let files = self.media_labels(media);
        journal.record(EventKind::PartsOmitted(omission(media))).await?;
        journal.record(EventKind::Notice(Notice::FilesRefused { provider, files })).await?;
        Ok(true)
    }

    /// Returns the names of tools for people: of those of MCP servers, the names that people know from there.
    pub(super) fn tool_labels(&self, names: &[String]) -> Vec<String> {
        let label = |name: &String| match self.tools.get(name).and_then(|tool| tool.origin()) {
            Some(origin) => format!("{}:{}", origin.server, origin.tool),
            None => name.clone(),
        };
        names.iter().map(label).collect()
    }

    /// Returns the names of images and documents for people, in one text.
    pub(super) fn media_labels(&self, media: &[PlacedMedia<'_>]) -> String {
        let label =
            |placed: &PlacedMedia<'_>| match placed.tool.and_then(|tool| self.tools.get(tool)?.origin()) {
                Some(origin) => format!("{}:{} {}", origin.server, origin.tool, placed.media.name),
                None => placed.media.name.clone(),
            };
        let mut labels: Vec<_> = media.iter().map(label).collect();
        labels.dedup();
        Notice::list(&labels)
    }

    /// Returns the tools that are left out where at most `limit` are accepted: the last ones of MCP servers first.
    pub(super) fn tools_beyond<'a>(
        &self,
        limit: usize,
        offered: impl Iterator<Item = &'a str>,
    ) -> Vec<String> {
        let is_of_server = |name: &&str| self.tools.get(*name).is_some_and(|tool| tool.origin().is_some());
        let (of_servers, other): (Vec<_>, Vec<_>) = offered.partition(is_of_server);
        other.into_iter().chain(of_servers).skip(limit).map(str::to_owned).collect()
    }
}

/// Returns the event that leaves out images and documents.
pub(super) fn omission(media: &[PlacedMedia<'_>]) -> OmittedParts {
    let mut media: Vec<_> = media.iter().map(|placed| media_fingerprint(placed.media)).collect();
    media.sort_unstable();
    media.dedup();
    OmittedParts { tools: Vec::new(), media }
}

/// Returns the images and documents with these fingerprints; without one of them, the new ones, and else all.
fn refused_media<'a>(request: &'a ModelRequest, fingerprints: &[u64]) -> Vec<PlacedMedia<'a>> {
    let all = || placed_media(&request.messages);
    let is_named = |placed: &PlacedMedia<'_>| fingerprints.contains(&media_fingerprint(placed.media));
    let named: Vec<_> = all().filter(|placed| !fingerprints.is_empty() && is_named(placed)).collect();
    let candidates = [named, new_media(&request.messages)];
    candidates.into_iter().find(|media| !media.is_empty()).unwrap_or_else(|| all().collect())
}

/// Returns the images and documents that no answered request had.
fn new_media(messages: &[Arc<Message>]) -> Vec<PlacedMedia<'_>> {
    let last = last_answer(messages);
    placed_media(messages).filter(|placed| last.is_none_or(|last| placed.message > last)).collect()
}

fn last_answer(messages: &[Arc<Message>]) -> Option<usize> {
    messages.iter().rposition(|message| matches!(message.as_ref(), Message::Assistant(_)))
}

/// Returns the oldest images and documents, so that at most half of their bytes remain.
fn older_half(mut media: Vec<PlacedMedia<'_>>) -> Vec<PlacedMedia<'_>> {
    let total: usize = media.iter().map(|placed| placed.media.data.len()).sum();
    let mut rest = total;
    let kept_from = media.iter().position(|placed| {
        let is_kept = rest <= total / 2;
        rest -= placed.media.data.len();
        is_kept
    });
    media.truncate(kept_from.unwrap_or(media.len()));
    media
}
