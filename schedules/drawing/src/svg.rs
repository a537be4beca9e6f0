//! Elements of SVG. Every text and every attribute is escaped here and nowhere else, and hidden
//! characters become visible ones.
//!
//! Source: SVG 1.1 (W3C), XML 1.0. Deviations: no namespace but SVG's own, no entity but the
//! predefined ones.
use crate::palette;
use inventory::sanitize::visible;
use std::fmt::{self, Write};

/// An element with its attributes and its content.
#[derive(Debug, Clone)]
pub struct SvgElement {
    name: &'static str,
    attributes: String,
    content: String,
}

impl SvgElement {
    /// An element without attributes and content.
    pub fn new(name: &'static str) -> SvgElement {
        SvgElement {
            name,
            attributes: String::new(),
            content: String::new(),
        }
    }

    /// A group of elements.
    pub fn group() -> SvgElement {
        SvgElement::new("g")
    }

    /// A rectangle with rounded corners.
    pub fn rect(x: f64, y: f64, width: f64, height: f64, round: f64) -> SvgElement {
        let rect = SvgElement::new("rect")
            .number("x", x)
            .number("y", y)
            .number("width", width)
            .number("height", height);
        if round > 0.0 {
            rect.number("rx", round)
        } else {
            rect
        }
    }

    /// A path by its commands, which are heddle's own.
    pub fn path(commands: &str) -> SvgElement {
        SvgElement::new("path").with("d", commands)
    }

    /// A straight line.
    pub fn line(from: (f64, f64), to: (f64, f64)) -> SvgElement {
        SvgElement::new("line")
            .number("x1", from.0)
            .number("y1", from.1)
            .number("x2", to.0)
            .number("y2", to.1)
    }

    /// A text that begins at a place.
    pub fn text(x: f64, y: f64, text: &str) -> SvgElement {
        let mut element = SvgElement::new("text").number("x", x).number("y", y);
        element.content = escaped(text);
        element
    }

    /// A style sheet, which is heddle's own: XML needs nothing of it escaped.
    pub(crate) fn style_sheet(css: &str) -> SvgElement {
        let mut element = SvgElement::new("style");
        element.content = format!("\n{css}");
        element
    }

    /// Sets an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> SvgElement {
        let _ = write!(self.attributes, " {name}=\"{}\"", escaped(value));
        self
    }

    /// Sets an attribute to a number, with one digit behind the point at most.
    #[must_use]
    pub fn number(mut self, name: &str, value: f64) -> SvgElement {
        let _ = write!(self.attributes, " {name}=\"{}\"", SvgNumber(value));
        self
    }

    /// Sets the classes, see [`palette`].
    #[must_use]
    pub fn class(self, classes: &str) -> SvgElement {
        self.with("class", classes)
    }

    /// Lets a text end, or have its middle, at its place: `end`, `middle`.
    #[must_use]
    pub fn anchor(self, anchor: &str) -> SvgElement {
        self.with("text-anchor", anchor)
    }

    /// Adds a text that viewers show under the pointer.
    #[must_use]
    pub fn tip(mut self, text: &str) -> SvgElement {
        let _ = write!(self.content, "<title>{}</title>", escaped(text));
        self
    }

    /// Adds an element behind the content so far.
    #[must_use]
    pub fn and(mut self, child: SvgElement) -> SvgElement {
        self.push(child);
        self
    }

    /// As [`SvgElement::and`].
    pub fn push(&mut self, child: SvgElement) {
        let _ = write!(self.content, "{child}");
    }
}

impl fmt::Display for SvgElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SvgElement {
            name,
            attributes,
            content,
        } = self;
        match content.is_empty() {
            true => writeln!(f, "<{name}{attributes}/>"),
            false if *name == "g" => write!(f, "<{name}{attributes}>\n{content}</{name}>\n"),
            false => writeln!(f, "<{name}{attributes}>{content}</{name}>"),
        }
    }
}

/// A coordinate: the same number is always the same text.
pub struct SvgNumber(pub f64);

impl fmt::Display for SvgNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        let sign = if tenths < 0 { "-" } else { "" };
        match (tenths.abs() / 10, tenths.abs() % 10) {
            (whole, 0) => write!(f, "{sign}{whole}"),
            (whole, tenth) => write!(f, "{sign}{whole}.{tenth}"),
        }
    }
}

/// A drawing with its size.
#[derive(Debug, Clone)]
pub struct SvgPicture {
    /// Its width, in pixels.
    pub width: f64,
    /// Its height, in pixels.
    pub height: f64,
    pub content: SvgElement,
}

impl SvgPicture {
    /// A document of its own, in light or dark as the viewer likes it. `about` says what it shows
    /// to those who cannot see it.
    pub fn document(&self, about: &str) -> String {
        self.root(about)
            .and(SvgElement::style_sheet(&palette::css()))
            .and(SvgElement::rect(0.0, 0.0, self.width, self.height, 0.0).class("paper"))
            .and(self.content.clone())
            .to_string()
    }

    /// The same for a page that has [`palette::css`] in its own style sheet.
    pub fn within_page(&self, about: &str) -> String {
        self.root(about).and(self.content.clone()).to_string()
    }

    fn root(&self, about: &str) -> SvgElement {
        let (width, height) = (self.width.ceil(), self.height.ceil());
        SvgElement::new("svg")
            .with("xmlns", "http://www.w3.org/2000/svg")
            .with("viewBox", &format!("0 0 {width} {height}"))
            .number("width", width)
            .number("height", height)
            .with("font-family", "system-ui, 'DejaVu Sans', sans-serif")
            .number("font-size", 12.0)
            .with("role", "img")
            .tip(about)
    }

    /// The picture shifted by some pixels, for a larger one.
    pub fn at(&self, x: f64, y: f64) -> SvgElement {
        let shift = format!("translate({} {})", SvgNumber(x), SvgNumber(y));
        SvgElement::group()
            .with("transform", &shift)
            .and(self.content.clone())
    }
}

/// A text as content of an element or an attribute.
pub fn escaped(text: &str) -> String {
    visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// The width of a text in a common sans-serif font of this size; rather too much than too little.
pub fn text_width(text: &str, size: f64) -> f64 {
    visible(text)
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.34,
            'f' | 'r' | 't' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' | 'I' | 'J' => 0.42,
            'm' | 'M' | 'W' | '%' | '@' => 0.98,
            'w' | 'A'..='Z' | '+' | '=' | '<' | '>' | '±' | '→' => 0.79,
            '\0'..='\u{2ff}' => 0.63,
            '\u{1100}'.. => 1.05,
            _ => 0.75,
        })
        .sum::<f64>()
        * size
}

/// A text that is at most so wide. The middle of a longer one gives way: names differ at their
/// ends.
pub fn shortened(text: &str, size: f64, most: f64) -> String {
    if text_width(text, size) <= most {
        return text.to_owned();
    }
    let signs: Vec<char> = text.chars().collect();
    let kept = |keep: usize| -> String {
        let head: String = signs[..keep.div_ceil(2)].iter().collect();
        let tail: String = signs[signs.len() - keep / 2..].iter().collect();
        format!("{head}…{tail}")
    };
    kept(
        (0..signs.len())
            .rev()
            .find(|keep| text_width(&kept(*keep), size) <= most)
            .unwrap_or(0),
    )
}

/// A text in lines of at most this width, broken between words.
pub fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = shortened(word, size, most);
        match lines.last_mut() {
            Some(line)
                if text_width(line, size) + text_width(&word, size) + size * 0.42 <= most =>
            {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        let hostile = "</text><script>alert(\"1\")</script>&'\u{202e}\u{1b}\u{0}";
        let element = SvgElement::text(1.0, 2.25, hostile).with("data-a", hostile);
        let text = element.to_string();
        assert_eq!(text.matches('<').count(), 2, "{text}");
        assert!(!text.contains(['\u{202e}', '\u{1b}', '\u{0}']), "{text}");
        assert!(text.contains("x=\"1\" y=\"2.3\""), "{text}");
    }

    #[test]
    fn names_give_way_in_their_middle() {
        let name = "compute-017.rack-3.example.org";
        let short = shortened(name, 12.0, 100.0);
        assert!(text_width(&short, 12.0) <= 100.0);
        assert!(
            short.starts_with("comp") && short.ends_with("org"),
            "{short}"
        );
        assert_eq!(shortened("s0", 12.0, 100.0), "s0");
    }

    #[test]
    fn long_texts_have_several_lines() {
        let text = "one two three four five sixsixsixsixsixsixsixsixsixsixsix";
        let lines = wrapped(text, 12.0, 100.0);
        assert!(lines.len() > 2, "{lines:?}");
        assert!(
            lines.iter().all(|line| text_width(line, 12.0) <= 100.0),
            "{lines:?}"
        );
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, -0.04, 1.05, -2.5, 100.0].map(|n| SvgNumber(n).to_string());
        assert_eq!(shown, ["0", "0", "1.1", "-2.5", "100"]);
    }
}
