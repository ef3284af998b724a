//! `schema`: the published contract, as JSON Schema.
//!
//! `--contract` says of which version; the start of the program refuses those that do not exist.

use std::fs::File;

use ibeam_output::SchemaTarget;
use ibeam_protocol::Failure;

use super::say;
use crate::app::Basis;
use crate::cli::SchemaFormat;

pub(super) fn schema(basis: &Basis, format: SchemaFormat, stdout: &mut File) -> Result<(), Failure> {
    let of = match format {
        SchemaFormat::Text => SchemaTarget::Text,
        SchemaFormat::Json => SchemaTarget::Json,
        SchemaFormat::StreamJson => SchemaTarget::StreamJson,
        SchemaFormat::Error => SchemaTarget::Error,
    };
    say(stdout, &format!("{:#}\n", ibeam_output::schema(of, basis.contract())))
}
