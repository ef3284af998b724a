//! Files in prompts: `--file`, `--image` and `@PATH`.
//!
//! A file of a flag may be anywhere, since the user names it. The prompt may contain text of others, so `@PATH` attaches
//! only what the model may read by itself, and only files of the workspace.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use ibeam_core::{Access, Gate, PreparedCall, Run, Stop, ToolContext, ToolSet};
use ibeam_mcp::READ_RESOURCE_NAME;
use ibeam_protocol::{
    AcceptedMedia, Attachment, Failure, Media, MediaType, Reason, Sentence, ToolFailure, ToolOutcome,
    ToolOutput, UserPrompt, sentence,
};
use ibeam_tools::AttachmentError;
use serde_json::json;

use crate::model::{FallbackChain, ModelChoice};
use crate::run_options::RunOptions;

/// The largest number of files in a prompt: Amazon Bedrock and Cohere accept as many images.
const MAX_FILES: usize = 20;
/// The largest size of all images and documents of a prompt, in bytes. In Base64 it is 20 MB, as much as the Gemini API
/// accepts in a request.
const MAX_MEDIA_BYTES: usize = 14 << 20;
/// The bytes from which the type of a file is recognised.
const START_BYTES: u64 = 16;

/// The images and documents that the models of a run accept.
#[derive(Clone, Debug)]
pub struct RunMedia {
    model: ModelMedia,
    fallbacks: Vec<ModelMedia>,
}

/// The images and documents that a model accepts.
#[derive(Clone, Debug)]
struct ModelMedia {
    model: String,
    accepted: AcceptedMedia,
}

impl RunMedia {
    pub fn new(choice: &ModelChoice, chain: &FallbackChain) -> Self {
        let fallbacks = chain.choices.iter().map(ModelMedia::new).collect();
        Self { model: ModelMedia::new(choice), fallbacks }
    }

    /// Returns the media of a model that is not known yet: it may accept all.
    pub(super) fn unknown() -> Self {
        let accepted = AcceptedMedia { images: true, documents: true };
        Self { model: ModelMedia { model: String::new(), accepted }, fallbacks: Vec::new() }
    }

    /// Replaces the first model.
    pub(super) fn set_model(&mut self, choice: &ModelChoice) {
        self.model = ModelMedia::new(choice);
    }

    /// Returns the images and documents that the first model accepts.
    pub(super) fn accepted(&self) -> AcceptedMedia {
        self.model.accepted
    }

    /// Checks that every model accepts the files of a prompt, and that they are not too many or too large.
    ///
    /// # Errors
    /// `Usage` with the file or the limit, and the way out.
    pub fn check_prompt(&self, prompt: &UserPrompt) -> Result<(), Reason> {
        for attachment in &prompt.attachments {
            match attachment {
                Attachment::Media(media) => self.check(&media.name, media.media_type)?,
                Attachment::Text { .. } => {}
            }
        }
        check_limits(&prompt.attachments)
    }

    /// Checks that every model accepts an image or document that the user attaches.
    ///
    /// # Errors
    /// `Usage` with the file, the model and the way out.
    fn check(&self, name: &str, media_type: MediaType) -> Result<(), Reason> {
        self.model.check(false, name, media_type)?;
        self.fallbacks.iter().try_for_each(|model| model.check(true, name, media_type))
    }
}

impl ModelMedia {
    fn new(choice: &ModelChoice) -> Self {
        Self { model: choice.info().id.clone(), accepted: choice.accepted_media() }
    }

    /// Checks that the model accepts an image or document.
    fn check(&self, is_fallback: bool, name: &str, media_type: MediaType) -> Result<(), Reason> {
        if self.accepted.accepts(media_type) {
            return Ok(());
        }
        let model = &self.model;
        let detail = if !self.accepted.images {
            match (is_fallback, media_type.is_image()) {
                (false, true) => sentence!(
                    "`{name}` is an image, and the model `{model}` cannot see images; leave the file out, or choose \
                     a model that can: `ibeam models` lists the abilities of models",
                    name,
                    model,
                ),
                (true, true) => sentence!(
                    "`{name}` is an image, and the fallback model `{model}` cannot see images; leave the file out, or \
                     choose a fallback model that can: `ibeam models` lists the abilities of models",
                    name,
                    model,
                ),
                (false, false) => sentence!(
                    "`{name}` is a PDF, and the model `{model}` cannot see images; leave the file out, or choose a \
                     model that can: `ibeam models` lists the abilities of models",
                    name,
                    model,
                ),
                (true, false) => sentence!(
                    "`{name}` is a PDF, and the fallback model `{model}` cannot see images; leave the file out, or \
                     choose a fallback model that can: `ibeam models` lists the abilities of models",
                    name,
                    model,
                ),
            }
        } else if is_fallback {
            sentence!(
                "`{name}` is a PDF, which the API of the fallback model `{model}` does not accept; attach its text or \
                 images of its pages, or choose another fallback model",
                name,
                model,
            )
        } else {
            sentence!(
                "`{name}` is a PDF, which the API of the model `{model}` does not accept; attach its text or images of \
                 its pages, or choose another model",
                name,
                model,
            )
        };
        Err(Reason::Usage { detail })
    }
}

/// Returns an image or document that a program sent as Base64; messages name it `name`.
///
/// # Errors
/// A message with the reason and the way out.
pub fn media_from_base64(name: String, media_type: &str, data: String) -> Result<Media, String> {
    let media = ibeam_tools::media_from_base64(name, data)?;
    if media.media_type.name() != media_type {
        return Err(format!("`{}` is {}, and not {media_type}", media.name, media.media_type));
    }
    Ok(media)
}

/// Reads the files of the options.
///
/// # Errors
/// `NoInput` for a file that cannot be read; `Usage` for one that cannot be attached.
pub(super) fn load(options: &RunOptions, models: &RunMedia) -> Result<Vec<Attachment>, Reason> {
    let files = options.file.iter().map(|path| (path, false));
    let images = options.image.iter().map(|path| (path, true));
    let load = |(path, is_image): (&std::path::PathBuf, bool)| {
        let name = path.display().to_string();
        if !is_image {
            return load_file(path, &name, models);
        }
        match load_file(path, &name, models)? {
            Attachment::Media(media) if media.media_type.is_image() => Ok(Attachment::Media(media)),
            Attachment::Media(Media { name, .. }) | Attachment::Text { name, .. } => {
                let detail = sentence!(
                    "`--image {name}` is not a PNG, JPEG, GIF or WebP image; attach other files with `--file`",
                    name,
                );
                Err(Reason::Usage { detail })
            }
        }
    };
    let attachments = files.chain(images).map(load).collect::<Result<Vec<_>, _>>()?;
    check_limits(&attachments)?;
    Ok(attachments)
}

fn load_file(path: &Path, name: &str, models: &RunMedia) -> Result<Attachment, Reason> {
    if let Some(media_type) = media_type_of(path) {
        models.check(name, media_type)?;
    }
    ibeam_tools::load_attachment(path, name).map_err(|error| match error {
        AttachmentError::Unreadable(error) => {
            Reason::NoInput { path: name.to_owned(), detail: error.to_string() }
        }
        AttachmentError::TooLarge { .. } | AttachmentError::NotAccepted(_) => Reason::Usage {
            detail: sentence!("cannot attach `{name}`: {error}", name, error = format!("it {error}")),
        },
    })
}

/// Returns the type of a regular file if it is an image or document.
fn media_type_of(path: &Path) -> Option<MediaType> {
    let file = ibeam_files::regular_file::open(path, true).ok()?;
    let mut start = Vec::new();
    file.take(START_BYTES).read_to_end(&mut start).ok()?;
    MediaType::from_bytes(&start)
}

/// Checks the number and the size of the files of a prompt.
///
/// # Errors
/// `Usage` with the limit.
pub(super) fn check_limits(attachments: &[Attachment]) -> Result<(), Reason> {
    let usage = |detail: Sentence| Err(Reason::Usage { detail });
    if attachments.len() > MAX_FILES {
        return usage(sentence!(
            "{count} files are attached, and at most {limit} are accepted; attach fewer, or name them in the prompt \
             without attaching them",
            count = attachments.len(),
            limit = MAX_FILES,
        ));
    }
    let sizes = attachments.iter().map(|attachment| match attachment {
        Attachment::Media(media) => media.size_bytes(),
        Attachment::Text { .. } => 0,
    });
    match sizes.sum::<usize>() {
        bytes if bytes > MAX_MEDIA_BYTES => usage(sentence!(
            "the attached images and documents have {bytes} bytes together, and at most {limit} are accepted; \
             attach fewer or smaller files",
            bytes,
            limit = MAX_MEDIA_BYTES,
        )),
        _ => Ok(()),
    }
}

/// The characters that may follow a mention.
const PUNCTUATION: [char; 9] = ['.', ',', ';', ':', '!', '?', ')', '\'', '"'];

/// The parts of a run that read the files which a prompt names.
pub(super) struct MentionReader<'a> {
    pub(super) tools: &'a ToolSet,
    pub(super) gate: &'a Gate,
    pub(super) workspace: &'a Path,
    pub(super) file_timeout: Duration,
}

impl<'a> From<&'a Run> for MentionReader<'a> {
    fn from(run: &'a Run) -> Self {
        let Run { tools, gate, head, file_timeout, .. } = run;
        Self { tools, gate, workspace: &head.cwd, file_timeout: *file_timeout }
    }
}

/// The files that a prompt names as `@PATH`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MentionedFiles {
    /// The files that the model gets.
    pub attached: Vec<String>,
    /// The names that look like paths of files which do not exist.
    pub missing: Vec<String>,
}

/// Attaches the files of the workspace that the first text of `prompt` names as `@PATH`, through the tool `read`.
///
/// What does not name a file, or names one that the policy does not let the model read, stays text.
///
/// # Errors
/// `Usage` for an image or document that the model does not accept or that is too large.
pub(super) async fn attach_mentioned(
    reader: &MentionReader<'_>,
    models: &RunMedia,
    stop: Stop,
    prompt: &mut UserPrompt,
) -> Result<MentionedFiles, Failure> {
    let MentionReader { tools, gate, workspace, file_timeout } = reader;
    let mut files = MentionedFiles::default();
    let Some(read) = tools.get("read") else { return Ok(files) };
    let text = prompt.texts.first().cloned().unwrap_or_default();
    let mut names: Vec<&str> = Vec::new();
    for mention in mentions(&text) {
        let candidates = [mention, mention.trim_end_matches(PUNCTUATION)];
        let is_file = |name: &&str| !name.is_empty() && workspace.join(name).is_file();
        let found = candidates.into_iter().find(is_file);
        if found.is_none() && looks_like_path(candidates[1]) && !workspace.join(candidates[1]).exists() {
            files.missing.push(candidates[1].to_owned());
        }
        names.extend(found.filter(|name| !names.contains(name)));
    }
    for name in names {
        let Ok(call) = read.prepare(&json!({ "path": name })) else { continue };
        let PreparedCall { access, run: call, .. } = call;
        let Access::Read(path) = &access else { continue };
        if !path.starts_with(workspace) || !gate.allows(&access) {
            continue;
        }
        if let Some(media_type) = media_type_of(path) {
            models.check(name, media_type)?;
        }
        match call(ToolContext::new(stop.clone(), *file_timeout)).await {
            ToolOutcome::Success { output: ToolOutput::Read(mut output), for_model } => {
                prompt.attachments.push(match output.media.pop() {
                    Some(media) => Attachment::Media(media),
                    None => Attachment::Text { name: name.to_owned(), text: for_model },
                });
                files.attached.push(name.to_owned());
            }
            ToolOutcome::Failure { failure: ToolFailure::Error { message }, .. }
                if media_type_of(path).is_some() =>
            {
                let detail = sentence!("cannot attach `@{name}`: {message}", name, message);
                return Err(Reason::Usage { detail }.into());
            }
            ToolOutcome::Success { .. } | ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => {}
        }
    }
    attach_resources(reader, stop, &text, prompt).await;
    check_limits(&prompt.attachments)?;
    Ok(files)
}

/// Whether a mention is the path of a file rather than the name of a person, a package or a resource.
fn looks_like_path(mention: &str) -> bool {
    !mention.contains([':', '@']) && mention.contains('.') && !mention.ends_with('/')
}

/// Attaches the resources of MCP servers that `text` names as `@SERVER:URI`, as far as the policy lets the model read them.
async fn attach_resources(reader: &MentionReader<'_>, stop: Stop, text: &str, prompt: &mut UserPrompt) {
    let Some(read) = reader.tools.get(READ_RESOURCE_NAME) else { return };
    let mut names: Vec<&str> = Vec::new();
    for mention in mentions(text) {
        let name = mention.trim_end_matches(PUNCTUATION);
        let Some((server, uri)) = name.split_once(':').filter(|_| !names.contains(&name)) else { continue };
        let Ok(call) = read.prepare(&json!({ "server": server, "uri": uri })) else { continue };
        if !reader.gate.allows(&call.access) {
            continue;
        }
        names.push(name);
        let outcome = (call.run)(ToolContext::new(stop.clone(), reader.file_timeout)).await;
        if let ToolOutcome::Success { for_model, .. } = outcome {
            prompt.attachments.push(Attachment::Text { name: name.to_owned(), text: for_model });
        }
    }
}

/// Returns what follows each `@` at the start of a word: the rest of the word, or a text in double quotes.
fn mentions(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('@').filter_map(|(at, _)| {
        let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
        if before.chars().next_back().is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | '"' | '\'')) {
            return None;
        }
        match after.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => after.split(char::is_whitespace).next(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_the_rest_of_a_word_after_an_at_sign() {
        let text = "@a.rs and (@b/c.png), mail x@y.z, @\"d e.pdf\" @ end\n@f.";
        assert_eq!(mentions(text).collect::<Vec<_>>(), ["a.rs", "b/c.png),", "d e.pdf", "", "f."]);
    }

    #[test]
    fn a_model_that_does_not_accept_a_file_is_named_with_it() {
        let check = |accepted, media_type| {
            let all = AcceptedMedia { images: true, documents: true };
            let model = |model: &str, accepted| ModelMedia { model: model.into(), accepted };
            let media = RunMedia { model: model("first", all), fallbacks: vec![model("m", accepted)] };
            media.check("a", media_type).err().map(|reason| reason.detail().to_owned())
        };
        let (none, images) = (AcceptedMedia::default(), AcceptedMedia { images: true, documents: false });
        assert_eq!(check(images, MediaType::Png), None);
        let detail = check(none, MediaType::Png).unwrap();
        assert!(
            detail.starts_with("`a` is an image, and the fallback model `m` cannot see images;"),
            "{detail}"
        );
        let detail = check(images, MediaType::Pdf).unwrap();
        assert!(
            detail.starts_with("`a` is a PDF, which the API of the fallback model `m` does not accept"),
            "{detail}"
        );
    }
}
