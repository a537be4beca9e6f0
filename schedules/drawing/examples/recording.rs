//! Draws the recording of a terminal (asciicast, version 2) as an SVG that plays by itself:
//!
//! ```text
//! asciinema rec -c "heddle demo --text" demo.cast
//! cargo run -p drawing --example recording < demo.cast > demo.svg
//! ```
//!
//! It is for programs that write one line after the other, as the demo does without a terminal.
use drawing::svg::{SvgElement, SvgPicture};
use std::error::Error;

/// Nobody wants to wait longer for the next line, in seconds.
const LONGEST_PAUSE: f64 = 1.5;
const LINE: f64 = 17.0;
const MARGIN: f64 = 18.0;
/// The width of a letter: all are equally wide.
const LETTER: f64 = 7.3;

/// A line of the terminal, and when it was complete.
struct RecordedLine {
    at: f64,
    text: String,
}

/// The lines of a recording, with pauses cut short.
fn lines(cast: &str) -> Result<Vec<RecordedLine>, Box<dyn Error>> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    let (mut now, mut before) = (0.0, 0.0);
    for event in cast.lines().skip(1) {
        let (at, kind, text): (f64, String, String) = serde_json::from_str(event)?;
        now += (at - before).clamp(0.0, LONGEST_PAUSE);
        before = at;
        if kind != "o" {
            continue;
        }
        for sign in text.chars() {
            match sign {
                '\n' => lines.push(RecordedLine {
                    at: now,
                    text: std::mem::take(&mut line),
                }),
                '\r' => {}
                sign => line.push(sign),
            }
        }
    }
    Ok(lines)
}

/// All lines, each hidden until its time. Viewers that play nothing show all of them.
fn picture(lines: &[RecordedLine]) -> SvgPicture {
    let mut content = SvgElement::group();
    for (i, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.text.is_empty())
    {
        let class = match &line.text {
            text if text.starts_with("==") => "ink bold mono",
            text if text.ends_with("times as fast") => "new-ink bold mono",
            _ => "ink mono",
        };
        let until = SvgElement::new("set")
            .with("attributeName", "visibility")
            .with("to", "hidden")
            .with("begin", "0s")
            .with("dur", &format!("{:.2}s", line.at.max(0.01)));
        let text = SvgElement::text(MARGIN, MARGIN + LINE * (i + 1) as f64, &line.text);
        content.push(text.class(class).with("xml:space", "preserve").and(until));
    }
    let widest = lines
        .iter()
        .map(|line| line.text.chars().count() as f64 * LETTER);
    SvgPicture {
        width: widest.fold(400.0, f64::max) + 2.0 * MARGIN,
        height: LINE * (lines.len() + 1) as f64 + 2.0 * MARGIN,
        content,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let lines = lines(&std::io::read_to_string(std::io::stdin())?)?;
    print!("{}", picture(&lines).document("a recording of heddle demo"));
    Ok(())
}
