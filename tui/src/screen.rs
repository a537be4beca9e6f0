//! The real terminal: taken over once, and given back on every way out.
use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::Show;
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};
use std::io::{self, BufWriter, Stdout};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};

/// The thread that draws, while the interface has the terminal.
static OWNER: Mutex<Option<ThreadId>> = Mutex::new(None);

/// The size of a large frame with all its colours, in bytes. Standard output alone would pass a
/// frame on in pieces of a kilobyte.
const FRAME: usize = 1 << 18;

/// The terminal in raw mode on its alternate screen; dropping it restores the former screen.
pub(crate) struct TerminalScreen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl TerminalScreen {
    /// Takes the terminal over, the mouse too if `mouse` says so.
    pub(crate) fn enter(mouse: bool) -> io::Result<TerminalScreen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                let owner = *owner();
                if owner == Some(thread::current().id()) {
                    // The drawing thread panicked: without this, its message would vanish with the
                    // alternate screen.
                    leave();
                } else if owner.is_some() {
                    // The interface goes on and names the failed thread itself.
                    return;
                }
                report(panic);
            }));
        });
        *owner() = Some(thread::current().id());
        let entered = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen))
            .and_then(|()| take_mouse(mouse))
            .and_then(|()| {
                Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(
                    FRAME,
                    io::stdout(),
                )))
            });
        match entered {
            Ok(terminal) => Ok(TerminalScreen { terminal }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    /// Draws a frame. A terminal with synchronized updates shows it whole or not at all.
    pub(crate) fn draw(&mut self, picture: impl FnOnce(&mut Frame)) -> io::Result<()> {
        // Written at once, so that nothing is left in a buffer if the drawing panics.
        execute!(io::stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(picture)?;
        execute!(io::stdout(), EndSynchronizedUpdate)
    }
}

impl TerminalScreen {
    /// Takes the mouse, or leaves it to the terminal.
    pub(crate) fn take_mouse(&mut self, taken: bool) -> io::Result<()> {
        take_mouse(taken)
    }

    /// Asks the terminal to put `text` into the clipboard (OSC 52). It does not say whether it did.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
    }
}

fn take_mouse(taken: bool) -> io::Result<()> {
    if taken {
        execute!(io::stdout(), EnableMouseCapture)
    } else {
        execute!(io::stdout(), DisableMouseCapture)
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        leave();
    }
}

fn owner() -> MutexGuard<'static, Option<ThreadId>> {
    OWNER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the terminal back, once: a second time would put the cursor onto newer output. An error
/// here is ignored, because the terminal may be gone already.
fn leave() {
    if owner().take().is_some() {
        let _ = execute!(
            io::stdout(),
            EndSynchronizedUpdate,
            DisableMouseCapture,
            LeaveAlternateScreen,
            Show
        );
        let _ = disable_raw_mode();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    #[ignore = "the next test runs this in a terminal"]
    fn panics() {
        let _screen = TerminalScreen::enter(true).unwrap();
        panic!("deliberate panic");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_and_can_be_read() {
        let socket = format!("heddle-panic-{}", std::process::id());
        let program = std::env::current_exe().unwrap();
        let line = format!(
            "{} --exact screen::tests::panics --ignored --nocapture; stty -a; exec sleep 60",
            program.display()
        );
        tmux(
            &[
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-x",
                "80",
                "-y",
                "40",
                "-s",
                "t",
                &format!("env RUST_BACKTRACE=0 sh -c '{line}'"),
            ],
            &socket,
        );
        let end = Instant::now() + Duration::from_secs(30);
        let mut shown = String::new();
        while Instant::now() < end && !shown.contains("echoctl") {
            std::thread::sleep(Duration::from_millis(50));
            shown = tmux(&["capture-pane", "-p", "-t", "t"], &socket);
        }
        let modes = tmux(
            &[
                "display-message",
                "-p",
                "-t",
                "t",
                "#{alternate_on} #{mouse_any_flag} #{cursor_flag}",
            ],
            &socket,
        );
        tmux(&["kill-server"], &socket);
        assert!(
            shown.contains("deliberate panic")
                && shown.contains(" icanon ")
                && shown.contains(" echo "),
            "{shown}"
        );
        assert_eq!(modes.trim(), "0 0 1");
    }

    fn tmux(arguments: &[&str], socket: &str) -> String {
        let out = Command::new("tmux")
            .args(["-L", socket])
            .args(arguments)
            .output();
        String::from_utf8(
            out.unwrap_or_else(|e| panic!("tmux: {e}; this test needs it: apt-get install tmux"))
                .stdout,
        )
        .unwrap()
    }
}
