//! `heddle status`
use crate::CommandOutcome;
use crate::connection::ConnectionArgs;
use crate::output::{TextFormat, print};
use api::status::{ControllerStatus, ServiceState};
use tui::ConnectionSettings;

/// Check a running controller
///
/// Monitoring systems read the first line and the exit status, as of a plugin of Nagios: 0 OK, 1
/// warning (alarms, or silent switches), 2 critical (no answer, no epoch, no switch answers, or
/// nothing new can be published), 3 unknown (the flags name files that cannot be read).
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    connection: ConnectionArgs,
    /// The form of the answer
    #[arg(long, value_enum, default_value = "text")]
    format: TextFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let controller = match args.connection.controller(&ConnectionSettings::default()) {
        Ok(controller) => controller,
        Err(e) => return unanswered(args.format, ServiceState::Unknown, &format!("{e:#}")),
    };
    match controller.snapshot() {
        Ok(snapshot) => {
            let status = ControllerStatus::new(&snapshot);
            print(&match args.format {
                TextFormat::Text => inventory::sanitize::message(&status.to_string()),
                TextFormat::Json => serde_json::to_string_pretty(&status)? + "\n",
            })?;
            Ok(CommandOutcome::Monitored(status.state))
        }
        Err(problem) => unanswered(args.format, ServiceState::Critical, &problem),
    }
}

fn unanswered(
    format: TextFormat,
    state: ServiceState,
    problem: &str,
) -> anyhow::Result<CommandOutcome> {
    let problem = inventory::sanitize::visible(problem);
    print(&match format {
        TextFormat::Text => format!("HEDDLE {state} - {problem}\n"),
        TextFormat::Json => {
            let answer = serde_json::json!({"state": state, "problem": problem});
            serde_json::to_string_pretty(&answer)? + "\n"
        }
    })?;
    Ok(CommandOutcome::Monitored(state))
}
