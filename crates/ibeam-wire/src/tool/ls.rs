//! `ls`: lists a directory.

use super::definition::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "lsToolCall";

/// The tool `ls`.
pub const TOOL: Tool = Tool {
    name: Some("ls"),
    key: KEY,
    description: "Lists a directory.",
    args: Some(LsArgs::<String>::object),
    success: LsSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

contract_object! {
    /// The directory to list.
    pub struct LsArgs<S: Default = String> {
        /// The path of the directory.
        required path("path"): S,
        /// Globs of the entries to leave out.
        required ignore("ignore"): Vec<S>,
        /// The `call_id` of the event.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// The listing of a directory.
    pub struct LsSuccess<S: Default = String> {
        /// The listed directory.
        payload directory_tree_root("directoryTreeRoot"): DirectoryNode<S>,
    }
}

contract_object! {
    /// A directory and its entries.
    pub struct DirectoryNode<S: Default = String> {
        /// The absolute path of the directory.
        payload abs_path("absPath"): S,
        /// The number of files listed in the directory and below it.
        payload num_files("numFiles", unit: "count"): u64,
        /// The files in the directory.
        payload children_files("childrenFiles"): Vec<FileNode<S>>,
        /// The subdirectories of the directory.
        payload children_dirs("childrenDirs", shape: Shape::List(&Shape::UncheckedObject(DirectoryNode::<String>::object))): Vec<DirectoryNode<S>>,
    }
}

contract_object! {
    /// A file of a directory.
    pub struct FileNode<S: Default = String> {
        /// The name of the file, without the directory.
        required name("name"): S,
    }
}
