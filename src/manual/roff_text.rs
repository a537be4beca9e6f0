//! Text and the few forms of Markdown that the documents use, as man pages (groff_man(7)).

/// A page of section 5.
pub(super) fn page(name: &str, title: &str, markdown: &str) -> String {
    let mut out = format!(
        ".TH \"{name}\" \"5\" \"\" \"\" \"heddle\"\n.SH \"NAME\"\n{} \\- {title}\n.SH \
         \"DESCRIPTION\"\n",
        name.replace('-', "\\-")
    );
    for line in markdown.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            out.push_str(&format!(".SH \"{}\"\n", plain(heading).to_uppercase()));
        } else if !line.starts_with("# ") && !is_rule(line) {
            out.push_str(&body(line));
        }
    }
    out
}

/// A section whose indented lines are examples or explanations.
pub(super) fn section(heading: &str, text: &str) -> String {
    let lines: String = text.lines().map(body).collect();
    format!(".SH \"{heading}\"\n{lines}")
}

/// The line between the head of a table and its rows.
fn is_rule(line: &str) -> bool {
    line.starts_with("|--")
}

fn body(line: &str) -> String {
    if line.is_empty() {
        ".PP\n".to_owned()
    } else if let Some(code) = line.strip_prefix("    ") {
        format!(".RS 4\n.nf\n{}\n.fi\n.RE\n", escaped(code))
    } else if let Some(row) = line.strip_prefix("| ") {
        let mut cells = row.trim_end_matches('|').split('|').map(str::trim);
        let head = cells.next().unwrap_or_default();
        let rest: Vec<String> = cells.map(plain).collect();
        format!(".TP\n{}\n{}\n", plain(head), rest.join("; "))
    } else {
        plain(line) + "\n"
    }
}

/// A line without the marks of code, emphasis and links.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
        text = match text.rfind('[') {
            Some(open) => text[..open].to_owned() + &text[open + 1..],
            None => text,
        };
    }
    text.push_str(rest);
    escaped(&text.replace(['`', '*'], ""))
}

/// A backslash and a leading dot or apostrophe mean something to groff.
fn escaped(line: &str) -> String {
    // A plain - is a hyphen to groff, and may come out as another character than that of flags (groff_char(7)).
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    match line.starts_with(['.', '\'']) {
        true => format!("\\&{line}"),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_roff() {
        let text = "# Title\n\nSee [fleet](fleet.md), `a-b`.\n\n    .x: \\y\n\n## More\n\n| key | \
                    meaning |\n|---|---|\n| `k` | what *it* is |\n";
        let page = page("heddle-x", "a file", text);
        for part in [
            "heddle\\-x \\- a file",
            "See fleet, a\\-b.",
            ".nf\n\\&.x: \\ey\n.fi",
            ".SH \"MORE\"",
            ".TP\nk\nwhat it is",
        ] {
            assert!(page.contains(part), "{part:?}: {page}");
        }
        assert!(!page.contains("Title") && !page.contains("---"), "{page}");
    }
}
