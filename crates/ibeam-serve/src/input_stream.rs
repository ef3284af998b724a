//! `--input-format stream-json`: prompts as lines on stdin, a turn for each, in one process and one session.

use std::convert::Infallible;
use std::fs::File;
use std::future::pending;
use std::io::{self, Write};
use std::sync::Arc;

use ibeam_core::{Approver, NoApprover, Steering};
use ibeam_output::error_object;
use ibeam_protocol::{Attachment, Failure, Reason, UserPrompt};
use ibeam_wire::{Input, InputBlock, InputError, InputErrorKind, InputMessage, InputReader, MediaSource};

use ibeam_agent::app::AppContext;
use ibeam_agent::message_queue::{MessageQueue, QueuedMessage};
use ibeam_agent::model::{self, FallbackChain};
use ibeam_agent::prompt::Prompt;
use ibeam_agent::run::attachments::{self, RunMedia};
use ibeam_agent::run::front_end::FrontEnd;
use ibeam_agent::run::run_process::{NewWriter, RunKind, RunProcess};
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::sandbox::RunSandbox;
use ibeam_agent::run::session_opener::SessionTarget;
use ibeam_agent::run::turn_loop::{TurnSource, run_turns};
use ibeam_agent::run::watchdog::StartupWatchdog;
use ibeam_agent::run::{on_runtime, system_error, thread_error};
use ibeam_agent::run_error::RunError;

/// The front end of a process whose prompts are lines on stdin.
struct InputStream {
    queue: Arc<MessageQueue>,
}

impl FrontEnd for InputStream {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(NoApprover)
    }

    fn steering(&self) -> Arc<dyn Steering> {
        Arc::clone(&self.queue) as _
    }

    fn has_message_turns(&self) -> bool {
        true
    }
}

impl TurnSource for InputStream {
    const LAST_TURN_DECIDES: bool = false;

    fn queue(&self) -> &MessageQueue {
        &self.queue
    }

    async fn next(&mut self) -> Result<Option<QueuedMessage>, Failure> {
        Ok(self.queue.next().await?)
    }

    fn work_during_turn(&mut self) -> impl Future<Output = Infallible> {
        pending()
    }

    fn prepare_turn(&mut self, _: &mut RunSession<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Runs a turn for each message on stdin, and prints the turns as one stream.
///
/// # Errors
/// A failure before the first turn; else the last failure of a turn or of stdin.
pub fn run_input_stream(
    app: &Arc<AppContext>,
    target: &SessionTarget,
    new_writer: NewWriter<'_>,
    stdout: File,
    startup: StartupWatchdog,
) -> Result<(), RunError> {
    let spare = stdout.try_clone().map_err(|error| system_error("descriptor", &error))?;
    let outcome = on_runtime(|runtime| {
        let process = RunProcess::start(runtime, app, RunKind::Hosted, startup, stdout, new_writer)?;
        // The sandbox starts while the first message is awaited.
        let sandbox = RunSandbox::spawn(app)?;
        let model = model::choose_model(app)?;
        let media = RunMedia::new(&model, &FallbackChain::choose(app, &model)?);
        let queue = read_stdin(media).map_err(thread_error)?;
        let Some(first) = process.wait(async { Ok(queue.next().await?) })? else {
            return Err(Reason::EmptyPrompt.into());
        };
        let mut source = InputStream { queue };
        let prompt = Prompt { blocks: first.prompt.texts.clone(), notice: None };
        let mut session = RunSession::open(process, target, model, sandbox, &prompt, &source)?;
        let outcome = run_turns(&mut session, first, &mut source);
        session.close(outcome)
    });
    if let Err(failed) = &outcome
        && let RunError { failure: Failure { reason: Reason::InputLine { .. }, .. }, run: None } = failed
    {
        // A failure of stdout is ignored: stderr reports the failure in any case.
        drop(writeln!(&spare, "{}", error_object(&failed.failure, None)));
    }
    outcome
}

/// Starts the thread that reads stdin, for models that accept `media`. The thread ends with stdin, at the first line
/// that is not valid, or with the process.
///
/// # Errors
/// The thread cannot be started.
fn read_stdin(media: RunMedia) -> io::Result<Arc<MessageQueue>> {
    let queue = Arc::new(MessageQueue::default());
    let messages = Arc::clone(&queue);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut reader = InputReader::new(io::stdin().lock());
        while let Some(input) = reader.next() {
            match input {
                Ok(Input::Message(message)) => {
                    let delivery = message.delivery();
                    match prompt_of(message.message, &media) {
                        Ok(prompt) => messages.push(prompt, delivery),
                        Err(detail) => {
                            return messages.end(Err(Reason::InputLine { line: reader.line(), detail }));
                        }
                    }
                    messages.wait_for_room();
                }
                Ok(Input::Interrupt) => drop(messages.interrupt()),
                Err(error) => return messages.end(Err(reason_of(error))),
            }
        }
        messages.end(Ok(()));
    })?;
    Ok(queue)
}

/// Returns the prompt with its images and documents.
///
/// # Errors
/// The reason why the model cannot see one of them.
fn prompt_of(message: InputMessage, media: &RunMedia) -> Result<UserPrompt, String> {
    let mut prompt = UserPrompt::default();
    for InputBlock { kind, text, source } in message.content {
        prompt.texts.extend(text);
        if let Some(MediaSource { media_type, data, .. }) = source {
            let name = format!("{kind} {}", prompt.attachments.len() + 1);
            let attached = attachments::media_from_base64(name, &media_type, data)?;
            prompt.attachments.push(Attachment::Media(attached));
        }
    }
    media.check_prompt(&prompt).map_err(|reason| reason.detail())?;
    Ok(prompt)
}

fn reason_of(InputError { line, kind }: InputError) -> Reason {
    match kind {
        InputErrorKind::Io(error) => Reason::Io { what: "stdin".to_owned(), detail: error.to_string() },
        InputErrorKind::Invalid(detail) => Reason::InputLine { line, detail },
        other => Reason::InputLine { line, detail: format!("{other:?}") },
    }
}
