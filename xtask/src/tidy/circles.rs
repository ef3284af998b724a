//! Checks that no circle of modules spans more than eight files of a crate: a reader must be able to read a part of a crate
//! without the rest.
//!
//! An edge leads from a file to each file of the crate whose items it names by a path. See [`module_graph`] for what counts.

mod module_graph;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use self::module_graph::{FileGraph, ModuleReader};
use super::tree::{TidyError, read_file, tracked_files};

/// The largest number of files in a circle.
const MAX_FILES: usize = 8;

/// The folder of the parser of shell commands, whose grammar is recursive.
const RECURSIVE_GRAMMAR: &str = "crates/ibeam-policy/src/shell";

/// The number of edges that a finding names.
const NAMED_EDGES: usize = 10;

pub(super) fn check(root: &Path) -> Result<Vec<String>, TidyError> {
    let files = tracked_files(root)?;
    let mut by_crate: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        if let Some((package, inner)) = path.split_once("/src/")
            && (matches!(inner, "lib.rs" | "main.rs") || inner.starts_with("bin/"))
        {
            by_crate.entry(package).or_default().push(path);
        }
    }
    let mut findings = Vec::new();
    for (package, roots) in by_crate {
        let graph = ModuleReader::read(&roots, &|path| read_file(root, path).ok())
            .map_err(|detail| TidyError::Unreadable(format!("{package}: {detail}")))?;
        findings.extend(crate_finding(package, &graph));
    }
    Ok(findings)
}

/// Describes the circles of a crate that are too large.
fn crate_finding(package: &str, graph: &FileGraph) -> Option<String> {
    let circles = circles(&graph.edges).into_iter();
    let large = circles.filter(|circle| circle.len() > MAX_FILES && !is_recursive_grammar(graph, circle));
    let findings: Vec<String> = large.map(|circle| description(package, graph, &circle)).collect();
    (!findings.is_empty()).then(|| findings.join("\n"))
}

fn is_recursive_grammar(graph: &FileGraph, circle: &BTreeSet<usize>) -> bool {
    circle.iter().all(|file| graph.files.get(*file).is_some_and(|path| path.starts_with(RECURSIVE_GRAMMAR)))
}

/// Returns the files of a circle and the edges without which it is smallest, each with the number of its paths.
fn description(package: &str, graph: &FileGraph, circle: &BTreeSet<usize>) -> String {
    let name = |file: usize| {
        let path = graph.files.get(file).map(String::as_str).unwrap_or_default();
        path.strip_prefix(package).unwrap_or(path).trim_start_matches("/src/").to_owned()
    };
    let inner = graph.edges.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
    let inner: BTreeMap<(usize, usize), usize> = inner.map(|(edge, count)| (*edge, *count)).collect();
    let mut ways: Vec<(usize, usize, (usize, usize))> = Vec::new();
    for (edge, count) in &inner {
        let rest = inner.iter().filter(|(other, _)| *other != edge).map(|(edge, count)| (*edge, *count));
        let largest = circles(&rest.collect()).iter().map(BTreeSet::len).max().unwrap_or_default();
        ways.push((largest, *count, *edge));
    }
    ways.sort();
    let ways = ways.into_iter().take(NAMED_EDGES).map(|(largest, count, (from, to))| {
        format!("\n    without {} → {} ({count}): {largest} files", name(from), name(to))
    });
    let files = circle.iter().map(|file| name(*file)).collect::<Vec<_>>().join(", ");
    let count = circle.len();
    format!("{package}: a circle of {count} files (at most {MAX_FILES}): {files}{}", ways.collect::<String>())
}

/// Returns the sets of files that reach one another, by the algorithm of Tarjan.
fn circles(edges: &BTreeMap<(usize, usize), usize>) -> Vec<BTreeSet<usize>> {
    let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in edges.keys() {
        next.entry(*from).or_default().push(*to);
        next.entry(*to).or_default();
    }
    let mut search = Search::new(&next);
    for file in next.keys() {
        if !search.index.contains_key(file) {
            search.visit(*file);
        }
    }
    search.found
}

/// The state of the depth-first search.
struct Search<'a> {
    next: &'a BTreeMap<usize, Vec<usize>>,
    /// The position of each visited file in the order of the visits.
    index: BTreeMap<usize, usize>,
    stack: Vec<usize>,
    found: Vec<BTreeSet<usize>>,
}

impl<'a> Search<'a> {
    fn new(next: &'a BTreeMap<usize, Vec<usize>>) -> Self {
        Self { next, index: BTreeMap::new(), stack: Vec::new(), found: Vec::new() }
    }

    /// Visits a file and what it reaches. Returns the earliest file that it reaches.
    fn visit(&mut self, file: usize) -> usize {
        let own = self.index.len();
        self.index.insert(file, own);
        self.stack.push(file);
        let mut lowest = own;
        for to in self.next.get(&file).into_iter().flatten() {
            let reached = match self.index.get(to) {
                None => self.visit(*to),
                Some(index) if self.stack.contains(to) => *index,
                Some(_) => continue,
            };
            lowest = lowest.min(reached);
        }
        if lowest == own
            && let Some(start) = self.stack.iter().position(|open| *open == file)
        {
            self.found.push(self.stack.split_off(start).into_iter().collect());
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(count: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> FileGraph {
        let files = (0..count).map(|file| format!("crates/x/src/f{file}.rs")).collect();
        FileGraph { files, edges: edges.into_iter().map(|edge| (edge, 1)).collect() }
    }

    fn ring(count: usize) -> FileGraph {
        graph(count, (0..count).map(|file| (file, (file + 1) % count)))
    }

    #[test]
    fn files_that_reach_one_another_are_a_circle() {
        let graph = graph(6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 0)]);
        let sizes: Vec<usize> = circles(&graph.edges).iter().map(BTreeSet::len).collect();
        assert_eq!(sizes, [2, 3, 1]);
    }

    #[test]
    fn a_circle_of_nine_files_is_found_with_a_way_out() {
        assert_eq!(crate_finding("crates/x", &ring(8)), None);
        let finding = crate_finding("crates/x", &ring(9)).unwrap();
        assert!(
            finding.contains("f0.rs, f1.rs") && finding.contains("without f8.rs → f0.rs (1): 1 files"),
            "{finding}"
        );
    }

    #[test]
    fn the_parser_of_shell_commands_is_one_grammar() {
        let mut graph = ring(9);
        for file in &mut graph.files {
            *file = file.replace("crates/x/src", RECURSIVE_GRAMMAR);
        }
        assert_eq!(crate_finding("crates/ibeam-policy", &graph), None);
    }
}
