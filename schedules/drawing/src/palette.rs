//! The colours of all pictures, in light and dark. An element names its role as its class, and one
//! style sheet says which colour that is.
use std::fmt::Write as _;

/// Series that differ by their colours; further ones repeat them.
pub const SERIES: usize = 8;

/// Class, property, colour in light, colour in dark.
const COLOURS: &[(&str, &str, &str, &str)] = &[
    ("paper", "fill", "#ffffff", "#0d1117"),
    ("card", "fill", "#f6f8fa", "#161b22"),
    ("card", "stroke", "#c3ccd6", "#3d444d"),
    ("head", "fill", "#e4ebf3", "#212a36"),
    ("ink", "fill", "#1f2328", "#e6edf3"),
    ("dim", "fill", "#59636e", "#9198a1"),
    ("rule", "stroke", "#d8dee4", "#2b323b"),
    ("axis", "stroke", "#59636e", "#9198a1"),
    ("link", "stroke", "#57606a", "#8b949e"),
    ("hot", "stroke", "#d1570f", "#ff9a4d"),
    ("hot-ink", "fill", "#b34700", "#ffa657"),
    ("blocked", "stroke", "#cf222e", "#ff7b72"),
    ("blocked-ink", "fill", "#c21c28", "#ff8c84"),
    ("doubt", "stroke", "#9a6700", "#d9a521"),
    ("doubt-ink", "fill", "#8a5c00", "#e3b341"),
    ("new", "stroke", "#1a7f37", "#3fb950"),
    ("new-ink", "fill", "#1a7f37", "#56d364"),
    ("gone", "stroke", "#cf222e", "#ff7b72"),
    ("gone-ink", "fill", "#c21c28", "#ff8c84"),
    ("plan", "fill", "#c9d1d9", "#3d444d"),
    ("path", "stroke", "#cf222e", "#ff7b72"),
    ("halo", "stroke", "#ffffff", "#0d1117"),
];

/// The colours of series: people with any colour vision can tell them apart (Okabe and Ito, with
/// grey for their black and a darker yellow on white).
const SERIES_COLOURS: [(&str, &str); SERIES] = [
    ("#0072b2", "#56a8f5"),
    ("#d55e00", "#ff9248"),
    ("#009e73", "#2fd0a5"),
    ("#cc79a7", "#ec9cc8"),
    ("#6e7781", "#b1bac4"),
    ("#4aa3df", "#8cd0ff"),
    ("#b58900", "#f0d050"),
    ("#7f4fc9", "#b893ff"),
];

/// The styles that do not depend on light and dark.
const SHAPES: &str = "\
text{unicode-bidi:plaintext}
.bold{font-weight:600}
.small{font-size:10.5px}
.title{font-size:15px;font-weight:600}
.mono{font-family:ui-monospace,'DejaVu Sans Mono',monospace}
.link,.hot,.blocked,.doubt,.new,.gone,.rule,.axis,.path{fill:none}
.blocked{stroke-dasharray:5 4}
.doubt{stroke-dasharray:9 4}
.ambiguous{stroke-dasharray:2 4}
.stale{opacity:.55}
.halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}
";

/// The style sheet.
pub fn css() -> String {
    let (mut light, mut dark) = (SHAPES.to_owned(), String::new());
    for (class, property, in_light, in_dark) in COLOURS {
        let _ = writeln!(light, ".{class}{{{property}:{in_light}}}");
        let _ = writeln!(dark, ".{class}{{{property}:{in_dark}}}");
    }
    for (i, (in_light, in_dark)) in SERIES_COLOURS.iter().enumerate() {
        let _ = writeln!(
            light,
            ".fill{i}{{fill:{in_light}}}\n.line{i}{{stroke:{in_light};fill:none}}"
        );
        let _ = writeln!(
            dark,
            ".fill{i}{{fill:{in_dark}}}\n.line{i}{{stroke:{in_dark};fill:none}}"
        );
    }
    format!("{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n")
}

/// The class that fills with the colour of a series.
pub fn fill(series: usize) -> String {
    format!("fill{}", series % SERIES)
}

/// The class that draws lines in the colour of a series.
pub fn line(series: usize) -> String {
    format!("line{}", series % SERIES)
}
