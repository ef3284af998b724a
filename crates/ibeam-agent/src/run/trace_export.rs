//! The export of the runs of a session as spans of OpenTelemetry, at its end.
//!
//! The spans go to the file of `--trace-file` and to the service of the variables of OpenTelemetry. Without either, no
//! span is collected. A failed export is a warning: it changes neither the result nor the exit code of a run.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ibeam_output::{EventWriter, TraceLine};
use ibeam_protocol::{Reason, SessionId};
use ibeam_providers::{JsonPost, has_credentials, is_secret_header};
use ibeam_trace::{OtlpOptions, OtlpSpans, SpanId, TraceContext, TraceId};
use tokio::runtime::Runtime;

use super::event_tap::EventTap;
use crate::app::AppContext;
use crate::clock::now_ms;
use crate::environment::variable;
use crate::model::{ServiceConnection, check_encryption};
use crate::otel::{self, Receiver};
use crate::stderr;

/// The variable with the trace that a process belongs to.
const TRACEPARENT: &str = "TRACEPARENT";

/// An export that the flags and the environment request. Its file exists.
pub(super) struct TraceRequest {
    file: Option<(PathBuf, File)>,
    receiver: Option<Receiver>,
    /// The trace that the process belongs to.
    caller: Option<TraceContext>,
}

impl TraceRequest {
    /// Returns the request of the flags and the environment; `None` if they request no export, or if the caller does
    /// not record its trace.
    ///
    /// A receiver that this program cannot send to is a warning.
    ///
    /// # Errors
    /// `CannotCreate` for the file.
    pub(super) fn new(app: &AppContext) -> Result<Option<Self>, Reason> {
        let receiver = Receiver::from_environment().unwrap_or_else(|detail| {
            warn(app, &TraceLine::InvalidSetting { detail: &app.base.catalogue.sentence(&detail) });
            None
        });
        let path = app.base.options.trace_file.clone();
        if receiver.is_none() && path.is_none() {
            return Ok(None);
        }
        let caller = variable(TRACEPARENT).and_then(|value| TraceContext::parse(&value));
        if caller.is_some_and(|caller| !caller.is_sampled) && path.is_none() {
            return Ok(None);
        }
        let file = path.map(|path| match File::create(&path) {
            Ok(file) => Ok((path, file)),
            Err(error) => {
                Err(Reason::CannotCreate { path: path.display().to_string(), detail: error.to_string() })
            }
        });
        Ok(Some(Self { file: file.transpose()?, receiver, caller }))
    }
}

/// An export that has not been sent yet.
pub(super) struct TraceExport {
    spans: Arc<Mutex<OtlpSpans>>,
    file: Option<(PathBuf, File)>,
    receiver: Option<Receiver>,
    /// The trace and the span of the first run, for commands.
    traceparent: String,
}

impl TraceExport {
    /// Returns the export of the runs of `session`.
    pub(super) fn new(request: TraceRequest, session: SessionId) -> Self {
        let TraceRequest { file, receiver, caller } = request;
        let (session, now) = (session.to_string(), now_ms());
        let context = caller.unwrap_or_else(|| TraceContext::begin(TraceId::derive(&session, now)));
        let first_span = SpanId::for_run(context.trace, &session, (now, 0));
        let options =
            OtlpOptions { context: Some(context), first_span: Some(first_span), ..otel::otlp_options() };
        Self {
            spans: Arc::new(Mutex::new(OtlpSpans::new(options))),
            file,
            receiver,
            traceparent: first_span.traceparent(context.trace),
        }
    }

    /// Returns a writer that also collects the spans.
    pub(super) fn wrap(&self, writer: Box<dyn EventWriter + Send>) -> Box<dyn EventWriter + Send> {
        let spans = Arc::clone(&self.spans);
        EventTap::wrap(writer, move |event| {
            spans.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        })
    }

    /// Writes and sends the spans within `limit`.
    pub(super) fn finish(self, app: &AppContext, runtime: &Runtime, limit: Duration) {
        let Self { spans, file, receiver, .. } = self;
        let body = spans.lock().unwrap_or_else(PoisonError::into_inner).finish().to_string();
        // Names and IDs of calls come from the model.
        let body = app.redactor().redact(&body).into_owned();
        if let Some((path, mut file)) = file
            && let Err(error) = file.write_all(format!("{body}\n").as_bytes())
        {
            let (path, detail) = (path.display().to_string(), error.to_string());
            warn(app, &TraceLine::NotWritten { path: &path, detail: &detail });
        }
        if let Some(receiver) = receiver
            && let Err(detail) = runtime.block_on(send(app, &receiver, body, limit))
        {
            warn(app, &TraceLine::NotSent { url: &receiver.display_url(), detail: &detail });
        }
    }
}

fn warn(app: &AppContext, line: &TraceLine<'_>) {
    stderr::write_line(&format!("warning: {}", app.base.catalogue.line(line)));
}

/// Sends the spans to a service.
async fn send(app: &AppContext, receiver: &Receiver, body: String, limit: Duration) -> Result<(), String> {
    let carries_secret =
        receiver.headers.iter().any(|(name, _)| is_secret_header(name)) || has_credentials(&receiver.url);
    check_encryption(&app.base.settings.network, &receiver.url, carries_secret)?;
    let connection = ServiceConnection::for_url(app, &receiver.url).map_err(|reason| reason.detail())?;
    let post = JsonPost {
        url: &receiver.url,
        headers: &receiver.headers,
        body,
        timeout: limit.min(receiver.timeout),
        tls: &connection.tls,
        proxy: connection.proxy.as_ref(),
    };
    post.send().await.map_err(|error| error.to_string())
}

/// Returns the variable `TRACEPARENT` for commands: the span of the exported run, or that of the caller.
pub(super) fn command_variables(export: Option<&TraceExport>) -> Vec<(OsString, OsString)> {
    let own = export.map(|export| export.traceparent.clone());
    let inherited = || variable(TRACEPARENT).filter(|value| TraceContext::parse(value).is_some());
    own.or_else(inherited).map(|value| (TRACEPARENT.into(), value.into())).into_iter().collect()
}
