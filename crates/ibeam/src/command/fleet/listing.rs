//! A long text for people, written to stdout in parts, so that it is never in the memory as a whole.

use std::fs::File;

use crate::cli_error::CliError;
use crate::command::printing::{LISTING_INDENT, print_listing, print_text};

/// The size at which a part is written, in bytes.
const PART_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingForm {
    /// Lines that are wrapped on a terminal.
    Lines,
    /// A page of HTML.
    Page,
}

/// A text that is being written.
pub(super) struct Listing<'a> {
    stdout: &'a mut File,
    form: ListingForm,
    pending: String,
}

impl<'a> Listing<'a> {
    pub(super) fn new(stdout: &'a mut File, form: ListingForm) -> Self {
        Self { stdout, form, pending: String::new() }
    }

    /// Adds whole lines.
    ///
    /// # Errors
    /// The errors of [`print_text`].
    pub(super) fn push(&mut self, lines: &str) -> Result<(), CliError> {
        self.pending.push_str(lines);
        if self.pending.len() < PART_BYTES { Ok(()) } else { self.flush() }
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The errors of [`print_text`].
    pub(super) fn finish(mut self) -> Result<(), CliError> {
        self.flush()
    }

    fn flush(&mut self) -> Result<(), CliError> {
        match self.form {
            ListingForm::Lines => print_listing(self.stdout, &self.pending, LISTING_INDENT)?,
            ListingForm::Page => print_text(self.stdout, &self.pending)?,
        }
        self.pending.clear();
        Ok(())
    }
}
