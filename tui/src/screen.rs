//! The real terminal: entered once, and left again whatever happens.
use crossterm::cursor::Show;
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

/// The thread that draws, while the terminal is taken over.
static OWNER: Mutex<Option<ThreadId>> = Mutex::new(None);

/// The terminal in raw mode on its alternate screen; dropping it restores what was there.
pub(crate) struct Screen {
    pub(crate) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over.
    pub(crate) fn enter() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| match *OWNER.lock().unwrap_or_else(PoisonError::into_inner) {
                // Whoever drew is gone; a message on the alternate screen would be gone with it.
                Some(owner) if owner == thread::current().id() => {
                    leave();
                    report(panic);
                }
                // The interface goes on; it says itself which of its threads failed.
                Some(_) => {}
                None => report(panic),
            }));
        });
        *OWNER.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        enable_raw_mode()?;
        let entered = execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match entered {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
        *OWNER.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Nothing can be done about an error here: the terminal may be gone already.
fn leave() {
    let _ = execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}
