//! The one table of keys. Dispatch, footer and help all read it, so none can say what the others do not.
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
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

/// Where a key means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// Looking at panels.
    Browse,
    /// Looking at panels, with a lab to act on.
    Lab,
    /// Typing a filter; every other character is text.
    Filter,
    /// Choosing from a list.
    Choose,
    /// Reading the help.
    Help,
}

/// A key or two, what they do, and how help and footer say it.
pub(crate) struct Binding {
    keys: &'static [(KeyModifiers, KeyCode)],
    pub(crate) action: Action,
    pub(crate) context: Context,
    /// The keys as written in help.
    pub(crate) label: &'static str,
    pub(crate) help: &'static str,
    /// The word in the footer; `None` leaves it to the help.
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
    ($($context:ident $label:literal [$($key:expr),+] $action:expr, $help:literal $(, $hint:literal)?;)+) => {
        &[$(Binding { keys: &[$($key),+], action: $action, context: Context::$context, label: $label, help: $help, hint: bindings!(@ $($hint)?) }),+]
    };
    (@ $hint:literal) => { Some($hint) };
    (@) => { None };
}

/// Every key there is. The first match wins.
#[rustfmt::skip]
pub(crate) const TABLE: &[Binding] = bindings![
    Browse "?"          [key('?'), plain(KeyCode::F(1))] Action::Help, "this help", "help";
    Browse "1"          [key('1')] Action::Panel(0), "topology";
    Browse "2"          [key('2')] Action::Panel(1), "links, those that force most phases first";
    Browse "3"          [key('3')] Action::Panel(2), "jobs and their throughput";
    Browse "4"          [key('4')] Action::Panel(3), "epochs";
    Browse "5"          [key('5')] Action::Panel(4), "events and alarms";
    Browse "tab"        [plain(KeyCode::Tab)] Action::NextPanel, "next panel", "panel";
    Browse "shift-tab"  [plain(KeyCode::BackTab), (KeyModifiers::SHIFT, KeyCode::BackTab)] Action::PreviousPanel, "previous panel";
    Browse "j down"     [key('j'), plain(KeyCode::Down)] Action::Down, "next line";
    Browse "k up"       [key('k'), plain(KeyCode::Up)] Action::Up, "previous line";
    Browse "page down"  [plain(KeyCode::PageDown), (KeyModifiers::CONTROL, KeyCode::Char('d'))] Action::PageDown, "a page down";
    Browse "page up"    [plain(KeyCode::PageUp), (KeyModifiers::CONTROL, KeyCode::Char('u'))] Action::PageUp, "a page up";
    Browse "g home"     [key('g'), plain(KeyCode::Home)] Action::First, "first line";
    Browse "G end"      [key('G'), plain(KeyCode::End)] Action::Last, "last line";
    Browse "enter"      [plain(KeyCode::Enter)] Action::Detail, "all there is to know of the selected line; j/k scroll", "detail";
    Browse "esc"        [plain(KeyCode::Esc)] Action::Back, "back; clears the filter";
    Browse "/"          [key('/')] Action::Filter, "show only lines with this text", "filter";
    Browse "s"          [key('s')] Action::Sort, "sort by the next column", "sort";
    Browse "space f"    [key(' '), key('f')] Action::Freeze, "let the picture stand still, or go on", "freeze";
    Browse "z"          [key('z')] Action::Zoom, "give the panel the whole window, or back";
    Lab    "m"          [key('m')] Action::MoveHost, "move the selected host's cable to another switch", "move";
    Lab    "M"          [key('M')] Action::MoveNext, "move the next host's cable to the next switch", "move next";
    Lab    "x"          [key('x')] Action::Cut, "cut the selected link";
    Lab    "J"          [key('J')] Action::Join, "join the link cut last again";
    Browse "q"          [key('q'), CTRL_C] Action::Quit, "quit", "quit";
    Filter "enter"      [plain(KeyCode::Enter)] Action::Accept, "keep the filter", "keep";
    Filter "esc"        [plain(KeyCode::Esc), CTRL_C] Action::Back, "clear the filter", "clear";
    Filter "backspace"  [plain(KeyCode::Backspace)] Action::Erase, "erase a character";
    Choose "j down"     [key('j'), plain(KeyCode::Down)] Action::Down, "next", "next";
    Choose "k up"       [key('k'), plain(KeyCode::Up)] Action::Up, "previous", "previous";
    Choose "enter"      [plain(KeyCode::Enter)] Action::Accept, "do it", "do it";
    Choose "esc"        [plain(KeyCode::Esc), key('q'), CTRL_C] Action::Back, "leave it", "leave it";
    Help   "j down"     [key('j'), plain(KeyCode::Down)] Action::Down, "next line", "scroll";
    Help   "k up"       [key('k'), plain(KeyCode::Up)] Action::Up, "previous line";
    Help   "esc ?"      [plain(KeyCode::Esc), key('?'), key('q'), plain(KeyCode::Enter)] Action::Back, "close the help", "close";
    Help   "ctrl-c"     [CTRL_C] Action::Quit, "quit";
];

/// What `event` does in one of `contexts`.
pub(crate) fn action(event: KeyEvent, contexts: &[Context]) -> Option<Action> {
    // A shifted letter comes with or without SHIFT, depending on the terminal.
    let shift = if matches!(event.code, KeyCode::Char(_)) { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    let pressed = (event.modifiers.difference(shift), event.code);
    TABLE.iter().find(|b| contexts.contains(&b.context) && b.keys.contains(&pressed)).map(|b| b.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_at_once() {
        for together in [&[Context::Browse, Context::Lab][..], &[Context::Filter], &[Context::Choose], &[Context::Help]] {
            let keys: Vec<_> = TABLE.iter().filter(|b| together.contains(&b.context)).flat_map(|b| b.keys).collect();
            for (i, key) in keys.iter().enumerate() {
                assert!(!keys[..i].contains(key), "{key:?} twice in {together:?}");
            }
        }
    }

    #[test]
    fn ctrl_c_leads_out_of_everywhere() {
        for context in [Context::Browse, Context::Filter, Context::Choose, Context::Help] {
            let event = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert!(matches!(action(event, &[context]), Some(Action::Quit | Action::Back)));
        }
        assert_eq!(action(KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT), &[Context::Browse]), Some(Action::Last));
    }
}
