//! Refuses calls in a workspace that was removed or moved away.
//!
//! The workspace is held by descriptor: another directory at its old path is not the workspace.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_core::{
    Access, CallPreview, CallRunner, PreparedCall, Tool, ToolContext, ToolInputError, ToolOrigin,
};
use ibeam_protocol::{ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::blocking;
use crate::workspace::Workspace;

/// A tool whose calls are refused once the workspace is gone.
pub(crate) struct RequireWorkspace {
    tool: Arc<dyn Tool>,
    workspace: Arc<Workspace>,
}

impl RequireWorkspace {
    pub(crate) fn new(tool: Arc<dyn Tool>, workspace: &Arc<Workspace>) -> Self {
        Self { tool, workspace: Arc::clone(workspace) }
    }
}

impl Tool for RequireWorkspace {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let PreparedCall { arguments, access, run } = self.tool.prepare(arguments)?;
        let workspace = Arc::clone(&self.workspace);
        let run: CallRunner = Box::new(move |context| {
            if workspace.is_root_gone() {
                let root = workspace.root().display();
                let message = format!("the workspace `{root}` is gone (ENOENT); nothing can run there");
                return Box::pin(std::future::ready(ToolOutcome::error(message)));
            }
            run(context)
        });
        Ok(PreparedCall { arguments, access, run })
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        access: &'a Access,
        context: ToolContext,
    ) -> BoxFuture<'a, CallPreview> {
        match self.workspace.is_root_gone() {
            true => blocking::unknown_preview(),
            false => self.tool.preview(arguments, access, context),
        }
    }

    fn origin(&self) -> Option<ToolOrigin<'_>> {
        self.tool.origin()
    }

    fn evidence(&self, arguments: &Value) -> Option<String> {
        self.tool.evidence(arguments)
    }

    fn has_no_effect_yet(&self, arguments: &Value) -> bool {
        self.tool.has_no_effect_yet(arguments)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixture::{Fixture, failure, success};

    #[test]
    fn no_tool_works_in_a_workspace_that_was_removed_or_moved_away() {
        for (tool, arguments) in [
            ("read", json!({"path": "f"})),
            ("write", json!({"path": "f", "fileText": "x"})),
            ("shell", json!({"command": "pwd"})),
            ("ls", json!({"path": "."})),
        ] {
            for is_moved in [false, true] {
                let fixture = Fixture::with("f", "x");
                match is_moved {
                    true => std::fs::rename(fixture.root(), fixture.outside("moved")).unwrap(),
                    false => std::fs::remove_dir_all(fixture.root()).unwrap(),
                }
                let (_, for_model) = failure(fixture.call(tool, arguments.clone()));
                assert!(for_model.contains("is gone"), "{tool}: {for_model}");
            }
        }
    }

    #[test]
    fn a_workspace_whose_path_was_replaced_is_not_gone() {
        let fixture = Fixture::with("d/f", "text");
        std::fs::create_dir_all(fixture.outside("other/d")).unwrap();
        std::fs::rename(fixture.root(), fixture.outside("moved")).unwrap();
        std::os::unix::fs::symlink("other", fixture.outside("ws")).unwrap();
        success(fixture.call("read", json!({"path": "d/f"})));
        for (tool, arguments) in [
            ("shell", json!({"command": "pwd"})),
            ("shell", json!({"command": "pwd", "workingDirectory": "d"})),
            ("grep", json!({"pattern": "x", "path": "d"})),
            ("ls", json!({"path": "d"})),
            ("glob", json!({"globPattern": "*"})),
        ] {
            let (_, for_model) = failure(fixture.call(tool, arguments));
            assert!(for_model.contains("the workspace was moved"), "{tool}: {for_model}");
        }
    }
}
