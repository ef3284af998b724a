//! `edit`: changes parts of a file.

use super::definition::Tool;
use crate::describe::{Constraint, DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "editToolCall";

/// The tool `edit`.
pub const TOOL: Tool = Tool {
    name: Some("edit"),
    key: KEY,
    description: "Changes parts of a file.",
    args: Some(EditArgs::<String>::object),
    success: EditSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

/// The key of [`EditSuccess`] with the change as a unified diff.
pub const DIFF: &str = "diffString";

contract_object! {
    /// A file and its changes in one of three forms.
    pub struct EditArgs<S: Default = String> (constraint: Constraint::OneOf(&["strReplace", "multiStrReplace", "applyPatch"])) {
        /// The path of the file.
        required path("path"): S,
        /// One exact replacement.
        optional str_replace("strReplace"): Option<Replacement<S>>,
        /// Several replacements, each applied to the result of the previous one.
        optional multi_str_replace("multiStrReplace"): Option<Replacements<S>>,
        /// A patch.
        optional apply_patch("applyPatch"): Option<Patch<S>>,
    }
}

contract_object! {
    /// One exact replacement.
    pub struct Replacement<S: Default = String> {
        /// The text to replace.
        required old_text("oldText"): S,
        /// The new text.
        required new_text("newText"): S,
        /// Whether every occurrence is replaced.
        optional replace_all("replaceAll"): Option<bool>,
    }
}

contract_object! {
    /// Several exact replacements.
    pub struct Replacements<S: Default = String> {
        /// The replacements, in the order of their application.
        required edits("edits"): Vec<Replacement<S>>,
    }
}

contract_object! {
    /// A patch of one file.
    pub struct Patch<S: Default = String> {
        /// A unified diff.
        required patch_content("patchContent"): S,
    }
}

contract_object! {
    /// The change of a file.
    pub struct EditSuccess<S: Default = String> {
        /// The absolute path of the file.
        payload path("path"): S,
        /// The number of added lines.
        payload lines_added("linesAdded", unit: "lines"): u64,
        /// The number of removed lines.
        payload lines_removed("linesRemoved", unit: "lines"): u64,
        /// The change as a unified diff.
        payload diff_string("diffString"): S,
        /// One sentence that describes the change.
        payload message("message"): S,
    }
}
