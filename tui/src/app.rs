//! The state machine: messages in, effects out. It opens nothing and reads no clock; [`App::draw`] puts it on a frame.
use crate::clean;
use crate::keys::{self, Action, Context};
use crate::moves;
use crate::panels::{PANELS, Panel, View};
use crate::table::{Key, Table};
use crate::theme::{Palette, Theme};
use api::Snapshot;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use inventory::Millis;
use inventory::topology::Topology;
use jiff::tz::TimeZone;
use ratatui::layout::{Position, Rect};
use std::time::Duration;

/// How long a message line stays, in milliseconds.
const NOTE_STAYS: u64 = 8_000;
/// Silence of a live source, in milliseconds, that is worth saying.
const SILENCE: Duration = Duration::from_secs(5);
/// How often something that counts down or up is drawn, in milliseconds.
const TICK: u64 = 1_000;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Message {
    /// A key.
    Key(KeyEvent),
    /// The mouse.
    Mouse(MouseEvent),
    /// The window has another size.
    Resize,
    /// Time went by.
    Tick,
    /// A picture of the cluster, [cleaned](crate::clean::snapshot).
    Picture(Box<Snapshot>),
    /// The controller cannot be reached; why.
    Lost(String),
    /// A lab action ended: what was done, or why not.
    Lab(LabAction, Result<String, String>),
    /// Whoever started this wants it to end.
    Terminate,
}

/// Something to do outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Act on the lab; the answer comes back as [`Message::Lab`].
    Lab(LabAction),
}

/// What the lab can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabAction {
    /// Plug `host`'s cable into `switch`.
    Move {
        /// Whose cable.
        host: String,
        /// Where to.
        switch: String,
    },
    /// Cut the link between two nodes.
    Cut(String, String),
    /// Join two nodes whose link was cut.
    Join(String, String),
}

/// How it looks and what it may do; fixed for its life.
#[derive(Debug, Clone)]
pub struct Look {
    /// Where pictures come from, for the header.
    pub address: String,
    /// Colours.
    pub theme: Theme,
    /// Only printable ASCII on the screen.
    pub ascii: bool,
    /// The time zone of times of day.
    pub zone: TimeZone,
    /// Whether there is a lab to act on.
    pub lab: bool,
    /// Whether pictures keep coming; a recorded one stands still.
    pub live: bool,
}

impl Default for Look {
    fn default() -> Look {
        Look { address: String::new(), theme: Theme::Default, ascii: false, zone: TimeZone::UTC, lab: false, live: true }
    }
}

/// Everything on the screen.
#[derive(Debug)]
pub struct App {
    pub(crate) look: Look,
    pub(crate) palette: Palette,
    pub(crate) now: Millis,
    /// The newest picture and when it came.
    live: Option<(Box<Snapshot>, Millis)>,
    /// The picture that stands still, when it came and since when it stands.
    pub(crate) frozen: Option<Frozen>,
    /// Since when, and why, the controller cannot be reached.
    pub(crate) lost: Option<(Millis, String)>,
    pub(crate) mode: Mode,
    pub(crate) focus: usize,
    pub(crate) panels: [Place; PANELS.len()],
    pub(crate) zoomed: bool,
    /// Whether the detail has the keys.
    pub(crate) in_detail: bool,
    pub(crate) detail_scroll: usize,
    pub(crate) note: Option<Note>,
    /// Where the last frame drew what can be clicked.
    pub(crate) hits: Vec<(Rect, Target)>,
    cuts: Vec<(String, String)>,
    turn: usize,
}

#[derive(Debug)]
pub(crate) struct Frozen {
    picture: Option<(Box<Snapshot>, Millis)>,
    pub(crate) since: Millis,
}

/// A line from the program itself.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) bad: bool,
    until: Millis,
}

/// Where one looks in a panel.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) selected: Option<Key>,
    /// Where the selected row was, for when it is gone.
    pub(crate) index: usize,
    pub(crate) offset: usize,
    /// Rows the last frame had room for.
    pub(crate) page: usize,
    /// Rows there were.
    pub(crate) rows: usize,
    pub(crate) sort: usize,
    pub(crate) filter: String,
}

/// Who gets the keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Browse,
    Filter,
    Help { scroll: usize },
    Choose { host: String, switches: Vec<String>, at: usize },
}

/// What a click hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Panel(usize),
    Row(usize, usize),
    Detail,
    Choice(usize),
}

impl App {
    /// Nothing seen yet.
    pub fn new(look: Look) -> App {
        App {
            palette: look.theme.palette(),
            look,
            now: Millis(0),
            live: None,
            frozen: None,
            lost: None,
            mode: Mode::Browse,
            focus: 0,
            panels: Default::default(),
            zoomed: false,
            in_detail: false,
            detail_scroll: 0,
            note: None,
            hits: Vec::new(),
            cuts: Vec::new(),
            turn: 0,
        }
    }

    /// Takes in what happened at `now` (any clock, as long as it is always the same).
    pub fn update(&mut self, now: Millis, message: Message) -> Option<Effect> {
        self.now = now;
        self.note.take_if(|n| n.until <= now);
        match message {
            Message::Key(event) if event.kind != KeyEventKind::Release => return self.key(event),
            Message::Mouse(event) => return self.mouse(event),
            Message::Picture(snapshot) => {
                self.live = Some((snapshot, now));
                self.lost = None;
            }
            Message::Lost(why) => {
                let since = self.lost.take().map_or(now, |(since, _)| since);
                self.lost = Some((since, clean::text(&why)));
            }
            Message::Lab(action, Ok(done)) => {
                match action {
                    LabAction::Cut(a, b) => self.cuts.push((a, b)),
                    LabAction::Join(a, b) => self.cuts.retain(|cut| *cut != (a.clone(), b.clone())),
                    LabAction::Move { .. } => {}
                }
                self.say(&done, false);
            }
            Message::Lab(_, Err(why)) => self.say(&why, true),
            Message::Terminate => return Some(Effect::Quit),
            Message::Key(_) | Message::Resize | Message::Tick => {}
        }
        None
    }

    /// When the screen changes next although nothing happens; `None` if it does not.
    pub fn wakes(&self) -> Option<Millis> {
        let soon = Millis(self.now.0 + TICK);
        let note = self.note.as_ref().map(|n| n.until);
        let clock = match (&self.frozen, &self.live) {
            _ if self.lost.is_some() || self.frozen.is_some() => Some(soon),
            (None, Some((s, _))) if s.pending.is_some() => Some(Millis(self.now.0 + TICK / 5)),
            (None, Some((_, received))) if self.look.live => Some(soon.max(received.after(SILENCE))),
            _ => None,
        };
        [note, clock].into_iter().flatten().min()
    }

    /// The picture on the screen.
    pub(crate) fn picture(&self) -> Option<&Snapshot> {
        let shown = self.frozen.as_ref().map_or(&self.live, |f| &f.picture);
        shown.as_ref().map(|(s, _)| s.as_ref())
    }

    /// The controller's clock as of the picture on the screen.
    pub(crate) fn clock(&self) -> Millis {
        let (shown, now) = match &self.frozen {
            Some(f) => (&f.picture, f.since),
            None => (&self.live, self.now),
        };
        let passed = |received: Millis| if self.look.live { now.since(received) } else { Duration::ZERO };
        shown.as_ref().map_or(now, |(s, received)| s.at.after(passed(*received)))
    }

    /// How long a live source has been silent, where that is worth saying.
    pub(crate) fn silence(&self) -> Option<Duration> {
        let (_, received) = self.live.as_ref().filter(|_| self.look.live)?;
        Some(self.now.since(*received)).filter(|silence| *silence >= SILENCE)
    }

    /// What panel `index` shows with its sort order and filter.
    pub(crate) fn table(&self, index: usize, width: u16) -> Table {
        let empty = Snapshot::default();
        let place = &self.panels[index];
        let mut table = PANELS[index].table(&self.view(&empty, width, place.sort));
        table.filter(&place.filter);
        table
    }

    /// What panels draw from; `empty` stands in while there is no picture.
    pub(crate) fn view<'a>(&'a self, empty: &'a Snapshot, width: u16, sort: usize) -> View<'a> {
        let snapshot = self.picture().unwrap_or(empty);
        View { snapshot, clock: self.clock(), zone: &self.look.zone, palette: &self.palette, width, sort }
    }

    /// The contexts whose keys count now.
    pub(crate) fn contexts(&self) -> &'static [Context] {
        match (&self.mode, self.look.lab) {
            (Mode::Browse, false) => &[Context::Browse],
            (Mode::Browse, true) => &[Context::Browse, Context::Lab],
            (Mode::Filter, _) => &[Context::Filter],
            (Mode::Help { .. }, _) => &[Context::Help],
            (Mode::Choose { .. }, _) => &[Context::Choose],
        }
    }

    fn say(&mut self, text: &str, bad: bool) {
        self.note = Some(Note { text: clean::text(text), bad, until: Millis(self.now.0 + NOTE_STAYS) });
    }

    fn key(&mut self, event: KeyEvent) -> Option<Effect> {
        if let Some(action) = keys::action(event, self.contexts()) {
            return self.act(action);
        }
        if let (Mode::Filter, KeyCode::Char(c)) = (&self.mode, event.code)
            && !event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        {
            self.panels[self.focus].filter.push_str(&clean::text(&c.to_string()));
            self.select_found();
        }
        None
    }

    fn act(&mut self, action: Action) -> Option<Effect> {
        match action {
            Action::Quit => return Some(Effect::Quit),
            Action::Help => self.mode = Mode::Help { scroll: 0 },
            Action::Panel(n) => self.go(n),
            Action::NextPanel => self.go((self.focus + 1) % PANELS.len()),
            Action::PreviousPanel => self.go((self.focus + PANELS.len() - 1) % PANELS.len()),
            Action::Down => self.step(1),
            Action::Up => self.step(-1),
            Action::PageDown => self.step(self.page()),
            Action::PageUp => self.step(-self.page()),
            Action::First => self.step(isize::MIN / 2),
            Action::Last => self.step(isize::MAX / 2),
            Action::Detail => self.in_detail = !self.in_detail,
            Action::Back => self.back(),
            Action::Zoom => self.zoomed = !self.zoomed,
            Action::Filter => (self.mode, self.in_detail) = (Mode::Filter, false),
            Action::Erase => {
                self.panels[self.focus].filter.pop();
                self.select_found();
            }
            Action::Sort => self.sort(),
            Action::Freeze => self.freeze(),
            Action::Accept => return self.accept(),
            Action::MoveHost => self.choose_switch(),
            Action::MoveNext => return self.move_next(),
            Action::Cut => return self.cut(),
            Action::Join => return self.join(),
        }
        None
    }

    fn go(&mut self, panel: usize) {
        (self.focus, self.in_detail, self.detail_scroll) = (panel, false, 0);
    }

    fn page(&self) -> isize {
        self.panels[self.focus].page.saturating_sub(1).max(1) as isize
    }

    /// Moves whatever the keys point at; draw clamps scrolled text to its end.
    fn step(&mut self, by: isize) {
        match &mut self.mode {
            Mode::Help { scroll } => *scroll = scroll.saturating_add_signed(by),
            Mode::Choose { switches, at, .. } => *at = at.saturating_add_signed(by).min(switches.len().saturating_sub(1)),
            _ if self.in_detail => self.detail_scroll = self.detail_scroll.saturating_add_signed(by),
            _ => {
                let rows = self.table(self.focus, 80).rows;
                let at = rows.iter().position(|r| Some(&r.key) == self.panels[self.focus].selected.as_ref());
                let at = at.unwrap_or(self.panels[self.focus].index.min(rows.len()));
                self.select(at.saturating_add_signed(by).min(rows.len().saturating_sub(1)));
            }
        }
    }

    fn select(&mut self, index: usize) {
        let key = self.table(self.focus, 80).rows.into_iter().nth(index).map(|r| r.key);
        let place = &mut self.panels[self.focus];
        (place.selected, place.index) = (key, index);
        self.detail_scroll = 0;
    }

    /// Selects the first row the filter itself found, unless it found the selected one.
    fn select_found(&mut self) {
        let rows = self.table(self.focus, 80).rows;
        let selected = &self.panels[self.focus].selected;
        if !rows.iter().any(|r| r.found && Some(&r.key) == selected.as_ref())
            && let Some(first) = rows.iter().position(|r| r.found)
        {
            self.select(first);
        }
    }

    fn back(&mut self) {
        if self.mode == Mode::Filter {
            self.panels[self.focus].filter.clear();
        }
        if self.mode != Mode::Browse {
            self.mode = Mode::Browse;
        } else if self.in_detail {
            self.in_detail = false;
        } else if !self.panels[self.focus].filter.is_empty() {
            self.panels[self.focus].filter.clear();
        } else {
            self.zoomed = false;
        }
    }

    fn sort(&mut self) {
        let orders = PANELS[self.focus].sorts().len();
        let place = &mut self.panels[self.focus];
        place.sort = (place.sort + 1) % orders;
    }

    fn freeze(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(Frozen { picture: self.live.clone(), since: self.now }),
        };
    }

    fn accept(&mut self) -> Option<Effect> {
        match std::mem::replace(&mut self.mode, Mode::Browse) {
            Mode::Choose { host, mut switches, at } if at < switches.len() => Some(self.move_host(host, switches.swap_remove(at))),
            _ => None,
        }
    }

    fn choose_switch(&mut self) {
        let selected = match &self.panels[self.focus].selected {
            Some(Key::Node(name)) => name.clone(),
            Some(Key::Link { b, .. }) => b.clone(),
            _ => String::new(),
        };
        let topology = self.topology();
        if !moves::is_host(&topology, &selected) {
            return self.say("select a host to move its cable; M moves the next one", true);
        }
        let switches = moves::targets(&topology, &selected);
        if switches.is_empty() {
            return self.say(&format!("there is no other switch to move {selected} to"), true);
        }
        self.mode = Mode::Choose { host: selected, switches, at: 0 };
    }

    fn move_next(&mut self) -> Option<Effect> {
        let Some((host, switch)) = moves::next(&self.topology(), self.turn) else {
            self.say("no host to move: it takes a host and two switches", true);
            return None;
        };
        self.turn += 1;
        Some(self.move_host(host, switch))
    }

    fn move_host(&mut self, host: String, switch: String) -> Effect {
        self.say(&format!("moving the cable of {host} to {switch} …"), false);
        Effect::Lab(LabAction::Move { host, switch })
    }

    fn cut(&mut self) -> Option<Effect> {
        let topology = self.topology();
        let ends = match &self.panels[self.focus].selected {
            Some(Key::Link { a, b, .. }) => Some((a.clone(), b.clone())),
            Some(Key::Node(name)) => {
                let branches = crate::tree::walk(&topology, &|a, b| a.cmp(&b));
                let branch = branches.iter().find(|b| b.name == name && !b.outside);
                branch.and_then(|b| b.parent).map(|parent| (parent.to_owned(), name.clone()))
            }
            _ => None,
        };
        let Some((a, b)) = ends else {
            self.say("select a link, or a node below another, to cut its link", true);
            return None;
        };
        self.say(&format!("cutting {a}-{b} …"), false);
        Some(Effect::Lab(LabAction::Cut(a, b)))
    }

    fn join(&mut self) -> Option<Effect> {
        let Some((a, b)) = self.cuts.last().cloned() else {
            self.say("no link was cut from here", true);
            return None;
        };
        self.say(&format!("joining {a}-{b} …"), false);
        Some(Effect::Lab(LabAction::Join(a, b)))
    }

    fn topology(&self) -> Topology {
        self.picture().map(|s| s.topology.clone()).unwrap_or_default()
    }

    fn mouse(&mut self, event: MouseEvent) -> Option<Effect> {
        let at = Position::new(event.column, event.row);
        let target = self.hits.iter().rev().find(|(area, _)| area.contains(at)).map(|(_, t)| *t);
        let overlay = matches!(self.mode, Mode::Help { .. } | Mode::Choose { .. });
        match (event.kind, target) {
            (MouseEventKind::Down(MouseButton::Left), Some(Target::Choice(i))) => {
                if let Mode::Choose { at, .. } = &mut self.mode {
                    *at = i;
                }
                return self.accept();
            }
            (MouseEventKind::Down(MouseButton::Left), _) if overlay => self.mode = Mode::Browse,
            (MouseEventKind::Down(MouseButton::Left), Some(Target::Panel(panel))) => self.go(panel),
            (MouseEventKind::Down(MouseButton::Left), Some(Target::Row(panel, row))) => {
                self.go(panel);
                self.select(row);
            }
            (MouseEventKind::Down(MouseButton::Left), Some(Target::Detail)) => self.in_detail = true,
            (MouseEventKind::ScrollDown, target) => self.wheel(target, 3),
            (MouseEventKind::ScrollUp, target) => self.wheel(target, -3),
            _ => {}
        }
        None
    }

    fn wheel(&mut self, target: Option<Target>, by: isize) {
        match target {
            _ if self.mode != Mode::Browse => self.step(by),
            Some(Target::Detail) => self.detail_scroll = self.detail_scroll.saturating_add_signed(by),
            Some(Target::Panel(panel) | Target::Row(panel, _)) => {
                if panel != self.focus {
                    self.go(panel);
                }
                self.in_detail = false;
                self.step(by);
            }
            _ => {}
        }
    }

    /// The focused panel.
    pub(crate) fn panel(&self) -> &'static dyn Panel {
        PANELS[self.focus]
    }
}
