//! Ids of traces and spans, and `traceparent` of W3C Trace Context.

use std::fmt;

use sha2::{Digest, Sha256};

/// The id of a trace; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId([u8; 16]);

/// The id of a span; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId([u8; 8]);

/// The trace that a process belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: TraceId,
    /// The span of the caller; `None` if the trace begins with this process.
    pub parent: Option<SpanId>,
    /// Whether the caller records its spans.
    pub is_sampled: bool,
}

impl TraceContext {
    /// Parses the value of `TRACEPARENT`; `None` for an invalid value, which W3C Trace Context says to ignore.
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.trim().split('-');
        let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // A later version may have further parts.
        let is_known = version == "00" && parts.next().is_none() || version != "00" && version != "ff";
        if !is_known || bytes::<1>(version).is_none() {
            return None;
        }
        let [flags] = bytes::<1>(flags)?;
        let (trace, parent) = (bytes(trace)?, bytes(parent)?);
        if trace == [0; 16] || parent == [0; 8] {
            return None;
        }
        Some(Self { trace: TraceId(trace), parent: Some(SpanId(parent)), is_sampled: flags & 1 == 1 })
    }

    /// Returns the context of a trace that begins with a process.
    pub fn begin(trace: TraceId) -> Self {
        Self { trace, parent: None, is_sampled: true }
    }
}

impl TraceId {
    /// Returns the id of the trace of a run.
    pub fn derive(session: &str, started_ms: u64) -> Self {
        Self(digest(&[b"trace", session.as_bytes(), &started_ms.to_be_bytes()]))
    }
}

impl SpanId {
    /// Returns the id of the span of a run that started at this time with the event of this number. In a stream without
    /// times, the numbers distinguish the runs.
    pub fn for_run(trace: TraceId, session: &str, (started_ms, seq): (u64, u64)) -> Self {
        Self(digest(&[b"run", &trace.0, session.as_bytes(), &started_ms.to_be_bytes(), &seq.to_be_bytes()]))
    }

    /// Returns the id of the span of the event with this number, below the span of its run.
    pub(super) fn derive(run: Self, seq: u64) -> Self {
        Self(digest(&[b"span", &run.0, &seq.to_be_bytes()]))
    }

    /// Returns the value of `TRACEPARENT` for a process below this span.
    pub fn traceparent(self, trace: TraceId) -> String {
        format!("00-{trace}-{self}-01")
    }
}

/// Returns the first bytes of a hash; not all are 0.
fn digest<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    });
    let mut id = [0; N];
    id.iter_mut().zip(hash.finalize()).for_each(|(byte, hashed)| *byte = hashed);
    if id == [0; N] { [1; N] } else { id }
}

/// Returns the bytes of lower-case hexadecimal digits.
fn bytes<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 2 * N || !digits.bytes().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}
