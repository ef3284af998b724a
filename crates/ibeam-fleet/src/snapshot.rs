//! The snapshot of an unfinished task, with which another machine resumes it: the journal of its session, the changes in
//! its workspace, and what its runs have reported.
//!
//! ```text
//! {"ibeam_fleet_snapshot":1,"task":"a","session_id":"…","base":"commit …"}
//! {"file":"session","bytes":18230}
//! …
//! {"end":true}
//! ```
//!
//! A snapshot came over the network, so its names and sizes are checked before anything is written.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::run_stream::USER_LINE;
use crate::stream_tail::StreamTail;

const VERSION: u32 = 1;
/// The size of the largest snapshot, in bytes.
pub const MAX_SNAPSHOT_BYTES: u64 = 64 << 20;
/// The maximum length of a line between two files, in bytes.
const MAX_LINE_BYTES: u64 = 4096;
/// The exported session.
pub(crate) const SESSION_FILE: &str = "session";
/// The changes since the base of the workspace; absent if there are none.
pub(crate) const CHANGES_FILE: &str = "changes.patch";

/// The beginnings of the lines of a stream that a snapshot has, besides the first line.
const KEPT_LINES: [&[u8]; 3] = [USER_LINE, br#"{"type":"result","#, br#"{"type":"error","#];

/// The line of a snapshot before its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotHead {
    ibeam_fleet_snapshot: u32,
    pub(crate) task: String,
    /// The session that the next run resumes.
    pub(crate) session_id: String,
    /// The content of the file `base` of the workspace.
    pub(crate) base: String,
}

/// A line between two files.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    File { file: String, bytes: u64 },
    End { end: bool },
}

impl SnapshotHead {
    pub(crate) fn new(task: &str, session_id: &str, base: &str) -> Self {
        let [task, session_id, base] = [task, session_id, base].map(str::to_owned);
        Self { ibeam_fleet_snapshot: VERSION, task, session_id, base }
    }
}

/// Writes a snapshot to `path`, with the files that exist at these paths under these names. Returns its size.
pub(crate) fn write(path: &Path, head: &SnapshotHead, files: &[(String, &Path)]) -> io::Result<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    write_line(&mut out, head)?;
    for (name, path) in files {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let bytes = file.metadata()?.len();
        write_line(&mut out, &Line::File { file: name.clone(), bytes })?;
        if io::copy(&mut file.take(bytes), &mut out)? != bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        out.write_all(b"\n")?;
    }
    write_line(&mut out, &Line::End { end: true })?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(file.metadata()?.len())
}

/// Reads a snapshot of `task`, and writes its files to `directory`.
///
/// # Errors
/// The reason for people: it is incomplete, too large, or not a snapshot of the task.
pub(crate) fn extract(path: &Path, task: &str, directory: &Path) -> Result<SnapshotHead, String> {
    let failed = |error: io::Error| error.to_string();
    let mut input = BufReader::new(File::open(path).map_err(failed)?).take(MAX_SNAPSHOT_BYTES);
    let head: SnapshotHead = read_line(&mut input)?;
    if head.ibeam_fleet_snapshot != VERSION {
        return Err("it has another version".to_owned());
    }
    if head.task != task || !is_session_id(&head.session_id) {
        return Err("it is not a snapshot of the task".to_owned());
    }
    loop {
        let Line::File { file, bytes } = read_line(&mut input)? else { return Ok(head) };
        if !is_file_name(&file) {
            return Err(format!("`{file}` is not a file of a snapshot"));
        }
        let mut target = File::create(directory.join(&file)).map_err(failed)?;
        let copied = io::copy(&mut (&mut input).take(bytes), &mut target).map_err(failed)?;
        let mut end = [0];
        if copied != bytes || input.read_exact(&mut end).is_err() || end != *b"\n" {
            return Err("it ends too early".to_owned());
        }
    }
}

/// Writes the lines of the stream at `from` that say what the run was and how it ended. The others are in the journal.
pub(crate) fn condense_stream(from: &Path, to: &Path) -> io::Result<()> {
    let (mut kept, mut is_first) = (Vec::new(), true);
    StreamTail::default().read(from, |_, line| {
        if is_first || KEPT_LINES.iter().any(|start| line.starts_with(start)) {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
        is_first = false;
        Ok(())
    })?;
    fs::write(to, kept)
}

fn is_session_id(id: &str) -> bool {
    id.len() == 36 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

fn is_file_name(name: &str) -> bool {
    let is_numbered = |start: &str, end: &str| {
        let number = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
        number.is_some_and(|number| number.parse::<u32>().is_ok_and(|value| value.to_string() == number))
    };
    name == SESSION_FILE
        || name == CHANGES_FILE
        || is_numbered("stream.", ".ndjson")
        || is_numbered("error.", ".json")
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

fn read_line<T: serde::de::DeserializeOwned>(input: &mut impl BufRead) -> Result<T, String> {
    let mut line = Vec::new();
    input.take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    let line = line.strip_suffix(b"\n").ok_or("it ends too early")?;
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

    #[test]
    fn a_snapshot_that_is_cut_anywhere_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("journal"), "line\n").unwrap();
        let head = SnapshotHead::new("a", SESSION, "commit 12");
        let files = [(SESSION_FILE.to_owned(), at("journal")), (CHANGES_FILE.to_owned(), at("gone"))];
        let files: Vec<(String, &Path)> =
            files.iter().map(|(name, path)| (name.clone(), path.as_path())).collect();
        let size = write(&at("snapshot"), &head, &files).unwrap();
        let whole = fs::read(at("snapshot")).unwrap();
        assert_eq!(whole.len() as u64, size);
        fs::create_dir(at("out")).unwrap();
        assert_eq!(extract(&at("snapshot"), "a", &at("out")), Ok(head));
        assert_eq!(fs::read_to_string(at("out/session")).unwrap(), "line\n");
        assert!(!at("out/changes.patch").exists());
        extract(&at("snapshot"), "b", &at("out")).unwrap_err();
        for cut in 0..whole.len() {
            fs::write(at("cut"), &whole[..cut]).unwrap();
            extract(&at("cut"), "a", &at("out")).unwrap_err();
        }
    }

    #[test]
    fn a_snapshot_writes_no_other_files() {
        for name in
            ["../a", "session/../../a", "stream.x.ndjson", "stream.01.ndjson", "", "/etc/passwd", "base"]
        {
            assert!(!is_file_name(name), "{name}");
        }
        assert!(is_file_name("stream.12.ndjson") && is_file_name("error.1.json"));
        assert!(!is_session_id("-1") && is_session_id(SESSION));
    }

    #[test]
    fn a_condensed_stream_has_the_same_summary() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let init = r#"{"type":"system","subtype":"init","session_id":"s1"}"#;
        let user = r#"{"type":"user","message":{},"session_id":"s1"}"#;
        let call = r#"{"type":"tool_call","subtype":"started","session_id":"s1"}"#;
        let end = r#"{"type":"result","duration_ms":1,"session_id":"s1"}"#;
        for lines in [vec![init], vec![init, user], vec![init, user, call], vec![init, user, call, end]] {
            fs::write(at("stream"), lines.join("\n") + "\n{\"type\"").unwrap();
            condense_stream(&at("stream"), &at("condensed")).unwrap();
            let read =
                |name: &str| crate::run_stream::RunStream::read(File::open(at(name)).unwrap()).unwrap();
            assert_eq!(read("condensed").session_id, read("stream").session_id);
            assert_eq!(read("condensed").has_prompt, read("stream").has_prompt);
        }
        let condensed = fs::read_to_string(at("condensed")).unwrap();
        assert_eq!(condensed, format!("{init}\n{user}\n{end}\n"));
    }
}
