//! Ceilings that only fall: closures that get a name, functions named `of`, and words of the house where the
//! field has others.
use super::repository::source_files;
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Expr, ImplItemFn, Local};

/// Closures with a name: a reader meets each before it is needed. A method, a function or the place where it is
/// used is better.
const NAMED_CLOSURES: usize = 1_801;

/// Functions named `of`: a name that says what comes out is better.
const NAMED_OF: usize = 10;

/// Words of the house, in code and comments, where an engineer of the field says otherwise.
const WORDS: &[(&str, usize)] = &[
    ("told", 950),
    ("said", 715),
    ("heard", 430),
    ("knows", 165),
    ("seat", 245),
    ("seats", 275),
    ("story", 2),
    ("twin", 8),
    ("prospect", 1),
    ("rota", 5),
];

#[derive(Default)]
struct NamedThings {
    closures: usize,
    of: usize,
}

impl<'ast> Visit<'ast> for NamedThings {
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
fn fewer_closures_have_names_and_fewer_constructors_are_of() {
    let mut named = NamedThings::default();
    for file in source_files() {
        named.visit_file(&syn::parse_file(&file.code).expect("the other tests have read it"));
    }
    let NamedThings { closures, of } = named;
    assert!(
        closures <= NAMED_CLOSURES,
        "{closures} closures have a name, at most {NAMED_CLOSURES}"
    );
    assert!(
        of <= NAMED_OF,
        "{of} functions are named `of`, at most {NAMED_OF}"
    );
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
