//! The ground under the tools: in a workspace that was removed nothing is done, and the call says why.
//!
//! The workspace is held by descriptor, so a directory that was moved is still the workspace, and another one
//! put in its place is not. Hands every call on as it is while the ground holds.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Tool, ToolContext};
use ibeam_protocol::{ToolCall, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::workspace::Workspace;

/// A tool that works in a workspace only while there is one.
pub(crate) struct Grounded {
    tool: Arc<dyn Tool>,
    workspace: Arc<Workspace>,
}

impl Grounded {
    pub(crate) fn new(tool: Arc<dyn Tool>, workspace: &Arc<Workspace>) -> Self {
        Self { tool, workspace: Arc::clone(workspace) }
    }
}

impl Tool for Grounded {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn canonical(&self, arguments: &Value) -> Result<Value, String> {
        self.tool.canonical(arguments)
    }

    fn access(&self, arguments: &Value) -> Access {
        self.tool.access(arguments)
    }

    fn evidence(&self, call: &ToolCall) -> Option<String> {
        self.tool.evidence(call)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            if self.workspace.is_gone() {
                return ToolOutcome::error(format!(
                    "the workspace `{}` is gone (ENOENT); nothing can run there",
                    self.workspace.root().display()
                ));
            }
            self.tool.run(call, context).await
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixture::{Fixture, failure, success};

    #[test]
    fn no_tool_works_in_a_workspace_that_was_removed() {
        for (tool, arguments) in [
            ("read", json!({"path": "f"})),
            ("write", json!({"path": "f", "fileText": "x"})),
            ("shell", json!({"command": "pwd"})),
            ("ls", json!({"path": "."})),
        ] {
            let fixture = Fixture::with("f", "x");
            std::fs::remove_dir_all(fixture.root()).unwrap();
            let (_, for_model) = failure(fixture.call(tool, arguments));
            assert!(for_model.contains("is gone"), "{tool}: {for_model}");
        }
    }

    #[test]
    fn a_workspace_that_was_moved_is_not_gone() {
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
