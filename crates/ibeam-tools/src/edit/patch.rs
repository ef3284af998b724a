//! Applies a unified diff to one file: every hunk fits exactly, or nothing changes.
//!
//! Line numbers are a hint: a hunk is searched near its position, the nearest first. Counts in the headers are ignored,
//! because models miscount. `@@` without numbers is accepted when its lines are found only once. Lines are compared
//! without their line ends; context keeps its own, added lines take the line end of their neighbour.
//!
//! The form with `*** Begin Patch` is accepted too: its first hunk needs no `@@`, the text after `@@` is a line before the
//! hunk, and `*** End of File` is the end of the file. It may add the file; other tools delete and move files.

/// The maximum distance of a hunk from its stated position, in lines.
const DRIFT_LIMIT: usize = 1000;

/// Lines to find, and their replacement.
struct Hunk<'p> {
    /// The first old line, from 1, if the header has it.
    start: Option<usize>,
    /// Lines before the hunk, each after the one before.
    anchors: Vec<&'p str>,
    lines: Vec<HunkLine<'p>>,
    /// Whether the hunk is at the end of the file.
    is_at_end: bool,
}

impl<'p> Hunk<'p> {
    /// Returns a hunk without lines, with the line `@@ …` before them; "" for none.
    fn new(header: &'p str) -> Self {
        let start = parse_old_start(header);
        let text = header.trim_start_matches('@').trim().trim_end_matches("@@").trim_end();
        let anchors = if start.is_some() || text.is_empty() { Vec::new() } else { vec![text] };
        Self { start, anchors, lines: Vec::new(), is_at_end: false }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum HunkLine<'p> {
    Context(&'p str),
    Removed(&'p str),
    Added(&'p str),
    /// `\ No newline at end of file`, about the line before.
    NoNewline,
}

/// A line of the file and its end: empty, LF or CRLF.
#[derive(Clone, Copy)]
struct FileLine<'t> {
    text: &'t [u8],
    end: &'t [u8],
}

/// Returns `text` after the patch, or the reason why it does not apply, in words that follow the path.
pub(super) fn apply(text: &[u8], patch: &str) -> Result<Vec<u8>, String> {
    apply_hunks(text, &parse(patch)?)
}

/// Returns whether the patch fits `text`, so that it is not applied yet, and whether its reverse does, so that it is
/// applied already.
pub(super) fn check_fit(text: &[u8], patch: &str) -> (bool, bool) {
    let Ok(mut hunks) = parse(patch) else { return (false, false) };
    let forward = apply_hunks(text, &hunks).is_ok();
    for line in hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
        *line = match *line {
            HunkLine::Removed(text) => HunkLine::Added(text),
            HunkLine::Added(text) => HunkLine::Removed(text),
            kept @ (HunkLine::Context(_) | HunkLine::NoNewline) => kept,
        };
    }
    (forward, apply_hunks(text, &hunks).is_ok())
}

fn apply_hunks(text: &[u8], hunks: &[Hunk<'_>]) -> Result<Vec<u8>, String> {
    let lines = split_lines(text);
    let mut result: Vec<u8> = Vec::with_capacity(text.len());
    let (mut taken, mut drift) = (0usize, 0isize);
    for (number, hunk) in (1..).zip(hunks) {
        let at = locate(&lines, hunk, taken, drift)
            .map_err(|reason| format!("was not changed: hunk {number} of {} {reason}", hunks.len()))?;
        if let Some(start) = hunk.start {
            drift = to_signed(at) - to_signed(start.saturating_sub(1));
        }
        for line in lines.get(taken..at).unwrap_or_default() {
            push_line(&mut result, *line);
        }
        taken = at + write_hunk(&mut result, hunk, &lines, at);
    }
    for line in lines.get(taken..).unwrap_or_default() {
        push_line(&mut result, *line);
    }
    if result == text {
        return Err("stays the same: the patch changes nothing".to_owned());
    }
    Ok(result)
}

/// Returns the content of the file that the patch adds, if it adds one and does nothing else.
pub(super) fn added_file(patch: &str) -> Option<String> {
    let mut lines = patch.lines().filter(|line| line.trim() != "*** Begin Patch");
    lines.find(|line| !line.trim().is_empty()).filter(|line| line.starts_with("*** Add File:"))?;
    let content = lines.take_while(|line| line.trim() != "*** End Patch");
    content.map(|line| line.strip_prefix('+').map(|text| format!("{text}\n"))).collect()
}

fn parse(patch: &str) -> Result<Vec<Hunk<'_>>, String> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let mut files = 0;
    let mut lines = patch.lines().peekable();
    let mut in_hunk = false;
    // Whether a hunk may begin without a line `@@`: not after the header of a unified diff.
    let mut begins_without_header = true;
    while let Some(line) = lines.next() {
        let is_header = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if is_header || line.starts_with("*** Update File:") {
            files += 1;
            in_hunk = false;
            begins_without_header = !is_header;
            if is_header {
                lines.next();
            }
        } else if line.trim_end() == "*** End of File" {
            hunks.last_mut().into_iter().for_each(|hunk| hunk.is_at_end = true);
            in_hunk = false;
        } else if let Some(other) = other_action(line) {
            return Err(format!("was not changed: {other}"));
        } else if line.starts_with("diff --git ") || line.starts_with("*** ") {
            in_hunk = false;
        } else if line.starts_with("@@") {
            let hunk = Hunk::new(line);
            match hunks.last_mut().filter(|last| in_hunk && last.lines.is_empty() && last.start.is_none()) {
                Some(last) => last.anchors.extend(hunk.anchors),
                None => hunks.push(hunk),
            }
            in_hunk = true;
        } else if !in_hunk && begins_without_header && line.starts_with(['+', '-', ' ']) {
            hunks.push(Hunk { lines: parse_hunk_line(line).into_iter().collect(), ..Hunk::new("") });
            in_hunk = true;
        } else if in_hunk && let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(parse_hunk_line(line).ok_or_else(|| {
                format!(
                    "was not changed: the patch has a line that begins with none of ' ', '+', '-': `{line}`"
                )
            })?);
        }
    }
    if files > 1 {
        return Err("was not changed: the patch names several files; call `edit` once for each".to_owned());
    }
    for hunk in &mut hunks {
        // Empty lines between hunks are not context.
        while hunk.lines.last() == Some(&HunkLine::Context("")) && hunk.old_lines().count() > 1 {
            hunk.lines.pop();
        }
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    if hunks.is_empty() {
        return Err(
            "was not changed: the patch has no hunk; a hunk begins with a line such as `@@ -3,2 +3,3 @@`"
                .to_owned(),
        );
    }
    Ok(hunks)
}

/// Returns what to do instead of an action that is not an edit.
fn other_action(line: &str) -> Option<&'static str> {
    let actions = [
        ("*** Delete File:", "the patch deletes a file; use `delete`"),
        ("*** Move to:", "the patch moves the file; edit it without that line, then move it with `shell`"),
        ("*** Add File:", "the patch adds a file besides other changes; add it in a call of its own"),
    ];
    actions.into_iter().find(|(start, _)| line.starts_with(start)).map(|(_, way_out)| way_out)
}

fn parse_hunk_line(line: &str) -> Option<HunkLine<'_>> {
    let mut rest = line.chars();
    match rest.next() {
        // An empty context line that lost its space.
        None => Some(HunkLine::Context("")),
        Some(' ') => Some(HunkLine::Context(rest.as_str())),
        Some('-') => Some(HunkLine::Removed(rest.as_str())),
        Some('+') => Some(HunkLine::Added(rest.as_str())),
        Some('\\') => Some(HunkLine::NoNewline),
        Some(_) => None,
    }
}

/// Returns the `3` of `@@ -3,2 +3,3 @@`.
fn parse_old_start(header: &str) -> Option<usize> {
    let range = header.trim_start_matches('@').trim_start().strip_prefix('-')?;
    let digits = range.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

impl<'p> Hunk<'p> {
    /// Returns the lines that must be in the file.
    fn old_lines(&self) -> impl Iterator<Item = &'p str> {
        self.lines.iter().filter_map(|line| match line {
            HunkLine::Context(text) | HunkLine::Removed(text) => Some(*text),
            HunkLine::Added(_) | HunkLine::NoNewline => None,
        })
    }
}

/// Returns the index of the first line of `hunk` in the file, at or after line `from`.
fn locate(lines: &[FileLine<'_>], hunk: &Hunk<'_>, from: usize, drift: isize) -> Result<usize, String> {
    let old: Vec<&str> = hunk.old_lines().collect();
    let fits = |at: usize| {
        at >= from
            && lines.get(at..at + old.len()).is_some_and(|window| {
                window.iter().zip(&old).all(|(have, want)| have.text == want.as_bytes())
            })
    };
    let last = lines.len().saturating_sub(old.len());
    if hunk.is_at_end && fits(last) {
        return Ok(last);
    }
    let Some(start) = hunk.start else {
        if let Some(at) = locate_by_anchors(lines, hunk, from, &fits) {
            return Ok(at);
        }
        if old.is_empty() {
            return Err("only adds lines and has no line number; give context lines".to_owned());
        }
        let mut found = (from..=last).filter(|at| fits(*at));
        return match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (Some(_), Some(_)) => Err("fits in several places; give more context lines".to_owned()),
            (None, _) => Err(no_match_error(&old)),
        };
    };
    if old.is_empty() {
        // `-3,0` is after line 3.
        return Ok(start.clamp(from, lines.len().max(from)));
    }
    let expected = to_signed(start.saturating_sub(1)).saturating_add(drift);
    let near = (0..=to_signed(DRIFT_LIMIT)).flat_map(|distance| [expected - distance, expected + distance]);
    near.filter_map(|at| usize::try_from(at).ok()).find(|at| fits(*at)).ok_or_else(|| no_match_error(&old))
}

/// Returns the first place of the hunk after its anchors; `None` without anchors, or if they lead to no place or to several.
fn locate_by_anchors(
    lines: &[FileLine<'_>],
    hunk: &Hunk<'_>,
    from: usize,
    fits: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let (first, inner) = hunk.anchors.split_first()?;
    let is_anchor = |at: usize, anchor: &str| {
        lines.get(at).is_some_and(|line| line.text.trim_ascii() == anchor.trim().as_bytes())
    };
    let find = |from: usize, anchor: &str| (from..lines.len()).find(|at| is_anchor(*at, anchor));
    let only_adds = hunk.old_lines().next().is_none();
    let place_after = |outermost: usize| {
        let innermost = inner.iter().try_fold(outermost, |at, anchor| find(at + 1, anchor))?;
        if only_adds {
            return Some(innermost + 1);
        }
        // The lines of the hunk may repeat the anchor.
        (innermost..lines.len()).find(|at| fits(*at))
    };
    let mut places: Vec<usize> =
        (from..lines.len()).filter(|at| is_anchor(*at, first)).filter_map(place_after).collect();
    places.dedup();
    match places.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

fn no_match_error(old: &[&str]) -> String {
    let first = old.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or_default();
    format!(
        "does not fit: its context and removed lines, from `{}`, are not in the file in this form; read it again",
        ibeam_protocol::elision::head_of_lines(first, 80)
    )
}

/// Writes the new lines of `hunk`; returns the number of old lines that they replace.
fn write_hunk(result: &mut Vec<u8>, hunk: &Hunk<'_>, lines: &[FileLine<'_>], at: usize) -> usize {
    let mut old = lines.get(at..).unwrap_or_default().iter();
    let mut used = 0;
    // The line end of added lines: that of the line before, else of the next, else LF.
    let neighbour = at.checked_sub(1).and_then(|before| lines.get(before)).or_else(|| lines.get(at));
    let mut end: &[u8] = neighbour.map_or(b"\n", |line| if line.end.is_empty() { b"\n" } else { line.end });
    let has_newline_marker = hunk.lines.contains(&HunkLine::NoNewline);
    let mut lines_left = hunk.lines.iter().peekable();
    while let Some(line) = lines_left.next() {
        match line {
            HunkLine::Context(_) | HunkLine::Removed(_) => {
                let Some(have) = old.next() else { continue };
                used += 1;
                if !have.end.is_empty() {
                    end = have.end;
                }
                if matches!(line, HunkLine::Context(_)) {
                    push_line(result, *have);
                }
            }
            HunkLine::Added(text) => {
                // The text before may end in the last line of the file, without a line end.
                if result.last().is_some_and(|last| *last != b'\n') {
                    result.extend_from_slice(end);
                }
                result.extend_from_slice(text.as_bytes());
                let is_last = at + used >= lines.len() && lines_left.peek().is_none();
                let was_open = lines.last().is_some_and(|last| last.end.is_empty());
                // A patch without a marker about the final newline leaves it as it is.
                let open = lines_left.peek() == Some(&&HunkLine::NoNewline)
                    || (is_last && was_open && !has_newline_marker);
                if !open {
                    result.extend_from_slice(end);
                }
            }
            HunkLine::NoNewline => {}
        }
    }
    used
}

fn split_lines(text: &[u8]) -> Vec<FileLine<'_>> {
    text.split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let body = line.strip_suffix(b"\n").unwrap_or(line);
            let body = if body.len() < line.len() { body.strip_suffix(b"\r").unwrap_or(body) } else { body };
            FileLine { text: body, end: line.get(body.len()..).unwrap_or_default() }
        })
        .collect()
}

fn push_line(result: &mut Vec<u8>, line: FileLine<'_>) {
    result.extend_from_slice(line.text);
    result.extend_from_slice(line.end);
}

fn to_signed(line: usize) -> isize {
    isize::try_from(line).unwrap_or(isize::MAX)
}
