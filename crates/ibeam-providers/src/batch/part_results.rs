//! The results of a batch: one JSON document a line, in files of any size.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::service::Service;
use super::{BatchApi, BatchError, PartFailure, PartOutcome, ReceiveResult};
use crate::provider_errors::ResponseHead;
use crate::response_error::ResponseError;

/// The maximum size of one result. An answer of a model is far smaller.
const LINE_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Reads the results in the response to `GET url`.
///
/// # Errors
/// `Service` if the response breaks off or a line is not a result; `Io` from `receive`.
pub(super) async fn read_lines(
    service: &Service,
    url: &str,
    api: &dyn BatchApi,
    receive: &mut ReceiveResult<'_>,
) -> Result<(), BatchError> {
    let mut response = service.get(url).await?;
    let mut lines = Lines::default();
    while let Some(chunk) = service.next_chunk(&mut response).await? {
        lines.pending.extend_from_slice(&chunk);
        while let Some(line) = lines.take_line() {
            receive_line(service, &line, api, receive)?;
        }
        if lines.pending.len() > LINE_LIMIT_BYTES {
            return Err(service.protocol_error("a result of the batch is too long"));
        }
    }
    receive_line(service, &lines.pending, api, receive)
}

/// The bytes after the last complete line.
#[derive(Default)]
struct Lines {
    pending: Vec<u8>,
    /// The number of pending bytes that have no end of a line.
    searched: usize,
}

impl Lines {
    fn take_line(&mut self) -> Option<Vec<u8>> {
        let rest = self.pending.get(self.searched..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', rest) else {
            self.searched = self.pending.len();
            return None;
        };
        let tail = self.pending.split_off(self.searched + end + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.pending, tail))
    }
}

fn receive_line(
    service: &Service,
    line: &[u8],
    api: &dyn BatchApi,
    receive: &mut ReceiveResult<'_>,
) -> Result<(), BatchError> {
    let text = std::str::from_utf8(line).map(str::trim);
    match text {
        Ok("") => Ok(()),
        Ok(text) => {
            let result = api
                .parse_result(service, text)
                .ok_or_else(|| service.protocol_error("a line is not a result"))?;
            Ok(receive(result)?)
        }
        Err(_) => Err(service.protocol_error("a result of the batch is not UTF-8")),
    }
}

/// Returns the outcome of a request to which the service answered with this error document. `status` is `None` if the
/// service gives none.
pub(super) fn failed_part(service: &Service, status: Option<u16>, document: &str) -> PartOutcome {
    let builder = service.errors();
    let error = match status {
        Some(status) => {
            let head = ResponseHead { status: Some(status), ..ResponseHead::default() };
            builder.error_status(head, document)
        }
        None => {
            let value: serde_json::Value = serde_json::from_str(document).unwrap_or_default();
            let reported = service.protocol().parse_error(&value);
            builder.invalid_response(ResponseError::Reported(reported), ResponseHead::default())
        }
    };
    PartOutcome::Failed(Box::new(PartFailure { document: document.to_owned(), error }))
}

/// Parses a line. The documents in it are not parsed.
pub(super) fn parse_line<'a, T: Deserialize<'a>>(line: &'a str) -> Option<T> {
    serde_json::from_str(line).ok()
}

/// Returns a document that is neither absent nor `null`.
pub(super) fn present(document: Option<&RawValue>) -> Option<&str> {
    document.map(RawValue::get).filter(|text| *text != "null")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_do_not_depend_on_the_chunks(text in "[a\n]{0,40}", cuts in prop::collection::vec(0..40_usize, 0..6)) {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.push(text.len());
            cuts.sort_unstable();
            let mut start = 0;
            for cut in cuts {
                lines.pending.extend_from_slice(&text.as_bytes()[start..cut]);
                start = cut;
                while let Some(line) = lines.take_line() {
                    found.push(String::from_utf8(line).unwrap());
                }
            }
            found.push(String::from_utf8(lines.pending).unwrap());
            let expect: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
            found.retain(|line| !line.is_empty());
            prop_assert_eq!(found, expect);
        }
    }
}
