//! `edit`: changes in a file.

use super::Tool;
use crate::describe::{Constraint, DescribeObject, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("edit"),
    key: "editToolCall",
    description: "Changes parts of a file.",
    args: Some(EditArgs::<String>::object),
    success: EditSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// A file and one of three ways to say what changes in it.
    pub struct EditArgs<S: Default = String> (constraint: Constraint::OneOf(&["strReplace", "multiStrReplace", "applyPatch"])) {
        /// The file.
        required path("path"): S,
        /// One exact replacement.
        optional str_replace("strReplace"): Option<Replacement<S>>,
        /// Several, each applied to the result of the one before.
        optional multi_str_replace("multiStrReplace"): Option<Replacements<S>>,
        /// A patch.
        optional apply_patch("applyPatch"): Option<Patch<S>>,
    }
}

contract_object! {
    /// One exact replacement.
    pub struct Replacement<S: Default = String> {
        /// The text that is there.
        required old_text("oldText"): S,
        /// The text that replaces it.
        required new_text("newText"): S,
        /// Whether every occurrence is replaced.
        optional replace_all("replaceAll"): Option<bool>,
    }
}

contract_object! {
    /// Several exact replacements.
    pub struct Replacements<S: Default = String> {
        /// The replacements, in their order.
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
    /// What changed in a file.
    pub struct EditSuccess<S: Default = String> {
        /// The file's absolute path.
        payload path("path"): S,
        /// The lines the change added.
        payload lines_added("linesAdded", unit: "lines"): u64,
        /// The lines the change removed.
        payload lines_removed("linesRemoved", unit: "lines"): u64,
        /// The change as a unified diff.
        payload diff_string("diffString"): S,
        /// One sentence that says what was done.
        payload message("message"): S,
    }
}
