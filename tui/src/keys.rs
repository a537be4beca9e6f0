//! The one table of keys. Dispatch, footer, help, configuration and docs/tui.md read it, so that they
//! always agree.
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fmt::Write;

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAction {
    Quit,
    Help,
    Panel(usize),
    NextPanel,
    PreviousPanel,
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Detail,
    Back,
    Zoom,
    Filter,
    Command,
    Sort,
    Reverse,
    Columns,
    Fold,
    Unfold,
    FoldAll,
    UnfoldAll,
    Copy,
    CopyDetail,
    Mouse,
    Theme,
    Freeze,
    Network,
    MoveHost,
    MoveNext,
    Cut,
    Join,
    Accept,
    Erase,
    Complete,
    Toggle,
}

/// The context in which a key has its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyContext {
    /// Browsing the panels.
    Browse,
    /// Browsing the panels, with a lab.
    Lab,
    /// Typing a filter or a command; every other character is text.
    Typing,
    /// Choosing in a list.
    Choose,
    /// Choosing columns.
    Columns,
    /// Reading the help.
    Help,
}

/// A key with its modifiers.
pub(crate) type KeyPress = (KeyModifiers, KeyCode);

/// A few keys, their action, and their texts in the help and in the footer.
pub(crate) struct KeyBinding {
    /// The name in the configuration; empty for keys that cannot be changed.
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [KeyPress],
    pub(crate) action: KeyAction,
    pub(crate) context: KeyContext,
    pub(crate) help: &'static str,
    /// The word in the footer; `None` for a key that only the help names.
    pub(crate) hint: Option<&'static str>,
}

const fn plain(code: KeyCode) -> KeyPress {
    (KeyModifiers::NONE, code)
}

const fn key(c: char) -> KeyPress {
    plain(KeyCode::Char(c))
}

const fn ctrl(c: char) -> KeyPress {
    (KeyModifiers::CONTROL, KeyCode::Char(c))
}

macro_rules! bindings {
    ($(
        $context:ident $name:literal [$($key:expr),+] $action:expr,
        $help:literal $(, $hint:literal)?;
    )+) => {
        &[$(KeyBinding {
            name: $name,
            keys: &[$($key),+],
            action: $action,
            context: KeyContext::$context,
            help: $help,
            hint: bindings!(@ $($hint)?),
        }),+]
    };
    (@ $hint:literal) => { Some($hint) };
    (@) => { None };
}

/// All keys. The first match wins.
#[rustfmt::skip]
pub(crate) const TABLE: &[KeyBinding] = bindings![
    Browse "help"           [key('?'), plain(KeyCode::F(1))] KeyAction::Help,
        "keys, signs and columns of this panel", "help";
    Browse "topology"       [key('1')] KeyAction::Panel(0), "topology";
    Browse "links"          [key('2')] KeyAction::Panel(1), "links, those that force most phases first";
    Browse "jobs"           [key('3')] KeyAction::Panel(2), "jobs and their throughput";
    Browse "epochs"         [key('4')] KeyAction::Panel(3), "epochs";
    Browse "events"         [key('5')] KeyAction::Panel(4), "events and alarms";
    Browse "next-panel"     [plain(KeyCode::Tab)] KeyAction::NextPanel, "next panel", "panel";
    Browse "previous-panel" [plain(KeyCode::BackTab), (KeyModifiers::SHIFT, KeyCode::BackTab)]
        KeyAction::PreviousPanel, "previous panel";
    Browse "down"           [key('j'), plain(KeyCode::Down)] KeyAction::Down, "next line";
    Browse "up"             [key('k'), plain(KeyCode::Up)] KeyAction::Up, "previous line";
    Browse "page-down"      [plain(KeyCode::PageDown), ctrl('d')] KeyAction::PageDown, "a page down";
    Browse "page-up"        [plain(KeyCode::PageUp), ctrl('u')] KeyAction::PageUp, "a page up";
    Browse "first"          [key('g'), plain(KeyCode::Home)] KeyAction::First, "first line";
    Browse "last"           [key('G'), plain(KeyCode::End)] KeyAction::Last, "last line";
    Browse "detail"         [plain(KeyCode::Enter)] KeyAction::Detail,
        "all there is to know of the selected line; j/k scroll", "detail";
    Browse "back"           [plain(KeyCode::Esc)] KeyAction::Back, "back; clears the filter";
    Browse "filter"         [key('/')] KeyAction::Filter,
        "show only lines that a regular expression finds; !x: all others", "filter";
    Browse "command"        [key(':')] KeyAction::Command, "type a command; tab completes it";
    Browse "sort"           [key('s')] KeyAction::Sort, "sort by the next column", "sort";
    Browse "reverse"        [key('r')] KeyAction::Reverse, "reverse the order";
    Browse "columns"        [key('c')] KeyAction::Columns, "choose columns";
    Browse "fold"           [key('h'), plain(KeyCode::Left), key('-')] KeyAction::Fold,
        "fold what hangs on the node, or go to the node above";
    Browse "unfold"         [key('l'), plain(KeyCode::Right), key('+')] KeyAction::Unfold, "unfold it";
    Browse "fold-all"       [key('H')] KeyAction::FoldAll, "fold the whole tree";
    Browse "unfold-all"     [key('L')] KeyAction::UnfoldAll, "unfold the whole tree";
    Browse "network"        [key('n')] KeyAction::Network, "the next network, where there are several";
    Browse "freeze"         [key(' '), key('f')] KeyAction::Freeze,
        "let the picture stand still, or go on", "freeze";
    Browse "zoom"           [key('z')] KeyAction::Zoom, "give the panel the whole window, or back";
    Browse "copy"           [key('y')] KeyAction::Copy, "copy the selected name to the clipboard";
    Browse "copy-detail"    [key('Y')] KeyAction::CopyDetail, "copy the whole detail";
    Browse "mouse"          [key('v')] KeyAction::Mouse,
        "leave the mouse to the terminal, to mark text, or take it";
    Browse "theme"          [key('t')] KeyAction::Theme, "next theme";
    Lab    "move"           [key('m')] KeyAction::MoveHost,
        "move the selected host's cable to another switch", "move";
    Lab    "move-next"      [key('M')] KeyAction::MoveNext,
        "move the next host's cable; on a fabric, drain the next spine", "move next";
    Lab    "cut"            [key('x')] KeyAction::Cut, "cut the selected link";
    Lab    "join"           [key('J')] KeyAction::Join, "join the link cut last again";
    Browse "quit"           [key('q'), ctrl('c')] KeyAction::Quit, "quit", "quit";
    Typing ""  [plain(KeyCode::Enter)] KeyAction::Accept, "keep the filter; do the command", "done";
    Typing ""  [plain(KeyCode::Esc), ctrl('c')] KeyAction::Back, "clear it", "clear";
    Typing ""  [plain(KeyCode::Backspace)] KeyAction::Erase, "erase a character";
    Typing ""  [plain(KeyCode::Tab)] KeyAction::Complete, "complete the command";
    Choose ""  [key('j'), plain(KeyCode::Down)] KeyAction::Down, "next", "next";
    Choose ""  [key('k'), plain(KeyCode::Up)] KeyAction::Up, "previous", "previous";
    Choose ""  [plain(KeyCode::Enter)] KeyAction::Accept, "do it", "do it";
    Choose ""  [plain(KeyCode::Esc), key('q'), ctrl('c')] KeyAction::Back, "close the list", "close";
    Columns "" [key('j'), plain(KeyCode::Down)] KeyAction::Down, "next", "next";
    Columns "" [key('k'), plain(KeyCode::Up)] KeyAction::Up, "previous", "previous";
    Columns "" [key(' ')] KeyAction::Toggle, "show the column, or not", "show or hide";
    Columns "" [plain(KeyCode::Enter), plain(KeyCode::Esc), key('q'), key('c'), ctrl('c')]
        KeyAction::Back, "close the list", "close";
    Help   ""  [key('j'), plain(KeyCode::Down)] KeyAction::Down, "next line", "scroll";
    Help   ""  [key('k'), plain(KeyCode::Up)] KeyAction::Up, "previous line";
    Help   ""  [plain(KeyCode::PageDown), key(' ')] KeyAction::PageDown, "a page down";
    Help   ""  [plain(KeyCode::PageUp)] KeyAction::PageUp, "a page up";
    Help   ""  [plain(KeyCode::Esc), key('?'), key('q'), plain(KeyCode::Enter)]
        KeyAction::Back, "close the help", "close";
    Help   ""  [ctrl('c')] KeyAction::Quit, "quit";
];

/// The keys of each line of [`TABLE`], as the user wants them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTable(Vec<Vec<KeyPress>>);

impl Default for KeyTable {
    fn default() -> KeyTable {
        KeyTable(TABLE.iter().map(|b| b.keys.to_vec()).collect())
    }
}

impl KeyTable {
    /// Gives the action `name` other keys; false if there is no such action.
    pub(crate) fn set(&mut self, name: &str, keys: Vec<KeyPress>) -> bool {
        let at = TABLE
            .iter()
            .position(|b| !name.is_empty() && b.name == name);
        let Some(slot) = at.and_then(|at| self.0.get_mut(at)) else {
            return false;
        };
        *slot = keys;
        true
    }

    /// A key that two actions have at once, and these actions.
    pub(crate) fn clash(&self) -> Option<(String, &'static str, &'static str)> {
        let browse = [KeyContext::Browse, KeyContext::Lab];
        let all = TABLE.iter().zip(&self.0);
        let mut seen: Vec<(&KeyPress, &'static str)> = Vec::new();
        for (binding, keys) in all.filter(|(b, _)| browse.contains(&b.context)) {
            for key in keys {
                if let Some((_, other)) = seen.iter().find(|(k, _)| *k == key) {
                    return Some((label(&[*key]), other, binding.name));
                }
                seen.push((key, binding.name));
            }
        }
        None
    }

    /// The lines of a context, each with its keys.
    pub(crate) fn in_context(
        &self,
        context: KeyContext,
    ) -> impl Iterator<Item = (&'static KeyBinding, &[KeyPress])> {
        let all = TABLE.iter().zip(&self.0);
        all.filter(move |(b, _)| b.context == context)
            .map(|(b, keys)| (b, keys.as_slice()))
    }

    /// The action of `event` in one of `contexts`.
    pub(crate) fn action(&self, event: KeyEvent, contexts: &[KeyContext]) -> Option<KeyAction> {
        // A shifted letter comes with or without SHIFT, depending on the terminal.
        let shift = if matches!(event.code, KeyCode::Char(_)) {
            KeyModifiers::SHIFT
        } else {
            KeyModifiers::NONE
        };
        let pressed = (event.modifiers.difference(shift), event.code);
        let mut all = TABLE.iter().zip(&self.0);
        all.find(|(b, keys)| contexts.contains(&b.context) && keys.contains(&pressed))
            .map(|(b, _)| b.action)
    }
}

/// Keys by their names, which are also those of the configuration.
const NAMES: [(&str, KeyCode); 16] = [
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
];

/// The keys as help and configuration write them.
pub(crate) fn label(keys: &[KeyPress]) -> String {
    let mut text = String::new();
    for (modifiers, code) in keys {
        // Some terminals send shift-tab with SHIFT, some without.
        if modifiers.contains(KeyModifiers::SHIFT) {
            continue;
        }
        let gap = if text.is_empty() { "" } else { " " };
        let ctrl = if modifiers.contains(KeyModifiers::CONTROL) {
            "ctrl-"
        } else {
            ""
        };
        let alt = if modifiers.contains(KeyModifiers::ALT) {
            "alt-"
        } else {
            ""
        };
        let _ = write!(text, "{gap}{ctrl}{alt}");
        let _ = match (NAMES.iter().find(|(_, c)| c == code), code) {
            (Some((name, _)), _) => write!(text, "{name}"),
            (None, KeyCode::Char(c)) => write!(text, "{c}"),
            (None, KeyCode::F(n)) => write!(text, "f{n}"),
            (None, other) => write!(text, "{other}"),
        };
    }
    text
}

/// Reads a key as [`label`] writes it; shift-tab gives the two forms that terminals send.
pub(crate) fn parse(text: &str) -> Option<Vec<KeyPress>> {
    if text == "shift-tab" {
        return Some(vec![
            plain(KeyCode::BackTab),
            (KeyModifiers::SHIFT, KeyCode::BackTab),
        ]);
    }
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = text;
    for (prefix, modifier) in [
        ("ctrl-", KeyModifiers::CONTROL),
        ("alt-", KeyModifiers::ALT),
    ] {
        if let Some(after) = rest.strip_prefix(prefix).filter(|r| !r.is_empty()) {
            (rest, modifiers) = (after, modifiers | modifier);
        }
    }
    let mut letters = rest.chars();
    let named = NAMES.iter().find(|(name, _)| *name == rest);
    let code = match (named, letters.next(), letters.next()) {
        (Some((_, code)), _, _) => *code,
        (None, Some(c), None) if !c.is_control() && c != ' ' => KeyCode::Char(c),
        (None, Some('f'), Some(_)) => {
            let number = rest[1..].parse().ok().filter(|n| (1..=12).contains(n))?;
            KeyCode::F(number)
        }
        _ => return None,
    };
    Some(vec![(modifiers, code)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_at_once() {
        let table = KeyTable::default();
        assert_eq!(table.clash(), None);
        for context in [
            KeyContext::Typing,
            KeyContext::Choose,
            KeyContext::Columns,
            KeyContext::Help,
        ] {
            let keys: Vec<_> = table
                .in_context(context)
                .flat_map(|(_, keys)| keys)
                .collect();
            for (i, key) in keys.iter().enumerate() {
                assert!(!keys[..i].contains(key), "{key:?} twice in {context:?}");
            }
        }
        let mut table = KeyTable::default();
        assert!(table.set("zoom", parse("q").unwrap()));
        assert_eq!(table.clash(), Some(("q".into(), "zoom", "quit")));
        assert!(!table.set("", vec![]) && !table.set("nonsense", vec![]));
    }

    #[test]
    fn ctrl_c_leads_out_of_everywhere() {
        let table = KeyTable::default();
        for context in [
            KeyContext::Browse,
            KeyContext::Typing,
            KeyContext::Choose,
            KeyContext::Columns,
            KeyContext::Help,
        ] {
            let event = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert!(matches!(
                table.action(event, &[context]),
                Some(KeyAction::Quit | KeyAction::Back)
            ));
        }
        let shifted = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(
            table.action(shifted, &[KeyContext::Browse]),
            Some(KeyAction::Last)
        );
    }

    #[test]
    fn keys_read_as_they_are_written() {
        for (binding, keys) in TABLE.iter().map(|b| (b, b.keys)) {
            let read: Vec<_> = label(keys)
                .split(' ')
                .flat_map(|key| parse(key).unwrap_or_else(|| panic!("{key}")))
                .collect();
            assert_eq!(read, keys, "{}", binding.help);
        }
        assert_eq!(
            parse("ctrl-alt-x").map(|k| label(&k)),
            Some("ctrl-alt-x".into())
        );
        for wrong in ["", "ctrl-", "f0", "f13", "hyper-x", "xy", "\u{7}"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
