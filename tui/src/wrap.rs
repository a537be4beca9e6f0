//! Breaks long lines at blanks. A labelled line goes on below its value, not below its label.
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Breaks `line` into lines of at most `width` cells.
pub(crate) fn wrap(line: Line<'static>, width: usize) -> Vec<Line<'static>> {
    if line.width() <= width || width == 0 {
        return vec![line];
    }
    let label = line
        .spans
        .first()
        .filter(|s| line.spans.len() > 1 && s.content.ends_with(' '));
    let hang = label.map_or(0, Span::width).min(width / 2);
    let mut lines = vec![Line::default()];
    let mut used = 0;
    for span in line.spans {
        for word in span.content.split_inclusive(' ') {
            push(&mut lines, &mut used, word, span.style, width, hang);
        }
    }
    lines
}

/// Puts a word on this line if there is room, else on the next line; a word longer than a line is
/// cut.
fn push(
    lines: &mut Vec<Line<'static>>,
    used: &mut usize,
    word: &str,
    style: Style,
    width: usize,
    hang: usize,
) {
    if *used + Span::raw(word.trim_end()).width() > width && *used > hang {
        next_line(lines, used, hang);
    }
    let mut part = String::new();
    for c in word.chars() {
        let cells = Span::raw(c.to_string()).width();
        if *used + cells > width && c == ' ' {
            continue; // The end of the line takes its place.
        }
        if *used + cells > width {
            append(lines, std::mem::take(&mut part), style);
            next_line(lines, used, hang);
        }
        part.push(c);
        *used += cells;
    }
    append(lines, part, style);
}

fn next_line(lines: &mut Vec<Line<'static>>, used: &mut usize, hang: usize) {
    lines.push(Line::raw(" ".repeat(hang)));
    *used = hang;
}

fn append(lines: &mut [Line<'static>], text: String, style: Style) {
    if let Some(line) = lines.last_mut().filter(|_| !text.is_empty()) {
        line.push_span(Span::styled(text, style));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(line: Line<'static>, width: usize) -> Vec<String> {
        wrap(line, width)
            .iter()
            .map(|l| l.to_string().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn values_hang_below_values() {
        let line = Line::from(vec![
            Span::raw("why  "),
            Span::raw("n3 moved from s0 to s1"),
        ]);
        assert_eq!(
            wrapped(line, 14),
            ["why  n3 moved", "     from s0", "     to s1"]
        );
        assert_eq!(
            wrapped(Line::raw("a plain text of words"), 8),
            ["a plain", "text of", "words"]
        );
    }

    #[test]
    fn no_line_is_too_long_for_its_last_blank() {
        let lines = wrap(Line::raw("full line and more"), 9);
        assert!(lines.iter().all(|l| l.width() <= 9), "{lines:?}");
    }

    #[test]
    fn a_word_without_end_is_cut_and_wide_characters_stay_whole() {
        assert_eq!(wrapped(Line::raw("abcdefghij"), 4), ["abcd", "efgh", "ij"]);
        assert_eq!(
            wrapped(Line::raw("交换机交换机"), 5),
            ["交换", "机交", "换机"]
        );
    }
}
