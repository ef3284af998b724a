//! Searching one file after another until enough was found.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ibeam_protocol::tool_output::{FileMatches, GrepMatches};

use super::OutputMode;
use crate::blocking::EndFlag;
use crate::dir_cache::DirCache;
use crate::files::{Files, Identities, identity};
use crate::tree_search::{SearchRoot, WalkStep};

/// Bytes of one line that are told.
const LINE_LIMIT: usize = 500;
/// Bytes of matching lines that are told.
const CONTENT_LIMIT: usize = 30 << 10;
/// A longer line, or in a multi-line search a larger file, is skipped.
const HEAP_LIMIT: usize = 64 << 20;
/// The bound for a pattern that takes long for each byte.
const HEAP_LIMIT_OF_HEAVY: usize = 256 << 10;
/// Bytes that the first read of a file asks for: most sources whole.
const PIECE: usize = 16 << 10;

/// How the text of files is put to the pattern.
pub(super) struct Text {
    /// Whole, not line by line.
    pub(super) multiline: bool,
    /// The pattern is small enough for lines of any length.
    pub(super) is_light: bool,
}

/// What was found so far, and how much more is wanted.
pub(super) struct Collector<'a> {
    /// The finds, in the mode asked for.
    pub(super) matches: GrepMatches,
    /// More exists than was wanted.
    pub(super) truncated: bool,
    mode: OutputMode,
    left: u64,
    bytes_left: usize,
    searcher: Searcher,
    files: &'a Files,
    rel_path: DirCache<'a>,
    /// What may not be read under another name either; searched for when it first matters.
    denied: OnceCell<Identities>,
}

impl<'a> Collector<'a> {
    /// Collects at most `limit` lines, files or counts.
    pub(super) fn new(files: &'a Files, mode: OutputMode, limit: u64, text: Text) -> Self {
        let matches = match mode {
            OutputMode::Content => GrepMatches::Content(Vec::new()),
            OutputMode::FilesWithMatches => GrepMatches::Files(Vec::new()),
            OutputMode::Count => GrepMatches::Count(Vec::new()),
        };
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .multi_line(text.multiline)
            .heap_limit(Some(if text.is_light { HEAP_LIMIT } else { HEAP_LIMIT_OF_HEAVY }))
            .build();
        Self {
            matches,
            truncated: false,
            mode,
            left: limit,
            bytes_left: CONTENT_LIMIT,
            searcher,
            files,
            rel_path: DirCache::new(files),
            denied: OnceCell::new(),
        }
    }

    /// Searches the file at `met`, told relative to `start`.
    pub(super) fn search(
        &mut self,
        matcher: &RegexMatcher,
        met: &Path,
        start: &SearchRoot,
        end: &EndFlag,
    ) -> WalkStep {
        let Ok((file, stat)) = self.rel_path.open(met) else { return WalkStep::Skipped };
        if stat.st_nlink > 1
            && self.denied.get_or_init(|| self.files.denied_files()).contains(&identity(&stat))
        {
            return WalkStep::On;
        }
        let mut lines = Lines {
            mode: self.mode,
            left: self.left,
            bytes_left: self.bytes_left,
            found: Vec::new(),
            count: 0,
            full: false,
        };
        let left = u64::try_from(stat.st_size).unwrap_or_default();
        // The first three bytes are asked for by themselves: in them an encoding may be told.
        let reader = BufReader::with_capacity(PIECE, Ending { file, end, left, over: false });
        if self.searcher.search_reader(matcher, reader, &mut lines).is_err() {
            return WalkStep::Skipped;
        }
        if lines.count == 0 {
            return WalkStep::On;
        }
        // In the modes that count files, this file itself may be one too many.
        if lines.full || self.left == 0 {
            self.truncated = true;
        }
        let file = start.relative(met).to_owned();
        match &mut self.matches {
            GrepMatches::Content(files) => {
                self.left -= lines.found.len() as u64;
                self.bytes_left = lines.bytes_left;
                if !lines.found.is_empty() {
                    files.push(FileMatches { file, lines: lines.found });
                }
            }
            GrepMatches::Files(files) if self.left > 0 => {
                self.left -= 1;
                files.push(file);
            }
            GrepMatches::Count(counts) if self.left > 0 => {
                self.left -= 1;
                counts.push((file, lines.count));
            }
            GrepMatches::Files(_) | GrepMatches::Count(_) => {}
        }
        if self.truncated { WalkStep::Enough } else { WalkStep::On }
    }
}

/// The matches of one file.
struct Lines {
    mode: OutputMode,
    left: u64,
    bytes_left: usize,
    found: Vec<(u64, String)>,
    count: u64,
    full: bool,
}

impl Sink for Lines {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        for (number, line) in (found.line_number().unwrap_or(1)..).zip(found.lines()) {
            self.count += 1;
            match self.mode {
                OutputMode::Count => continue,
                OutputMode::FilesWithMatches => return Ok(false),
                OutputMode::Content => {}
            }
            let line = shorten(line);
            if self.found.len() as u64 >= self.left || line.len() > self.bytes_left {
                self.full = true;
                return Ok(false);
            }
            self.bytes_left -= line.len();
            self.found.push((number, line));
        }
        Ok(true)
    }
}

fn shorten(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\r', '\n']);
    if line.len() <= LINE_LIMIT {
        return line.to_owned();
    }
    let head = line.get(..line.floor_char_boundary(LINE_LIMIT)).unwrap_or_default();
    format!("{head}… {} bytes left out …", line.len() - head.len())
}

/// A file that ends when the search should.
struct Ending<'a> {
    file: File,
    end: &'a EndFlag,
    /// Bytes that are still to come, as its size says.
    left: u64,
    /// The last read has told the end, so that nobody needs to ask for it.
    over: bool,
}

impl Read for Ending<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.over || self.end.stopped() || self.end.out_of_time() {
            return Ok(0);
        }
        let count = self.file.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        self.over = count < buffer.len() && self.left == 0;
        Ok(count)
    }
}
