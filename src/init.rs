//! `heddle init`
use crate::flags::{duration, whole};
use crate::output::print;
use crate::{CommandOutcome, input_file};
use agent::inventory_draft::{InventoryDraft, draft};
use agent::neighbour_search::{AddressBlock, FoundSwitch, SearchLimits, search};
use anyhow::{Context, anyhow, bail};
use inventory::host_lists::{self, ListedHosts};
use inventory::inventory_file::{Inventory, SwitchAddress};
use inventory::unreadable::UnreadableFile;
use inventory::{counted, units};
use nix::unistd::{AccessFlags, access};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The community's usual place.
const COMMUNITY: &str = "/etc/heddle/community";

/// Write an inventory from what one switch knows
///
/// This asks the switch by SNMP, follows its neighbours by LLDP and CDP as far as they answer to the
/// same credential, and writes their addresses, the hosts they hear, and what did not answer and
/// why. heddle discover reads the file as it stands.
///
/// A device that is asked with a community learns it. Only neighbours that call themselves switches or
/// routers are asked, and by default only those with a private address or with one near the first
/// switch; --only names other addresses.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The switches to begin with: addresses or names, with a port if it is not 161
    #[arg(value_name = "SWITCH", required = true)]
    switches: Vec<SwitchAddress>,
    #[command(flatten)]
    credential: CredentialArgs,
    #[command(flatten)]
    hosts: HostArgs,
    /// Ask neighbours at these addresses only, such as 10.0.0.0/16; may be given several times
    #[arg(long, value_name = "NET")]
    only: Vec<AddressBlock>,
    /// Find at most so many switches
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<usize>(1..=u64::MAX))]
    most: usize,
    /// Search for at most this time
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    time: Duration,
    /// How long to wait for an answer; it is asked for three times
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    timeout: Duration,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "inventory.yaml")]
    output: PathBuf,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
}

/// The credential of all switches.
#[derive(clap::Args)]
struct CredentialArgs {
    /// A file with the SNMPv2c community [default: /etc/heddle/community, if there is one]
    #[arg(long, value_name = "FILE", group = "community")]
    community_file: Option<PathBuf>,
    /// The environment variable that holds the SNMPv2c community
    #[arg(long, value_name = "NAME", group = "community")]
    community_env: Option<String>,
    /// The SNMPv3 user, instead of a community
    #[arg(long, value_name = "NAME", conflicts_with = "community")]
    user: Option<String>,
    /// The user's authentication: md5, sha, sha224, sha256, sha384 or sha512
    #[arg(
        long,
        value_name = "PROTOCOL",
        default_value = "sha256",
        requires = "auth_file"
    )]
    auth: String,
    /// A file with the user's authentication pass phrase
    #[arg(long, value_name = "FILE", requires = "user")]
    auth_file: Option<PathBuf>,
    /// The user's encryption: aes, aes192, aes256, aes192-cisco or aes256-cisco
    #[arg(
        long = "priv",
        value_name = "PROTOCOL",
        default_value = "aes",
        requires = "priv_file"
    )]
    privacy: String,
    /// A file with the user's encryption pass phrase
    #[arg(long = "priv-file", value_name = "FILE", requires = "auth_file")]
    priv_file: Option<PathBuf>,
}

/// Lists of hosts. If there is none, the hosts that switches hear by LLDP are written.
#[derive(clap::Args)]
struct HostArgs {
    /// Add the nodes of Slurm, as scontrol or sinfo on this machine names them
    #[arg(long)]
    slurm: bool,
    /// Add the hosts of a file with a host, or a range such as node[01-40], in each line
    #[arg(long, value_name = "FILE")]
    hosts: Vec<PathBuf>,
    /// Add the hosts of an Ansible inventory, INI or YAML
    #[arg(long, value_name = "FILE")]
    ansible: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let to_screen = args.output == Path::new("-");
    if !to_screen && !args.force && args.output.exists() {
        bail!(
            "{}: exists already; nothing was asked: choose another file with --output, or replace \
             it with --force",
            args.output.display()
        );
    }
    if !to_screen {
        refuse_unwritable(&args.output)?;
    }
    let listed = args.hosts.read()?;
    let credential = args.credential.written()?;
    let mut inventory = inventory(&credential, args.timeout)?;
    let secrets = agent::snmp_access::read_secrets(&mut inventory);
    for warning in secrets.map_err(|problem| anyhow!("{problem}; nothing was asked"))? {
        tell!("heddle: {warning}");
    }
    let limits = SearchLimits {
        only: args.only.clone(),
        most: args.most,
        time: args.time,
    };
    let runtime = tokio::runtime::Runtime::new().context("no threads to ask from")?;
    let found = runtime.block_on(search(&inventory, args.switches.clone(), &limits, show))?;
    // This does not wait for the look-up of a name that hangs.
    runtime.shutdown_background();
    for missed in &found.missed {
        let name = if missed.name.is_empty() {
            "switch"
        } else {
            &missed.name
        };
        let place = missed
            .address
            .as_ref()
            .map_or(String::new(), |a| format!(" at {a}"));
        let line = format!("heddle: {name}{place}: {}", missed.why);
        tell!("{}", inventory::sanitize::message(&line));
    }
    if found.switches.is_empty() {
        tell!("heddle: no switch answered; nothing was written");
        return Ok(CommandOutcome::CheckFailed);
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command = format!("heddle {}", words.join(" "));
    let draft = draft(&command, &credential, &found, &listed);
    // Names in it are those that devices have: the file is written only if heddle reads it again.
    Inventory::parse("the new inventory", &draft.text)?;
    if to_screen {
        return print(&draft.text);
    }
    write(args, &draft)?;
    Ok(CommandOutcome::Done)
}

/// Refuses a file that cannot be written, because the search may take minutes.
fn refuse_unwritable(output: &Path) -> anyhow::Result<()> {
    let folder = output.parent().filter(|path| !path.as_os_str().is_empty());
    let place = match folder {
        _ if output.exists() => output,
        folder => folder.unwrap_or(Path::new(".")),
    };
    let refusal = match access(place, AccessFlags::W_OK) {
        _ if output.is_dir() => io::ErrorKind::IsADirectory.into(),
        Ok(()) => return Ok(()),
        Err(errno) => errno.into(),
    };
    bail!(
        "{}; nothing was asked: choose another file with --output",
        UnreadableFile::new(place, refusal)
    )
}

fn show(switch: &FoundSwitch) {
    let by = match &switch.named_by {
        Some(by) => format!(", a neighbour of {by}"),
        None => String::new(),
    };
    let stations = switch
        .list
        .neighbours
        .iter()
        .filter(|n| n.is_station())
        .count();
    let line = format!(
        "heddle: {} at {}{by}: {}, {stations} of them {}",
        switch.list.name,
        switch.address,
        counted(switch.list.neighbours.len(), "neighbour"),
        if stations == 1 { "a host" } else { "hosts" }
    );
    tell!("{}", inventory::sanitize::message(&line));
}

/// Writes the file. Another program may have made it meanwhile.
fn write(args: &Args, draft: &InventoryDraft) -> anyhow::Result<()> {
    let file = args.output.display();
    let mut options = OpenOptions::new();
    options
        .write(true)
        .truncate(true)
        .create(args.force)
        .create_new(!args.force);
    let opened = options.open(&args.output);
    let written = opened.and_then(|mut f| f.write_all(draft.text.as_bytes()));
    written.with_context(|| format!("{file}: cannot be written"))?;
    tell!("{}", written_lines(&file.to_string(), draft));
    Ok(())
}

/// The lines that say what was written, what it lacks, and which step is next.
fn written_lines(file: &str, draft: &InventoryDraft) -> String {
    let mut lines = format!(
        "heddle: {file}: {}, {}\n",
        counted(draft.switches, "switch"),
        counted(draft.hosts, "host")
    );
    if draft.hosts > 0 {
        lines += "heddle: no host has an address, so no call goes over TCP: run heddle agent on the \
                  hosts, or add addresses\n";
    }
    lines + &format!("heddle: look at it, then run: heddle discover --inventory {file}")
}

/// An inventory with the credential and without switches that matter.
fn inventory(credential: &str, timeout: Duration) -> anyhow::Result<Inventory> {
    let timeout = units::duration::show(timeout);
    let text = format!(
        "switches: {{first: {{}}}}\nsnmp: {{default: {credential}}}\ntiming: {{timeout: {timeout}}}\n"
    );
    Ok(Inventory::parse("the flags", &text)?)
}

impl CredentialArgs {
    /// The credential as an inventory has it. Files are named by whole paths: the controller starts
    /// in another folder.
    fn written(&self) -> anyhow::Result<String> {
        if let Some(user) = &self.user {
            let mut text = format!("{{version: 3, user: {}", serde_json::json!(user));
            if let Some(path) = &self.auth_file {
                text += &format!(
                    ", auth: {{protocol: {}, key: {}}}",
                    self.auth,
                    file_entry(path)
                );
            }
            if let Some(path) = &self.priv_file {
                text += &format!(
                    ", priv: {{protocol: {}, key: {}}}",
                    self.privacy,
                    file_entry(path)
                );
            }
            return Ok(text + "}");
        }
        let community = match (
            &self.community_env,
            self.community_file
                .clone()
                .or_else(|| Some(PathBuf::from(COMMUNITY)).filter(|path| path.exists())),
        ) {
            (Some(name), _) => format!("{{env: {}}}", serde_json::json!(name)),
            (None, Some(path)) => file_entry(&path),
            (None, None) => bail!(
                "no credential for the switches; nothing was asked: name one with \
                 --community-file FILE, --community-env NAME, or --user NAME --auth-file FILE"
            ),
        };
        Ok(format!("{{version: 2c, community: {community}}}"))
    }
}

fn file_entry(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    format!(
        "{{file: {}}}",
        serde_json::json!(whole.display().to_string())
    )
}

impl HostArgs {
    fn read(&self) -> anyhow::Result<ListedHosts> {
        let mut lists = Vec::new();
        if self.slurm {
            lists.push(slurm()?);
        }
        for path in &self.hosts {
            let (file, text) = file_and_text(path)?;
            lists.push(host_lists::hostfile(&file, &text)?);
        }
        for path in &self.ansible {
            let (file, text) = file_and_text(path)?;
            lists.push(host_lists::ansible(&file, &text)?);
        }
        Ok(host_lists::joined(lists))
    }
}

fn file_and_text(path: &Path) -> anyhow::Result<(String, String)> {
    let file = path.display().to_string();
    anyhow::Ok((file, input_file::text(path)?))
}

/// The nodes of Slurm on this machine.
fn slurm() -> anyhow::Result<ListedHosts> {
    let mut problems = Vec::new();
    for (program, arguments) in [
        ("scontrol", &["show", "nodes", "--oneliner"][..]),
        ("sinfo", &["-N", "-h", "-o", "%N"][..]),
    ] {
        match Command::new(program).args(arguments).output() {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout);
                return Ok(host_lists::slurm(program, &text)?);
            }
            Ok(output) => {
                let messages = String::from_utf8_lossy(&output.stderr);
                let last = messages.trim().lines().last().unwrap_or("it failed");
                problems.push(match last.starts_with(program) {
                    true => last.to_owned(),
                    false => format!("{program}: {last}"),
                });
            }
            Err(e) => problems.push(format!("{program}: {e}")),
        }
    }
    bail!(
        "--slurm: {}; nothing was asked: run it where Slurm's commands work, or list the nodes \
         with --hosts FILE",
        problems.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_with_hosts_is_reported_to_lack_their_addresses() {
        let lines = lines_for(2);
        assert!(lines.starts_with("heddle: i.yaml: 1 switch, 2 hosts\n"));
        assert!(lines.contains("\nheddle: no host has an address, so"));
        assert!(!lines_for(0).contains("address"));
    }

    fn lines_for(hosts: usize) -> String {
        let draft = InventoryDraft {
            text: String::new(),
            switches: 1,
            hosts,
        };
        written_lines("i.yaml", &draft)
    }
}
