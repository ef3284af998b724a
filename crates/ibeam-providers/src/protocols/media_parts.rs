//! Images and documents in requests: the parts that a model is shown, and the text in place of the others.
//!
//! Pure. A conversation can have images although its model cannot see them, because the model of a session can change.

use std::borrow::Cow;

use ibeam_protocol::{Media, MediaType, ToolResult, UserPart};
use serde::{Serialize, Serializer};

use crate::wire_protocol::RequestSettings;

/// The images and documents that a model accepts over an API.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaSupport {
    accepts_images: bool,
    accepts_documents: bool,
}

impl MediaSupport {
    /// Returns the support of an API with images and documents.
    pub(super) fn new(settings: &RequestSettings<'_>) -> Self {
        Self { accepts_documents: true, ..Self::images_only(settings) }
    }

    /// Returns the support of an API with images only.
    pub(super) fn images_only(settings: &RequestSettings<'_>) -> Self {
        // A model that is not in the model table is shown everything.
        Self { accepts_images: settings.traits.images.unwrap_or(true), accepts_documents: false }
    }

    /// Whether the model is shown media of this type.
    fn shows(self, media_type: MediaType) -> bool {
        self.accepts_images && (media_type.is_image() || self.accepts_documents)
    }
}

/// A part of a message as the model is shown it.
#[derive(Debug)]
pub(super) enum ShownPart<'a> {
    /// A text that is not blank.
    Text(Cow<'a, str>),
    /// An image or a document.
    Media(&'a Media),
}

/// Returns the parts of a message of the user, without blank texts, which many services reject.
pub(super) fn shown_parts<'a>(
    parts: &'a [UserPart],
    support: MediaSupport,
) -> impl Iterator<Item = ShownPart<'a>> {
    parts.iter().filter_map(move |part| match part {
        UserPart::Text(text) if text.trim().is_empty() => None,
        UserPart::Text(text) => Some(ShownPart::Text(Cow::Borrowed(text))),
        UserPart::Media(media) if support.shows(media.media_type) => Some(ShownPart::Media(media)),
        UserPart::Media(media) => Some(ShownPart::Text(Cow::Owned(media.placeholder()))),
    })
}

/// Returns the parts of a message of the user as one text and the images and documents.
pub(super) fn text_and_media(parts: &[UserPart], support: MediaSupport) -> (String, Vec<&Media>) {
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            UserPart::Text(text) => texts.push(Cow::Borrowed(text.as_str())),
            UserPart::Media(shown) if support.shows(shown.media_type) => media.push(shown),
            UserPart::Media(other) => texts.push(Cow::Owned(other.placeholder())),
        }
    }
    (texts.join("\n\n"), media)
}

/// Returns the text of a result, with a line for each image and document that the model is not shown.
pub(super) fn result_text<'a>(result: &'a ToolResult, support: MediaSupport) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(&*result.text);
    for media in result.media.iter().filter(|media| !support.shows(media.media_type)) {
        text = Cow::Owned(format!("{text}\n{}", media.placeholder()));
    }
    text
}

/// Returns the images and documents of a result that the model is shown.
pub(super) fn result_media(result: &ToolResult, support: MediaSupport) -> impl Iterator<Item = &Media> {
    result.media.iter().filter(move |media| support.shows(media.media_type))
}

/// Returns the parts of the message of the user with the images and documents of results, for APIs whose results are texts.
pub(super) fn parts_after_results<'a>(
    results: &'a [ToolResult],
    support: MediaSupport,
) -> Vec<ShownPart<'a>> {
    let mut parts = Vec::new();
    for result in results {
        for media in result_media(result, support) {
            let text = format!("From the result of `{}`: `{}`", result.name, media.name);
            parts.push(ShownPart::Text(Cow::Owned(text)));
            parts.push(ShownPart::Media(media));
        }
    }
    parts
}

/// Returns the last segment of the name, for fields with a file name.
pub(super) fn file_name(media: &Media) -> &str {
    media.name.rsplit('/').next().unwrap_or_default()
}

/// An image or a document as a `data:` URL. Serialises without a copy of the data.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataUrl<'a>(pub(super) &'a Media);

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(Media { media_type, data, name: _ }) = self;
        serializer.collect_str(&format_args!("data:{media_type};base64,{data}"))
    }
}
