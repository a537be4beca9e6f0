//! Messages of a daemon to systemd: it is ready, it is alive, its state (sd_notify(3)).
//! Without a service manager nothing is sent.
use inventory::sanitize;
use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// Says that the daemon serves, and how it is.
pub fn tell_ready(status: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(&line(status))]);
}

/// Says how the daemon is, for `systemctl status`.
pub fn tell_status(status: &str) {
    send(&[NotifyState::Status(&line(status))]);
}

/// Says that the daemon reads its configuration again. [`tell_ready`] ends that.
pub fn tell_reloading() {
    // Without this time systemd 253 and younger refuse a reload.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(_) => send(&[NotifyState::Reloading]),
    }
}

/// Says that the daemon ends.
pub fn tell_stopping() {
    send(&[NotifyState::Stopping]);
}

/// A second line would be another message.
fn line(text: &str) -> String {
    sanitize::clean_line(text)
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(false, states) {
        tracing::debug!("NOTIFY_SOCKET: {e}; systemd does not hear of this daemon");
    }
}

/// The unit's watchdog. The loop that must not hang feeds it: if the loop hangs, systemd restarts the
/// daemon.
#[derive(Debug)]
pub struct ServiceWatchdog {
    /// The pause between two messages; `None` without a watchdog.
    pause: Option<Duration>,
    fed: Option<Instant>,
}

impl ServiceWatchdog {
    /// The watchdog that systemd asked for.
    pub fn asked_for() -> ServiceWatchdog {
        let mut limit = 0;
        let asked = sd_notify::watchdog_enabled(false, &mut limit);
        ServiceWatchdog {
            // sd_watchdog_enabled(3) advises half of the limit; a loop that is a little late is alive.
            pause: asked.then(|| Duration::from_micros(limit) / 3),
            fed: None,
        }
    }

    /// Says that the loop turns. Call it at every turn.
    pub fn feed(&mut self) {
        let Some(pause) = self.pause else {
            return;
        };
        if self.fed.is_none_or(|at| at.elapsed() >= pause) {
            send(&[NotifyState::Watchdog]);
            self.fed = Some(Instant::now());
        }
    }
}
