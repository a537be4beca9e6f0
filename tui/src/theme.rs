//! Colours. A word, a letter or a shape shows each state; colour only repeats it, so every theme
//! shows the same text.
use ratatui::style::{Color, Modifier, Style};
use std::str::FromStr;

/// A named set of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// The terminal's own sixteen colours, on a dark background.
    #[default]
    Default,
    /// For a light background.
    Light,
    /// The palette of Okabe and Ito, "Color Universal Design" (2008), for every kind of colour
    /// vision.
    ColourBlind,
    /// No colour, only bold, dim, underlined and reversed text; `NO_COLOR` selects it, too.
    Mono,
}

/// A theme name that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("theme \"{0}\" is unknown; known themes: default, light, colour-blind, mono")]
pub struct UnknownTheme(String);

impl FromStr for Theme {
    type Err = UnknownTheme;

    fn from_str(name: &str) -> Result<Theme, UnknownTheme> {
        match name {
            "default" => Ok(Theme::Default),
            "light" => Ok(Theme::Light),
            "colour-blind" | "color-blind" => Ok(Theme::ColourBlind),
            "mono" => Ok(Theme::Mono),
            other => Err(UnknownTheme(other.to_owned())),
        }
    }
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

impl Theme {
    pub(crate) const fn palette(self) -> Palette {
        match self {
            Theme::Default => colours(
                Color::Cyan,
                Color::Green,
                Color::Yellow,
                Color::LightRed,
                Color::Blue,
                Color::DarkGray,
                Color::Indexed(236),
            ),
            Theme::Light => colours(
                Color::Indexed(25),
                Color::Indexed(22),
                Color::Indexed(130),
                Color::Indexed(124),
                Color::Indexed(31),
                Color::Indexed(244),
                Color::Indexed(254),
            ),
            // Sky blue, bluish green, orange, vermilion, blue: the nearest of the 256 indexed
            // colours.
            Theme::ColourBlind => colours(
                Color::Indexed(74),
                Color::Indexed(36),
                Color::Indexed(214),
                Color::Indexed(202),
                Color::Indexed(32),
                Color::Indexed(245),
                Color::Indexed(236),
            ),
            Theme::Mono => mono(),
        }
    }
}

const fn colours(
    accent: Color,
    good: Color,
    warn: Color,
    bad: Color,
    bar: Color,
    dim: Color,
    back: Color,
) -> Palette {
    let bold = Modifier::BOLD;
    Palette {
        text: Style::new(),
        strong: Style::new().add_modifier(bold),
        dim: Style::new().fg(dim),
        accent: Style::new().fg(accent).add_modifier(bold),
        good: Style::new().fg(good),
        warn: Style::new().fg(warn),
        bad: Style::new().fg(bad).add_modifier(bold),
        banner: Style::new()
            .fg(bad)
            .add_modifier(bold.union(Modifier::REVERSED)),
        selected: Style::new().bg(back).add_modifier(bold),
        bar: Style::new().fg(bar),
        bound: Style::new().fg(warn),
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

    #[test]
    fn mono_has_no_colour_and_names_are_known() {
        let p = Theme::Mono.palette();
        for style in [
            p.text, p.strong, p.dim, p.accent, p.good, p.warn, p.bad, p.banner, p.selected, p.bar,
            p.bound,
        ] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert_eq!("colour-blind".parse(), Ok(Theme::ColourBlind));
        assert!(
            "neon"
                .parse::<Theme>()
                .unwrap_err()
                .to_string()
                .contains("known themes")
        );
    }
}
