//! The loop around the state machine: threads bring messages, effects go out, and a frame is drawn
//! at most ten times a second.
use crate::app::{App, AppEffect, AppMessage, AppSettings, ChosenColumns, LabAction};
use crate::keys::KeyTable;
use crate::sanitize;
use crate::screen::TerminalScreen;
use crate::source::SnapshotSource;
use crate::theme::{ColourDepth, Theme};
use api::Snapshot;
use crossterm::event::{self, Event};
use inventory::{Millis, unreadable};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::error::Category;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// At most ten frames a second.
const FRAME: Duration = Duration::from_millis(100);
/// The interval at which the key thread checks whether it should end.
const KEY_POLL: Duration = Duration::from_millis(100);

const SIGNALS: [i32; 3] = [SIGTERM, SIGHUP, SIGINT];

/// Acts on the cables of a lab; the answer is a line for the operator. A call may take seconds: it
/// runs on a thread of its own.
pub type LabControl = Box<dyn FnMut(&LabAction) -> Result<String, String> + Send>;

/// The appearance and the abilities of the interface.
#[derive(Default)]
pub struct TuiOptions {
    /// Colours.
    pub theme: Theme,
    /// The colours that the terminal has.
    pub depth: ColourDepth,
    /// Only printable ASCII on the screen.
    pub ascii: bool,
    /// Leave the mouse to the terminal.
    pub no_mouse: bool,
    pub keys: KeyTable,
    /// The columns of each panel.
    pub columns: ChosenColumns,
    /// The lab, if there is one.
    pub lab: Option<LabControl>,
}

/// The reason why the interface cannot start.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// Standard output is not a terminal.
    #[error("standard output is not a terminal; use --print WIDTHxHEIGHT for one picture as text")]
    NoTerminal,
    /// The recorded snapshot cannot be read.
    #[error(
        "{}: {problem}; nothing is shown: expected a snapshot of this version's controller, as \
         curl http://HEAD:7171/v1/snapshot writes it",
        file.display()
    )]
    Snapshot {
        file: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The controller does not give a snapshot.
    #[error("controller: {0}")]
    Controller(String),
    /// The terminal refused a command.
    #[error("terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows `source` in the terminal until the user quits or a signal ends it; the terminal is then as
/// it was before.
///
/// # Errors
/// [`TuiError`]. A controller that cannot be reached is not an error: the interface says so and
/// keeps trying.
pub fn run(source: SnapshotSource, options: TuiOptions) -> Result<(), TuiError> {
    if !io::stdout().is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let address = address(&source);
    let live = matches!(source, SnapshotSource::Http(_));
    let first = match &source {
        SnapshotSource::File(file) => Some(load(file)?),
        SnapshotSource::Http(_) => None,
    };
    let look = AppSettings {
        address,
        theme: options.theme,
        depth: options.depth,
        mouse: !options.no_mouse,
        keys: options.keys,
        columns: options.columns,
        ascii: options.ascii,
        zone: TimeZone::system(),
        lab: options.lab.is_some(),
        live,
    };
    let mut app = App::new(look);
    if let Some(snapshot) = first {
        app.update(now(), AppMessage::Picture(Box::new(snapshot)));
    }
    let (sender, messages) = mpsc::channel();
    // After the loop, signals again end the program as they did before.
    let over = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        register_conditional_default(signal, over.clone())?;
    }
    let mut signals = Signals::new(SIGNALS)?;
    let handle = signals.handle();
    let mut screen = TerminalScreen::enter(!options.no_mouse)?;
    let stop = Arc::new(AtomicBool::new(false));
    let orders = options.lab.map(|lab| lab_thread(lab, sender.clone()));
    let keys = key_thread(sender.clone(), stop.clone());
    source_thread(source, sender.clone(), stop.clone());
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let _ = sender.send(AppMessage::Terminate);
        }
    });
    let result = turn(app, &mut screen, &messages, orders);
    // The terminal is given back only when no thread here reads from it any more: keys typed after
    // that belong to the shell.
    stop.store(true, Ordering::Relaxed);
    let last_key = Instant::now() + 3 * KEY_POLL;
    // A closed terminal may keep crossterm's reader for ever; the end of the program ends the
    // reader.
    while !keys.is_finished() && Instant::now() < last_key {
        thread::sleep(KEY_POLL / 10);
    }
    drop(screen);
    handle.close();
    over.store(true, Ordering::Relaxed);
    result
}

/// One picture of `source` as plain text of `size` columns and lines.
///
/// # Errors
/// [`TuiError`] if there is no snapshot.
pub fn print(
    source: &SnapshotSource,
    size: (u16, u16),
    options: &TuiOptions,
) -> Result<String, TuiError> {
    let snapshot = match source {
        SnapshotSource::File(file) => load(file)?,
        SnapshotSource::Http(controller) => controller.snapshot().map_err(TuiError::Controller)?,
    };
    let address = address(source);
    let look = AppSettings {
        address,
        theme: Theme::Mono,
        columns: options.columns.clone(),
        ascii: options.ascii,
        zone: TimeZone::UTC,
        lab: options.lab.is_some(),
        live: false,
        ..AppSettings::default()
    };
    let mut app = App::new(look);
    app.update(snapshot.at, AppMessage::Picture(Box::new(snapshot)));
    let mut terminal =
        Terminal::new(TestBackend::new(size.0, size.1)).unwrap_or_else(|e| match e {});
    terminal
        .draw(|frame| app.draw(frame))
        .unwrap_or_else(|e| match e {});
    Ok(text(terminal.backend().buffer()))
}

/// A frame as lines of text without trailing blanks.
pub fn text(buffer: &ratatui::buffer::Buffer) -> String {
    let mut out = String::new();
    for row in buffer.content.chunks(usize::from(buffer.area.width).max(1)) {
        let mut line = String::new();
        let mut tail = 0;
        for cell in row {
            if tail == 0 {
                line.push_str(cell.symbol());
                // A wide character has the cells behind it, too, which hold blanks.
                tail = ratatui::text::Span::raw(cell.symbol())
                    .width()
                    .saturating_sub(1);
            } else {
                tail -= 1;
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn load(file: &std::path::Path) -> Result<Snapshot, TuiError> {
    let json = std::fs::read_to_string(file)
        .map_err(|e| unusable_snapshot(unreadable::reason(&e), file))?;
    sanitize::snapshot(&json).map_err(|e| {
        unusable_snapshot(
            match e.classify() {
                Category::Data => format!("it is JSON, but not a snapshot of heddle ({e})"),
                _ => format!("line {}: it is not JSON", e.line()),
            },
            file,
        )
    })
}

fn unusable_snapshot(problem: String, file: &std::path::Path) -> TuiError {
    TuiError::Snapshot {
        file: file.to_owned(),
        problem,
    }
}

fn address(source: &SnapshotSource) -> String {
    let raw = match source {
        // Only `https://` stays in the address.
        SnapshotSource::Http(controller) => controller.url.trim_start_matches("http://").to_owned(),
        SnapshotSource::File(file) => file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    };
    sanitize::text(&raw)
}

fn turn(
    mut app: App,
    screen: &mut TerminalScreen,
    messages: &Receiver<AppMessage>,
    orders: Option<Sender<LabAction>>,
) -> Result<(), TuiError> {
    loop {
        screen.draw(|frame| app.draw(frame))?;
        let drawn = Instant::now();
        let mut batch = vec![next(&app, messages)];
        thread::sleep(FRAME.saturating_sub(drawn.elapsed()));
        batch.extend(messages.try_iter());
        for message in batch {
            match app.update(now(), message) {
                Some(AppEffect::Quit) => return Ok(()),
                Some(AppEffect::Lab(action))
                    if orders
                        .as_ref()
                        .is_none_or(|o| o.send(action.clone()).is_err()) =>
                {
                    app.update(
                        now(),
                        AppMessage::Lab(action, Err("the lab does not answer any more".into())),
                    );
                }
                Some(AppEffect::Copy(text)) => screen.copy(&text)?,
                Some(AppEffect::Mouse(taken)) => screen.take_mouse(taken)?,
                Some(AppEffect::Lab(_)) | None => {}
            }
        }
    }
}

/// The next message; a tick when only the clock changes the screen.
fn next(app: &App, messages: &Receiver<AppMessage>) -> AppMessage {
    let received = match app.next_change_at() {
        Some(at) => messages.recv_timeout(at.since(now()).max(Duration::from_millis(1))),
        None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    received.unwrap_or_else(|e| {
        if e == RecvTimeoutError::Timeout {
            AppMessage::Tick
        } else {
            AppMessage::Terminate
        }
    })
}

/// The wall clock at the start, and from there on the time since: setting the wall clock in between
/// must not make the screen wait.
fn now() -> Millis {
    static START: OnceLock<(Instant, u64)> = OnceLock::new();
    let (start, wall) = START.get_or_init(|| {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        (Instant::now(), wall.map_or(0, |d| d.as_millis() as u64))
    });
    Millis(wall + start.elapsed().as_millis() as u64)
}

fn key_thread(sender: Sender<AppMessage>, stop: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let message =
                match event::poll(KEY_POLL).and_then(|some| some.then(event::read).transpose()) {
                    Ok(Some(Event::Key(key))) => AppMessage::Key(key),
                    Ok(Some(Event::Mouse(mouse))) => AppMessage::Mouse(mouse),
                    Ok(Some(Event::Resize(..))) => AppMessage::Resize,
                    Ok(_) => continue,
                    // The terminal is gone.
                    Err(_) => AppMessage::Terminate,
                };
            let gone = matches!(message, AppMessage::Terminate);
            if sender.send(message).is_err() || gone {
                return;
            }
        }
    })
}

fn source_thread(source: SnapshotSource, sender: Sender<AppMessage>, stop: Arc<AtomicBool>) {
    if let SnapshotSource::Http(controller) = source {
        thread::spawn(move || {
            let followed = catch_unwind(AssertUnwindSafe(|| {
                controller.follow(&stop, |message| sender.send(message).is_ok())
            }));
            if followed.is_err() {
                let _ = sender.send(AppMessage::Lost(
                    "the reader failed inside heddle; please report it".into(),
                ));
            }
        });
    }
}

fn lab_thread(mut lab: LabControl, sender: Sender<AppMessage>) -> Sender<LabAction> {
    let (orders, actions) = mpsc::channel();
    thread::spawn(move || {
        for action in actions {
            let done = catch_unwind(AssertUnwindSafe(|| lab(&action))).unwrap_or_else(|_| {
                Err(format!(
                    "lab: {action:?} failed inside heddle; please report it"
                ))
            });
            if sender.send(AppMessage::Lab(action, done)).is_err() {
                return;
            }
        }
    });
    orders
}
