//! The writers of events for the formats of `--output-format`.

use std::io;
use std::sync::Arc;

use ibeam_output::{Contract, EventWriter, Json, StreamJson, Text, TextOptions};
use ibeam_trace::{AtifWriter, Html, OtlpWriter};

use crate::flags::Format;
use ibeam_agent::app::BaseContext;
use ibeam_agent::otel;

/// The form in which events are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputForm {
    pub(crate) format: Format,
    /// Whether contract 2 streams deltas too.
    pub(crate) partial: bool,
}

/// Returns the writer of events in a form.
pub(crate) fn event_writer<'a>(
    base: &BaseContext,
    OutputForm { format, partial }: OutputForm,
    out: impl io::Write + Send + 'a,
) -> Box<dyn EventWriter + Send + 'a> {
    match format {
        Format::StreamJson => match base.contract() {
            Contract::One => Box::new(StreamJson::new(out)),
            Contract::Two => Box::new(StreamJson::for_contract_two(out, partial)),
        },
        Format::Json => Box::new(Json::new(out)),
        Format::Text => {
            let options = TextOptions {
                verbose: base.settings.verbose.value,
                live: false,
                shows_details: false,
                message_only: base.contract() == Contract::Two,
            };
            Box::new(Text::new(out, Arc::clone(&base.catalogue), options))
        }
        Format::Html => Box::new(Html::new(out, Arc::clone(&base.catalogue), None)),
        Format::Otlp => Box::new(OtlpWriter::new(out, otel::otlp_options())),
        Format::Atif => Box::new(AtifWriter::new(out)),
    }
}
