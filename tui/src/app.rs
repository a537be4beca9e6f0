//! The state machine: messages in, effects out. It opens nothing and reads no clock; [`App::draw`]
//! puts it on a frame.
use crate::columns::TableWants;
use crate::job_past::JobPast;
use crate::keys::{KeyAction, KeyContext, KeyTable};
use crate::panel_view::PanelView;
use crate::panels::{PANELS, Panel};
use crate::past::LinkPast;
use crate::picture::IndexedSnapshot;
use crate::rows::{RowKey, TableRow};
use crate::sanitize;
use crate::text_filter::TextFilter;
use crate::theme::{ColourDepth, Palette, Theme};
use api::Snapshot;
use crossterm::event::{KeyEvent, KeyEventKind, MouseEvent};
use inventory::{Millis, Topology};
use jiff::tz::TimeZone;
use ratatui::layout::Rect;
use std::sync::Arc;
use std::time::Duration;

mod clicks;
mod copying;
mod folds;
mod lab_actions;
mod lines;
mod typing;

pub(crate) use folds::TreeFolds;
pub use lab_actions::link_names;
pub(crate) use lines::columns;

/// The time for which a message line stays, in milliseconds.
const NOTE_STAYS: u64 = 8_000;
/// A live source that is silent for longer than this is reported as silent.
const SILENCE: Duration = Duration::from_secs(5);
/// The interval, in milliseconds, at which a counting time is drawn anew.
const TICK: u64 = 1_000;

/// An input of the state machine.
#[derive(Debug, Clone)]
pub enum AppMessage {
    Key(KeyEvent),
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
    /// Put this text into the clipboard.
    Copy(String),
    /// Take the mouse, or leave it to the terminal.
    Mouse(bool),
}

/// An action on the lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabAction {
    /// Plug `host`'s cable into `switch`.
    Move { host: String, switch: String },
    /// Cut links: one, or all of a spine that is drained.
    Cut(Vec<CutLink>),
    /// Join links that were cut at once.
    Join(Vec<CutLink>),
}

/// A link of a lab that is cut or joined, by its two nodes.
pub type CutLink = (String, String);

/// The appearance and the abilities of the interface at its start.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// The source of the pictures, for the header.
    pub address: String,
    /// Colours.
    pub theme: Theme,
    /// The colours that the terminal has.
    pub depth: ColourDepth,
    /// True if the mouse belongs to the interface.
    pub mouse: bool,
    pub keys: KeyTable,
    /// For each panel the columns that the user chose.
    pub columns: ChosenColumns,
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
            theme: Theme::default(),
            depth: ColourDepth::default(),
            mouse: true,
            keys: KeyTable::default(),
            columns: ChosenColumns::default(),
            ascii: false,
            zone: TimeZone::UTC,
            lab: false,
            live: true,
        }
    }
}

/// For each panel the columns that the user chose, by their places; `None` for all.
pub type ChosenColumns = [Option<Vec<usize>>; PANELS.len()];

/// The state of everything on the screen.
#[derive(Debug)]
pub struct App {
    pub(crate) look: AppSettings,
    pub(crate) palette: Palette,
    pub(crate) now: Millis,
    /// The newest picture.
    live: Option<Arc<IndexedSnapshot>>,
    /// The network that the user chose among several.
    network: Option<String>,
    past: LinkPast,
    jobs: JobPast,
    /// The picture that stands still, and the time since which it stands.
    pub(crate) frozen: Option<FrozenPicture>,
    /// The time since which the controller cannot be reached, and the reason.
    pub(crate) lost: Option<(Millis, String)>,
    /// The stand-in while there is no picture.
    blank: IndexedSnapshot,
    pub(crate) mode: InputMode,
    pub(crate) folds: TreeFolds,
    pub(crate) focus: usize,
    pub(crate) panels: [PanelPosition; PANELS.len()],
    pub(crate) zoomed: bool,
    /// True if the detail has the keys.
    pub(crate) in_detail: bool,
    pub(crate) detail_scroll: usize,
    pub(crate) note: Option<AppNote>,
    /// The places of everything in the last frame that can be clicked.
    pub(crate) hits: Vec<(Rect, ClickTarget)>,
    cuts: Vec<Vec<CutLink>>,
    turn: usize,
}

#[derive(Debug)]
pub(crate) struct FrozenPicture {
    picture: Option<Arc<IndexedSnapshot>>,
    past: LinkPast,
    jobs: JobPast,
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
    /// True if the sort order is reversed.
    pub(crate) reverse: bool,
    pub(crate) filter: TextFilter,
    /// The columns that the user wants, by their places in [`Panel::columns`].
    pub(crate) columns: Vec<usize>,
    /// The rows, until something changes them.
    pub(crate) lines: Option<PanelLines>,
}

/// The rows of a panel and the room that they want.
#[derive(Debug, Default)]
pub(crate) struct PanelLines {
    pub(crate) rows: Vec<TableRow>,
    pub(crate) wants: TableWants,
}

/// The part of the interface that receives the keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputMode {
    Browse,
    Filter,
    Command {
        text: String,
    },
    Columns {
        at: usize,
    },
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
    /// The title of a column, by the place of the column.
    Title(usize, usize),
    Detail,
    Choice(usize),
    /// A word that does what a key does.
    Word(KeyAction),
}

impl App {
    /// The state before the first picture.
    pub fn new(look: AppSettings) -> App {
        App {
            palette: look.theme.palette(look.depth),
            panels: std::array::from_fn(|i| {
                PanelPosition::new(PANELS[i], &look.columns[i], look.live)
            }),
            look,
            now: Millis(0),
            live: None,
            network: None,
            past: LinkPast::default(),
            jobs: JobPast::default(),
            frozen: None,
            lost: None,
            blank: IndexedSnapshot::default(),
            mode: InputMode::Browse,
            folds: TreeFolds::default(),
            focus: 0,
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
            AppMessage::Picture(mut snapshot) => {
                self.network
                    .iter()
                    .for_each(|name| snapshot.show_network(name));
                self.past.add(&snapshot);
                self.jobs.add(&snapshot);
                self.live = Some(Arc::new(IndexedSnapshot::new(*snapshot, now)));
                self.lost = None;
                if self.frozen.is_none() {
                    self.forget_lines();
                }
            }
            AppMessage::Lost(why) => {
                let since = self.lost.take().map_or(now, |(since, _)| since);
                self.lost = Some((since, sanitize::text(&why)));
            }
            AppMessage::Lab(action, answer) => {
                match (action, &answer) {
                    // A cut that failed, or whose links are joined, is none to take back.
                    (LabAction::Cut(links), Err(_)) | (LabAction::Join(links), Ok(_)) => {
                        self.cuts.retain(|cut| *cut != links);
                    }
                    _ => {}
                }
                let (text, failed) = answer.map_or_else(|why| (why, true), |done| (done, false));
                self.say(&text, failed);
            }
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
            (None, Some(p)) if p.snapshot.pending.is_some() => Some(Millis(self.now.0 + TICK / 5)),
            (None, Some(p)) if self.look.live => Some(soon.max(p.received.after(SILENCE))),
            _ => None,
        };
        [note, clock].into_iter().flatten().min()
    }

    fn shown(&self) -> Option<&IndexedSnapshot> {
        let shown = self.frozen.as_ref().map_or(&self.live, |f| &f.picture);
        shown.as_deref()
    }

    /// The picture on the screen.
    pub(crate) fn picture(&self) -> Option<&Snapshot> {
        self.shown().map(|p| &p.snapshot)
    }

    /// The controller's clock as of the picture on the screen.
    pub(crate) fn clock(&self) -> Millis {
        let now = self.frozen.as_ref().map_or(self.now, |f| f.since);
        match self.shown() {
            Some(shown) if self.look.live => shown.snapshot.at.after(now.since(shown.received)),
            Some(shown) => shown.snapshot.at,
            None => now,
        }
    }

    /// The time for which a live source has been silent, if it is long enough to report.
    pub(crate) fn silence(&self) -> Option<Duration> {
        let live = self.live.as_ref().filter(|_| self.look.live)?;
        Some(self.now.since(live.received)).filter(|silence| *silence >= SILENCE)
    }

    /// The input of panel `index` on lines of `width` cells.
    pub(crate) fn view(&self, index: usize, width: u16) -> PanelView<'_> {
        let picture = self.shown().unwrap_or(&self.blank);
        let is_folded = PANELS[index].folds_stages;
        PanelView {
            snapshot: if is_folded {
                picture.folded()
            } else {
                &picture.snapshot
            },
            picture,
            is_folded,
            past: self.frozen.as_ref().map_or(&self.past, |f| &f.past),
            jobs: self.frozen.as_ref().map_or(&self.jobs, |f| &f.jobs),
            clock: self.clock(),
            zone: &self.look.zone,
            palette: &self.palette,
            width,
            sort: self.panels[index].sort,
            reverse: self.panels[index].reverse,
        }
    }

    /// The contexts whose keys are valid now.
    pub(crate) fn contexts(&self) -> &'static [KeyContext] {
        match (&self.mode, self.look.lab) {
            (InputMode::Browse, false) => &[KeyContext::Browse],
            (InputMode::Browse, true) => &[KeyContext::Browse, KeyContext::Lab],
            (InputMode::Filter | InputMode::Command { .. }, _) => &[KeyContext::Typing],
            (InputMode::Columns { .. }, _) => &[KeyContext::Columns],
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
        if let Some(action) = self.look.keys.action(event, self.contexts()) {
            return self.act(action);
        }
        self.type_key(event);
        None
    }

    pub(crate) fn act(&mut self, action: KeyAction) -> Option<AppEffect> {
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
            KeyAction::Command => self.begin_command(),
            KeyAction::Erase => self.erase(),
            KeyAction::Complete => self.complete(),
            KeyAction::Sort => self.sort(),
            KeyAction::Reverse => self.reverse(),
            KeyAction::Columns => self.mode = InputMode::Columns { at: 0 },
            KeyAction::Toggle => self.toggle_column(),
            KeyAction::Fold => self.fold(),
            KeyAction::Unfold => self.unfold(),
            KeyAction::FoldAll => self.fold_all(true),
            KeyAction::UnfoldAll => self.fold_all(false),
            KeyAction::Copy => return self.copy(),
            KeyAction::CopyDetail => return self.copy_detail(),
            KeyAction::Mouse => return self.toggle_mouse(!self.look.mouse),
            KeyAction::Theme => self.set_theme(self.look.theme.next()),
            KeyAction::Freeze => self.freeze(),
            KeyAction::Network => self.next_network(),
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

    fn back(&mut self) {
        match self.mode {
            InputMode::Filter => self.set_filter(""),
            InputMode::Browse if self.in_detail => self.in_detail = false,
            InputMode::Browse if !self.panels[self.focus].filter.text().is_empty() => {
                self.set_filter("");
            }
            InputMode::Browse => self.zoomed = false,
            _ => {}
        }
        self.mode = InputMode::Browse;
    }

    pub(crate) fn set_theme(&mut self, theme: Theme) {
        self.look.theme = theme;
        self.palette = theme.palette(self.look.depth);
        self.say(&format!("theme: {theme}"), false);
    }

    fn toggle_mouse(&mut self, taken: bool) -> Option<AppEffect> {
        self.look.mouse = taken;
        let state = if taken {
            "the mouse selects, sorts and scrolls"
        } else {
            "the mouse marks text, as the terminal does it"
        };
        self.say(state, false);
        Some(AppEffect::Mouse(taken))
    }

    fn freeze(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(FrozenPicture {
                picture: self.live.clone(),
                past: self.past.clone(),
                jobs: self.jobs.clone(),
                since: self.now,
            }),
        };
        self.forget_lines();
    }

    fn accept(&mut self) -> Option<AppEffect> {
        match std::mem::replace(&mut self.mode, InputMode::Browse) {
            InputMode::Choose {
                host,
                mut switches,
                at,
            } if at < switches.len() => Some(self.move_host(host, switches.swap_remove(at))),
            InputMode::Command { text } => self.command(&text),
            _ => None,
        }
    }

    /// The focused panel.
    pub(crate) fn panel(&self) -> &'static Panel {
        PANELS[self.focus]
    }
}

/// The name of the shown network and its number among all; `None` where there is only one.
pub(crate) fn shown_network(topology: &Topology) -> Option<String> {
    let own = topology.own_network()?;
    let all = &topology.networks;
    let number = all.iter().position(|network| network == own)?;
    Some(format!(
        "network {} ({} of {})",
        own.name,
        number + 1,
        all.len()
    ))
}

impl App {
    /// Shows the next network, of the picture that stands still, too.
    pub(super) fn next_network(&mut self) {
        let topology = self.picture().map(|snapshot| &snapshot.topology);
        let next = topology.and_then(|topology| {
            let all = topology.networks.iter();
            let own = topology.own_network()?;
            let mut after = all.clone().skip_while(|network| *network != own).skip(1);
            after.next().or(topology.networks.first())
        });
        let Some(name) = next.map(|network| network.name.clone()) else {
            return self.say("there is only one network", false);
        };
        let frozen = self.frozen.as_mut();
        let frozen = frozen.map(|frozen| (frozen.picture.as_mut(), &mut frozen.past));
        let live = (self.live.as_mut(), &mut self.past);
        for (picture, past) in std::iter::once(live).chain(frozen) {
            let Some(picture) = picture else { continue };
            let mut snapshot = picture.snapshot.clone();
            snapshot.show_network(&name);
            past.show(&snapshot);
            *picture = Arc::new(IndexedSnapshot::new(snapshot, picture.received));
        }
        self.network = Some(name);
        self.forget_lines();
    }
}
