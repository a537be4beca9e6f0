//! Ceilings that only fall: closures that get a name, functions named `of`, and words of the house where the
//! field has others.
use super::repository::source_files;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Block, Expr, Ident, ImplItemFn, Local, Pat, Path, Stmt};

/// Closures with a name: a reader meets each before it is needed. A method, a function or the place where it is
/// used is better.
const NAMED_CLOSURES: usize = 844;

/// Names given anew to what was made of them, `let tls = …; let tls = tls.…`: a reader asks which one is meant.
const STEPPED_NAMES: usize = 212;

/// Functions named `of`: a name that says what comes out is better.
const NAMED_OF: usize = 10;

/// Words of the house, in code and comments, where an engineer of the field says otherwise.
const WORDS: &[(&str, usize)] = &[
    ("told", 35),
    ("said", 18),
    ("heard", 35),
    ("knows", 165),
    ("seat", 3),
    ("seats", 2),
    ("story", 1),
    ("twin", 1),
    ("prospect", 1),
    ("rota", 1),
];

#[derive(Default)]
struct NamedThings {
    closures: usize,
    stepped: usize,
    of: usize,
}

/// Whether an expression reads a name.
struct NameReader<'n> {
    name: &'n Ident,
    reads: bool,
}

impl<'ast> Visit<'ast> for NameReader<'_> {
    fn visit_path(&mut self, path: &'ast Path) {
        self.reads |= path.is_ident(self.name);
        visit::visit_path(self, path);
    }
}

/// The one name that a pattern gives.
fn given_name(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(pattern) => Some(&pattern.ident),
        Pat::Type(pattern) => given_name(&pattern.pat),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for NamedThings {
    fn visit_block(&mut self, block: &'ast Block) {
        let mut given = BTreeSet::new();
        for statement in &block.stmts {
            let Stmt::Local(local) = statement else {
                continue;
            };
            if let (Some(name), Some(init)) = (given_name(&local.pat), &local.init) {
                let mut reader = NameReader { name, reads: false };
                reader.visit_expr(&init.expr);
                self.stepped += usize::from(!given.insert(name) && reader.reads);
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        let value = local.init.as_ref().map(|init| &*init.expr);
        self.closures += usize::from(matches!(value, Some(Expr::Closure(_))));
        visit::visit_local(self, local);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.of += usize::from(item.sig.ident == "of");
        visit::visit_impl_item_fn(self, item);
    }
}

#[test]
fn fewer_closures_have_names_fewer_names_step_through_and_fewer_constructors_are_of() {
    let mut named = NamedThings::default();
    for file in source_files() {
        named.visit_file(&syn::parse_file(&file.code).expect("the other tests have read it"));
    }
    let NamedThings {
        closures,
        stepped,
        of,
    } = named;
    assert!(
        closures <= NAMED_CLOSURES,
        "{closures} closures have a name, at most {NAMED_CLOSURES}"
    );
    assert!(
        stepped <= STEPPED_NAMES,
        "{stepped} names step through, at most {STEPPED_NAMES}"
    );
    assert!(
        of <= NAMED_OF,
        "{of} functions are named `of`, at most {NAMED_OF}"
    );
}

#[test]
fn names_that_step_through_are_found() {
    let mut named = NamedThings::default();
    let code = "fn f() { let a = 1; let b = a; let a = a + b; { let a = a; } let a: u8 = 2; let a = |a| a; }";
    named.visit_file(&syn::parse_file(code).expect("code"));
    assert_eq!((named.stepped, named.closures), (2, 1));
}

#[test]
fn fewer_words_are_of_the_house() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in source_files() {
        for word in file.code.split(|c: char| !c.is_ascii_alphabetic()) {
            *counts.entry(word.to_ascii_lowercase()).or_default() += 1;
        }
    }
    let more: Vec<String> = WORDS
        .iter()
        .map(|(word, most)| (word, counts.get(*word).copied().unwrap_or(0), most))
        .filter(|(_, found, most)| found > most)
        .map(|(word, found, most)| format!("\"{word}\": {found} times, at most {most}"))
        .collect();
    assert!(
        more.is_empty(),
        "say it as the field does:\n{}",
        more.join("\n")
    );
}
