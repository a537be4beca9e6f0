//! The abilities of the terminal, as far as the environment tells them.
use crate::theme::ColourDepth;

/// The abilities of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalTraits {
    pub depth: ColourDepth,
    /// True if it shows ASCII characters only.
    pub ascii: bool,
}

impl TerminalTraits {
    /// Follows NO_COLOR, COLORTERM, TERM and the locale. `variable` reads the environment.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> TerminalTraits {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        // The Linux console has few colours, and its font few signs.
        let plain = ["linux", "dumb", "vt100", "vt220", "ansi", "cons25"].contains(&term.as_str());
        let colorterm = set("COLORTERM").unwrap_or_default();
        let depth = if set("NO_COLOR").is_some() || term == "dumb" || term.starts_with("vt") {
            ColourDepth::None
        } else if plain {
            ColourDepth::Sixteen
        } else if ["truecolor", "24bit"].contains(&colorterm.as_str()) || term.ends_with("-direct")
        {
            ColourDepth::True
        } else if term.contains("256color") || !colorterm.is_empty() {
            ColourDepth::Indexed
        } else {
            ColourDepth::Sixteen
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        TerminalTraits {
            depth,
            ascii: plain || locale.is_some_and(|locale| !speaks_unicode(&locale)),
        }
    }
}

/// True for a locale such as `de_DE.UTF-8`. A locale that names no character set is the system's
/// business, except C and POSIX, which have ASCII.
fn speaks_unicode(locale: &str) -> bool {
    let without_modifier = locale.split('@').next().unwrap_or_default();
    match without_modifier.split_once('.') {
        Some((_, charset)) => {
            let letters = charset.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>().eq_ignore_ascii_case("utf8")
        }
        None => !["C", "POSIX"].contains(&without_modifier),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(variables: &[(&str, &str)]) -> (ColourDepth, bool) {
        let traits = TerminalTraits::from_environment(|name| {
            let found = variables.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        (traits.depth, traits.ascii)
    }

    #[test]
    fn colours_follow_the_terminal() {
        use ColourDepth::{Indexed, None, Sixteen, True};
        assert_eq!(depth(&[("TERM", "xterm-256color")]), Indexed);
        assert_eq!(
            depth(&[("TERM", "tmux-256color"), ("COLORTERM", "truecolor")]),
            True
        );
        assert_eq!(depth(&[("TERM", "xterm-direct")]), True);
        assert_eq!(depth(&[("TERM", "xterm")]), Sixteen);
        assert_eq!(
            depth(&[("TERM", "linux"), ("COLORTERM", "truecolor")]),
            Sixteen
        );
        assert_eq!(depth(&[("TERM", "dumb")]), None);
        assert_eq!(depth(&[("TERM", "xterm-direct"), ("NO_COLOR", "1")]), None);
        assert_eq!(depth(&[("TERM", "xterm-direct"), ("NO_COLOR", "")]), True);
    }

    fn depth(variables: &[(&str, &str)]) -> ColourDepth {
        traits(variables).0
    }

    #[test]
    fn signs_follow_locale_and_terminal() {
        for unicode in ["C.UTF-8", "de_DE.utf8", "de_DE.UTF-8@euro", "de_DE", ""] {
            assert!(!is_ascii(&[("LANG", unicode)]), "{unicode}");
        }
        for other in ["C", "POSIX", "de_DE.ISO-8859-1", "de_DE.ISO-8859-15@euro"] {
            assert!(is_ascii(&[("LANG", other)]), "{other}");
        }
        assert!(is_ascii(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]));
        assert!(is_ascii(&[("TERM", "linux"), ("LANG", "C.UTF-8")]));
        assert!(!is_ascii(&[]), "nothing is known");
    }

    fn is_ascii(variables: &[(&str, &str)]) -> bool {
        traits(variables).1
    }
}
