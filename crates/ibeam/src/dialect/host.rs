//! The host at the other end of stdin: its prompts, its requests, and its leave for calls that no rule decides.
//!
//! One thread reads; requests are answered at once, also while a run goes on. Leave is given for a call as it
//! stands: a host that answers with another input gets a refusal.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Approver, Asked, Stop};
use ibeam_protocol::{Reason, Signal, ToolCall};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::control::{self, Control, Received, at};
use super::table::usage;
use super::voice::Voice;

/// The longest line that is read, in bytes; as in `convert`.
const MOST_BYTES: u64 = 64 << 20;

/// What comes until the end of stdin, or an error.
pub(crate) type Prompts = mpsc::UnboundedReceiver<Result<Prompted, Reason>>;
/// The stops of prompts whose runs have not ended, in their order.
type Runs = Arc<Mutex<VecDeque<Stop>>>;
/// Who waits for which answer; `None` once nobody answers any more.
type Asking = Option<HashMap<String, oneshot::Sender<Result<Value, String>>>>;

/// A prompt, which can be stopped before its run begins.
pub(crate) struct Prompted {
    pub(crate) blocks: Vec<String>,
    pub(crate) stop: Stop,
}

/// Asks the host, where it wants to be asked.
pub(crate) struct Host {
    voice: Voice,
    runs: Runs,
    waiting: Arc<Mutex<Asking>>,
    instructions: Arc<Mutex<Vec<String>>>,
}

impl Host {
    /// Begins to read stdin; gives the prompts beside itself.
    ///
    /// # Errors
    /// The system's error when no thread can be had.
    pub(crate) fn start(voice: Voice) -> io::Result<(Arc<Self>, Prompts)> {
        let runs = Runs::default();
        let open = Arc::clone(&runs);
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let (sender, prompts) = mpsc::unbounded_channel();
        let instructions = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&instructions);
        let host = Arc::new(Self { voice: voice.clone(), runs, waiting: Arc::clone(&waiting), instructions });
        std::thread::Builder::new().name("host".to_owned()).spawn(move || {
            let mut begun = false;
            let mut stdin = io::stdin().lock();
            while let Some(line) = next_line(&mut stdin).transpose() {
                match line.and_then(|line| control::read(&line)) {
                    Ok(Received::Prompt(blocks)) => {
                        begun = true;
                        let stop = Stop::default();
                        lock(&open).push_back(stop.clone());
                        drop(sender.send(Ok(Prompted { blocks, stop })));
                    }
                    Ok(Received::Request(id, asked)) => {
                        let answer = match asked {
                            Control::Initialize(further) if begun && !further.is_empty() => {
                                control::refused(&id, "instructions are taken before the first message")
                            }
                            Control::Initialize(further) => {
                                lock(&told).extend(further);
                                control::granted(&id, &control::introduction())
                            }
                            Control::Interrupt => {
                                interrupt(&open);
                                control::granted(&id, &json!({}))
                            }
                            Control::Refused(why) => control::refused(&id, &why),
                        };
                        // A host that is gone ends the run in another way.
                        drop(voice.say(&answer));
                    }
                    Ok(Received::Answer(id, result)) => {
                        let asker = lock(&waiting).as_mut().and_then(|waiting| waiting.remove(&id));
                        drop(asker.map(|asker| asker.send(result)));
                    }
                    Ok(Received::Nothing) => {}
                    Err(reason) => {
                        drop(sender.send(Err(reason)));
                        break;
                    }
                }
            }
            *lock(&waiting) = None;
        })?;
        Ok((host, prompts))
    }

    /// The first of the prompts that are open has had its run.
    pub(crate) fn run_ended(&self) {
        lock(&self.runs).pop_front();
    }

    /// What the host has said to the model so far, beside prompts.
    pub(crate) fn instructions(&self) -> Vec<String> {
        lock(&self.instructions).clone()
    }
}

impl Approver for Host {
    fn decide<'a>(&'a self, call: &'a ToolCall, access: &'a Access, asked: Asked<'a>) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let mut reason = asked.reason.to_owned();
            // Not every dialect has a field for the directory.
            if let Access::Command { directory: Some(directory), .. } = access
                && !reason.contains(&*directory.to_string_lossy())
            {
                reason.push_str(&format!(" (in the working directory `{}`)", directory.display()));
            }
            let Some((name, input)) =
                self.voice.call(&call.id.to_string()).filter(|_| self.voice.live().asks)
            else {
                return false;
            };
            let id = format!("ask-{}", call.id);
            let (sender, answer) = oneshot::channel();
            match lock(&self.waiting).as_mut() {
                Some(waiting) => drop(waiting.insert(id.clone(), sender)),
                None => return false,
            }
            let request = json!({
                "subtype": "can_use_tool",
                "tool_name": name,
                "input": &input,
                "permission_suggestions": [],
                "tool_use_id": &call.id,
                "decision_reason": reason,
            });
            let request = json!({ "type": "control_request", "request_id": &id, "request": request });
            if self.voice.say(&request).is_err() {
                return false;
            }
            let question = Question { host: self, id };
            let answered = answer.await;
            drop(question);
            match answered {
                Ok(Ok(answer)) => {
                    if *at(&answer, "/interrupt") == true {
                        interrupt(&self.runs);
                    }
                    allows(&answer, &input)
                }
                Ok(Err(_)) | Err(_) => false,
            }
        })
    }
}

/// A question that may be given up: then the host is told that nobody waits for its answer.
struct Question<'a> {
    host: &'a Host,
    id: String,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let open = lock(&self.host.waiting).as_mut().and_then(|waiting| waiting.remove(&self.id));
        if open.is_some() {
            let cancel = json!({ "type": "control_cancel_request", "request_id": &self.id });
            // A host that is gone does not wait.
            drop(self.host.voice.say(&cancel));
        }
    }
}

/// The next line without its end; `None` behind the last.
fn next_line(stdin: &mut impl BufRead) -> Result<Option<String>, Reason> {
    let mut line = Vec::new();
    let read = stdin.take(MOST_BYTES).read_until(b'\n', &mut line);
    let read = read.map_err(|error| Reason::Io { what: "stdin".to_owned(), said: error.to_string() })?;
    let ends = line.pop_if(|last| *last == b'\n').is_some();
    if read as u64 == MOST_BYTES && !ends {
        return Err(usage("a line of stdin is longer than 64 MiB"));
    }
    let line = String::from_utf8(line).map_err(|_| usage("a line of stdin is not UTF-8"))?;
    Ok((read > 0).then_some(line))
}

/// Ends the run that goes on, or that of the first prompt that waits.
fn interrupt(runs: &Runs) {
    if let Some(stop) = lock(runs).front() {
        stop.request(Reason::Signalled(Signal::Int));
    }
}

/// Whether the answer lets the call run as it stands.
fn allows(answer: &Value, input: &Value) -> bool {
    let updated = at(answer, "/updatedInput");
    let same = updated.is_null() || updated == input;
    *at(answer, "/behavior") == "allow" && same
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leave_is_given_for_the_call_as_it_stands() {
        let input = json!({ "command": "ls" });
        for (answer, expect) in [
            (json!({ "behavior": "allow" }), true),
            (json!({ "behavior": "allow", "updatedInput": input }), true),
            (json!({ "behavior": "allow", "updatedInput": { "command": "rm" } }), false),
            (json!({ "behavior": "deny", "message": "no" }), false),
            (json!({}), false),
        ] {
            assert_eq!(allows(&answer, &input), expect, "{answer}");
        }
    }
}
