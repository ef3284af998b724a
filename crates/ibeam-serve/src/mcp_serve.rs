//! `ibeam mcp serve`: runs and stored sessions for the clients of an MCP server, on stdin and stdout or over HTTP.
//!
//! Each run is a thread with a configuration of its own (`served_run.rs`). What a client asks for can only narrow the
//! configuration of the person who started the server (`run_request.rs`).

mod agent_service;
mod run_progress;
mod run_request;
mod served_run;
mod served_sessions;
mod tool_list;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ibeam_core::Stop;
use ibeam_files::regular_file;
use ibeam_mcp_server::{Dispatcher, HttpServer, Token, serve_streams};
use ibeam_protocol::{Failure, Reason, Signal};
use tokio::sync::mpsc;

use self::agent_service::AgentService;
use self::run_request::ServerSettings;
use super::message_stdio::{self, MessageInput};
use ibeam_agent::app::AppContext;
use ibeam_agent::environment::{MCP_TOKEN_VARIABLE, variable};
use ibeam_agent::pump::CurrentStop;
use ibeam_agent::run::{on_runtime, system_error, thread_error};
use ibeam_agent::{signals, stderr};

/// The number of messages that wait for the client on stdout.
const QUEUE_MESSAGES: usize = 256;
/// The time that the end of the process may take beyond `timeouts.shutdown`.
const MARGIN: Duration = Duration::from_millis(300);
/// Maximum size of the file with the token.
const MAX_TOKEN_BYTES: u64 = 4096;

pub struct McpServeOptions<'a> {
    /// The port; `None` for stdin and stdout.
    pub http: Option<u16>,
    pub token_file: Option<&'a Path>,
    pub roots: &'a [std::path::PathBuf],
}

/// Serves clients until stdin is closed or a signal arrives.
///
/// # Errors
/// `NoInput` for a directory or the file of the token; `Usage` for an invalid token; `Io` for the port; the reason of a
/// signal; `OutputClosed` if stdout was closed first.
pub fn serve_mcp(app: &AppContext, options: McpServeOptions<'_>, stdout: &File) -> Result<(), Failure> {
    let listen =
        options.http.map(|port| Ok::<_, Reason>((port, choose_token(options.token_file)?))).transpose()?;
    let token = listen.as_ref().map(|(_, token)| token.text.clone());
    let settings = ServerSettings::new(app, options.roots, token)?;
    let service = Arc::new(AgentService::new(settings));
    let dispatcher =
        Dispatcher::new(Arc::clone(&service) as _, "ibeam", "ibeam coding agent", env!("CARGO_PKG_VERSION"));
    let io = |error: std::io::Error| Reason::Io { what: "stdout".to_owned(), detail: error.to_string() };
    let mut stdout = stdout.try_clone().map_err(io)?;
    on_runtime(|runtime| {
        let stop = Stop::default();
        let _context = runtime.enter();
        let _signals = signals::watch(&CurrentStop::new(stop.clone()))
            .map_err(|error| system_error("sigaction", &error))?;
        let served = match listen {
            None => runtime.block_on(serve_stdio(dispatcher, stdout, &stop))?,
            Some((port, token)) => {
                let what = format!("127.0.0.1:{port}");
                let no_port =
                    |error: std::io::Error| Reason::Io { what: what.clone(), detail: error.to_string() };
                let server = HttpServer::bind(port, dispatcher, token.token).map_err(no_port)?;
                writeln!(stdout, "{}", server.url().map_err(no_port)?).map_err(io)?;
                runtime.block_on(async {
                    tokio::select! {
                        biased;
                        reason = stop.wait() => Err(reason),
                        served = server.serve() => served.map_err(no_port),
                    }
                })
            }
        };
        let reason = served.clone().err().unwrap_or(Reason::Signalled(Signal::Hup));
        let budget = app.base.settings.timeouts.shutdown.value + MARGIN;
        runtime.block_on(service.end_runs(&reason, budget));
        Ok(served?)
    })
}

/// Serves the program at the other end of stdin and stdout. Returns the reason if it is not the end of stdin.
///
/// # Errors
/// `System` for a thread that cannot be started.
async fn serve_stdio(
    dispatcher: Arc<Dispatcher>,
    stdout: File,
    stop: &Stop,
) -> Result<Result<(), Reason>, Failure> {
    let (outgoing, lines) = mpsc::channel(QUEUE_MESSAGES);
    let output_stop = stop.clone();
    let mut written = message_stdio::write_stdout(stdout, lines, move |_| {
        output_stop.request(Reason::OutputClosed);
    })
    .map_err(thread_error)?;
    let input = MessageInput::start().map_err(thread_error)?;
    let served = tokio::select! {
        biased;
        reason = stop.wait() => Err(reason),
        () = serve_streams(dispatcher, input, outgoing) => Ok(()),
    };
    // Completes when the last line is written.
    drop(tokio::time::timeout(MARGIN, written.recv()).await);
    Ok(served)
}

/// The token of the server with its text, which runs remove from their output.
struct ChosenToken {
    token: Token,
    text: String,
}

/// Returns the token of the file, else of the variable, else a new one, which is printed on stderr.
///
/// # Errors
/// `NoInput` for the file, `Usage` for an invalid token.
fn choose_token(file: Option<&Path>) -> Result<ChosenToken, Reason> {
    let (source, text) = match (file, variable(MCP_TOKEN_VARIABLE)) {
        (Some(path), _) => (path.display().to_string(), read_token(path)?),
        (None, Some(text)) => (format!("${MCP_TOKEN_VARIABLE}"), text),
        (None, None) => {
            let (token, text) = Token::random();
            stderr::write_line(&format!("token: {text}"));
            return Ok(ChosenToken { token, text });
        }
    };
    let text = text.trim().to_owned();
    match Token::parse(&text) {
        Ok(token) => Ok(ChosenToken { token, text }),
        Err(detail) => Err(Reason::Usage { detail: format!("{source}: {detail}").into() }),
    }
}

fn read_token(path: &Path) -> Result<String, Reason> {
    let text = regular_file::read(path, MAX_TOKEN_BYTES).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
    });
    text.map_err(|error| Reason::NoInput { path: path.display().to_string(), detail: error.to_string() })
}
