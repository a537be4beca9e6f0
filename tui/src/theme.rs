//! Colours. A word, a letter or a shape shows each state; colour only repeats it, so every theme
//! shows the same text.
use ratatui::style::{Color, Modifier, Style};
use std::fmt;
use std::str::FromStr;

/// A named set of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// For a dark background.
    #[default]
    Dark,
    /// For a light background.
    Light,
    /// For every kind of colour vision, on a dark background, after the palette of Okabe and Ito,
    /// "Color Universal Design" (2008).
    ColourBlind,
    /// The terminal's own sixteen colours, for whoever has made a palette of them.
    Terminal,
    /// No colour, only bold, dim and reversed text.
    Mono,
}

impl Theme {
    /// All themes with their names.
    pub const NAMES: [(&'static str, Theme); 5] = [
        ("dark", Theme::Dark),
        ("light", Theme::Light),
        ("colour-blind", Theme::ColourBlind),
        ("terminal", Theme::Terminal),
        ("mono", Theme::Mono),
    ];

    /// The theme after this one.
    pub(crate) fn next(self) -> Theme {
        let at = Theme::NAMES.iter().position(|(_, t)| *t == self);
        Theme::NAMES[at.map_or(0, |at| (at + 1) % Theme::NAMES.len())].1
    }
}

impl fmt::Display for Theme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Theme::NAMES.iter().find(|(_, t)| t == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

/// A theme name that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("theme \"{0}\" is unknown; known themes: dark, light, colour-blind, terminal, mono")]
pub struct UnknownTheme(String);

impl FromStr for Theme {
    type Err = UnknownTheme;

    fn from_str(name: &str) -> Result<Theme, UnknownTheme> {
        let name = match name {
            "color-blind" => "colour-blind",
            "default" => "dark",
            name => name,
        };
        let known = Theme::NAMES.iter().find(|(n, _)| *n == name);
        known
            .map(|(_, theme)| *theme)
            .ok_or_else(|| UnknownTheme(name.to_owned()))
    }
}

/// The colours that a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColourDepth {
    /// 24 bits.
    #[default]
    True,
    /// 256: sixteen of its own, a cube of 216 and 24 greys.
    Indexed,
    Sixteen,
    None,
}

/// The style of each kind of text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    pub(crate) text: Style,
    pub(crate) strong: Style,
    pub(crate) dim: Style,
    /// The part that has the focus.
    pub(crate) accent: Style,
    pub(crate) good: Style,
    pub(crate) warn: Style,
    pub(crate) bad: Style,
    /// A line that must not be overlooked.
    pub(crate) banner: Style,
    pub(crate) selected: Style,
    pub(crate) bar: Style,
    /// The line of the bound in the chart.
    pub(crate) bound: Style,
}

/// The colours of a theme. None is one of the terminal's own sixteen: Solarized and its like give
/// several of those the colour of the background, or nearly so.
struct ThemeColours {
    accent: u32,
    good: u32,
    warn: u32,
    bad: u32,
    bar: u32,
    dim: u32,
    /// The selected line.
    back: u32,
    front: u32,
}

const DARK: ThemeColours = ThemeColours {
    accent: 0x5fd7ff,
    good: 0x87d787,
    warn: 0xffd75f,
    bad: 0xff8787,
    bar: 0x5fafff,
    dim: 0x9aa5ab,
    back: 0x3a4b5c,
    front: 0xffffff,
};

const LIGHT: ThemeColours = ThemeColours {
    accent: 0x005f87,
    good: 0x005f00,
    warn: 0x875f00,
    bad: 0xaf0000,
    bar: 0x005faf,
    dim: 0x5f6670,
    back: 0xd0dce8,
    front: 0x000000,
};

const COLOUR_BLIND: ThemeColours = ThemeColours {
    accent: 0x56b4e9,
    good: 0x00ae80,
    warn: 0xe69f00,
    bad: 0xff875f,
    bar: 0x4aa3df,
    dim: 0xa8a8a8,
    back: 0x3a3f4b,
    front: 0xffffff,
};

impl Theme {
    pub(crate) fn palette(self, depth: ColourDepth) -> Palette {
        match (self, depth) {
            (Theme::Mono, _) | (_, ColourDepth::None) => mono(),
            (Theme::Terminal, _) | (_, ColourDepth::Sixteen) => sixteen(),
            (Theme::Dark, _) => coloured(&DARK, depth),
            (Theme::Light, _) => coloured(&LIGHT, depth),
            (Theme::ColourBlind, _) => coloured(&COLOUR_BLIND, depth),
        }
    }
}

fn coloured(colours: &ThemeColours, depth: ColourDepth) -> Palette {
    let fg = |rgb| Style::new().fg(colour(rgb, depth));
    let bold = Modifier::BOLD;
    Palette {
        text: Style::new(),
        strong: Style::new().add_modifier(bold),
        dim: fg(colours.dim),
        accent: fg(colours.accent).add_modifier(bold),
        good: fg(colours.good),
        warn: fg(colours.warn),
        bad: fg(colours.bad).add_modifier(bold),
        banner: fg(colours.bad).add_modifier(bold.union(Modifier::REVERSED)),
        selected: fg(colours.front)
            .bg(colour(colours.back, depth))
            .add_modifier(bold),
        bar: fg(colours.bar),
        bound: fg(colours.warn),
    }
}

fn colour(rgb: u32, depth: ColourDepth) -> Color {
    match depth {
        ColourDepth::True => Color::from_u32(rgb),
        _ => Color::Indexed(nearest(rgb)),
    }
}

/// The levels of the colour cube of 256 colours.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The red, green and blue of one of the colours 16 to 255.
fn indexed(index: u8) -> [u8; 3] {
    match index.checked_sub(232) {
        Some(grey) => [8 + 10 * grey; 3],
        None => {
            let cube = index.saturating_sub(16);
            [cube / 36, cube / 6 % 6, cube % 6].map(|level| CUBE[usize::from(level)])
        }
    }
}

/// The nearest of the colours 16 to 255.
fn nearest(rgb: u32) -> u8 {
    let [_, wanted @ ..] = rgb.to_be_bytes();
    (16..=255)
        .min_by_key(|index| {
            let parts = indexed(*index).into_iter().zip(wanted);
            parts
                .map(|(a, b)| u32::from(a.abs_diff(b)).pow(2))
                .sum::<u32>()
        })
        .unwrap_or(16)
}

/// Sixteen colours without the bright ones, which Solarized takes for its greys.
const fn sixteen() -> Palette {
    let bold = Modifier::BOLD;
    Palette {
        text: Style::new(),
        strong: Style::new().add_modifier(bold),
        dim: Style::new().add_modifier(Modifier::DIM),
        accent: Style::new().fg(Color::Cyan).add_modifier(bold),
        good: Style::new().fg(Color::Green),
        warn: Style::new().fg(Color::Yellow),
        bad: Style::new().fg(Color::Red).add_modifier(bold),
        banner: Style::new()
            .fg(Color::Red)
            .add_modifier(bold.union(Modifier::REVERSED)),
        selected: Style::new().add_modifier(Modifier::REVERSED),
        bar: Style::new().fg(Color::Blue),
        bound: Style::new().fg(Color::Yellow),
    }
}

const fn mono() -> Palette {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    Palette {
        text: Style::new(),
        strong: bold,
        dim: Style::new().add_modifier(Modifier::DIM),
        accent: bold,
        good: Style::new(),
        warn: bold,
        bad: bold,
        banner: bold.add_modifier(Modifier::REVERSED),
        selected: Style::new().add_modifier(Modifier::REVERSED),
        bar: Style::new(),
        bound: bold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn styles(p: &Palette) -> [Style; 8] {
        [
            p.strong, p.dim, p.accent, p.good, p.warn, p.bad, p.bar, p.bound,
        ]
    }

    #[test]
    fn mono_has_no_colour_and_names_are_known() {
        for theme in Theme::NAMES {
            let p = theme.1.palette(ColourDepth::None);
            for style in styles(&p) {
                assert_eq!((style.fg, style.bg), (None, None));
            }
            assert_eq!(theme.0.parse(), Ok(theme.1));
            assert_eq!(theme.1.to_string(), theme.0);
        }
        assert_eq!("color-blind".parse(), Ok(Theme::ColourBlind));
        let problem = "neon".parse::<Theme>().unwrap_err().to_string();
        assert!(Theme::NAMES.iter().all(|(name, _)| problem.contains(name)));
        assert_eq!(Theme::Mono.next(), Theme::Dark);
    }

    /// The relative luminance (WCAG 2.1).
    fn luminance(rgb: [u8; 3]) -> f64 {
        let [r, g, b] = rgb.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    fn rgb(colour: Color) -> [u8; 3] {
        match colour {
            Color::Rgb(r, g, b) => [r, g, b],
            Color::Indexed(index) => {
                assert!(index >= 16, "the terminal's own colour {index}");
                indexed(index)
            }
            other => panic!("{other} is one of the terminal's own sixteen"),
        }
    }

    #[test]
    fn no_background_swallows_a_colour() {
        // Black, Solarized dark, Gruvbox dark, Dracula; white, Solarized light, GitHub's grey.
        let dark = [[0; 3], [0x00, 0x2b, 0x36], [0x28; 3], [0x28, 0x2a, 0x36]];
        let light = [[255; 3], [0xfd, 0xf6, 0xe3], [0xf6, 0xf8, 0xfa]];
        for (theme, backs) in [
            (Theme::Dark, &dark[..]),
            (Theme::ColourBlind, &dark[..]),
            (Theme::Light, &light[..]),
        ] {
            for depth in [ColourDepth::True, ColourDepth::Indexed] {
                let p = theme.palette(depth);
                let selected = rgb(p.selected.bg.unwrap());
                let chosen = contrast(rgb(p.selected.fg.unwrap()), selected);
                assert!(chosen >= 7.0, "{theme} {depth:?}: selected line {chosen}");
                for colour in styles(&p).iter().filter_map(|s| s.fg).map(rgb) {
                    for back in backs {
                        let is = contrast(colour, *back);
                        assert!(is >= 4.5, "{theme} {depth:?}: {colour:?} on {back:?}: {is}");
                    }
                    let is = contrast(colour, selected);
                    assert!(is >= 3.0, "{theme} {depth:?}: {colour:?} selected: {is}");
                }
            }
        }
    }
}
