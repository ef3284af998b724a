//! `delete`: removes one file or symbolic link. Refuses directories.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, CallPreview, PreparedCall, Tool, ToolContext, ToolInputError};
use ibeam_protocol::tool_output::DeleteOutput;
use ibeam_protocol::{ToolOutcome, ToolOutput, ToolSpec, sentence};
use rustix::fs::{FileType, Stat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments};
use crate::blocking::{self, EndFlag};
use crate::dir_entry::{DirEntryAt, Parents};
use crate::file_error::{FileAction, FileError};
use crate::files::{Files, TargetPath};
use crate::similar_path;
use crate::workspace::ResolvedPath;

/// Removes a file of the workspace.
pub(crate) struct Delete {
    files: Arc<Files>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct DeleteArguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
}

impl Arguments for DeleteArguments {
    const TOOL: &'static str = "delete";
    const EXAMPLE: &'static str = r#"{"path": "old.txt"}"#;
}

impl Delete {
    pub(crate) fn new(files: &Arc<Files>) -> Self {
        Self { files: Arc::clone(files) }
    }
}

impl Tool for Delete {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<DeleteArguments>(include_str!("delete.md"))
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = arguments::parse::<DeleteArguments>(arguments)?;
        let target = self.files.target_entry(&args.path);
        let access = Access::Write(target.checked_path().to_owned());
        let canonical = arguments::to_canonical_json(&args)?;
        let files = Arc::clone(&self.files);
        Ok(blocking::prepare_call(canonical, access, move |end| {
            delete(&files, &args.path, target, end)
                .unwrap_or_else(|error| similar_path::explain(&files, error).into())
        }))
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        access: &'a Access,
        context: ToolContext,
    ) -> BoxFuture<'a, CallPreview> {
        let Ok(args) = arguments::parse::<DeleteArguments>(arguments) else {
            return blocking::unknown_preview();
        };
        let target = self.files.target_entry(&args.path);
        if !target.is_written_by(access) {
            return blocking::unknown_preview();
        }
        let files = Arc::clone(&self.files);
        blocking::preview(context, move |end| match DeletePlan::new(&files, &args.path, target, end) {
            Ok(_) => CallPreview::Unknown,
            Err(error) => CallPreview::Failure(error.into()),
        })
    }

    fn evidence(&self, arguments: &Value) -> Option<String> {
        let DeleteArguments { path: requested } = arguments::parse(arguments).ok()?;
        let found = self.files.resolve_entry(&requested).ok()?;
        let entry = DirEntryAt::find(self.files.workspace(), &requested, &found.real, Parents::Required);
        Some(match entry.and_then(|entry| entry.stat()) {
            Ok(Some(stat)) => format!("`{requested}` still exists ({} bytes)", stat.st_size),
            Ok(None) | Err(FileError::NotFound { .. }) => format!("`{requested}` does not exist now"),
            Err(error) => error.to_string(),
        })
    }
}

/// A file that is about to be deleted.
struct DeletePlan {
    resolved: ResolvedPath,
    entry: DirEntryAt,
    stat: Stat,
}

impl DeletePlan {
    /// Finds the file if it may be deleted.
    ///
    /// # Errors
    /// The file must not be deleted.
    fn new(files: &Files, requested: &str, target: TargetPath, end: &EndFlag) -> Result<Self, FileError> {
        let resolved = files.check_write(FileAction::Delete, requested, target)?;
        let entry = DirEntryAt::find(files.workspace(), requested, &resolved.real, Parents::Required)?;
        let Some(stat) = entry.stat()? else {
            return Err(FileError::not_found(requested.to_owned()));
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Directory {
            return Err(FileError::Refused(sentence!(
                "`{path}` is a directory, and only files are deleted; use `shell` with `rm -r` if it must go",
                path = requested
            )));
        }
        if kind == FileType::RegularFile {
            files.known_contents().check_file(&entry, &resolved, &stat, end)?;
        }
        Ok(Self { resolved, entry, stat })
    }
}

fn delete(
    files: &Files,
    requested: &str,
    target: TargetPath,
    end: &EndFlag,
) -> Result<ToolOutcome, FileError> {
    let DeletePlan { resolved, entry, stat } = DeletePlan::new(files, requested, target, end)?;
    entry.remove()?;
    files.known_contents().remove(&resolved);
    let file_size = u64::try_from(stat.st_size).unwrap_or_default();
    let output = DeleteOutput { path: resolved.real, file_size };
    let for_model = format!("deleted `{requested}` ({file_size} bytes)");
    Ok(ToolOutcome::Success { output: ToolOutput::Delete(output), for_model: for_model.into() })
}

#[cfg(test)]
mod tests {
    use ibeam_core::{Access, CallPreview};
    use ibeam_protocol::tool_output::DeleteOutput;
    use ibeam_protocol::{ToolFailure, ToolOutput};
    use serde_json::json;

    use crate::fixture::{Fixture, failure, success};

    #[test]
    fn a_deletion_that_cannot_be_made_fails_before_a_question() {
        let fixture = Fixture::with("f", "four");
        assert_eq!(fixture.preview("delete", json!({"path": "f"})), CallPreview::Unknown);
        for path in ["none", "."] {
            let preview = fixture.preview("delete", json!({"path": path}));
            assert!(matches!(preview, CallPreview::Failure(_)), "{path}: {preview:?}");
        }
        assert!(fixture.path("f").exists());
    }

    #[test]
    fn a_deleted_file_is_reported_with_its_size() {
        let fixture = Fixture::with("f", "four");
        let (output, _) = success(fixture.call("delete", json!({"path": "f"})));
        assert_eq!(output, ToolOutput::Delete(DeleteOutput { path: fixture.path("f"), file_size: 4 }));
        assert!(!fixture.path("f").exists());
    }

    #[test]
    fn deleting_a_link_keeps_its_target() {
        let fixture = Fixture::with("f", "x");
        fixture.link("f", "link");
        fixture.link("gone", "dangling");
        assert_eq!(
            fixture.prepare("delete", json!({"path": "link"})).access,
            Access::Write(fixture.path("link"))
        );
        success(fixture.call("delete", json!({"path": "link"})));
        success(fixture.call("delete", json!({"path": "dangling"})));
        assert!(fixture.path("f").exists());
        assert!(fixture.path("link").symlink_metadata().is_err());
    }

    #[test]
    fn a_directory_is_refused_with_a_suggestion() {
        let (_, for_model) = failure(Fixture::with("d/f", "").call("delete", json!({"path": "d"})));
        assert!(for_model.starts_with("`d` is a directory") && for_model.contains("rm -r"), "{for_model}");
    }

    #[test]
    fn a_missing_file_is_reported() {
        let (why, _) = failure(Fixture::new().call("delete", json!({"path": "f"})));
        assert_eq!(why, ToolFailure::FileNotFound { path: "f".into() });
    }
}
