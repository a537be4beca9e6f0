//! The one table of keys. Dispatch, footer and help read it, so that they always agree.
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

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
    Sort,
    Freeze,
    MoveHost,
    MoveNext,
    Cut,
    Join,
    Accept,
    Erase,
}

/// The context in which a key has its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyContext {
    /// Browsing the panels.
    Browse,
    /// Browsing the panels, with a lab.
    Lab,
    /// Typing a filter; every other character is text.
    Filter,
    /// Choosing in a list.
    Choose,
    /// Reading the help.
    Help,
}

/// A few keys, their action, and their texts in the help and in the footer.
pub(crate) struct KeyBinding {
    keys: &'static [(KeyModifiers, KeyCode)],
    pub(crate) action: KeyAction,
    pub(crate) context: KeyContext,
    /// The keys as the help writes them.
    pub(crate) label: &'static str,
    pub(crate) help: &'static str,
    /// The word in the footer; `None` for a key that only the help names.
    pub(crate) hint: Option<&'static str>,
}

const fn plain(code: KeyCode) -> (KeyModifiers, KeyCode) {
    (KeyModifiers::NONE, code)
}

const fn key(c: char) -> (KeyModifiers, KeyCode) {
    plain(KeyCode::Char(c))
}

const CTRL_C: (KeyModifiers, KeyCode) = (KeyModifiers::CONTROL, KeyCode::Char('c'));

macro_rules! bindings {
    ($(
        $context:ident $label:literal [$($key:expr),+] $action:expr,
        $help:literal $(, $hint:literal)?;
    )+) => {
        &[$(KeyBinding {
            keys: &[$($key),+],
            action: $action,
            context: KeyContext::$context,
            label: $label,
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
    Browse "?"          [key('?'), plain(KeyCode::F(1))] KeyAction::Help, "this help", "help";
    Browse "1"          [key('1')] KeyAction::Panel(0), "topology";
    Browse "2"          [key('2')] KeyAction::Panel(1), "links, those that force most phases first";
    Browse "3"          [key('3')] KeyAction::Panel(2), "jobs and their throughput";
    Browse "4"          [key('4')] KeyAction::Panel(3), "epochs";
    Browse "5"          [key('5')] KeyAction::Panel(4), "events and alarms";
    Browse "tab"        [plain(KeyCode::Tab)] KeyAction::NextPanel, "next panel", "panel";
    Browse "shift-tab"  [plain(KeyCode::BackTab), (KeyModifiers::SHIFT, KeyCode::BackTab)]
        KeyAction::PreviousPanel, "previous panel";
    Browse "j down"     [key('j'), plain(KeyCode::Down)] KeyAction::Down, "next line";
    Browse "k up"       [key('k'), plain(KeyCode::Up)] KeyAction::Up, "previous line";
    Browse "page down"  [plain(KeyCode::PageDown), (KeyModifiers::CONTROL, KeyCode::Char('d'))]
        KeyAction::PageDown, "a page down";
    Browse "page up"    [plain(KeyCode::PageUp), (KeyModifiers::CONTROL, KeyCode::Char('u'))]
        KeyAction::PageUp, "a page up";
    Browse "g home"     [key('g'), plain(KeyCode::Home)] KeyAction::First, "first line";
    Browse "G end"      [key('G'), plain(KeyCode::End)] KeyAction::Last, "last line";
    Browse "enter"      [plain(KeyCode::Enter)] KeyAction::Detail, "all there is to know of the \
        selected line; j/k scroll", "detail";
    Browse "esc"        [plain(KeyCode::Esc)] KeyAction::Back, "back; clears the filter";
    Browse "/"          [key('/')] KeyAction::Filter, "show only lines with this text", "filter";
    Browse "s"          [key('s')] KeyAction::Sort, "sort by the next column", "sort";
    Browse "space f"    [key(' '), key('f')] KeyAction::Freeze, "let the picture stand still, or \
        go on", "freeze";
    Browse "z"          [key('z')] KeyAction::Zoom, "give the panel the whole window, or back";
    Lab    "m"          [key('m')] KeyAction::MoveHost, "move the selected host's cable to \
        another switch", "move";
    Lab    "M"          [key('M')] KeyAction::MoveNext, "move the next host's cable to the next \
        switch", "move next";
    Lab    "x"          [key('x')] KeyAction::Cut, "cut the selected link";
    Lab    "J"          [key('J')] KeyAction::Join, "join the link cut last again";
    Browse "q"          [key('q'), CTRL_C] KeyAction::Quit, "quit", "quit";
    Filter "enter"      [plain(KeyCode::Enter)] KeyAction::Accept, "keep the filter", "keep";
    Filter "esc"        [plain(KeyCode::Esc), CTRL_C] KeyAction::Back, "clear the filter", "clear";
    Filter "backspace"  [plain(KeyCode::Backspace)] KeyAction::Erase, "erase a character";
    Choose "j down"     [key('j'), plain(KeyCode::Down)] KeyAction::Down, "next", "next";
    Choose "k up"       [key('k'), plain(KeyCode::Up)] KeyAction::Up, "previous", "previous";
    Choose "enter"      [plain(KeyCode::Enter)] KeyAction::Accept, "do it", "do it";
    Choose "esc"        [plain(KeyCode::Esc), key('q'), CTRL_C] KeyAction::Back,
        "close the list", "close";
    Help   "j down"     [key('j'), plain(KeyCode::Down)] KeyAction::Down, "next line", "scroll";
    Help   "k up"       [key('k'), plain(KeyCode::Up)] KeyAction::Up, "previous line";
    Help   "esc ?"      [plain(KeyCode::Esc), key('?'), key('q'), plain(KeyCode::Enter)]
        KeyAction::Back, "close the help", "close";
    Help   "ctrl-c"     [CTRL_C] KeyAction::Quit, "quit";
];

/// The action of `event` in one of `contexts`.
pub(crate) fn action(event: KeyEvent, contexts: &[KeyContext]) -> Option<KeyAction> {
    // A shifted letter comes with or without SHIFT, depending on the terminal.
    let shift = if matches!(event.code, KeyCode::Char(_)) {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    };
    let pressed = (event.modifiers.difference(shift), event.code);
    TABLE
        .iter()
        .find(|b| contexts.contains(&b.context) && b.keys.contains(&pressed))
        .map(|b| b.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_at_once() {
        for together in [
            &[KeyContext::Browse, KeyContext::Lab][..],
            &[KeyContext::Filter],
            &[KeyContext::Choose],
            &[KeyContext::Help],
        ] {
            let keys: Vec<_> = TABLE
                .iter()
                .filter(|b| together.contains(&b.context))
                .flat_map(|b| b.keys)
                .collect();
            for (i, key) in keys.iter().enumerate() {
                assert!(!keys[..i].contains(key), "{key:?} twice in {together:?}");
            }
        }
    }

    #[test]
    fn ctrl_c_leads_out_of_everywhere() {
        for context in [
            KeyContext::Browse,
            KeyContext::Filter,
            KeyContext::Choose,
            KeyContext::Help,
        ] {
            let event = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert!(matches!(
                action(event, &[context]),
                Some(KeyAction::Quit | KeyAction::Back)
            ));
        }
        assert_eq!(
            action(
                KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT),
                &[KeyContext::Browse]
            ),
            Some(KeyAction::Last)
        );
    }
}
