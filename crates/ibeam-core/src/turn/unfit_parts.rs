//! Leaves out what the service of a model is known not to accept, before a request is sent: damaged images, images and
//! documents beyond its limits, and tools beyond its number.

use ibeam_protocol::{EventKind, Notice, OmittedParts};

use super::Run;
use super::refused_parts::omission;
use crate::image_check::image_side;
use crate::journal::{Journal, JournalClosed};
use crate::omitted_parts::{PlacedMedia, placed_media};
use crate::ports::RequestLimits;
use crate::session_prompt::{CurrentPrompt, SessionPrompt};

impl Run {
    /// Leaves out the parts of the next request that the service of the model does not accept, and those that this session
    /// leaves out. `current` has the tools that this run offers.
    pub(super) async fn omit_unfit_parts(
        &self,
        journal: &mut Journal,
        current: &mut CurrentPrompt,
    ) -> Result<(), JournalClosed> {
        self.limit_tools(journal, current).await?;
        self.omit_unfit_media(journal).await
    }

    pub(super) async fn limit_tools(
        &self,
        journal: &mut Journal,
        current: &mut CurrentPrompt,
    ) -> Result<(), JournalClosed> {
        let history = journal.history();
        current.remove_tools(|name| history.omitted_tools().contains(name));
        let model = self.active_model(journal);
        let offered = current.offered_tools(history);
        let Some(limit) = model.request_limits.tools.filter(|limit| offered.len() > *limit) else {
            return Ok(());
        };
        let mut beyond = self.tools_beyond(limit, offered.iter().map(String::as_str));
        current.remove_tools(|name| beyond.iter().any(|beyond| beyond == name));
        let (provider, limit) = (model.info.provider.clone(), as_number(limit));
        let tools = Notice::list(&self.tool_labels(&beyond));
        let sent = history.prompt().map(SessionPrompt::sent_tools).unwrap_or_default();
        beyond.retain(|name| sent.iter().any(|tool| *tool.name == **name));
        // Requests contain what was sent before, except for what the session leaves out.
        if !beyond.is_empty() {
            let omitted = OmittedParts { tools: beyond, media: Vec::new() };
            journal.record(EventKind::PartsOmitted(omitted)).await?;
        }
        journal.record(EventKind::Notice(Notice::ToolsBeyondLimit { provider, limit, tools })).await
    }

    async fn omit_unfit_media(&self, journal: &mut Journal) -> Result<(), JournalClosed> {
        for rule in [damaged, too_large, too_many_images, too_many_documents] {
            let model = self.active_model(journal);
            let media: Vec<_> = placed_media(journal.history().messages()).collect();
            let Some(Unfit { media, why }) = rule(&media, model.request_limits) else { continue };
            let (omitted, files, provider) =
                (omission(&media), self.media_labels(&media), model.info.provider.clone());
            let notice = match why {
                Why::Damaged => Notice::ImagesDamaged { files },
                Why::TooLarge(limit) => Notice::ImagesTooLarge { provider, limit: limit.into(), files },
                Why::TooMany(limit) => Notice::FilesBeyondLimit { provider, limit: as_number(limit), files },
            };
            journal.record(EventKind::PartsOmitted(omitted)).await?;
            journal.record(EventKind::Notice(notice)).await?;
        }
        Ok(())
    }
}

/// Images and documents that are left out.
struct Unfit<'a> {
    media: Vec<PlacedMedia<'a>>,
    why: Why,
}

/// The reason why something is left out, with the limit.
enum Why {
    Damaged,
    TooLarge(u32),
    TooMany(usize),
}

impl<'a> Unfit<'a> {
    fn new(media: Vec<PlacedMedia<'a>>, why: Why) -> Option<Self> {
        (!media.is_empty()).then_some(Self { media, why })
    }
}

fn damaged<'a>(media: &[PlacedMedia<'a>], _: RequestLimits) -> Option<Unfit<'a>> {
    let is_damaged = |placed: &&PlacedMedia<'_>| image_side(placed.media).is_err();
    Unfit::new(media.iter().filter(is_damaged).copied().collect(), Why::Damaged)
}

fn too_large<'a>(media: &[PlacedMedia<'a>], limits: RequestLimits) -> Option<Unfit<'a>> {
    let count = media.iter().filter(|placed| placed.media.media_type.is_image()).count();
    let of_many = limits.image_side_of_many.filter(|(many, _)| count > *many).map(|(_, side)| side);
    let limit = of_many.or(limits.image_side)?;
    let is_too_large = |placed: &&PlacedMedia<'_>| {
        image_side(placed.media).is_ok_and(|side| side.is_some_and(|side| side > limit))
    };
    Unfit::new(media.iter().filter(is_too_large).copied().collect(), Why::TooLarge(limit))
}

fn too_many_images<'a>(media: &[PlacedMedia<'a>], limits: RequestLimits) -> Option<Unfit<'a>> {
    beyond(media, limits.images?, true)
}

fn too_many_documents<'a>(media: &[PlacedMedia<'a>], limits: RequestLimits) -> Option<Unfit<'a>> {
    beyond(media, limits.documents?, false)
}

/// Returns the oldest images or documents beyond a limit. With them go a few more that are older than the last message, so
/// that the next ones do not change the beginning of the conversation at once.
fn beyond<'a>(media: &[PlacedMedia<'a>], limit: usize, images: bool) -> Option<Unfit<'a>> {
    let of_kind: Vec<_> =
        media.iter().filter(|placed| placed.media.media_type.is_image() == images).copied().collect();
    let excess = of_kind.len().checked_sub(limit).filter(|excess| *excess > 0)?;
    let last = of_kind.last()?.message;
    let older = of_kind.iter().filter(|placed| placed.message < last).count();
    let count = excess.max((excess + limit / 4).min(older));
    Unfit::new(of_kind.into_iter().take(count).collect(), Why::TooMany(limit))
}

fn as_number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
