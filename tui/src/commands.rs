//! The commands after `:`. One table, which the parser, the completion, the help and docs/tui.md read.
use crate::keys::{KeyAction, TABLE};
use crate::panels::Panel;
use crate::theme::{Theme, UnknownTheme};

/// A command with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypedCommand {
    /// An action that also has a key.
    Act(KeyAction),
    /// Sort by this order, perhaps reversed.
    Sort(usize, bool),
    /// Show these columns; `None` for all.
    Columns(Option<Vec<usize>>),
    Filter(String),
    Theme(Theme),
    /// Select a node.
    Go(String),
    Mouse(bool),
    Ascii(bool),
}

/// The reason why a line is not a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandProblem {
    #[error(":{0} is not a command; ? lists them, tab completes")]
    Unknown(String),
    #[error(":{command} {word}: expected {}", expected.join(", "))]
    Word {
        command: &'static str,
        word: String,
        expected: Vec<&'static str>,
    },
    #[error(":go wants the name of a node")]
    NoName,
    #[error("{0}")]
    Theme(#[from] UnknownTheme),
}

/// The commands that are not the names of keys' actions: name, arguments, help.
pub(crate) const COMMANDS: [(&str, &str, &str); 7] = [
    ("go", "NODE", "select a node of the tree"),
    (
        "filter",
        "REGEX",
        "show only lines that it finds; !REGEX all others; nothing: all",
    ),
    ("sort", "ORDER [reverse]", "sort the panel"),
    (
        "columns",
        "NAME,NAME…",
        "show these columns of the panel; nothing: all",
    ),
    ("theme", "NAME", "use these colours"),
    (
        "mouse",
        "on|off",
        "take the mouse, or leave it to the terminal",
    ),
    ("ascii", "on|off", "draw with ASCII characters only"),
];

/// The word for an action's key of the same name that is shorter to type.
const SHORT: [(&str, &str); 2] = [("q", "quit"), ("h", "help")];

/// Reads a line for a panel; `None` for an empty one.
pub(crate) fn parse(line: &str, panel: &Panel) -> Result<Option<TypedCommand>, CommandProblem> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let command = match name {
        "" => return Ok(None),
        "go" if rest.is_empty() => return Err(CommandProblem::NoName),
        "go" => TypedCommand::Go(rest.to_owned()),
        "filter" => TypedCommand::Filter(rest.to_owned()),
        "theme" if !rest.is_empty() => TypedCommand::Theme(rest.parse()?),
        "sort" if !rest.is_empty() => sort(rest, panel)?,
        "columns" if !rest.is_empty() => TypedCommand::Columns(Some(columns(rest, panel)?)),
        "columns" => TypedCommand::Columns(None),
        "mouse" if !rest.is_empty() => TypedCommand::Mouse(switch("mouse", rest)?),
        "ascii" => TypedCommand::Ascii(switch("ascii", rest)?),
        name => {
            let long = SHORT.iter().find(|(short, _)| *short == name);
            let name = long.map_or(name, |(_, long)| long);
            let key = TABLE
                .iter()
                .find(|b| !b.name.is_empty() && b.name == name)
                .filter(|b| b.context == crate::keys::KeyContext::Browse);
            TypedCommand::Act(
                key.ok_or_else(|| CommandProblem::Unknown(name.to_owned()))?
                    .action,
            )
        }
    };
    Ok(Some(command))
}

fn switch(command: &'static str, word: &str) -> Result<bool, CommandProblem> {
    match word {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(CommandProblem::Word {
            command,
            word: other.to_owned(),
            expected: vec!["on", "off"],
        }),
    }
}

fn sort(rest: &str, panel: &Panel) -> Result<TypedCommand, CommandProblem> {
    let (name, reverse) = match rest.split_once(char::is_whitespace) {
        Some((name, word)) if word.trim() == "reverse" => (name, true),
        _ => (rest, false),
    };
    let sorts = panel.sorts;
    let at = sorts.iter().position(|s| s.name == name);
    Ok(TypedCommand::Sort(
        at.ok_or_else(|| CommandProblem::Word {
            command: "sort",
            word: rest.to_owned(),
            expected: sorts.iter().map(|s| s.name).collect(),
        })?,
        reverse,
    ))
}

/// The places of columns that are named with commas between them.
pub(crate) fn columns(names: &str, panel: &Panel) -> Result<Vec<usize>, CommandProblem> {
    let all = panel.columns;
    let names = names.split([',', ' ']).filter(|n| !n.is_empty());
    names
        .map(|name| {
            let at = all.iter().position(|c| c.name == name);
            at.ok_or_else(|| CommandProblem::Word {
                command: "columns",
                word: name.to_owned(),
                expected: all.iter().map(|c| c.name).collect(),
            })
        })
        .collect()
}

/// `text` with as much added as all possible ends have in common.
pub(crate) fn complete(text: &str, panel: &Panel) -> String {
    let (done, begun) = match text.rfind([' ', ',']) {
        Some(at) => text.split_at(at + 1),
        None => ("", text),
    };
    let command = text.split(' ').next().filter(|_| !done.is_empty());
    let words: Vec<&str> = match command {
        None => COMMANDS
            .iter()
            .map(|(name, ..)| *name)
            .chain(TABLE.iter().map(|b| b.name).filter(|n| !n.is_empty()))
            .collect(),
        Some("sort") => panel
            .sorts
            .iter()
            .map(|s| s.name)
            .chain(["reverse"])
            .collect(),
        Some("columns") => panel.columns.iter().map(|c| c.name).collect(),
        Some("theme") => Theme::NAMES.iter().map(|(name, _)| *name).collect(),
        Some("mouse" | "ascii") => vec!["on", "off"],
        Some(_) => vec![],
    };
    let mut fitting = words.into_iter().filter(|w| w.starts_with(begun));
    let Some(first) = fitting.next() else {
        return text.to_owned();
    };
    let common = fitting.fold(first, |common, word| {
        // All these words are ASCII, so the text can be cut after any octet.
        let same = common.bytes().zip(word.bytes()).take_while(|(a, b)| a == b);
        &common[..same.count()]
    });
    format!("{done}{common}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::PANELS;

    #[test]
    fn commands_read_with_their_words() {
        assert_eq!(read(""), None);
        assert_eq!(read(" q "), Some(TypedCommand::Act(KeyAction::Quit)));
        assert_eq!(read("links"), Some(TypedCommand::Act(KeyAction::Panel(1))));
        assert_eq!(read("sort load reverse"), Some(TypedCommand::Sort(1, true)));
        assert_eq!(
            read("columns stp,up"),
            Some(TypedCommand::Columns(Some(vec![3, 5])))
        );
        assert_eq!(read("go n0"), Some(TypedCommand::Go("n0".into())));
        assert!(problem("columns speed").contains("expected node, ports"));
        assert!(
            problem("cut").contains("not a command"),
            "a lab has keys only"
        );
        assert!(problem("theme neon").contains("known themes"));
    }

    fn read(line: &str) -> Option<TypedCommand> {
        parse(line, PANELS[0]).unwrap()
    }

    fn problem(line: &str) -> String {
        parse(line, PANELS[0]).unwrap_err().to_string()
    }

    #[test]
    fn tab_completes_as_far_as_it_is_clear() {
        assert_eq!(
            [
                completed("colu"),
                completed("columns st"),
                completed("columns stp,u"),
                completed("sort l"),
                completed("xyz")
            ],
            [
                "columns",
                "columns stp",
                "columns stp,up",
                "sort load",
                "xyz"
            ]
        );
        assert_eq!(completed("fold"), "fold");
        assert_eq!(completed("theme l"), "theme light");
    }

    fn completed(text: &str) -> String {
        complete(text, PANELS[0])
    }
}
