//! Circles of files inside a crate, by their `crate::`, `super::` and `self::` paths: of files that need each
//! other, none can be read or changed alone.
use super::repository::{SourceFile, source_files};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree, VisRestricted};

/// The circles that are left: of the ways of calls, and of the transport over TCP. The number only falls.
const LEFT: usize = 2;

/// The most files of a circle.
const MOST_FILES: usize = 3;

/// The names of the modules above a file, and its own; none for that of the crate.
type ModulePath = Vec<String>;

/// The files that each file of a crate needs.
type NeededFiles = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// The paths in the production code of a file.
#[derive(Default)]
struct NamedPaths(Vec<Vec<String>>);

impl NamedPaths {
    fn in_code(code: &str) -> NamedPaths {
        let mut paths = NamedPaths::default();
        paths.visit_file(&syn::parse_file(code).expect("the other tests have read it"));
        paths
    }

    fn add_tree(&mut self, before: &[String], tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.add_tree(&path_after(&path.ident, before), &path.tree),
            UseTree::Name(name) => self.0.push(path_after(&name.ident, before)),
            UseTree::Rename(name) => self.0.push(path_after(&name.ident, before)),
            UseTree::Glob(_) => self.0.push(before.to_vec()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(before, tree);
                }
            }
        }
    }
}

fn path_after(name: &syn::Ident, before: &[String]) -> Vec<String> {
    [before, &[name.to_string()]].concat()
}

impl<'ast> Visit<'ast> for NamedPaths {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.add_tree(&[], &item.tree);
        }
    }

    /// Who may use a thing needs nothing of them: `pub(super)`.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        self.0
            .push(segments.map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Ok(condition) = attribute.meta.require_list() else {
            return false;
        };
        let words: Vec<String> = condition
            .tokens
            .clone()
            .into_iter()
            .map(|t| t.to_string())
            .collect();
        condition.path.is_ident("cfg")
            && match &words[..] {
                [only] => only == "test",
                [all, of] => all == "all" && of.starts_with("(test"),
                _ => false,
            }
    })
}

/// The folder of the crate and the module of a file of production code.
fn place(file: &SourceFile) -> Option<(PathBuf, ModulePath)> {
    let parts: Vec<&str> = file.path.iter().filter_map(|part| part.to_str()).collect();
    let source = parts.iter().position(|part| *part == "src")?;
    let mut module: ModulePath = parts[source + 1..]
        .iter()
        .map(|part| (*part).to_owned())
        .collect();
    if module
        .iter()
        .any(|part| part == "tests" || part == "tests.rs")
    {
        return None;
    }
    let name = module.pop()?.strip_suffix(".rs")?.to_owned();
    let is_crate = module.is_empty() && (name == "lib" || name == "main");
    module.extend((name != "mod" && !is_crate).then_some(name));
    Some((parts[..source].iter().collect(), module))
}

/// The file that a path leads to from a module: the longest part of the path that is one.
fn file_at(files: &NeededFiles, from: &[String], path: &[String]) -> Option<ModulePath> {
    let (first, mut rest) = path.split_first()?;
    let mut module = match first.as_str() {
        "crate" => Vec::new(),
        "self" => from.to_vec(),
        "super" => from.split_last()?.1.to_vec(),
        _ => return None,
    };
    while let [above, after @ ..] = rest
        && above == "super"
    {
        module.pop();
        rest = after;
    }
    module.extend_from_slice(rest);
    while !files.contains_key(&module) {
        module.pop()?;
    }
    Some(module)
}

/// The files that a file needs, by whatever detour.
fn reached(files: &NeededFiles, from: &ModulePath) -> BTreeSet<ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&ModulePath> = files[from].iter().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file.clone()) {
            open.extend(&files[file]);
        }
    }
    reached
}

/// The circles among the files of a crate.
fn circles(files: &NeededFiles) -> BTreeSet<Vec<ModulePath>> {
    let all: BTreeMap<&ModulePath, _> = files.keys().map(|f| (f, reached(files, f))).collect();
    let in_circles = all.keys().filter(|file| all[*file].contains(**file));
    in_circles
        .map(|file| {
            let others = all[file].iter().filter(|other| all[other].contains(*file));
            others.cloned().collect()
        })
        .collect()
}

/// The files of one crate with what they need of each other.
fn needed(sources: &BTreeMap<ModulePath, String>) -> NeededFiles {
    let none = sources
        .keys()
        .map(|module| (module.clone(), BTreeSet::new()));
    let modules: NeededFiles = none.collect();
    let needs = sources.iter().map(|(module, code)| {
        let paths = NamedPaths::in_code(code).0;
        let files = paths
            .iter()
            .filter_map(|path| file_at(&modules, module, path));
        (
            module.clone(),
            files.filter(|file| file != module).collect(),
        )
    });
    needs.collect()
}

#[test]
fn few_files_of_a_crate_need_each_other() {
    let mut crates: BTreeMap<PathBuf, BTreeMap<ModulePath, String>> = BTreeMap::new();
    for file in source_files() {
        if let Some((folder, module)) = place(&file) {
            crates.entry(folder).or_default().insert(module, file.code);
        }
    }
    let mut all = Vec::new();
    for (folder, sources) in &crates {
        for circle in circles(&needed(sources)) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            all.push((
                circle.len(),
                format!("{}: {}", folder.display(), names.join(", ")),
            ));
        }
    }
    all.sort();
    let each: Vec<&str> = all.iter().map(|(_, line)| line.as_str()).collect();
    let lines = each.join("\n");
    let most = all.last().map_or(0, |(files, _)| *files);
    assert!(
        most <= MOST_FILES,
        "a circle of {most} files: move what they share into a file\n{lines}"
    );
    assert_eq!(
        all.len(),
        LEFT,
        "if there are fewer, write their number here\n{lines}"
    );
}

#[test]
fn a_circle_is_found_by_any_of_its_paths() {
    let sources = [
        ("a", "use crate::b::{self, One};"),
        ("b", "fn f() -> super::c::Two { todo!() }"),
        (
            "c",
            "use super::a;\n#[cfg(test)]\nmod tests {\n    use crate::d::Three;\n}",
        ),
        ("d", "use super::c::*;"),
    ]
    .map(|(name, code)| (vec![name.to_owned()], code.to_owned()));
    let found = circles(&needed(&sources.into()));
    let circle = ["a", "b", "c"].map(|name| vec![name.to_owned()]).to_vec();
    assert_eq!(found, BTreeSet::from([circle]));
}
