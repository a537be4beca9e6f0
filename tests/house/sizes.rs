//! Sizes: a file is read in one go, a function fits on a screen.
use super::repository::source_files;
use syn::visit::{self, Visit};

/// Lines of a file, at rustfmt's defaults.
const LINES_OF_A_FILE: usize = 600;

/// Lines of a function, from its signature to its closing brace.
const LINES_OF_A_FUNCTION: usize = 60;

/// The functions of a file, each with its lines.
#[derive(Default)]
struct FunctionSizes(Vec<(String, usize)>);

impl FunctionSizes {
    fn in_code(code: &str) -> FunctionSizes {
        let mut sizes = FunctionSizes::default();
        sizes.visit_file(&syn::parse_file(code).expect("the other tests have read it"));
        sizes
    }

    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let (first, last) = (signature.fn_token.span, body.brace_token.span.close());
        let lines = last.end().line + 1 - first.start().line;
        self.0.push((signature.ident.to_string(), lines));
    }
}

impl<'ast> Visit<'ast> for FunctionSizes {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[test]
fn files_and_functions_are_short() {
    let mut long = Vec::new();
    for file in source_files() {
        let (path, lines) = (file.path.display(), file.code.lines().count());
        if lines > LINES_OF_A_FILE {
            long.push(format!("{path}: {lines} lines"));
        }
        let functions = FunctionSizes::in_code(&file.code)
            .0
            .into_iter()
            .filter(|(_, lines)| *lines > LINES_OF_A_FUNCTION);
        long.extend(functions.map(|(name, lines)| format!("{path}: {name}: {lines} lines")));
    }
    assert!(
        long.is_empty(),
        "split each by its ideas:\n{}",
        long.join("\n")
    );
}

#[test]
fn functions_are_measured_in_every_place() {
    let code = "fn one() {}\nimpl A {\n    fn three(\n    ) {\n    }\n}\ntrait B {\n    fn none();\n    \
                fn two() {\n    }\n}\nmod c {\n    fn one_more() {}\n}\n";
    let sizes: Vec<(String, usize)> = FunctionSizes::in_code(code).0;
    let expected = [("one", 1), ("three", 3), ("two", 2), ("one_more", 1)];
    assert_eq!(
        sizes,
        expected.map(|(name, lines)| (name.to_owned(), lines))
    );
}
