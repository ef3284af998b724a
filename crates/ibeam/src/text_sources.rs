//! The places and the reading of texts for the model: rule files, skills, slash commands.
//!
//! The author of a file in a repository is unknown. Such a file is read only if it is a regular file with the name of a
//! text file, if it and all links to it are in the repository, and if the policy lets the model read it. Otherwise a
//! link could pass a file with a key to the model. The user's own files may be links to any text file.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use ibeam_files::regular_file;
use ibeam_policy::PathPolicy;
use sha2::{Digest, Sha256};

use crate::app::AppContext;
use crate::git;

/// The number of bytes of one text that the model receives.
pub(crate) const MAX_TEXT_BYTES: usize = 32 * 1024;
/// The number of entries of a directory that are read.
pub(crate) const MAX_ENTRIES: usize = 4096;
/// The depth of directories below a directory of texts.
const MAX_DEPTH: usize = 4;
/// The endings of the names of texts.
const TEXT_ENDINGS: [&str; 3] = ["md", "mdc", "txt"];
/// The name of the rules file of older versions of Cursor, which has no ending.
pub(crate) const CURSOR_RULES_FILE: &str = ".cursorrules";
/// The directories of a project in which texts are, in the order of their precedence.
const PROJECT_DIRECTORIES: [&str; 4] = [".ibeam", ".agents", ".claude", ".cursor"];

const REPOSITORY_PREAMBLE: &str = include_str!("../prompts/repository.md");

/// The places of the texts of a project and of its user.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextSources {
    /// A real path.
    pub(crate) workspace: PathBuf,
    /// The root of the repository with the workspace, or the workspace.
    pub(crate) root: PathBuf,
    /// Files that the model must not read are not read for it either.
    pub(crate) path_policy: PathPolicy,
    /// Whether the texts of the project count like texts of the user.
    pub(crate) is_trusted: bool,
    /// The user's directories in which texts are, in the order of their precedence.
    pub(crate) user_directories: Vec<PathBuf>,
}

/// The author of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextOwner {
    /// The user.
    User,
    /// The authors of the repository.
    Project,
}

/// A text that was read.
#[derive(Debug)]
pub(crate) struct TextFile {
    /// The path without links.
    pub(crate) real: PathBuf,
    /// The text, or its beginning.
    pub(crate) text: String,
    /// Whether the file is longer than the text.
    pub(crate) is_cut: bool,
}

impl TextSources {
    /// Returns the places for the workspace of `app`.
    pub(crate) fn new(app: &AppContext, path_policy: PathPolicy) -> Self {
        let home = &app.dirs.home;
        let below_home = [".agents", ".claude", ".cursor"].map(|name| home.join(name));
        Self {
            root: git::repository_root(&app.workspace).unwrap_or(&app.workspace).to_owned(),
            workspace: app.workspace.clone(),
            path_policy,
            is_trusted: app.trust.is_trusted(),
            user_directories: std::iter::once(app.dirs.config_directory().to_owned())
                .chain(below_home)
                .collect(),
        }
    }

    /// Returns the directories from the root of the repository down to the workspace.
    pub(crate) fn directories(&self) -> Vec<&Path> {
        let mut directories: Vec<&Path> =
            self.workspace.ancestors().take_while(|directory| directory.starts_with(&self.root)).collect();
        directories.reverse();
        directories
    }

    /// Returns the existing directories with texts, in the order of their precedence: those of the user, then those of
    /// the project, the innermost first.
    pub(crate) fn text_directories(&self) -> Vec<(TextOwner, PathBuf)> {
        let user = self.user_directories.iter().map(|path| (TextOwner::User, path.clone()));
        let inner_first = self.directories().into_iter().rev();
        let project = inner_first.flat_map(|directory| {
            PROJECT_DIRECTORIES.iter().map(|name| (TextOwner::Project, directory.join(name)))
        });
        let mut found: Vec<(TextOwner, PathBuf)> = user.chain(project).collect();
        // In the home directory, the directories of the project are those of the user.
        let user_count = self.user_directories.len();
        let is_users = |path: &PathBuf| self.user_directories.contains(path);
        let mut index = 0;
        found.retain(|(_, path)| {
            index += 1;
            (index <= user_count || !is_users(path)) && path.is_dir()
        });
        found
    }

    /// Returns the start of a text, at most `max_bytes` bytes; `None` if there is none or it may not be read.
    pub(crate) fn read(&self, owner: TextOwner, path: &Path, max_bytes: usize) -> Option<TextFile> {
        let file = regular_file::open(path, true).ok()?;
        let real = real_path(&file, path)?;
        if !is_text_name(&real) || owner == TextOwner::Project && !self.may_read(&file, &real) {
            return None;
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).ok()?;
        let is_cut = bytes.len() > max_bytes;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if is_cut {
            text.truncate(text.floor_char_boundary(max_bytes));
        }
        (!text.trim().is_empty()).then_some(TextFile { real, text, is_cut })
    }

    /// Whether a file of the project may be given to the model.
    fn may_read(&self, file: &File, real: &Path) -> bool {
        let is_allowed = real.starts_with(&self.root) && self.path_policy.allows_read(real);
        // A hard link to a credential file is not a text.
        is_allowed
            && file
                .metadata()
                .is_ok_and(|metadata| !ibeam_tools::is_hard_link_to_denied(&self.path_policy, &metadata))
    }
}

/// Returns the files below `directory` with one of these endings, sorted; `None` if the directory cannot be read. At most
/// `max_files`; the second value is whether there are more.
pub(crate) fn files_below(
    directory: &Path,
    endings: &[&str],
    max_files: usize,
) -> Option<(Vec<PathBuf>, bool)> {
    let has_ending =
        |path: &Path| path.extension().is_some_and(|found| endings.iter().any(|ending| found == *ending));
    walk(directory, &has_ending, max_files)
}

/// Returns the paths of at most `max_files` files below `directory`, relative to it, sorted.
pub(crate) fn list_files(directory: &Path, max_files: usize) -> Vec<PathBuf> {
    let (files, _) = walk(directory, &|_| true, max_files).unwrap_or_default();
    files.iter().filter_map(|path| path.strip_prefix(directory).ok()).map(Path::to_owned).collect()
}

/// Returns the files below `directory` that `is_wanted`, and whether there are more than `max_files`. Does not follow
/// links to directories.
fn walk(
    directory: &Path,
    is_wanted: &dyn Fn(&Path) -> bool,
    max_files: usize,
) -> Option<(Vec<PathBuf>, bool)> {
    let mut pending = vec![(std::fs::read_dir(directory).ok()?, 1)];
    let (mut files, mut entries) = (Vec::new(), 0);
    while let Some((listing, depth)) = pending.pop() {
        for entry in listing.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                break;
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < MAX_DEPTH
                    && let Ok(listing) = std::fs::read_dir(&path)
                {
                    pending.push((listing, depth + 1));
                }
            } else if is_wanted(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    let is_cut = files.len() > max_files || entries > MAX_ENTRIES;
    files.truncate(max_files);
    Some((files, is_cut))
}

/// Returns `content` of a repository that the user does not trust, between lines that its author cannot forge.
pub(crate) fn mark_untrusted(preamble: &str, content: &str) -> String {
    // No author can write a text that contains a line with the hash of the text itself.
    let hash = Sha256::digest(content.as_bytes());
    let marker: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{preamble}\n\n--- begin of repository content {marker}\n{content}\n--- end of repository content {marker}"
    )
}

/// Returns the text before the instructions of a repository that the user does not trust.
pub(crate) fn untrusted_preamble() -> &'static str {
    REPOSITORY_PREAMBLE.trim_end()
}

/// Returns the path of the open file, which may differ from the file that is at `path` now.
fn real_path(file: &File, path: &Path) -> Option<PathBuf> {
    let open_path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    open_path.or_else(|_| path.canonicalize()).ok()
}

/// Whether the file has the name of a text.
fn is_text_name(real: &Path) -> bool {
    let is_text = real.extension().is_some_and(|found| TEXT_ENDINGS.iter().any(|ending| found == *ending));
    is_text || real.file_name().is_some_and(|name| name == CURSOR_RULES_FILE)
}
