//! The embedded model as a provider of answers.
//!
//! Generation runs on a thread of its own and follows the reader's pace; when the stream is dropped it stops at the
//! next token. One engine serves one answer at a time; it is loaded with the first request.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream;
use ibeam_core::provider::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, Retry};
use ibeam_protocol::{Answer, Block, CallId, Reason, StopReason, Usage};
use tokio::sync::mpsc;

use crate::conversation::Conversation;
use crate::decode::Halt;
use crate::engine::{Engine, LanguageModel};
use crate::guide::{self, Next};
use crate::offer::{Offer, Tools};
use crate::prefix::PrefixCache;
use crate::prompt;
use crate::task::Task;
use crate::workspace::WorkspaceFiles;
use crate::{LocalError, MODEL_NAME};

/// Events that may wait for the reader.
const PENDING_EVENTS: usize = 64;
/// Room for a conversation, in tokens; memory is used only as it fills (57 kB a token).
const CAPACITY: usize = 8192;
/// Room kept for what is generated.
const RESERVE: usize = 1700;

type Sender = mpsc::Sender<Result<ModelEvent, ProviderError>>;

/// The embedded model, ready to load.
#[derive(Clone)]
pub struct LocalProvider {
    shared: Arc<Shared>,
}

struct Shared {
    model: PathBuf,
    prefixes: PrefixCache,
    workspace: Box<dyn WorkspaceFiles>,
    engine: Mutex<Option<Engine>>,
}

impl LocalProvider {
    /// A provider for the model file at `model`; `cache` is a directory for what is worth keeping between runs (it
    /// may be emptied at any time). Nothing is read before the first request.
    pub fn new(model: PathBuf, cache: PathBuf, workspace: Box<dyn WorkspaceFiles>) -> Self {
        let prefixes = PrefixCache::new(cache);
        Self { shared: Arc::new(Shared { model, prefixes, workspace, engine: Mutex::new(None) }) }
    }
}

impl Provider for LocalProvider {
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let (sender, receiver) = mpsc::channel(PENDING_EVENTS);
        let shared = Arc::clone(&self.shared);
        let failed = sender.clone();
        let thread = std::thread::Builder::new()
            .name("embedded-model".to_owned())
            .spawn(move || shared.answer(&request, &sender));
        if let Err(error) = thread {
            let reason = Reason::System { what: "a thread".to_owned(), detail: error.to_string() };
            // The channel is new and empty: this cannot fail.
            let _ = failed.try_send(Err(failure(reason)));
        }
        drop(failed);
        stream::unfold(Some(receiver), next_event).boxed()
    }
}

/// Ends after the terminal event; a thread that died without one is an error, not an end.
async fn next_event(
    receiver: Option<mpsc::Receiver<Result<ModelEvent, ProviderError>>>,
) -> Option<(Result<ModelEvent, ProviderError>, Option<mpsc::Receiver<Result<ModelEvent, ProviderError>>>)> {
    let mut receiver = receiver?;
    Some(match receiver.recv().await {
        Some(Ok(event)) if !matches!(event, ModelEvent::Finished(_)) => (Ok(event), Some(receiver)),
        Some(last) => (last, None),
        None => (
            Err(failure(Reason::LocalModel { detail: "the generation ended without a result".to_owned() })),
            None,
        ),
    })
}

impl Shared {
    fn answer(&self, request: &ModelRequest, sender: &Sender) {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.generate(&mut engine, request, sender);
        let event = match outcome {
            Ok(answer) => Ok(ModelEvent::Finished(Box::new(answer))),
            Err(Halt::Cancelled) => return,
            Err(Halt::Failed(error)) => Err(failure(reason(error))),
        };
        // A reader that has gone needs no end.
        let _ = sender.blocking_send(event);
    }

    fn generate(
        &self,
        engine: &mut Option<Engine>,
        request: &ModelRequest,
        sender: &Sender,
    ) -> Result<Answer, Halt> {
        let proceed = || !sender.is_closed();
        // Taken out while in use: an engine that panicked is not used again.
        let mut loaded = match engine.take() {
            Some(loaded) => loaded,
            None => Engine::load(&self.model, CAPACITY)?,
        };
        let outcome = self.generate_with(&mut loaded, request, sender, &proceed);
        *engine = Some(loaded);
        outcome
    }

    fn generate_with(
        &self,
        engine: &mut Engine,
        request: &ModelRequest,
        sender: &Sender,
        proceed: &dyn Fn() -> bool,
    ) -> Result<Answer, Halt> {
        let conversation = Conversation::read(request);
        let task = Task::read(&conversation.task, &*self.workspace, &conversation.written());
        let mut offer = Offer::next(&task, &conversation, &*self.workspace, tools(request));
        let fixed = prompt::fixed(engine.vocabulary())?;
        let rest =
            prompt::conversation(engine.vocabulary(), &conversation, &task, &*self.workspace, &offer.undone)?;
        let tokens = [fixed.as_slice(), rest.as_slice()].concat();
        let room = engine.capacity().saturating_sub(RESERVE);
        if tokens.len() > room {
            return Err(LocalError::ContextFull { needed: tokens.len(), room }.into());
        }
        self.prefixes.warm(engine, &fixed, proceed)?;
        let reused = engine.shared_with(&tokens);
        let mut generated = 0;
        loop {
            if !engine.read(&tokens, proceed)? {
                return Err(Halt::Cancelled);
            }
            let mut tell = |text: &str| {
                // A reader that has gone is noticed before the next token.
                let _ = sender.blocking_send(Ok(ModelEvent::TextDelta(text.to_owned())));
            };
            let (next, count) =
                guide::step(engine, &offer, &conversation, &task, &*self.workspace, proceed, &mut tell)?;
            generated += count;
            let (block, stop) = match next {
                Next::Act(action) => {
                    let id = CallId(format!("call_{}", conversation.calls + 1));
                    (Block::ToolCall(action.into_call(id)), StopReason::ToolUse)
                }
                Next::Answer(text) => (Block::Text(text), StopReason::EndTurn),
                Next::TooLong(path) => {
                    let text = too_long(path.as_deref());
                    tell(&text);
                    (Block::Text(text), StopReason::EndTurn)
                }
                Next::Repeated => {
                    // Offered the shell again it would only say the same again.
                    let tools = Tools { shell: false, ..tools(request) };
                    offer = Offer::next(&task, &conversation, &*self.workspace, tools);
                    continue;
                }
            };
            let usage = Usage {
                input: (tokens.len() - reused) as u64,
                output: generated as u64,
                cache_read: reused as u64,
                cache_write: 0,
            };
            return Ok(Answer { blocks: vec![block], stop, usage: Some(usage), request_id: None });
        }
    }
}

fn tools(request: &ModelRequest) -> Tools {
    let has = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    Tools { read: has("read"), write: has("write"), shell: has("shell") }
}

/// What the program says in the model's place: the model itself would claim success.
fn too_long(path: Option<&str>) -> String {
    match path {
        Some(path) => {
            format!("`{path}` was not written: its text would be longer than the embedded model can write.")
        }
        None => "No command was run: it would be longer than the embedded model can write.".to_owned(),
    }
}

fn failure(reason: Reason) -> ProviderError {
    ProviderError { failure: reason.into(), retry: Retry::Never }
}

fn reason(error: LocalError) -> Reason {
    match error {
        LocalError::NotInstalled { .. } => {
            Reason::ModelNotInstalled { model: MODEL_NAME.to_owned(), unused_key: None }
        }
        LocalError::ContextFull { .. } => {
            Reason::ContextTooLong { provider: MODEL_NAME.to_owned(), detail: error.to_string() }
        }
        LocalError::Unreadable { .. }
        | LocalError::Unsupported { .. }
        | LocalError::Inference(_)
        | LocalError::Tokenize(_) => Reason::LocalModel { detail: error.to_string() },
    }
}
