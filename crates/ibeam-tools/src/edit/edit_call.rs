//! The arguments of `edit`: flat for the model, one of three shapes in the output
//! (`docs/output-format.md`, "Tool calls").

use ibeam_core::ToolInputError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments, arguments_error, lenient};

/// The arguments that models write: the flat form, with names of other programs too, or the shapes of the contract.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EditArguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    #[serde(default, alias = "old", alias = "old_string", alias = "oldString", alias = "old_text")]
    #[serde(alias = "old_str")]
    old_text: Option<String>,
    #[serde(default, alias = "new", alias = "new_string", alias = "newString", alias = "new_text")]
    #[serde(alias = "new_str")]
    new_text: Option<String>,
    /// Replace every occurrence
    #[serde(default, alias = "replace_all", deserialize_with = "lenient::boolean")]
    replace_all: Option<bool>,
    #[serde(default)]
    edits: Option<Vec<Replacement>>,
    #[serde(default, alias = "patchContent", alias = "patch_content", deserialize_with = "lenient::text")]
    patch: Option<String>,
    #[serde(default)]
    #[schemars(skip)]
    str_replace: Option<Replacement>,
    #[serde(default)]
    #[schemars(skip)]
    multi_str_replace: Option<Replacements>,
    #[serde(default)]
    #[schemars(skip)]
    apply_patch: Option<Patch>,
}

/// One exact replacement.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replacement {
    #[serde(alias = "old", alias = "old_string", alias = "oldString", alias = "old_text", alias = "old_str")]
    pub(super) old_text: String,
    #[serde(alias = "new", alias = "new_string", alias = "newString", alias = "new_text", alias = "new_str")]
    pub(super) new_text: String,
    #[serde(default, alias = "replace_all", deserialize_with = "lenient::boolean")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replace_all: Option<bool>,
}

/// Several replacements, each applied to the result of the one before.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Replacements {
    pub(super) edits: Vec<Replacement>,
}

/// A unified diff of one file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Patch {
    #[serde(alias = "patch", alias = "patch_content")]
    pub(super) patch_content: String,
}

/// A checked call, in the shape of the wire.
#[derive(Debug, Serialize)]
pub(super) struct EditCall {
    pub(super) path: String,
    #[serde(flatten)]
    pub(super) change: Change,
}

/// The three kinds of changes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Change {
    StrReplace(Replacement),
    MultiStrReplace(Replacements),
    ApplyPatch(Patch),
}

impl Arguments for EditArguments {
    const TOOL: &'static str = "edit";
    const EXAMPLE: &'static str =
        r#"{"path": "src/main.rs", "oldText": "let x = 1;", "newText": "let x = 2;"}"#;
}

impl EditCall {
    /// Parses the arguments that a model wrote.
    pub(super) fn parse(arguments: &Value) -> Result<Self, ToolInputError> {
        let EditArguments {
            path,
            old_text,
            new_text,
            replace_all,
            edits,
            patch,
            str_replace,
            multi_str_replace,
            apply_patch,
        } = arguments::parse(arguments)?;
        let mut changes = Vec::new();
        changes.extend(str_replace.map(Change::StrReplace));
        let lists = edits.map(|edits| Replacements { edits }).into_iter().chain(multi_str_replace);
        changes.extend(lists.filter(|list| !list.edits.is_empty()).map(Change::MultiStrReplace));
        let patches = patch.map(|patch_content| Patch { patch_content }).into_iter().chain(apply_patch);
        changes.extend(patches.map(Change::ApplyPatch));
        // Models that fill in every field leave `oldText` empty next to the one that they mean.
        let old_text = old_text.filter(|old| !old.is_empty() || changes.is_empty());
        match (old_text, new_text) {
            (Some(old_text), Some(new_text)) => {
                changes.push(Change::StrReplace(Replacement { old_text, new_text, replace_all }));
            }
            (Some(_), None) => {
                return Err(arguments_error::<EditArguments>(
                    "`newText` is missing (\"\" deletes the old text)",
                ));
            }
            (None, Some(_)) if changes.is_empty() => {
                return Err(arguments_error::<EditArguments>(
                    "`oldText` is missing (`write` replaces a whole file)",
                ));
            }
            (None, _) => {}
        }
        let several = changes.len() > 1;
        match changes.pop() {
            Some(change) if !several => Ok(Self { path, change }),
            Some(_) => {
                Err(arguments_error::<EditArguments>("give only one of `oldText`, `edits` and `patch`"))
            }
            None => Err(arguments_error::<EditArguments>("one of `oldText`, `edits` and `patch` is missing")),
        }
    }
}
