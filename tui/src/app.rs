//! The state machine: messages in, effects out. It opens nothing and reads no clock; [`App::draw`]
//! puts it on a frame.
use crate::keys::{self, KeyAction, KeyContext};
use crate::panels::{PANELS, Panel, PanelView};
use crate::sanitize;
use crate::table::{PanelTable, RowKey};
use crate::theme::{Palette, Theme};
use api::Snapshot;
use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use inventory::Millis;
use jiff::tz::TimeZone;
use ratatui::layout::{Position, Rect};
use std::time::Duration;

mod lab_actions;

/// The time for which a message line stays, in milliseconds.
const NOTE_STAYS: u64 = 8_000;
/// A live source that is silent for longer than this is reported as silent.
const SILENCE: Duration = Duration::from_secs(5);
/// The interval, in milliseconds, at which a counting time is drawn anew.
const TICK: u64 = 1_000;

/// An input of the state machine.
#[derive(Debug, Clone)]
pub enum AppMessage {
    /// A key.
    Key(KeyEvent),
    /// The mouse.
    Mouse(MouseEvent),
    /// The window has another size.
    Resize,
    /// Time went by.
    Tick,
    /// A picture of the cluster, [cleaned](crate::sanitize::snapshot).
    Picture(Box<Snapshot>),
    /// The controller cannot be reached, with the reason.
    Lost(String),
    /// A lab action ended: the text of its success, or of its failure.
    Lab(LabAction, Result<String, String>),
    /// A signal asks the program to end.
    Terminate,
}

/// An action that the state machine asks of the outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppEffect {
    /// End the program.
    Quit,
    /// Act on the lab; the answer comes back as [`AppMessage::Lab`].
    Lab(LabAction),
}

/// An action on the lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabAction {
    /// Plug `host`'s cable into `switch`.
    Move {
        /// The host.
        host: String,
        /// The switch.
        switch: String,
    },
    /// Cut the link between two nodes.
    Cut(String, String),
    /// Join two nodes whose link was cut.
    Join(String, String),
}

/// The appearance and the abilities of the interface; fixed for its life.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// The source of the pictures, for the header.
    pub address: String,
    /// Colours.
    pub theme: Theme,
    /// Only printable ASCII on the screen.
    pub ascii: bool,
    /// The time zone of times of day.
    pub zone: TimeZone,
    /// True if a lab is present.
    pub lab: bool,
    /// True if pictures keep coming; a recorded picture stands still.
    pub live: bool,
}

impl Default for AppSettings {
    fn default() -> AppSettings {
        AppSettings {
            address: String::new(),
            theme: Theme::Default,
            ascii: false,
            zone: TimeZone::UTC,
            lab: false,
            live: true,
        }
    }
}

/// The state of everything on the screen.
#[derive(Debug)]
pub struct App {
    pub(crate) look: AppSettings,
    pub(crate) palette: Palette,
    pub(crate) now: Millis,
    /// The newest picture and the time of its arrival.
    live: Option<(Box<Snapshot>, Millis)>,
    /// The picture that stands still, the time of its arrival and the time since which it stands.
    pub(crate) frozen: Option<FrozenPicture>,
    /// The time since which the controller cannot be reached, and the reason.
    pub(crate) lost: Option<(Millis, String)>,
    pub(crate) mode: InputMode,
    pub(crate) focus: usize,
    pub(crate) panels: [PanelPosition; PANELS.len()],
    pub(crate) zoomed: bool,
    /// True if the detail has the keys.
    pub(crate) in_detail: bool,
    pub(crate) detail_scroll: usize,
    pub(crate) note: Option<AppNote>,
    /// The places of everything in the last frame that can be clicked.
    pub(crate) hits: Vec<(Rect, ClickTarget)>,
    cuts: Vec<(String, String)>,
    turn: usize,
}

#[derive(Debug)]
pub(crate) struct FrozenPicture {
    picture: Option<(Box<Snapshot>, Millis)>,
    pub(crate) since: Millis,
}

/// A line from the program itself.
#[derive(Debug)]
pub(crate) struct AppNote {
    pub(crate) text: String,
    pub(crate) bad: bool,
    until: Millis,
}

/// The position of the user in a panel.
#[derive(Debug, Default)]
pub(crate) struct PanelPosition {
    pub(crate) selected: Option<RowKey>,
    /// The place of the selected row; it stays when the row is gone.
    pub(crate) index: usize,
    pub(crate) offset: usize,
    /// The number of rows that the last frame had room for.
    pub(crate) page: usize,
    /// The number of rows in the last frame.
    pub(crate) rows: usize,
    pub(crate) sort: usize,
    pub(crate) filter: String,
}

impl PanelPosition {
    /// Follows `table` on a screen with room for `page` rows. The selection stays on its row. If
    /// that row vanished, the row now at its place takes the selection.
    pub(crate) fn fit(&mut self, table: &PanelTable, page: usize) {
        let found = self
            .selected
            .as_ref()
            .and_then(|key| table.rows.iter().position(|r| r.key == *key));
        let last = table.rows.len().saturating_sub(1);
        self.index = found.unwrap_or(self.index).min(last);
        self.selected = table.rows.get(self.index).map(|r| r.key.clone());
        (self.page, self.rows) = (page, table.rows.len());
        let latest = table.rows.len().saturating_sub(page);
        self.offset = self
            .offset
            .clamp((self.index + 1).saturating_sub(page), self.index)
            .min(latest);
    }
}

/// The part of the interface that receives the keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputMode {
    Browse,
    Filter,
    Help {
        scroll: usize,
    },
    Choose {
        host: String,
        switches: Vec<String>,
        at: usize,
    },
}

/// The target of a click.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClickTarget {
    Panel(usize),
    Row(usize, usize),
    Detail,
    Choice(usize),
}

impl App {
    /// The state before the first picture.
    pub fn new(look: AppSettings) -> App {
        App {
            palette: look.theme.palette(),
            look,
            now: Millis(0),
            live: None,
            frozen: None,
            lost: None,
            mode: InputMode::Browse,
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

    /// Handles an input that came at `now`; any clock will do, if it is always the same one.
    pub fn update(&mut self, now: Millis, message: AppMessage) -> Option<AppEffect> {
        self.now = now;
        self.note.take_if(|n| n.until <= now);
        match message {
            AppMessage::Key(event) if event.kind != KeyEventKind::Release => {
                return self.key(event);
            }
            AppMessage::Mouse(event) => return self.mouse(event),
            AppMessage::Picture(snapshot) => {
                self.live = Some((snapshot, now));
                self.lost = None;
            }
            AppMessage::Lost(why) => {
                let since = self.lost.take().map_or(now, |(since, _)| since);
                self.lost = Some((since, sanitize::text(&why)));
            }
            AppMessage::Lab(action, Ok(done)) => {
                match action {
                    LabAction::Cut(a, b) => self.cuts.push((a, b)),
                    LabAction::Join(a, b) => self.cuts.retain(|cut| *cut != (a.clone(), b.clone())),
                    LabAction::Move { .. } => {}
                }
                self.say(&done, false);
            }
            AppMessage::Lab(_, Err(why)) => self.say(&why, true),
            AppMessage::Terminate => return Some(AppEffect::Quit),
            AppMessage::Key(_) | AppMessage::Resize | AppMessage::Tick => {}
        }
        None
    }

    /// The time of the next change of the screen without an input; `None` if it does not change.
    pub fn next_change_at(&self) -> Option<Millis> {
        let soon = Millis(self.now.0 + TICK);
        let note = self.note.as_ref().map(|n| n.until);
        let clock = match (&self.frozen, &self.live) {
            _ if self.lost.is_some() || self.frozen.is_some() => Some(soon),
            (None, Some((s, _))) if s.pending.is_some() => Some(Millis(self.now.0 + TICK / 5)),
            (None, Some((_, received))) if self.look.live => {
                Some(soon.max(received.after(SILENCE)))
            }
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
        let passed = |received: Millis| {
            if self.look.live {
                now.since(received)
            } else {
                Duration::ZERO
            }
        };
        shown
            .as_ref()
            .map_or(now, |(s, received)| s.at.after(passed(*received)))
    }

    /// The time for which a live source has been silent, if it is long enough to report.
    pub(crate) fn silence(&self) -> Option<Duration> {
        let (_, received) = self.live.as_ref().filter(|_| self.look.live)?;
        Some(self.now.since(*received)).filter(|silence| *silence >= SILENCE)
    }

    /// The table of panel `index` with its sort order and filter.
    pub(crate) fn table(&self, index: usize, width: u16) -> PanelTable {
        let empty = Snapshot::default();
        let place = &self.panels[index];
        let mut table = PANELS[index].table(&self.view(&empty, width, place.sort));
        table.filter(&place.filter);
        table
    }

    /// The input of the panels; `empty` stands in while there is no picture.
    pub(crate) fn view<'a>(
        &'a self,
        empty: &'a Snapshot,
        width: u16,
        sort: usize,
    ) -> PanelView<'a> {
        let snapshot = self.picture().unwrap_or(empty);
        PanelView {
            snapshot,
            clock: self.clock(),
            zone: &self.look.zone,
            palette: &self.palette,
            width,
            sort,
        }
    }

    /// The contexts whose keys are valid now.
    pub(crate) fn contexts(&self) -> &'static [KeyContext] {
        match (&self.mode, self.look.lab) {
            (InputMode::Browse, false) => &[KeyContext::Browse],
            (InputMode::Browse, true) => &[KeyContext::Browse, KeyContext::Lab],
            (InputMode::Filter, _) => &[KeyContext::Filter],
            (InputMode::Help { .. }, _) => &[KeyContext::Help],
            (InputMode::Choose { .. }, _) => &[KeyContext::Choose],
        }
    }

    fn say(&mut self, text: &str, bad: bool) {
        self.note = Some(AppNote {
            text: sanitize::text(text),
            bad,
            until: Millis(self.now.0 + NOTE_STAYS),
        });
    }

    fn key(&mut self, event: KeyEvent) -> Option<AppEffect> {
        if let Some(action) = keys::action(event, self.contexts()) {
            return self.act(action);
        }
        if let (InputMode::Filter, KeyCode::Char(c)) = (&self.mode, event.code)
            && !event
                .modifiers
                .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        {
            self.panels[self.focus]
                .filter
                .push_str(&sanitize::text(&c.to_string()));
            self.select_found();
        }
        None
    }

    fn act(&mut self, action: KeyAction) -> Option<AppEffect> {
        match action {
            KeyAction::Quit => return Some(AppEffect::Quit),
            KeyAction::Help => self.mode = InputMode::Help { scroll: 0 },
            KeyAction::Panel(n) => self.go(n),
            KeyAction::NextPanel => self.go((self.focus + 1) % PANELS.len()),
            KeyAction::PreviousPanel => self.go((self.focus + PANELS.len() - 1) % PANELS.len()),
            KeyAction::Down => self.step(1),
            KeyAction::Up => self.step(-1),
            KeyAction::PageDown => self.step(self.page()),
            KeyAction::PageUp => self.step(-self.page()),
            KeyAction::First => self.step(isize::MIN / 2),
            KeyAction::Last => self.step(isize::MAX / 2),
            KeyAction::Detail => self.in_detail = !self.in_detail,
            KeyAction::Back => self.back(),
            KeyAction::Zoom => self.zoomed = !self.zoomed,
            KeyAction::Filter => (self.mode, self.in_detail) = (InputMode::Filter, false),
            KeyAction::Erase => {
                self.panels[self.focus].filter.pop();
                self.select_found();
            }
            KeyAction::Sort => self.sort(),
            KeyAction::Freeze => self.freeze(),
            KeyAction::Accept => return self.accept(),
            KeyAction::MoveHost => self.choose_switch(),
            KeyAction::MoveNext => return self.move_next(),
            KeyAction::Cut => return self.cut(),
            KeyAction::Join => return self.join(),
        }
        None
    }

    fn go(&mut self, panel: usize) {
        (self.focus, self.in_detail, self.detail_scroll) = (panel, false, 0);
    }

    fn page(&self) -> isize {
        self.panels[self.focus].page.saturating_sub(1).max(1) as isize
    }

    /// Moves the selection, or scrolls the text, that has the keys; the drawing stops scrolled text
    /// at its end.
    fn step(&mut self, by: isize) {
        match &mut self.mode {
            InputMode::Help { scroll } => *scroll = scroll.saturating_add_signed(by),
            InputMode::Choose { switches, at, .. } => {
                *at = at
                    .saturating_add_signed(by)
                    .min(switches.len().saturating_sub(1))
            }
            _ if self.in_detail => {
                self.detail_scroll = self.detail_scroll.saturating_add_signed(by)
            }
            _ => {
                let rows = self.table(self.focus, 80).rows;
                let at = rows
                    .iter()
                    .position(|r| Some(&r.key) == self.panels[self.focus].selected.as_ref());
                let at = at.unwrap_or(self.panels[self.focus].index.min(rows.len()));
                self.select(
                    at.saturating_add_signed(by)
                        .min(rows.len().saturating_sub(1)),
                );
            }
        }
    }

    fn select(&mut self, index: usize) {
        let key = self
            .table(self.focus, 80)
            .rows
            .into_iter()
            .nth(index)
            .map(|r| r.key);
        let place = &mut self.panels[self.focus];
        (place.selected, place.index) = (key, index);
        self.detail_scroll = 0;
    }

    /// Selects the first row that the filter itself found, unless the selected row is one of those.
    fn select_found(&mut self) {
        let rows = self.table(self.focus, 80).rows;
        let selected = &self.panels[self.focus].selected;
        if !rows
            .iter()
            .any(|r| r.found && Some(&r.key) == selected.as_ref())
            && let Some(first) = rows.iter().position(|r| r.found)
        {
            self.select(first);
        }
    }

    fn back(&mut self) {
        if self.mode == InputMode::Filter {
            self.panels[self.focus].filter.clear();
        }
        if self.mode != InputMode::Browse {
            self.mode = InputMode::Browse;
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
            None => Some(FrozenPicture {
                picture: self.live.clone(),
                since: self.now,
            }),
        };
    }

    fn accept(&mut self) -> Option<AppEffect> {
        match std::mem::replace(&mut self.mode, InputMode::Browse) {
            InputMode::Choose {
                host,
                mut switches,
                at,
            } if at < switches.len() => Some(self.move_host(host, switches.swap_remove(at))),
            _ => None,
        }
    }

    fn mouse(&mut self, event: MouseEvent) -> Option<AppEffect> {
        let at = Position::new(event.column, event.row);
        let target = self
            .hits
            .iter()
            .rev()
            .find(|(area, _)| area.contains(at))
            .map(|(_, t)| *t);
        let overlay = matches!(self.mode, InputMode::Help { .. } | InputMode::Choose { .. });
        match (event.kind, target) {
            (MouseEventKind::Down(MouseButton::Left), Some(ClickTarget::Choice(i))) => {
                if let InputMode::Choose { at, .. } = &mut self.mode {
                    *at = i;
                }
                return self.accept();
            }
            (MouseEventKind::Down(MouseButton::Left), _) if overlay => {
                self.mode = InputMode::Browse
            }
            (MouseEventKind::Down(MouseButton::Left), Some(ClickTarget::Panel(panel))) => {
                self.go(panel)
            }
            (MouseEventKind::Down(MouseButton::Left), Some(ClickTarget::Row(panel, row))) => {
                self.go(panel);
                self.select(row);
            }
            (MouseEventKind::Down(MouseButton::Left), Some(ClickTarget::Detail)) => {
                self.in_detail = true
            }
            (MouseEventKind::ScrollDown, target) => self.wheel(target, 3),
            (MouseEventKind::ScrollUp, target) => self.wheel(target, -3),
            _ => {}
        }
        None
    }

    fn wheel(&mut self, target: Option<ClickTarget>, by: isize) {
        match target {
            _ if self.mode != InputMode::Browse => self.step(by),
            Some(ClickTarget::Detail) => {
                self.detail_scroll = self.detail_scroll.saturating_add_signed(by)
            }
            Some(ClickTarget::Panel(panel) | ClickTarget::Row(panel, _)) => {
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
