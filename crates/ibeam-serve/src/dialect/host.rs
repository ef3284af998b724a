//! The host, which is the program that writes to stdin: its prompts, its requests, and its decisions about calls that
//! no rule covers.
//!
//! One thread reads. Requests are answered at once, also during a run. A host approves a call only unchanged: a
//! response with another input refuses the call.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Approval, ApprovalRequest, Approver};
use ibeam_protocol::{McpServer, Reason, ToolCall};
use ibeam_wire::Delivery;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::control_protocol::{self, ControlRequest, HostAdditions, HostMessage, value_at};
use super::dialect_writer::DialectWriter;
use super::session_servers::SessionServers;
use super::usage_error;
use ibeam_agent::message_queue::MessageQueue;

/// The longest line that is read, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// The waiting requests by id; `None` once stdin has ended.
type WaitingRequests = Option<HashMap<String, oneshot::Sender<Result<Value, String>>>>;

/// A request for another model. The session answers it, not the reader of stdin.
pub(crate) struct SetModelRequest {
    pub(crate) id: String,
    /// The name of the model; `None` is the default model.
    pub(crate) model: Option<String>,
    /// The number of prompts before the request. The request applies to later prompts.
    pub(crate) prompts_before: u64,
}

/// Requests for another model, in their order.
pub(crate) type SetModelReceiver = mpsc::UnboundedReceiver<SetModelRequest>;

/// The state that the reader of stdin and the runs share.
#[derive(Clone, Default)]
struct HostState {
    /// The prompts.
    queue: Arc<MessageQueue>,
    waiting: Arc<Mutex<WaitingRequests>>,
    additions: Arc<Mutex<HostAdditions>>,
    /// The MCP servers that the host has set.
    session_servers: Arc<Mutex<SessionServers>>,
    /// The receivers of messages from the host's MCP servers, by name.
    servers: Arc<Mutex<HashMap<String, mpsc::UnboundedSender<Value>>>>,
    /// The status of each MCP server.
    statuses: Arc<Mutex<Vec<Value>>>,
}

impl HostState {
    /// Ends the run in progress, or the next one as soon as it starts.
    fn interrupt_run(&self, writer: &DialectWriter) {
        // The run may end before this returns.
        writer.expect_interrupt(true);
        if !self.queue.interrupt() {
            writer.expect_interrupt(false);
        }
    }
}

pub(crate) struct Host {
    pub(super) writer: DialectWriter,
    shared: HostState,
    /// The number of requests to the host so far.
    requests: AtomicU64,
}

impl Host {
    /// Starts to read stdin; `models` is the list in the response to `initialize`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(
        writer: DialectWriter,
        models: Vec<Value>,
    ) -> io::Result<(Arc<Self>, SetModelReceiver)> {
        let shared = HostState::default();
        *lock(&shared.waiting) = Some(HashMap::new());
        lock(&shared.additions).servers.clone_from(&writer.options().claude.host_servers);
        let (model_sender, model_requests) = mpsc::unbounded_channel();
        let host =
            Arc::new(Self { writer: writer.clone(), shared: shared.clone(), requests: AtomicU64::new(0) });
        let mut reader =
            StdinReader { writer, shared, models, model_requests: model_sender, prompt_count: 0 };
        std::thread::Builder::new().name("host".to_owned()).spawn(move || {
            let mut stdin = io::stdin().lock();
            while let Some(line) = next_line(&mut stdin).transpose() {
                match line.map(|line| control_protocol::parse_message(&line)) {
                    Ok(Ok(message)) => reader.handle(message),
                    Ok(Err(unread)) => reader.shared.queue.push_unread(unread),
                    Err(reason) => {
                        reader.shared.queue.end(Err(reason));
                        break;
                    }
                }
            }
            reader.shared.queue.end(Ok(()));
            *lock(&reader.shared.waiting) = None;
        })?;
        Ok((host, model_requests))
    }

    /// Returns the queue of the prompts.
    pub(crate) fn queue(&self) -> &Arc<MessageQueue> {
        &self.shared.queue
    }

    /// Returns the additions of the host so far.
    pub(crate) fn additions(&self) -> HostAdditions {
        lock(&self.shared.additions).clone()
    }

    /// Returns the MCP servers that the host has set so far.
    pub(crate) fn session_servers(&self) -> SessionServers {
        lock(&self.shared.session_servers).clone()
    }

    /// Sets the status of each MCP server.
    pub(crate) fn set_server_statuses(&self, servers: &[McpServer]) {
        let status = |server: &McpServer| json!({ "name": server.name, "status": server.status });
        *lock(&self.shared.statuses) = servers.iter().map(status).collect();
    }

    /// Passes the messages of the host's MCP server `name` to `receiver`.
    pub(super) fn register_server(&self, name: &str, receiver: mpsc::UnboundedSender<Value>) {
        lock(&self.shared.servers).insert(name.to_owned(), receiver);
    }

    /// Answers a request of the host.
    pub(crate) fn respond(&self, id: &str, answer: Result<Value, String>) {
        let answer = match answer {
            Ok(response) => control_protocol::success_response(id, &response),
            Err(why) => control_protocol::error_response(id, &why),
        };
        // A failed write is ignored: a host that has exited needs no response.
        drop(self.writer.write_line(&answer));
    }

    /// Ends the run in progress, like a request of the host.
    pub(super) fn interrupt_run(&self) {
        self.shared.interrupt_run(&self.writer);
    }

    /// Returns an id for a request that is not about a call.
    pub(super) fn request_id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// Sends a request to the host and waits for the response; an error is the message of the host. `None` if the host
    /// has exited. Dropping the future cancels the request at the host.
    pub(super) async fn request(&self, id: String, request: Value) -> Option<Result<Value, String>> {
        let (sender, answer) = oneshot::channel();
        lock(&self.shared.waiting).as_mut()?.insert(id.clone(), sender);
        let request = json!({ "type": "control_request", "request_id": &id, "request": request });
        let pending = PendingRequest { host: self, id };
        self.writer.write_line(&request).ok()?;
        let response = answer.await;
        drop(pending);
        response.ok()
    }
}

struct StdinReader {
    writer: DialectWriter,
    shared: HostState,
    models: Vec<Value>,
    model_requests: mpsc::UnboundedSender<SetModelRequest>,
    /// The number of prompts so far.
    prompt_count: u64,
}

impl StdinReader {
    fn handle(&mut self, received: HostMessage) {
        match received {
            HostMessage::Prompt(prompt, id) => {
                self.prompt_count += 1;
                if let (Some(id), Some(text)) = (id, prompt.texts.first()) {
                    self.writer.add_prompt_id(text.clone(), id);
                }
                self.shared.queue.push(prompt, Delivery::Queue);
            }
            HostMessage::Request(id, ControlRequest::SetModel(model)) => {
                drop(self.model_requests.send(SetModelRequest {
                    id,
                    model,
                    prompts_before: self.prompt_count,
                }));
            }
            HostMessage::Request(id, control) => {
                let answer = match self.answer(control) {
                    Ok(response) => control_protocol::success_response(&id, &response),
                    Err(why) => control_protocol::error_response(&id, &why),
                };
                // A failed write is ignored: a host that has exited needs no response.
                drop(self.writer.write_line(&answer));
            }
            HostMessage::Mcp { id, server, message } => {
                let answer = match lock(&self.shared.servers).get(&server) {
                    Some(receiver) => {
                        drop(receiver.send(message));
                        control_protocol::success_response(&id, &json!({}))
                    }
                    None => control_protocol::error_response(
                        &id,
                        &format!("there is no MCP server `{server}` of the host"),
                    ),
                };
                drop(self.writer.write_line(&answer));
            }
            HostMessage::Response(id, result) => {
                let asker = lock(&self.shared.waiting).as_mut().and_then(|waiting| waiting.remove(&id));
                drop(asker.map(|asker| asker.send(result)));
            }
            HostMessage::Other => {}
        }
    }

    /// Carries out a request and returns the response, or the reason for a refusal.
    fn answer(&self, control: ControlRequest) -> Result<Value, String> {
        match control {
            ControlRequest::Initialize(added) => {
                added.check_before_first_prompt(self.prompt_count > 0)?;
                let mut additions = lock(&self.shared.additions);
                additions.instructions.extend(added.instructions);
                additions.servers.extend(added.servers);
                additions.uncalled_hooks.extend(added.uncalled_hooks);
                additions.hooks.extend(added.hooks);
                additions.servers.sort_unstable();
                additions.servers.dedup();
                Ok(control_protocol::initialize_response(&self.models))
            }
            ControlRequest::Interrupt => {
                self.shared.interrupt_run(&self.writer);
                Ok(json!({}))
            }
            ControlRequest::SetMode(mode) if mode == self.writer.options().claude.mode => {
                Ok(json!({ "mode": mode }))
            }
            ControlRequest::SetMode(_) => {
                Err("the permission mode holds for the whole process; give it at start".to_owned())
            }
            ControlRequest::McpStatus => Ok(json!({ "mcpServers": &*lock(&self.shared.statuses) })),
            ControlRequest::SetServers(servers) => Ok(lock(&self.shared.session_servers).replace(&servers)),
            ControlRequest::NoOp => Ok(json!({})),
            ControlRequest::SetModel(_) => Err("`set_model` is answered by the session".to_owned()),
            ControlRequest::Reject(why) => Err(why),
        }
    }
}

impl Approver for Host {
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let mut reason = request.reason.to_string();
            // Not every dialect has a key for the directory.
            if let Access::Command { directory: Some(directory), .. } = access
                && !reason.contains(&*directory.to_string_lossy())
            {
                reason.push_str(&format!(" (in the working directory `{}`)", directory.display()));
            }
            let Some((name, input)) =
                self.writer.reported_call(&call.id.to_string()).filter(|_| self.writer.options().ask_host)
            else {
                return Approval::Unanswered;
            };
            let request = json!({
                "subtype": "can_use_tool",
                "tool_name": name,
                "input": &input,
                "permission_suggestions": [],
                "tool_use_id": &call.id,
                "decision_reason": reason,
            });
            match self.request(format!("ask-{}", call.id), request).await {
                Some(Ok(answer)) => {
                    if *value_at(&answer, "/interrupt") == true {
                        self.interrupt_run();
                    }
                    approval(&answer, &input)
                }
                Some(Err(_)) | None => Approval::Unanswered,
            }
        })
    }
}

/// A request that waits for its response. Dropping it before the response cancels the request at the host.
struct PendingRequest<'a> {
    host: &'a Host,
    id: String,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let open = lock(&self.host.shared.waiting).as_mut().and_then(|waiting| waiting.remove(&self.id));
        if open.is_some() {
            let cancel = json!({ "type": "control_cancel_request", "request_id": &self.id });
            // A failed write is ignored: a host that has exited needs no cancellation.
            drop(self.host.writer.write_line(&cancel));
        }
    }
}

/// Reads a line without its end; `None` after the last.
fn next_line(stdin: &mut impl BufRead) -> Result<Option<Vec<u8>>, Reason> {
    let mut line = Vec::new();
    let read = stdin.take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
    let read = read.map_err(|error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() })?;
    let ends = line.pop_if(|last| *last == b'\n').is_some();
    if read as u64 == MAX_LINE_BYTES && !ends {
        return Err(usage_error("a line of stdin is longer than 64 MiB"));
    }
    Ok((read > 0).then_some(line))
}

/// The message for the model where the host approves another call than it was asked about.
const CHANGED: &str = "the host changed the arguments, which is not supported";

/// Returns the approval in a response of the host, which can approve a call only unchanged.
fn approval(answer: &Value, input: &Value) -> Approval {
    let updated = value_at(answer, "/updatedInput");
    let is_same = updated.is_null() || updated == input;
    match value_at(answer, "/behavior").as_str() {
        Some("allow") if is_same => Approval::Granted,
        Some("allow") => Approval::Refused(Some(CHANGED.to_owned())),
        Some("deny") => Approval::Refused(value_at(answer, "/message").as_str().map(str::to_owned)),
        _ => Approval::Unanswered,
    }
}

/// Locks a value, also after a panic of another thread.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_approved_only_unchanged() {
        let refused = |message: &str| Approval::Refused(Some(message.to_owned()));
        let input = json!({ "command": "ls" });
        for (answer, expect) in [
            (json!({ "behavior": "allow" }), Approval::Granted),
            (json!({ "behavior": "allow", "updatedInput": input }), Approval::Granted),
            (json!({ "behavior": "allow", "updatedInput": { "command": "rm" } }), refused(CHANGED)),
            (json!({ "behavior": "deny", "message": "no" }), refused("no")),
            (json!({ "behavior": "deny" }), Approval::Refused(None)),
            (json!({}), Approval::Unanswered),
        ] {
            assert_eq!(approval(&answer, &input), expect, "{answer}");
        }
    }
}
