//! The files of a crate and the paths between them.
//!
//! A path counts for the file of the last module that it names; a re-export counts for the module that has it. The
//! declaration and the re-export of a child are no use of it, unless the parent names the item elsewhere. A visibility names
//! no item. Code and modules of tests do not count. Methods and the types of expressions are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The files of a crate, and the number of paths from one file to another.
pub(super) struct FileGraph {
    pub(super) files: Vec<String>,
    pub(super) edges: BTreeMap<(usize, usize), usize>,
}

/// A module in a file of its own, or within one.
#[derive(Default)]
struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The paths in code and in private imports.
    paths: Vec<Vec<String>>,
    /// The re-exported paths, each with the name that it gets.
    reexports: Vec<(Vec<String>, String)>,
    /// The names in code.
    names: BTreeSet<String>,
}

/// Reads the modules of a crate.
pub(super) struct ModuleReader<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    files: Vec<String>,
    modules: Vec<Module>,
}

impl<'a> ModuleReader<'a> {
    /// Reads the files of a crate, beginning with its roots. `read` returns the text of a file, if the file exists.
    ///
    /// # Errors
    /// The file that is not Rust.
    pub(super) fn read(
        roots: &[&str],
        read: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<FileGraph, String> {
        let mut reader = Self { read, files: Vec::new(), modules: Vec::new() };
        for root in roots {
            let (directory, _) = root.rsplit_once('/').unwrap_or_default();
            reader.add_file(root, directory, None)?;
        }
        let mut edges = BTreeMap::new();
        for module in &reader.modules {
            let reexports = module.reexports.iter();
            let used = reexports.filter(|(_, name)| module.names.contains(name)).map(|(path, _)| path);
            for path in module.paths.iter().chain(used) {
                if let Some(target) = reader.file_of(module, path).filter(|target| *target != module.file) {
                    *edges.entry((module.file, target)).or_default() += 1;
                }
            }
        }
        Ok(FileGraph { files: reader.files, edges })
    }

    /// Reads the module in the file at `path`, whose children are in `directory`.
    fn add_file(
        &mut self,
        path: &str,
        directory: &str,
        parent: Option<usize>,
    ) -> Result<Option<usize>, String> {
        let Some(text) = (self.read)(path) else { return Ok(None) };
        let tokens = TokenStream::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        let file = self.files.len();
        self.files.push(path.to_owned());
        let module = self.add_module(file, parent);
        self.add_items(module, tokens, directory)?;
        Ok(Some(module))
    }

    fn add_module(&mut self, file: usize, parent: Option<usize>) -> usize {
        self.modules.push(Module { file, parent, ..Module::default() });
        self.modules.len() - 1
    }

    /// Reads the tokens of a module, or of a block within one.
    fn add_items(&mut self, module: usize, tokens: TokenStream, directory: &str) -> Result<(), String> {
        let mut tokens = Tokens::new(tokens);
        let mut path_of_file = None;
        while let Some(token) = tokens.next() {
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => match tokens.attribute() {
                    Some(attribute) if is_test(&attribute) => tokens.skip_item(),
                    Some(attribute) => path_of_file = file_attribute(&attribute).or(path_of_file),
                    None => {}
                },
                TokenTree::Ident(ident) if ident == "mod" => {
                    let Some(TokenTree::Ident(name)) = tokens.next() else { continue };
                    let name = name.to_string();
                    let inner = format!("{directory}/{name}");
                    let child = match tokens.next() {
                        Some(TokenTree::Group(body)) => {
                            let file = self.modules.get(module).map(|module| module.file).unwrap_or_default();
                            let child = self.add_module(file, Some(module));
                            self.add_items(child, body.stream(), &inner)?;
                            Some(child)
                        }
                        _ => {
                            let path = path_of_file
                                .take()
                                .map_or_else(|| format!("{inner}.rs"), |path| format!("{directory}/{path}"));
                            self.add_file(&path, &inner, Some(module))?
                        }
                    };
                    if let (Some(child), Some(module)) = (child, self.modules.get_mut(module)) {
                        module.children.insert(name, child);
                    }
                }
                TokenTree::Ident(ident) if ident == "use" && !tokens.is_at_punct('<') => {
                    let is_public = tokens.is_after_visibility();
                    let mut found = Vec::new();
                    import_paths(&mut Tokens::new(tokens.until_semicolon()), &mut Vec::new(), &mut found);
                    let Some(module) = self.modules.get_mut(module) else { continue };
                    match is_public {
                        true => module.reexports.extend(found),
                        false => module.paths.extend(found.into_iter().map(|(path, _)| path)),
                    }
                }
                TokenTree::Ident(ident) if ident == "pub" => tokens.skip_scope(),
                TokenTree::Ident(ident) => {
                    let path = tokens.rest_of_path(ident.to_string());
                    let Some(module) = self.modules.get_mut(module) else { continue };
                    module.names.extend(path.first().cloned());
                    if path.len() > 1 {
                        module.paths.push(path);
                    }
                }
                TokenTree::Group(group) => self.add_items(module, group.stream(), directory)?,
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the file of the last module that a path in `module` names; `None` for a path of another crate.
    fn file_of(&self, module: &Module, path: &[String]) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => self.root_of(module),
            "self" => module,
            "super" => self.modules.get(module.parent?)?,
            name => self.modules.get(*module.children.get(name)?)?,
        };
        for segment in rest {
            let next = match segment.as_str() {
                "super" => at.parent,
                name => at.children.get(name).copied(),
            };
            match next.and_then(|next| self.modules.get(next)) {
                Some(next) => at = next,
                None => break,
            }
        }
        Some(at.file)
    }

    fn root_of<'m>(&'m self, module: &'m Module) -> &'m Module {
        let mut at = module;
        while let Some(parent) = at.parent.and_then(|parent| self.modules.get(parent)) {
            at = parent;
        }
        at
    }
}

/// Tokens, one after another.
struct Tokens {
    tokens: Vec<TokenTree>,
    next: usize,
}

impl Tokens {
    fn new(tokens: TokenStream) -> Self {
        Self { tokens: tokens.into_iter().collect(), next: 0 }
    }

    fn next(&mut self) -> Option<TokenTree> {
        self.next += 1;
        self.tokens.get(self.next - 1).cloned()
    }

    fn peek(&self, distance: usize) -> Option<&TokenTree> {
        self.tokens.get(self.next + distance)
    }

    /// Returns the attribute after its `#`, or after `#!`.
    fn attribute(&mut self) -> Option<Group> {
        if self.is_at_punct('!') {
            self.next += 1;
        }
        match self.peek(0) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => {
                let group = group.clone();
                self.next += 1;
                Some(group)
            }
            _ => None,
        }
    }

    /// Skips the item, the statement or the field after an attribute.
    fn skip_item(&mut self) {
        let mut has_value = false;
        while let Some(token) = self.next() {
            match token {
                TokenTree::Ident(ident) => {
                    has_value |= ["use", "const", "static", "type", "let"].iter().any(|word| ident == word);
                    has_value &= ident != "fn";
                }
                TokenTree::Punct(punct) if matches!(punct.as_char(), ';' | ',') => return,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !has_value => return,
                TokenTree::Punct(_) | TokenTree::Group(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Skips the `(in …)` of a visibility.
    fn skip_scope(&mut self) {
        if let Some(TokenTree::Group(group)) = self.peek(0)
            && matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "in")
        {
            self.next += 1;
        }
    }

    /// Whether the last token comes after `pub` or `pub(…)`.
    fn is_after_visibility(&self) -> bool {
        let at = |distance: usize| self.next.checked_sub(distance).and_then(|index| self.tokens.get(index));
        let is_pub =
            |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Ident(ident)) if ident == "pub");
        is_pub(at(2)) || (matches!(at(2), Some(TokenTree::Group(_))) && is_pub(at(3)))
    }

    fn until_semicolon(&mut self) -> TokenStream {
        let mut found = Vec::new();
        while let Some(token) = self.next() {
            if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';') {
                break;
            }
            found.push(token);
        }
        found.into_iter().collect()
    }

    fn is_at_punct(&self, expect: char) -> bool {
        matches!(self.peek(0), Some(TokenTree::Punct(punct)) if punct.as_char() == expect)
    }

    /// Whether `::` comes next.
    fn is_at_separator(&self) -> bool {
        (0..2).all(
            |distance| matches!(self.peek(distance), Some(TokenTree::Punct(punct)) if punct.as_char() == ':'),
        )
    }

    /// Returns the path that begins with `first`.
    fn rest_of_path(&mut self, first: String) -> Vec<String> {
        let mut path = vec![first];
        while self.is_at_separator() {
            let Some(TokenTree::Ident(ident)) = self.peek(2) else { break };
            path.push(ident.to_string());
            self.next += 3;
        }
        path
    }
}

/// Collects the paths of an import after `prefix`, each with the name that it gets.
fn import_paths(tokens: &mut Tokens, prefix: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let outer = prefix.len();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) if ident == "as" => {
                if let (Some(TokenTree::Ident(name)), Some((_, last))) = (tokens.next(), found.last_mut()) {
                    *last = name.to_string();
                }
            }
            TokenTree::Ident(ident) => {
                // `self` in braces is the module before them.
                if ident != "self" || prefix.is_empty() {
                    prefix.push(ident.to_string());
                }
                if !tokens.is_at_separator() {
                    found.push((prefix.clone(), prefix.last().cloned().unwrap_or_default()));
                }
            }
            TokenTree::Group(group) => import_paths(&mut Tokens::new(group.stream()), prefix, found),
            TokenTree::Punct(punct) if punct.as_char() == '*' => found.push((prefix.clone(), String::new())),
            TokenTree::Punct(punct) if punct.as_char() == ',' => prefix.truncate(outer),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    prefix.truncate(outer);
}

/// Whether an attribute leaves an item to tests.
fn is_test(attribute: &Group) -> bool {
    let text = attribute.stream().to_string();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    words == ["test"] || (words.first() == Some(&"cfg") && words.contains(&"test") && !words.contains(&"not"))
}

/// Returns the file that `#[path = "…"]` names.
fn file_attribute(attribute: &Group) -> Option<String> {
    let text = attribute.stream().to_string();
    let value = text.strip_prefix("path")?.trim_start().strip_prefix('=')?.trim();
    Some(value.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the edges of a crate with these files.
    #[track_caller]
    fn check(files: &[(&str, &str)], expect: &[(&str, &str)]) {
        let read = |path: &str| {
            files.iter().find(|(name, _)| format!("x/src/{name}") == path).map(|(_, text)| (*text).to_owned())
        };
        let graph = ModuleReader::read(&["x/src/lib.rs"], &read).unwrap();
        let name = |file: &usize| graph.files[*file].trim_start_matches("x/src/").to_owned();
        let found: BTreeSet<_> = graph.edges.keys().map(|(from, to)| (name(from), name(to))).collect();
        let expect: BTreeSet<_> =
            expect.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn an_import_and_a_path_in_code_are_edges() {
        check(
            &[
                ("lib.rs", "mod a; mod b; mod c; mod d;"),
                ("a.rs", "use crate::b::B; fn f() { super::c::run(); }"),
                ("b.rs", "use std::fs; use super::{c::{self, C}, d as e};"),
                ("c.rs", "/// See [`crate::d`].\npub struct C;"),
                ("d.rs", "use ::other::a::B;"),
            ],
            &[("a.rs", "b.rs"), ("a.rs", "c.rs"), ("b.rs", "c.rs"), ("b.rs", "d.rs")],
        );
    }

    #[test]
    fn the_declaration_and_the_re_export_of_a_child_are_no_use() {
        check(
            &[
                ("lib.rs", "mod a;"),
                (
                    "a.rs",
                    "mod b; pub(crate) mod c; mod d; pub use b::B; pub(super) use self::c::{C, D}; use d::E; fn f(_: C) {}",
                ),
                ("a/b.rs", "use super::C; pub struct B;"),
                ("a/c.rs", "pub struct C;"),
                ("a/d.rs", "use super::super::a::b::B;"),
            ],
            &[("a.rs", "a/c.rs"), ("a.rs", "a/d.rs"), ("a/b.rs", "a.rs"), ("a/d.rs", "a/b.rs")],
        );
    }

    #[test]
    fn a_visibility_is_no_use() {
        check(
            &[
                ("lib.rs", "mod a;"),
                ("a.rs", "mod b; mod c; use b::B; fn f(_: B) {}"),
                ("a/b.rs", "pub(in crate::a) struct B(pub(in crate::a) u8, pub (super::c::C));"),
                ("a/c.rs", "pub(super) struct C;"),
            ],
            &[("a.rs", "a/b.rs"), ("a/b.rs", "a/c.rs")],
        );
    }

    #[test]
    fn tests_do_not_count() {
        check(
            &[
                ("lib.rs", "mod a; mod b;"),
                (
                    "a.rs",
                    "#[cfg(test)] use crate::b::{B}; #[cfg(not(test))] use crate::b::C; #[cfg(test)] #[path = \"a_test.rs\"] mod \
                     tests; #[test] fn f() { crate::b::g() }",
                ),
                ("a_test.rs", "use crate::b::B;"),
                ("b.rs", "#[cfg(test)] mod tests { use crate::a::A; } mod inner { use super::super::b::B; }"),
            ],
            &[("a.rs", "b.rs")],
        );
    }
}
