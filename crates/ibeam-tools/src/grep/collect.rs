//! Searches one file after another until enough was found.

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
use crate::file_id::{FileIds, file_id};
use crate::files::Files;
use crate::tree_search::{SearchRoot, WalkStep};

/// Maximum bytes of a returned line.
const MAX_LINE_BYTES: usize = 500;
/// Maximum bytes of all returned lines.
const CONTENT_LIMIT: usize = 30 << 10;
/// A longer line, or in a multi-line search a larger file, is skipped.
const HEAP_LIMIT: usize = 64 << 20;
/// The heap limit for a pattern that takes long for each byte.
const HEAVY_PATTERN_HEAP_LIMIT: usize = 256 << 10;
/// Bytes of the first read of a file: most source files are read at once.
const READ_SIZE: usize = 16 << 10;

/// The options with which files are matched.
pub(super) struct PatternOptions {
    /// Whether the pattern may span lines.
    pub(super) multiline: bool,
    /// Whether the pattern is small enough for lines of any length.
    pub(super) is_light: bool,
}

/// The results, and the number of results that are still requested.
pub(super) struct Collector<'a> {
    /// The results, in the requested mode.
    pub(super) matches: GrepMatches,
    /// Whether there are more results than requested.
    pub(super) truncated: bool,
    mode: OutputMode,
    remaining: u64,
    remaining_bytes: usize,
    searcher: Searcher,
    files: &'a Files,
    dir_cache: DirCache<'a>,
    /// Files that may not be read under another name either; searched for when the first hard link is found.
    denied_files: OnceCell<FileIds>,
}

impl<'a> Collector<'a> {
    /// Collects at most `limit` lines, files or counts.
    pub(super) fn new(files: &'a Files, mode: OutputMode, limit: u64, options: PatternOptions) -> Self {
        let matches = match mode {
            OutputMode::Content => GrepMatches::Content(Vec::new()),
            OutputMode::FilesWithMatches => GrepMatches::Files(Vec::new()),
            OutputMode::Count => GrepMatches::Count(Vec::new()),
        };
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .multi_line(options.multiline)
            .heap_limit(Some(if options.is_light { HEAP_LIMIT } else { HEAVY_PATTERN_HEAP_LIMIT }))
            .build();
        Self {
            matches,
            truncated: false,
            mode,
            remaining: limit,
            remaining_bytes: CONTENT_LIMIT,
            searcher,
            files,
            dir_cache: DirCache::new(files.workspace()),
            denied_files: OnceCell::new(),
        }
    }

    /// Searches the file at `path`, which is returned relative to `start`.
    pub(super) fn search(
        &mut self,
        matcher: &RegexMatcher,
        path: &Path,
        start: &SearchRoot,
        end: &EndFlag,
    ) -> WalkStep {
        let Ok((file, stat)) = self.dir_cache.open(path) else { return WalkStep::Skipped };
        if stat.st_nlink > 1
            && self.denied_files.get_or_init(|| self.files.denied_files()).contains(&file_id(&stat))
        {
            return WalkStep::Continue;
        }
        let mut lines = LineSink {
            mode: self.mode,
            remaining: self.remaining,
            remaining_bytes: self.remaining_bytes,
            found: Vec::new(),
            count: 0,
            is_full: false,
        };
        let remaining = u64::try_from(stat.st_size).unwrap_or_default();
        // The searcher reads the first three bytes separately, to detect the encoding.
        let reader =
            BufReader::with_capacity(READ_SIZE, InterruptibleFile { file, end, remaining, is_at_end: false });
        if self.searcher.search_reader(matcher, reader, &mut lines).is_err() {
            return WalkStep::Skipped;
        }
        if lines.count == 0 {
            return WalkStep::Continue;
        }
        // In the modes that count files, this file itself may exceed the limit.
        if lines.is_full || self.remaining == 0 {
            self.truncated = true;
        }
        let file = start.relative(path).to_owned();
        match &mut self.matches {
            GrepMatches::Content(files) => {
                self.remaining -= lines.found.len() as u64;
                self.remaining_bytes = lines.remaining_bytes;
                if !lines.found.is_empty() {
                    files.push(FileMatches { file, lines: lines.found });
                }
            }
            GrepMatches::Files(files) if self.remaining > 0 => {
                self.remaining -= 1;
                files.push(file);
            }
            GrepMatches::Count(counts) if self.remaining > 0 => {
                self.remaining -= 1;
                counts.push((file, lines.count));
            }
            GrepMatches::Files(_) | GrepMatches::Count(_) => {}
        }
        if self.truncated { WalkStep::Stop } else { WalkStep::Continue }
    }
}

/// The matches of one file.
struct LineSink {
    mode: OutputMode,
    remaining: u64,
    remaining_bytes: usize,
    found: Vec<(u64, String)>,
    count: u64,
    is_full: bool,
}

impl Sink for LineSink {
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
            if self.found.len() as u64 >= self.remaining || line.len() > self.remaining_bytes {
                self.is_full = true;
                return Ok(false);
            }
            self.remaining_bytes -= line.len();
            self.found.push((number, line));
        }
        Ok(true)
    }
}

fn shorten(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\r', '\n']);
    if line.len() <= MAX_LINE_BYTES {
        return line.to_owned();
    }
    let head = line.get(..line.floor_char_boundary(MAX_LINE_BYTES)).unwrap_or_default();
    format!("{head}… {} bytes left out …", line.len() - head.len())
}

/// A file that ends early when the search should end.
struct InterruptibleFile<'a> {
    file: File,
    end: &'a EndFlag,
    /// Bytes that remain, according to the size of the file.
    remaining: u64,
    /// The last read reached the end, so that no further read is needed.
    is_at_end: bool,
}

impl Read for InterruptibleFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_at_end || self.end.is_stopped() || self.end.is_out_of_time() {
            return Ok(0);
        }
        let count = self.file.read(buffer)?;
        self.remaining = self.remaining.saturating_sub(count as u64);
        self.is_at_end = count < buffer.len() && self.remaining == 0;
        Ok(count)
    }
}
