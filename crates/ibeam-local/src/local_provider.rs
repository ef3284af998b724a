//! The provider for the embedded model.
//!
//! Each answer is generated on a separate thread, at the pace of the receiver. If the stream is dropped, generation stops at
//! the next token. One engine generates one answer at a time; the first request loads it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream;
use ibeam_core::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, Retry};
use ibeam_protocol::{Answer, Block, CallId, Reason, StopReason, Usage};
use tokio::sync::mpsc;

use crate::WorkspaceFiles;
use crate::allowed_actions::{AllowedActions, AvailableTools};
use crate::conversation::Conversation;
use crate::engine::{Engine, LanguageModel};
use crate::guided_decoder::DecodeError;
use crate::guided_step::{self, StepResult};
use crate::prefix_cache::PrefixCache;
use crate::prompt;
use crate::task::Task;
use crate::{LocalError, MODEL_NAME};

/// The maximum number of events that wait for the receiver.
const PENDING_EVENTS: usize = 64;
/// The maximum length of a conversation. Memory is used only as it fills, 57 kB per token.
const CAPACITY_TOKENS: usize = 8192;
/// The part of the capacity that is reserved for the answer.
const RESERVED_ANSWER_TOKENS: usize = 1700;

/// Receives whether the engine is being loaded.
pub type LoadObserver = Box<dyn Fn(bool) + Send + Sync>;

type Sender = mpsc::Sender<Result<ModelEvent, ProviderError>>;

/// The embedded model, not necessarily loaded.
#[derive(Clone)]
pub struct LocalProvider {
    shared: Arc<SharedState>,
}

struct SharedState {
    model: PathBuf,
    prefixes: PrefixCache,
    workspace: Box<dyn WorkspaceFiles>,
    engine: Mutex<Option<Engine>>,
    on_load: LoadObserver,
}

impl LocalProvider {
    /// Creates a provider for the model file at `model`. `cache` is a directory for data that speeds up later runs; it may be
    /// emptied at any time. Nothing is read before the first request. `on_load` is called when the first request starts to
    /// load the engine, which takes seconds, and when that ends.
    pub fn new(
        model: PathBuf,
        cache: PathBuf,
        workspace: Box<dyn WorkspaceFiles>,
        on_load: LoadObserver,
    ) -> Self {
        let prefixes = PrefixCache::new(cache);
        let engine = Mutex::new(None);
        Self { shared: Arc::new(SharedState { model, prefixes, workspace, engine, on_load }) }
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

/// Returns the next event. The stream ends after the terminal event; it is an error if the thread ends without one.
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

impl SharedState {
    fn answer(&self, request: &ModelRequest, sender: &Sender) {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.generate(&mut engine, request, sender);
        let event = match outcome {
            Ok(answer) => Ok(ModelEvent::Finished(Box::new(answer))),
            Err(DecodeError::Cancelled) => return,
            Err(DecodeError::Failed(error)) => Err(failure(reason(error))),
        };
        // Fails if the receiver was dropped.
        let _ = sender.blocking_send(event);
    }

    fn generate(
        &self,
        engine: &mut Option<Engine>,
        request: &ModelRequest,
        sender: &Sender,
    ) -> Result<Answer, DecodeError> {
        let should_continue = || !sender.is_closed();
        // Taken while in use, so that an engine that panicked is not used again.
        let mut loaded = match engine.take() {
            Some(loaded) => loaded,
            None => self.load()?,
        };
        let outcome = self.generate_with(&mut loaded, request, sender, &should_continue);
        *engine = Some(loaded);
        outcome
    }

    fn load(&self) -> Result<Engine, LocalError> {
        (self.on_load)(true);
        let loaded = Engine::load(&self.model, CAPACITY_TOKENS);
        (self.on_load)(false);
        loaded
    }

    fn generate_with(
        &self,
        engine: &mut Engine,
        request: &ModelRequest,
        sender: &Sender,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Answer, DecodeError> {
        let conversation = Conversation::from_request(request);
        let task = Task::parse(&conversation.task, &*self.workspace, &conversation.written_files());
        let mut allowed =
            AllowedActions::after_steps(&task, &conversation, &*self.workspace, available_tools(request));
        let fixed = prompt::fixed_prompt(engine.vocabulary())?;
        let rest = prompt::conversation_prompt(
            engine.vocabulary(),
            &conversation,
            &task,
            &*self.workspace,
            &allowed.unwritten,
        )?;
        let tokens = [fixed.as_slice(), rest.as_slice()].concat();
        let room = engine.capacity().saturating_sub(RESERVED_ANSWER_TOKENS);
        if tokens.len() > room {
            return Err(LocalError::ContextFull { needed: tokens.len(), capacity: room }.into());
        }
        self.prefixes.load_or_compute(engine, &fixed, should_continue)?;
        let reused = engine.shared_prefix_len(&tokens);
        let mut generated = 0;
        loop {
            if !engine.set_tokens(&tokens, should_continue)? {
                return Err(DecodeError::Cancelled);
            }
            let mut on_text = |text: &str| {
                // A dropped receiver is noticed before the next token.
                let _ = sender.blocking_send(Ok(ModelEvent::TextDelta(text.to_owned())));
            };
            let (next, count) = guided_step::decode_step(
                engine,
                &allowed,
                &conversation,
                &task,
                &*self.workspace,
                should_continue,
                &mut on_text,
            )?;
            generated += count;
            let (block, stop) = match next {
                StepResult::Action(action) => {
                    let id = CallId(format!("call_{}", conversation.call_count + 1));
                    (Block::ToolCall(action.into_call(id)), StopReason::ToolUse)
                }
                StepResult::Answer(text) => (Block::Text(text), StopReason::EndTurn),
                StepResult::TooLong(path) => {
                    let text = too_long_answer(path.as_deref());
                    on_text(&text);
                    (Block::Text(text), StopReason::EndTurn)
                }
                StepResult::RepeatedCommand => {
                    // With the shell the model would repeat the same command.
                    let tools = AvailableTools { shell: false, ..available_tools(request) };
                    allowed = AllowedActions::after_steps(&task, &conversation, &*self.workspace, tools);
                    continue;
                }
            };
            let usage = Usage {
                input: (tokens.len() - reused) as u64,
                output: generated as u64,
                cache_read: reused as u64,
                ..Usage::default()
            };
            return Ok(Answer {
                blocks: vec![block],
                stop,
                refusal: None,
                usage: Some(usage),
                request_id: None,
            });
        }
    }
}

fn available_tools(request: &ModelRequest) -> AvailableTools {
    let has = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    AvailableTools { read: has("read"), write: has("write"), shell: has("shell") }
}

/// Returns the answer after content that is too long. The model itself would claim success.
fn too_long_answer(path: Option<&str>) -> String {
    match path {
        Some(path) => {
            format!("`{path}` was not written: its text would be longer than the embedded model can write.")
        }
        None => "No command was run: it would be longer than the embedded model can write.".to_owned(),
    }
}

fn failure(reason: Reason) -> ProviderError {
    ProviderError::new(reason, Retry::Never)
}

fn reason(error: LocalError) -> Reason {
    match error {
        LocalError::NotInstalled { .. } => {
            let model = MODEL_NAME.to_owned();
            Reason::ModelNotInstalled { model, unused_key: None, without_key: false }
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
