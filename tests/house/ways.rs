//! A way of calls is named in its own file. Whoever wants to know something of it asks its row, so a new way
//! touches few files.
use super::repository::source_files;
use std::collections::BTreeSet;
use std::path::Path;
use syn::visit::{self, Visit};

/// The ways, one file each.
const OWN: &str = "schedules/policy/src/ways";

/// Other files of the product that name one, each for the reason beside it.
const OTHERS: &[(&str, &str)] = &[
    (
        "experiments/wire/src/ways.rs",
        "plans for all ranks of a large network at once",
    ),
    (
        "schedules/trace/src/critical_path.rs",
        "blocks that stream around one ring",
    ),
];

/// The ways that code names, `Way::Aapc`; not in its tests, nor the library's own routine.
#[derive(Default)]
struct NamedWays(BTreeSet<String>);

impl<'ast> Visit<'ast> for NamedWays {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("cfg"))
        {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if let [.., of, name] = names.as_slice()
            && of == "Way"
        {
            self.add(name);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let text = format!(" {}", called.tokens);
        for after in text.split(" Way :: ").skip(1) {
            self.add(
                after
                    .split(|c: char| !c.is_alphanumeric())
                    .next()
                    .unwrap_or(""),
            );
        }
    }
}

impl NamedWays {
    fn add(&mut self, name: &str) {
        if name != "Native" && name.starts_with(char::is_uppercase) {
            self.0.insert(name.to_owned());
        }
    }
}

#[test]
fn ways_are_named_in_their_own_files() {
    let mut naming = BTreeSet::new();
    let (mut own, mut others) = (BTreeSet::new(), Vec::new());
    for file in source_files() {
        let mut named = NamedWays::default();
        named.visit_file(&syn::parse_file(&file.code).expect("the other tests have read it"));
        let path = file.path.display().to_string();
        if file.path.starts_with(OWN) {
            own.append(&mut named.0);
        } else if !is_test(&file.path) && !named.0.is_empty() {
            naming.insert(path.clone());
            if !OTHERS.iter().any(|(other, _)| *other == path) {
                others.push(format!("{path}: {:?}", named.0));
            }
        }
    }
    assert!(own.contains("Rings"), "the ways are in {OWN}: {own:?}");
    assert!(
        others.is_empty(),
        "ask the row of a way instead:\n{}",
        others.join("\n")
    );
    for (other, _) in OTHERS {
        assert!(naming.contains(*other), "{other} names no way any more");
    }
}

fn is_test(path: &Path) -> bool {
    let mut parts = path.iter();
    parts.any(|part| part == "tests" || part == "tests.rs")
}
