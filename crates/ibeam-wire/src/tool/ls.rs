//! `ls`: what is in a directory.

use super::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("ls"),
    key: "lsToolCall",
    description: "Lists a directory.",
    args: Some(LsArgs::<String>::object),
    success: LsSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

contract_object! {
    /// Which directory is listed.
    pub struct LsArgs<S: Default = String> {
        /// The directory.
        required path("path"): S,
        /// Globs of what is left out.
        required ignore("ignore"): Vec<S>,
        /// The `call_id` again.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// What is in a directory.
    pub struct LsSuccess<S: Default = String> {
        /// The directory that was listed.
        payload directory_tree_root("directoryTreeRoot"): DirectoryNode<S>,
    }
}

contract_object! {
    /// A directory and what is in it.
    pub struct DirectoryNode<S: Default = String> {
        /// Its absolute path.
        payload abs_path("absPath"): S,
        /// The files listed in it and below it.
        payload num_files("numFiles", unit: "count"): u64,
        /// The files in it.
        payload children_files("childrenFiles"): Vec<FileNode<S>>,
        /// The directories in it.
        payload children_dirs("childrenDirs", shape: Shape::List(&Shape::UncheckedObject(DirectoryNode::<String>::object))): Vec<DirectoryNode<S>>,
    }
}

contract_object! {
    /// A file of a directory.
    pub struct FileNode<S: Default = String> {
        /// Its name, without the directory.
        required name("name"): S,
    }
}
