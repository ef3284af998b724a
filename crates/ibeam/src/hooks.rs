//! Hooks: commands of the user's that are told what happens in a run, and may narrow it.
//!
//! The files name them by event; see docs/hooks.md. All that match run one after the other, strongest file
//! first, each as a process with bounded time and output and no terminal. The first refusal counts. A hook that
//! fails is told of in a warning and the run goes on, or what it should have judged is refused, as its file says.
//! Nothing a hook says lets anything run.

mod answer;
mod document;
mod event;
mod file;
mod process;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ibeam_core::{Access, EndedCall, Heard, Moment, Objection, Redactor, Word};
use ibeam_protocol::{Notice, RunOutcome, SessionId, SessionStarted, ToolCall};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::app::App;
use crate::regular_file;
use answer::{Answer, Permission};
use document::{Documents, Told, did, status};
use event::Event;
use file::Hook;
pub(crate) use file::{Listed, listed};
use process::Launcher;

/// The most of a file that `beforeReadFile` is told.
const CONTENT: u64 = 1 << 20;
/// How long that file is waited for; its own time-out bounds the reading of the call.
const CONTENT_PATIENCE: Duration = Duration::from_secs(5);

/// The hooks of a run, listening.
pub(crate) struct Listening {
    listed: Listed,
    documents: Documents,
    launcher: Launcher,
    /// The bound of a hook that has none of its own.
    timeout: Duration,
    /// The run is all there is of the program: its end is the end of the session here.
    only_run: bool,
    began: Instant,
    begun: AtomicBool,
    /// Failures that people were told of.
    told: Mutex<BTreeSet<String>>,
    workspace: PathBuf,
}

impl Listed {
    /// Lets them listen to runs like `head`; `only_run` when there is just one.
    pub(crate) fn listen(self, app: &App, head: &SessionStarted, only_run: bool) -> Arc<Listening> {
        let mut environment = crate::mcp::inherited(app);
        for name in ["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "IBEAM_PROJECT_DIR"] {
            environment.push((name.into(), app.workspace.clone().into()));
        }
        environment.push(("CURSOR_VERSION".into(), env!("CARGO_PKG_VERSION").into()));
        let redactor = Redactor::new(crate::model::secrets(app));
        Arc::new(Listening {
            listed: self,
            documents: Documents::of_run(head, SessionId::random().to_string(), redactor),
            launcher: Launcher::new(environment),
            timeout: app.config.bound("hook"),
            only_run,
            began: app.started,
            begun: AtomicBool::new(false),
            told: Mutex::default(),
            workspace: app.workspace.clone(),
        })
    }
}

/// What the hooks of one event came to.
#[derive(Default)]
struct Verdict {
    heard: Heard,
    refused: Option<Objection>,
    asked: Option<Objection>,
    /// The arguments that the first hook with a wish wants, and its name.
    input: Option<(String, Map<String, Value>)>,
}

impl Verdict {
    /// The refusal that counts.
    fn objection(&mut self) -> Option<Objection> {
        self.refused.take().or_else(|| self.asked.take())
    }
}

impl Listening {
    /// The hooks of `event` that want to be told of `subject`.
    fn matching<'a>(&'a self, event: Event, subject: &str) -> Vec<&'a Hook> {
        let hooks = self.listed.hooks.get(&event).map(Vec::as_slice).unwrap_or_default();
        let matches = |hook: &&Hook| hook.matcher.as_ref().is_none_or(|matcher| matcher.is_match(subject));
        hooks.iter().filter(matches).collect()
    }

    /// All hooks of an event that has no subject.
    fn all(&self, event: Event) -> Vec<&Hook> {
        self.listed.hooks.get(&event).map(Vec::as_slice).unwrap_or_default().iter().collect()
    }

    /// Runs hooks one after the other and sums up what they say.
    async fn run(&self, event: Event, hooks: &[&Hook], particular: &Value) -> Verdict {
        let mut verdict = Verdict::default();
        if hooks.is_empty() {
            return verdict;
        }
        let document = self.documents.bytes(event, particular);
        for hook in hooks {
            let answer = self.run_one(hook, &document).await;
            self.count(event, hook, answer, &mut verdict);
        }
        verdict
    }

    async fn run_one(&self, hook: &Hook, document: &[u8]) -> Result<Answer, String> {
        let time = hook.timeout.unwrap_or(self.timeout);
        let ended = self.launcher.run(&hook.command, &hook.directory, document, time).await?;
        answer::of(&ended, time)
    }

    fn count(&self, event: Event, hook: &Hook, answer: Result<Answer, String>, verdict: &mut Verdict) {
        let objection = |message: String, unless_approved| {
            Some(Objection { hook: hook.name.clone(), message, unless_approved })
        };
        match answer {
            Ok(Answer { permission, message, input, context }) => {
                match (permission, event.can_refuse()) {
                    (Permission::Deny, true) if verdict.refused.is_none() => {
                        let message = message.unwrap_or_else(|| "a hook refused it".to_owned());
                        verdict.refused = objection(message, false);
                    }
                    (Permission::Ask, true) if verdict.asked.is_none() => {
                        let message = message.unwrap_or_else(|| {
                            "a hook wants a person to approve it, and nobody did".to_owned()
                        });
                        verdict.asked = objection(message, true);
                    }
                    (Permission::Deny, false) => {
                        let said = message.unwrap_or_else(|| "it refused what cannot be refused".to_owned());
                        self.warn(event, hook, said, verdict);
                    }
                    (Permission::Silent | Permission::Ask | Permission::Deny, _) => {}
                }
                if let Some(input) = input
                    && verdict.input.is_none()
                {
                    verdict.input = Some((hook.name.clone(), input));
                }
                if let Some(context) = context {
                    let text = format!("Context from the hook `{}`:\n{context}", hook.name);
                    verdict.heard.context.push(text);
                }
            }
            Err(said) if hook.fail_closed && event.can_refuse() => {
                if verdict.refused.is_none() {
                    let message = format!("a hook that must agree (`failClosed`) failed: {said}");
                    verdict.refused = objection(message, false);
                }
            }
            Err(said) => self.warn(event, hook, said, verdict),
        }
    }

    /// Tells people of a failure, of each once.
    fn warn(&self, event: Event, hook: &Hook, said: String, verdict: &mut Verdict) {
        let event = event.name().to_owned();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(format!("{event} {} {said}", hook.name)) {
            verdict.heard.notices.push(Notice::HookFailed { hook: hook.name.clone(), event, said });
        }
    }

    fn before_call<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        rewritten: bool,
    ) -> Option<BoxFuture<'a, Heard>> {
        let told = Told::of(call, &self.workspace);
        let general = self.matching(Event::PreToolUse, &told.name);
        let particular = told.touches(access);
        let particular = particular.map(|(event, subject, document)| {
            let hooks = self.matching(event, &subject);
            (event, hooks, document)
        });
        if general.is_empty() && particular.as_ref().is_none_or(|(_, hooks, _)| hooks.is_empty()) {
            return None;
        }
        Some(Box::pin(async move {
            let mut first = self.run(Event::PreToolUse, &general, &self.documents.tool(&told)).await;
            if let Some(refused) = first.refused.take() {
                return Heard { word: Word::Object(refused), ..first.heard };
            }
            if let Some((hook, input)) = first.input.take()
                && !rewritten
                && told.input != Value::Object(input.clone())
            {
                let word = Word::Rewrite { hook, arguments: told.rewritten(input) };
                return Heard { word, ..first.heard };
            }
            let mut second = Verdict::default();
            if let Some((event, hooks, mut document)) = particular {
                if let (Access::Read(path), false) = (access, hooks.is_empty())
                    && let Some(document) = document.as_object_mut()
                {
                    document.insert("content".to_owned(), content(path).await.into());
                }
                second = self.run(event, &hooks, &document).await;
            }
            let word = second.objection().or_else(|| first.objection()).map_or(Word::Nothing, Word::Object);
            let notices = [first.heard.notices, second.heard.notices].concat();
            Heard { word, context: Vec::new(), notices }
        }))
    }

    fn after_call<'a>(&'a self, ended: &'a EndedCall) -> Option<BoxFuture<'a, Heard>> {
        let told = Told::of(&ended.call, &self.workspace);
        let (event, document) = self.documents.ended(&told, ended);
        let general = (event, self.matching(event, &told.name), document);
        let particular = did(&told, ended).map(|(event, subject, document)| {
            let hooks = self.matching(event, &subject);
            (event, hooks, document)
        });
        self.tell_all([Some(general), particular])
    }

    /// Runs hooks that only hear.
    fn tell_all<'a, const N: usize>(
        &'a self,
        all: [Option<(Event, Vec<&'a Hook>, Value)>; N],
    ) -> Option<BoxFuture<'a, Heard>> {
        let all: Vec<_> = all.into_iter().flatten().filter(|(_, hooks, _)| !hooks.is_empty()).collect();
        if all.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            let mut heard = Heard::default();
            for (event, hooks, document) in all {
                let verdict = self.run(event, &hooks, &document).await;
                heard.notices.extend(verdict.heard.notices);
                heard.context.extend(verdict.heard.context);
            }
            heard
        }))
    }

    fn at_prompt<'a>(&'a self, content: &'a [String]) -> Option<BoxFuture<'a, Heard>> {
        let hooks = self.all(Event::BeforeSubmitPrompt);
        if hooks.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            let document = json!({"prompt": content.join("\n\n"), "attachments": []});
            let mut verdict = self.run(Event::BeforeSubmitPrompt, &hooks, &document).await;
            let word = verdict.objection().map_or(Word::Nothing, Word::Object);
            Heard { word, context: Vec::new(), notices: verdict.heard.notices }
        }))
    }

    fn at_end<'a>(&'a self, outcome: &RunOutcome) -> Option<BoxFuture<'a, Heard>> {
        let (status, _) = status(outcome);
        let stop = json!({"status": status, "loop_count": 0});
        let stop = (Event::Stop, self.all(Event::Stop), stop);
        let end = self.only_run.then(|| self.session_end(outcome));
        self.tell_all([Some(stop), end])
    }

    fn session_end(&self, outcome: &RunOutcome) -> (Event, Vec<&Hook>, Value) {
        let (status, error) = status(outcome);
        let document = self.documents.session_end(status, error, self.began.elapsed());
        (Event::SessionEnd, self.all(Event::SessionEnd), document)
    }

    /// Tells of the end of a session of several runs; `None` when nobody listens.
    pub(crate) fn end_session<'a>(&'a self, outcome: &RunOutcome) -> Option<BoxFuture<'a, Heard>> {
        self.tell_all([Some(self.session_end(outcome))])
    }
}

impl ibeam_core::Hooks for Listening {
    fn hear_ends(&self) -> bool {
        let after =
            [Event::PostToolUse, Event::PostToolUseFailure, Event::AfterShellExecution, Event::AfterFileEdit];
        after.iter().any(|event| self.listed.hooks.contains_key(event))
    }

    fn tell<'a>(&'a self, moment: Moment<'a>) -> Option<BoxFuture<'a, Heard>> {
        if self.listed.hooks.is_empty() {
            return None;
        }
        match moment {
            Moment::RunBegins if self.begun.swap(true, Ordering::Relaxed) => None,
            Moment::RunBegins => {
                let hooks = self.all(Event::SessionStart);
                self.tell_all([Some((Event::SessionStart, hooks, self.documents.session_start()))])
            }
            Moment::Prompt(content) => self.at_prompt(content),
            Moment::Call { call, access, rewritten } => self.before_call(call, access, rewritten),
            Moment::CallEnded(ended) => self.after_call(ended),
            Moment::RunEnds(outcome) => self.at_end(outcome),
        }
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
        let _ = sender.send(text.unwrap_or_default());
    });
    match thread {
        Ok(_) => {
            tokio::time::timeout(CONTENT_PATIENCE, done).await.ok().and_then(Result::ok).unwrap_or_default()
        }
        Err(_) => String::new(),
    }
}
