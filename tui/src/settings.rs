//! The configuration file: connection, colours, keys, columns. An unknown name in it is an error with
//! its place.
use crate::app::ChosenColumns;
use crate::commands;
use crate::keys::{self, KeyTable, TABLE};
use crate::panels::PANELS;
use crate::theme::{ColourDepth, Theme};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The settings of the configuration file.
#[derive(Debug, Clone, Default)]
pub struct TuiSettings {
    /// The way to the controller.
    pub connection: ConnectionSettings,
    /// The colours.
    pub theme: Option<Theme>,
    /// The colours that the terminal has, if the environment is wrong about them.
    pub depth: Option<ColourDepth>,
    /// True for ASCII characters only, false for all; `None` if the environment decides.
    pub ascii: Option<bool>,
    /// True if the mouse belongs to the interface.
    pub mouse: Option<bool>,
    pub keys: KeyTable,
    /// The columns of each panel.
    pub columns: ChosenColumns,
}

/// The settings of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectionSettings {
    /// The controller's address.
    pub address: Option<String>,
    /// The authorities' file.
    pub ca: Option<PathBuf>,
    pub token_file: Option<PathBuf>,
}

/// The reason why a configuration file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {problem}; {hint}", file.display())]
pub struct SettingsError {
    file: PathBuf,
    line: usize,
    column: usize,
    problem: String,
    hint: String,
}

/// The place of a mistake in the text, with problem and hint.
struct SettingsMistake {
    at: Range<usize>,
    problem: String,
    hint: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct SettingsFile {
    connection: ConnectionSection,
    theme: Option<Spanned<String>>,
    colours: Option<Spanned<String>>,
    drawing: Option<Spanned<String>>,
    mouse: Option<bool>,
    keys: BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
    columns: BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ConnectionSection {
    address: Option<String>,
    ca: Option<PathBuf>,
    token_file: Option<PathBuf>,
}

/// The hint of a mistake that the reader of TOML finds itself.
const EXPECTED: &str = "expected theme, colours, drawing, mouse and the tables connection \
                        (address, ca, token_file), columns and keys; see docs/tui.md";

impl TuiSettings {
    /// Reads `text`, which stands in `file`. `~/` in it means a path below `home`.
    ///
    /// # Errors
    /// The first mistake with its line and column.
    pub fn parse(
        file: &Path,
        text: &str,
        home: Option<&Path>,
    ) -> Result<TuiSettings, SettingsError> {
        read(text, home).map_err(|mistake| {
            let before = text.get(..mistake.at.start).unwrap_or(text);
            let line = before.rsplit('\n').next().unwrap_or_default();
            SettingsError {
                file: file.to_owned(),
                line: before.matches('\n').count() + 1,
                column: line.chars().count() + 1,
                problem: mistake.problem,
                hint: mistake.hint,
            }
        })
    }
}

fn read(text: &str, home: Option<&Path>) -> Result<TuiSettings, SettingsMistake> {
    let file: SettingsFile = toml::from_str(text).map_err(|e| SettingsMistake {
        at: e.span().unwrap_or_default(),
        problem: e.message().replace('\n', ", "),
        hint: EXPECTED.to_owned(),
    })?;
    Ok(TuiSettings {
        connection: ConnectionSettings {
            address: file.connection.address,
            ca: file.connection.ca.map(|path| below_home(path, home)),
            token_file: file
                .connection
                .token_file
                .map(|path| below_home(path, home)),
        },
        theme: file
            .theme
            .map(|word| choice(&word, "theme", &Theme::NAMES))
            .transpose()?,
        depth: chosen(file.colours, "colours", &DEPTHS)?,
        ascii: chosen(file.drawing, "drawing", &DRAWINGS)?,
        mouse: file.mouse,
        keys: read_keys(file.keys)?,
        columns: read_columns(file.columns)?,
    })
}

fn below_home(path: PathBuf, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path,
    }
}

const DEPTHS: [(&str, Option<ColourDepth>); 5] = [
    ("auto", None),
    ("24bit", Some(ColourDepth::True)),
    ("256", Some(ColourDepth::Indexed)),
    ("16", Some(ColourDepth::Sixteen)),
    ("none", Some(ColourDepth::None)),
];

const DRAWINGS: [(&str, Option<bool>); 3] = [
    ("auto", None),
    ("unicode", Some(false)),
    ("ascii", Some(true)),
];

fn chosen<T: Copy>(
    word: Option<Spanned<String>>,
    what: &str,
    known: &[(&str, Option<T>)],
) -> Result<Option<T>, SettingsMistake> {
    let choice = word.map(|word| choice(&word, what, known)).transpose()?;
    Ok(choice.flatten())
}

/// One of the words that are known.
fn choice<T: Copy>(
    word: &Spanned<String>,
    what: &str,
    known: &[(&str, T)],
) -> Result<T, SettingsMistake> {
    let found = known.iter().find(|(name, _)| name == word.get_ref());
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| unknown(word, what, &names))
}

fn unknown(word: &Spanned<String>, what: &str, known: &[&str]) -> SettingsMistake {
    SettingsMistake {
        at: word.span(),
        problem: format!("unknown {what} \"{}\"", word.get_ref()),
        hint: format!("expected {}", known.join(", ")),
    }
}

type NamedLists = BTreeMap<Spanned<String>, Vec<Spanned<String>>>;

fn read_keys(wanted: NamedLists) -> Result<KeyTable, SettingsMistake> {
    let mut table = KeyTable::default();
    let mut places = BTreeMap::new();
    for (action, words) in wanted {
        let mut presses = Vec::new();
        for word in &words {
            let press = keys::parse(word.get_ref()).ok_or_else(|| SettingsMistake {
                at: word.span(),
                problem: format!("unknown key \"{}\"", word.get_ref()),
                hint: "expected one such as \"x\", \"X\", \"ctrl-x\", \"alt-x\", \"f5\", \
                       \"space\", \"pgdn\""
                    .to_owned(),
            })?;
            presses.extend(press);
        }
        if !table.set(action.get_ref(), presses) {
            let names = TABLE.iter().map(|b| b.name).filter(|name| !name.is_empty());
            return Err(unknown(&action, "action", &names.collect::<Vec<_>>()));
        }
        places.insert(action.get_ref().clone(), action.span());
    }
    match table.clash() {
        None => Ok(table),
        Some((key, one, other)) => Err(SettingsMistake {
            at: places
                .get(one)
                .or_else(|| places.get(other))
                .cloned()
                .unwrap_or_default(),
            problem: format!("the key \"{key}\" would do two things: {one} and {other}"),
            hint: "give one of them another key".to_owned(),
        }),
    }
}

fn read_columns(wanted: NamedLists) -> Result<ChosenColumns, SettingsMistake> {
    let mut columns = ChosenColumns::default();
    for (panel, names) in wanted {
        let Some(at) = PANELS.iter().position(|p| title(p) == *panel.get_ref()) else {
            let lowered: Vec<String> = PANELS.iter().map(|p| title(p)).collect();
            let titles: Vec<&str> = lowered.iter().map(String::as_str).collect();
            return Err(unknown(&panel, "panel", &titles));
        };
        let places = names
            .iter()
            .map(|name| {
                let found = commands::columns(name.get_ref(), PANELS[at]).ok();
                let known = PANELS[at].columns.iter().map(|c| c.name);
                found.ok_or_else(|| unknown(name, "column", &known.collect::<Vec<_>>()))
            })
            .collect::<Result<Vec<_>, _>>()?;
        columns[at] = Some(places.concat());
    }
    Ok(columns)
}

fn title(p: &crate::panels::Panel) -> String {
    p.title.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TuiSettings, String> {
        TuiSettings::parse(Path::new("tui.toml"), text, Some(Path::new("/home/ann")))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn everything_can_be_set() {
        let s = parse(
            "theme = \"light\"\ncolours = \"256\"\ndrawing = \"unicode\"\nmouse = false\n\
             [connection]\naddress = \"https://head:7171\"\nca = \"/etc/ca.pem\"\n\
             token_file = \"~/token\"\n[columns]\ntopology = [\"stp\", \"down\"]\n\
             [keys]\nzoom = [\"ctrl-z\", \"f5\"]\n",
        )
        .unwrap();
        assert_eq!(
            (s.theme, s.depth),
            (Some(Theme::Light), Some(ColourDepth::Indexed))
        );
        assert_eq!((s.ascii, s.mouse), (Some(false), Some(false)));
        assert_eq!(s.connection.token_file, Some("/home/ann/token".into()));
        assert_eq!(s.connection.ca, Some("/etc/ca.pem".into()));
        assert_eq!(s.columns[0], Some(vec![3, 4]));
        assert_eq!(s.columns[1], None);
        assert_ne!(s.keys, KeyTable::default());
        assert_eq!(parse("").unwrap().keys, KeyTable::default());
    }

    #[test]
    fn mistakes_have_their_place_and_a_hint() {
        for (text, expected) in [
            (
                "mouse = true\ncolor = 1",
                "tui.toml:2:1: unknown field `color`",
            ),
            (
                "[connection]\nhost = \"x\"",
                "tui.toml:2:1: unknown field `host`",
            ),
            (
                "theme = \"neon\"",
                "tui.toml:1:9: unknown theme \"neon\"; expected dark, light",
            ),
            (
                "colours = \"8\"",
                "1:11: unknown colours \"8\"; expected auto, 24bit",
            ),
            (
                "[keys]\nzoom = [\"z\", \"hyper-z\"]",
                "tui.toml:2:14: unknown key \"hyper-z\"",
            ),
            (
                "[keys]\nzooom = [\"z\"]",
                "tui.toml:2:1: unknown action \"zooom\"; expected help",
            ),
            (
                "[keys]\nzoom = [\"q\"]",
                "tui.toml:2:1: the key \"q\" would do two things: zoom and quit",
            ),
            (
                "[columns]\ntopology = [\"node\",\n  \"speed\"]",
                "tui.toml:3:3: unknown column \"speed\"",
            ),
            (
                "[columns]\nhosts = []",
                "tui.toml:2:1: unknown panel \"hosts\"; expected topology, links",
            ),
            ("mouse = 1", "tui.toml:1:9: invalid type"),
            ("theme = ", "tui.toml:1:"),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.contains(expected), "{text}\n{problem}");
        }
    }
}
