//! The settings of OpenTelemetry in the environment.

use std::time::Duration;

use ibeam_protocol::{Sentence, sentence};
use ibeam_providers::{check_header, has_credentials};
use ibeam_trace::OtlpOptions;

use crate::environment::variable;

/// The path of traces below `OTEL_EXPORTER_OTLP_ENDPOINT`.
const TRACES_PATH: &str = "/v1/traces";

/// The protocols that a receiver of JSON over HTTP is set up for. `http/protobuf` is the default of OpenTelemetry, and its
/// receivers take both.
const PROTOCOLS: [&str; 2] = ["http/json", "http/protobuf"];

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
    /// What is wrong with an address that is no URL, an invalid header, or another protocol such as gRPC. The variables of an
    /// environment are meant for many programs, so they never end a run.
    pub(crate) fn from_environment() -> Result<Option<Self>, Sentence> {
        Self::from_variables(&variable)
    }

    fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, Sentence> {
        let setting = |name: &str| exporter_setting(variable, name);
        let Some((address, from)) = setting("ENDPOINT") else { return Ok(None) };
        let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        if is_off {
            return Ok(None);
        }
        if let Some((protocol, from)) =
            setting("PROTOCOL").filter(|(protocol, _)| !PROTOCOLS.contains(&protocol.trim()))
        {
            return Err(sentence!(
                "traces are sent over HTTP as JSON, not over `{protocol}`; set `{from}` to `http/json` and \
                 `$OTEL_EXPORTER_OTLP_ENDPOINT` to the HTTP port, usually 4318",
                protocol,
                from,
            ));
        }
        if !address.starts_with("http://") && !address.starts_with("https://") {
            return Err(sentence!("`{from}` is not a URL with `http://` or `https://`", from));
        }
        let is_exact = from.contains("TRACES");
        let url = if is_exact { address } else { format!("{}{TRACES_PATH}", address.trim_end_matches('/')) };
        let (headers, from) = setting("HEADERS").unwrap_or_default();
        let headers = pairs(&headers);
        for (name, value) in &headers {
            check_header(name, value).map_err(|error| {
                sentence!("`{from}`: the header `{name}` is invalid: {error}", from, name, error)
            })?;
        }
        let timeout = setting("TIMEOUT").and_then(|(timeout, _)| timeout.trim().parse().ok());
        let timeout = timeout.map_or(MAX_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT);
        Ok(Some(Self { url, headers, timeout }))
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

/// Returns the values of the headers and the password of the URL that the variables have, also where no receiver can be
/// made of them. They may not be recorded or shown.
pub(crate) fn secrets() -> Vec<String> {
    secrets_of_variables(&variable)
}

fn secrets_of_variables(variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let value = |name| exporter_setting(variable, name).map(|(value, _)| value).unwrap_or_default();
    let url = value("ENDPOINT");
    let authority = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let password = user.split_once(':').map_or(user, |(_, password)| password);
    let headers = pairs(&value("HEADERS")).into_iter().map(|(_, value)| value);
    headers.chain([decode(password)]).filter(|secret| !secret.is_empty()).collect()
}

/// Returns the value of a variable of the exporter and its name. The variable for traces takes precedence.
fn exporter_setting(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<(String, String)> {
    let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}")];
    names.into_iter().find_map(|name| Some((variable(&name)?, name)))
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

    use super::{Receiver, pairs, secrets_of_variables};

    fn lookup<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn receiver(variables: &[(&str, &str)]) -> Result<Option<Receiver>, String> {
        Receiver::from_variables(&lookup(variables)).map_err(|detail| detail.to_string())
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
            (
                &[common, ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "carrier-pigeon")],
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            ),
            (&[common, ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c")], "`a b`"),
        ] {
            let error = receiver(variables).unwrap_err();
            assert!(error.contains(expect), "{error}");
        }
    }

    #[test]
    fn the_protocols_over_http_are_accepted() {
        for protocol in ["http/json", "http/protobuf", " http/json "] {
            let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318");
            let found = receiver(&[common, ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)]).unwrap();
            assert_eq!(found.unwrap().url, "http://a:4318/v1/traces", "{protocol}");
        }
    }

    #[test]
    fn the_secrets_of_variables_without_a_receiver_are_known_too() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:hush%21@a:4317/x"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=key-1"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ];
        assert_eq!(secrets_of_variables(&lookup(&variables)), ["key-1", "hush!"]);
        assert!(receiver(&variables).is_err());
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
