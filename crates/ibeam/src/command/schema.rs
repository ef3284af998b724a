//! `schema`: the published contract, as JSON Schema.
//!
//! `--contract` says of which version; the start of the program refuses those that do not exist.

use std::fs::File;

use ibeam_output::SchemaTarget;

use super::say;
use crate::app::BaseContext;
use crate::cli::SchemaFormat;
use crate::cli_error::CliError;

pub(super) fn schema(base: &BaseContext, format: SchemaFormat, stdout: &mut File) -> Result<(), CliError> {
    let of = match format {
        SchemaFormat::Text => SchemaTarget::Text,
        SchemaFormat::Json => SchemaTarget::Json,
        SchemaFormat::StreamJson => SchemaTarget::StreamJson,
        SchemaFormat::Error => SchemaTarget::Error,
    };
    say(stdout, &format!("{:#}\n", ibeam_output::schema(of, base.contract())))
}
