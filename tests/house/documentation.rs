//! Doc comments: public types and functions have one, and none repeats a field's name.
use super::repository::{SourceFile, source_files};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Meta, Visibility};

/// Words that tell nothing beside a name.
const ARTICLES: &[&str] = &["a", "an", "its", "of", "the"];

/// The faults of the doc comments of a file.
#[derive(Default)]
struct CommentFaults {
    /// Public things without a doc comment.
    missing: Vec<String>,
    /// Fields and variants whose doc comment is their name again.
    repeated: Vec<String>,
}

impl CommentFaults {
    fn in_code(code: &str) -> CommentFaults {
        let mut faults = CommentFaults::default();
        faults.visit_file(&syn::parse_file(code).expect("the other tests have read it"));
        faults
    }

    fn check_public(&mut self, visibility: &Visibility, attributes: &[Attribute], name: &Ident) {
        if matches!(visibility, Visibility::Public(_)) && doc_comment(attributes).is_empty() {
            self.missing.push(name.to_string());
        }
    }

    fn check_repeated(&mut self, attributes: &[Attribute], name: &Ident) {
        let comment = doc_comment(attributes).to_lowercase();
        let name = name.to_string().to_lowercase().replace('_', "");
        let mut words = comment
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !ARTICLES.contains(word))
            .peekable();
        if words.peek().is_some() && words.all(|word| name.contains(word)) {
            self.repeated.push(name);
        }
    }
}

/// The text of the doc comment among attributes.
fn doc_comment(attributes: &[Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        });
    lines.collect()
}

impl<'ast> Visit<'ast> for CommentFaults {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Struct(item) => self.check_public(&item.vis, &item.attrs, &item.ident),
            syn::Item::Enum(item) => self.check_public(&item.vis, &item.attrs, &item.ident),
            syn::Item::Trait(item) => {
                self.check_public(&item.vis, &item.attrs, &item.ident);
                for inner in &item.items {
                    if let syn::TraitItem::Fn(inner) = inner {
                        self.check_public(&item.vis, &inner.attrs, &inner.sig.ident);
                    }
                }
            }
            syn::Item::Static(item) => self.check_public(&item.vis, &item.attrs, &item.ident),
            syn::Item::Type(item) => self.check_public(&item.vis, &item.attrs, &item.ident),
            syn::Item::Const(item) => self.check_public(&item.vis, &item.attrs, &item.ident),
            syn::Item::Fn(item) => self.check_public(&item.vis, &item.attrs, &item.sig.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.check_public(&item.vis, &item.attrs, &item.sig.ident);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.check_repeated(&variant.attrs, &variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.check_repeated(&field.attrs, name);
        }
        visit::visit_field(self, field);
    }
}

#[test]
fn doc_comments_say_more_than_names() {
    let (mut missing, mut repeated) = (Vec::new(), Vec::new());
    for SourceFile { path, code } in source_files() {
        let faults = CommentFaults::in_code(&code);
        for (names, all) in [
            (faults.missing, &mut missing),
            (faults.repeated, &mut repeated),
        ] {
            all.extend(
                names
                    .iter()
                    .map(|name| format!("{}: {name}", path.display())),
            );
        }
    }
    assert!(
        missing.is_empty(),
        "say what these are:\n{}",
        missing.join("\n")
    );
    assert!(
        repeated.is_empty(),
        "delete these comments:\n{}",
        repeated.join("\n")
    );
}

#[test]
fn faults_of_doc_comments_are_found() {
    let code = "/// A thing.\npub struct A {\n    /// The host.\n    pub host: String,\n    /// Its \
                host, sorted.\n    hosts: u8,\n}\npub enum B {\n    /// At the port.\n    \
                Port,\n}\nimpl A {\n    pub fn f() {}\n    fn g() {}\n}\n";
    let faults = CommentFaults::in_code(code);
    assert_eq!(faults.missing, ["B", "f"]);
    assert_eq!(faults.repeated, ["host"]);
}
