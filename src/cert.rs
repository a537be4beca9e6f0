//! `heddle cert`
use crate::CommandOutcome;
use crate::flags::whole;
use crate::output::print;
use controller::certificates::{CertificateFiles, MOST_DAYS, make};
use std::path::PathBuf;

/// Make an authority and the controller's certificate
///
/// The folder gets ca.pem and ca.key (the authority), controller.pem and controller.key. Agents and
/// viewers need ca.pem alone: they check the controller by it, and show their tokens. Run the same
/// command again to renew the controller's certificate; the authority stays, and so do the owner,
/// group and mode of the files. Keep ca.key where only root reads it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The names and addresses by which agents and viewers reach the controller [default: this
    /// machine's name]; localhost, 127.0.0.1 and ::1 are added
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The folder of the files
    #[arg(long, value_name = "DIR", default_value = "/etc/heddle/tls")]
    dir: PathBuf,
    /// The days for which the controller's certificate is valid
    #[arg(long, value_name = "N", default_value_t = 825, value_parser = whole::<u32>(1..=MOST_DAYS.into()))]
    days: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let mut names = args.names.clone();
    if names.is_empty() {
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let own = hostname.trim().to_owned();
        let short = own.split('.').next().unwrap_or_default().to_owned();
        names.extend([own, short].into_iter().filter(|name| !name.is_empty()));
    }
    names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let made = make(&args.dir, &names, args.days, agent::now())?;
    print(&text(&made))
}

fn text(made: &CertificateFiles) -> String {
    let CertificateFiles {
        ca,
        cert,
        key,
        is_new_authority,
        names,
        until,
    } = made;
    let (ca, cert, key) = (ca.display(), cert.display(), key.display());
    let authority = if *is_new_authority {
        format!("{ca}: a new authority; copy it to every host and viewer\n")
    } else {
        format!("{ca}: the authority, as it was\n")
    };
    format!(
        "{authority}{cert}: for {}\n{key}: its key, for the controller alone\n\n\
         start    heddle controller ... --tls-cert {cert} --tls-key {key}\n\
         agents   heddle agent --controller https://{}:7171 --ca {ca} ...\n\
         viewers  heddle tui --connect https://{}:7171 --ca {ca} ...\n\
         renew    before {until}: this command again, then systemctl reload heddle-controller\n\
         \x20        (restart, where the unit loads the files by LoadCredential)\n",
        names.join(", "),
        names[0],
        names[0],
    )
}
