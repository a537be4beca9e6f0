//! Names: a type's name says what the type is without its module, so it is declared once in the
//! repository; a module has a name of the field.
use super::repository::source_files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// Type names that may be declared more than once, with the reason.
const MAY_REPEAT: &[(&str, &str)] = &[(
    "Args",
    "each subcommand declares its arguments under this name",
)];

/// Folders whose files may repeat each other's type names, with the reason.
const ALTERNATIVES: &[(&str, &str)] = &[(
    "shim/backend/src/abi",
    "one file for each MPI library, of which one is compiled",
)];

/// Type names of std, which a reader takes for std's own.
const OF_STD: &[&str] = &[
    "Arc",
    "Box",
    "Cell",
    "Command",
    "Cow",
    "Debug",
    "Display",
    "Duration",
    "Entry",
    "Error",
    "File",
    "Formatter",
    "Future",
    "Instant",
    "Iter",
    "Mutex",
    "Option",
    "Ordering",
    "Output",
    "Path",
    "Pin",
    "Poll",
    "Range",
    "Rc",
    "Read",
    "Result",
    "Send",
    "Stdio",
    "String",
    "Sync",
    "Thread",
    "Vec",
    "Waker",
    "Write",
];

/// Of this many type names, one may be a single word.
const NAMES_FOR_EACH_SINGLE_WORD: usize = 4;

/// Module names that are refused, with the reason.
const REFUSED_MODULES: &[(&[&str], &str)] = &[
    (
        &[
            "belief", "enter", "head", "kinds", "member", "members", "misc", "say", "shared",
            "spool", "util", "utils", "watch", "word", "words",
        ],
        "they do not tell what is inside",
    ),
    (
        &["core", "std", "sync"],
        "a reader takes them for a crate or a module of the standard library",
    ),
];

/// The names that a file declares.
#[derive(Default)]
struct DeclaredNames {
    types: Vec<String>,
    /// Modules whose code is in the file itself.
    modules: Vec<String>,
}

impl DeclaredNames {
    fn in_file(path: &Path, code: &str) -> DeclaredNames {
        let file = syn::parse_file(code).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut names = DeclaredNames::default();
        names.visit_file(&file);
        names
    }
}

impl<'ast> Visit<'ast> for DeclaredNames {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let declared = match item {
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Union(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::TraitAlias(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            _ => None,
        };
        self.types.extend(declared.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.modules.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
    }
}

/// Each type name with the places that declare it: files, and folders of [`ALTERNATIVES`] once.
fn declared_types() -> BTreeMap<String, Vec<PathBuf>> {
    let mut types: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in source_files() {
        let folder = ALTERNATIVES
            .iter()
            .find(|(folder, _)| file.path.starts_with(folder));
        let place = folder.map_or(file.path.clone(), |(folder, _)| PathBuf::from(folder));
        for name in DeclaredNames::in_file(&file.path, &file.code).types {
            let places = types.entry(name).or_default();
            if folder.is_none() || !places.contains(&place) {
                places.push(place.clone());
            }
        }
    }
    types
}

#[test]
fn a_type_name_is_declared_once() {
    let mut types = declared_types();
    types.retain(|_, places| places.len() > 1);
    for (name, reason) in MAY_REPEAT {
        assert!(
            types.remove(*name).is_some(),
            "{name} is not repeated any more ({reason}): take it from the list"
        );
    }
    let repeated: Vec<String> = types
        .iter()
        .map(|(name, places)| format!("{name}: {places:?}"))
        .collect();
    assert!(
        repeated.is_empty(),
        "give each of these a name that says what it is without its module:\n{}",
        repeated.join("\n")
    );
}

#[test]
fn no_type_has_a_name_of_std() {
    let types = declared_types();
    let of_std: Vec<_> = OF_STD
        .iter()
        .filter_map(|name| types.get_key_value(*name))
        .collect();
    assert!(of_std.is_empty(), "std has these names: {of_std:?}");
}

#[test]
fn a_type_name_of_one_word_is_the_exception() {
    let types = declared_types();
    let single: Vec<&String> = types
        .keys()
        .filter(|name| !name.chars().skip(1).any(char::is_uppercase))
        .collect();
    assert!(
        single.len() * NAMES_FOR_EACH_SINGLE_WORD <= types.len(),
        "{} of {} type names are a single word: {single:?}",
        single.len(),
        types.len()
    );
}

#[test]
fn modules_have_names_of_the_field() {
    let mut refused = Vec::new();
    for file in source_files() {
        let path = file.path.with_extension("");
        let mut names = DeclaredNames::in_file(&file.path, &file.code).modules;
        names.extend(path.iter().map(|part| part.to_string_lossy().into_owned()));
        for (list, reason) in REFUSED_MODULES {
            let found = names.iter().filter(|name| list.contains(&name.as_str()));
            refused
                .extend(found.map(|name| format!("{}: `{name}`: {reason}", file.path.display())));
        }
    }
    assert!(
        refused.is_empty(),
        "name these modules otherwise:\n{}",
        refused.join("\n")
    );
}

#[test]
fn declared_names_are_found_in_every_place() {
    let code = "struct A; mod inner { pub enum B {} fn f() { trait C { type D; } } }
        impl Iterator for A { type Item = u8; } type E = u8; union F { a: u8 }";
    let names = DeclaredNames::in_file(Path::new("example"), code);
    assert_eq!(names.types, ["A", "B", "C", "E", "F"]);
    assert_eq!(names.modules, ["inner"]);
}
