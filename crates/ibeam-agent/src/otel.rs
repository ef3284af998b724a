//! The settings of OpenTelemetry in the environment.

use std::time::Duration;

use ibeam_protocol::{Reason, sentence};
use ibeam_providers::{check_header, has_credentials};
use ibeam_trace::OtlpOptions;

use crate::environment::variable;

/// The path of traces below `OTEL_EXPORTER_OTLP_ENDPOINT`.
const TRACES_PATH: &str = "/v1/traces";

/// The limit of sending. The end of a program should not wait longer for a receiver of traces.
const MAX_TIMEOUT: Duration = Duration::from_secs(3);

/// A service that receives traces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    /// Further headers, which may contain keys.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) timeout: Duration,
}

impl Receiver {
    /// Returns the receiver that the variables name; `None` if they name none or switch exports off.
    ///
    /// # Errors
    /// `Usage` for an address that is no URL, an invalid header, and for gRPC.
    pub(crate) fn from_environment() -> Result<Option<Self>, Reason> {
        Self::from_variables(&variable)
    }

    fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, Reason> {
        let names =
            |name: &str| [format!("OTEL_EXPORTER_OTLP_TRACES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}")];
        let setting = |name: &str| names(name).into_iter().find_map(|name| Some((variable(&name)?, name)));
        let Some((address, from)) = setting("ENDPOINT") else { return Ok(None) };
        let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        if is_off {
            return Ok(None);
        }
        if let Some((protocol, from)) = setting("PROTOCOL").filter(|(protocol, _)| protocol == "grpc") {
            let detail = sentence!(
                "traces are sent over HTTP as JSON, not over `{protocol}`; set `{from}` to `http/json` and \
                 `$OTEL_EXPORTER_OTLP_ENDPOINT` to the HTTP port, usually 4318",
                protocol,
                from,
            );
            return Err(Reason::Usage { detail });
        }
        if !address.starts_with("http://") && !address.starts_with("https://") {
            let detail = sentence!("`{from}` is not a URL with `http://` or `https://`", from);
            return Err(Reason::Usage { detail });
        }
        let is_exact = from.contains("TRACES");
        let url = if is_exact { address } else { format!("{}{TRACES_PATH}", address.trim_end_matches('/')) };
        let (headers, from) = setting("HEADERS").unwrap_or_default();
        let headers = pairs(&headers);
        for (name, value) in &headers {
            check_header(name, value).map_err(|error| {
                let detail =
                    sentence!("`{from}`: the header `{name}` is invalid: {error}", from, name, error);
                Reason::Usage { detail }
            })?;
        }
        let timeout = setting("TIMEOUT").and_then(|(timeout, _)| timeout.trim().parse().ok());
        let timeout = timeout.map_or(MAX_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT);
        Ok(Some(Self { url, headers, timeout }))
    }

    /// Returns the values of the headers, and the password of the URL. They may not be recorded or shown.
    pub(crate) fn secrets(self) -> Vec<String> {
        let authority = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        let password = user.split_once(':').map_or(user, |(_, password)| password);
        let headers = self.headers.into_iter().map(|(_, value)| value);
        headers.chain([decode(password)]).filter(|secret| !secret.is_empty()).collect()
    }

    /// Returns the URL without user and password, for messages.
    pub(crate) fn display_url(&self) -> String {
        if !has_credentials(&self.url) {
            return self.url.clone();
        }
        let host = self.url.rsplit('@').next().unwrap_or_default();
        format!("https://{host}")
    }
}

/// Returns the options of an export: what the variables of OpenTelemetry say about content and resource.
pub fn otlp_options() -> OtlpOptions {
    let has_content = variable("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").is_some_and(|value| {
        matches!(value.trim().to_ascii_lowercase().as_str(), "true" | "1" | "span_only" | "span_and_event")
    });
    let mut resource = pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
    if let Some(name) = variable("OTEL_SERVICE_NAME") {
        resource.retain(|(key, _)| key != "service.name");
        resource.push(("service.name".to_owned(), name));
    }
    OtlpOptions { has_content, resource, ..OtlpOptions::default() }
}

/// Returns the pairs of `name=value,name=value` with percent escapes. Parts of another form are left out.
fn pairs(list: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let name = decode(name.trim());
        (!name.is_empty()).then(|| (name, decode(value.trim())))
    };
    list.split(',').filter_map(pair).collect()
}

/// Returns text without its percent escapes.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits =
            after.get(..2).filter(|_| *byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Receiver, pairs};

    fn receiver(variables: &[(&str, &str)]) -> Result<Option<Receiver>, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Receiver::from_variables(&variable).map_err(|reason| format!("{reason:?}"))
    }

    #[test]
    fn the_variables_for_traces_beat_the_common_ones() {
        let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318/");
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=not%20a%20key");
        let found = receiver(&[common, headers]).unwrap().unwrap();
        assert_eq!(found.url, "http://a:4318/v1/traces");
        assert_eq!(found.headers, [("api-key".to_owned(), "not a key".to_owned())]);
        assert_eq!(found.timeout, Duration::from_secs(3));
        let exact = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b/x");
        let timeout = ("OTEL_EXPORTER_OTLP_TIMEOUT", "500");
        let found = receiver(&[common, exact, timeout]).unwrap().unwrap();
        assert_eq!((found.url.as_str(), found.timeout), ("http://b/x", Duration::from_millis(500)));
    }

    #[test]
    fn without_an_address_or_when_switched_off_nothing_is_sent() {
        let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318");
        for variables in [
            &[][..],
            &[("OTEL_EXPORTER_OTLP_HEADERS", "a=b")],
            &[common, ("OTEL_SDK_DISABLED", "TRUE")],
            &[common, ("OTEL_TRACES_EXPORTER", "none")],
        ] {
            assert_eq!(receiver(variables), Ok(None), "{variables:?}");
        }
    }

    #[test]
    fn settings_that_cannot_work_are_errors() {
        let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4317");
        for (variables, expect) in [
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")][..], "OTEL_EXPORTER_OTLP_ENDPOINT"),
            (&[common, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "http/json"),
            (&[common, ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c")], "`a b`"),
        ] {
            let error = receiver(variables).unwrap_err();
            assert!(error.contains(expect), "{error}");
        }
    }

    #[test]
    fn pairs_are_separated_by_commas_and_percent_escaped() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(pairs(""), []);
        assert_eq!(
            pairs(" a = b ,c=d%20e%2Cf=g,x,=y,z=%zz%4"),
            [pair("a", "b"), pair("c", "d e,f=g"), pair("z", "%zz%4")]
        );
    }
}
