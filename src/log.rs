//! The daemons' log on standard error.
use anyhow::Context;
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts the log at the `level` of the command line, which may contain levels of single modules.
/// These override the levels in `quiet`.
pub(crate) fn start(quiet: Option<&str>, level: &str) -> anyhow::Result<()> {
    let all = quiet
        .into_iter()
        .chain([level])
        .collect::<Vec<_>>()
        .join(",");
    let targets: Targets = all
        .parse()
        .with_context(|| format!("--log {level}: expected error, warn, info, debug or trace"))?;
    let lines = tracing_subscriber::fmt()
        // INFO would be the most otherwise. The targets are what limits the level.
        .with_max_level(LevelFilter::TRACE)
        .with_writer(io::stderr)
        // Otherwise a log without a reader would end the daemon.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    if is_journal() {
        let lines = lines.with_ansi(false).event_format(JournalFormat::new());
        lines.finish().with(targets).init();
    } else {
        lines.finish().with(targets).init();
    }
    Ok(())
}

/// The beginning of a last line about an error: its priority if the journal reads it.
pub(crate) fn error_prefix() -> &'static str {
    if is_journal() { "<3>" } else { "" }
}

/// True if systemd has connected standard error with its journal: then `JOURNAL_STREAM` names the
/// device and the inode of it (systemd.exec(5)).
fn is_journal() -> bool {
    let named = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let numbers = named
        .split_once(':')
        .and_then(|(device, inode)| Some((device.parse().ok()?, inode.parse().ok()?)));
    let stderr = io::stderr().as_fd().try_clone_to_owned();
    let own = stderr.and_then(|fd| File::from(fd).metadata());
    own.is_ok_and(|own| numbers == Some((own.dev(), own.ino())))
}

/// A line for the journal: a priority (sd-daemon(3)) and the text. The journal has the time itself.
struct JournalFormat(Format<Full, ()>);

impl JournalFormat {
    fn new() -> JournalFormat {
        let text = Format::default().without_time();
        JournalFormat(text.with_level(false).with_target(false))
    }
}

impl<S, N> FormatEvent<S, N> for JournalFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            Level::DEBUG | Level::TRACE => 7,
        };
        write!(writer, "<{priority}>")?;
        self.0.format_event(context, writer, event)
    }
}
