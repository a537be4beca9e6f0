//! docs/api.md has every field of the API's types.

#[test]
fn the_document_has_every_type_and_field() {
    let document = include_str!("../../../docs/api.md");
    let source = concat!(
        include_str!("../src/lib.rs"),
        include_str!("../src/mapping.rs")
    );
    let mut section = "";
    let mut fields = 0;
    for line in source.lines() {
        if let Some(name) = line.strip_prefix("pub struct ") {
            let name = name.trim_end_matches(" {");
            let at = document.split_once(&format!("### {name}\n"));
            let (_, after) = at.unwrap_or_else(|| panic!("docs/api.md lacks {name}"));
            section = after.split("\n### ").next().unwrap_or_default();
        } else if let Some(field) = line.strip_prefix("    pub ")
            && let Some((name, _)) = field.split_once(": ")
            && !field.starts_with("fn ")
        {
            assert!(
                section.contains(&format!("| `{name}` | ")),
                "{name}: {section}"
            );
            fields += 1;
        }
    }
    assert!(fields > 50, "{fields}");
}
