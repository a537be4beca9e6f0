//! Writes generated networks as folders of recorded walks, for `heddle discover --walks FOLDER`:
//!
//! ```text
//! networks situation FOLDER SITUATION SEED asked|unasked
//! networks regular FOLDER [--switches 10000] [--hosts 200000] [--host-lldp 1] [--talks 2]
//! ```
//!
//! `situation` writes one network of a class, as the tests of inference judge it, with the true
//! cabling in `TRUTH.md` beside the walks. `regular` writes a large network without defects.
use fleet::network::{GeneratedNetwork, NetworkOptions, NetworkSituation, generate};
use std::collections::VecDeque;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

type Args = VecDeque<String>;

fn next(args: &mut Args, what: &str) -> Result<String, String> {
    args.pop_front()
        .ok_or_else(|| format!("networks: no {what}; examples/networks.rs says what is expected"))
}

fn situation(folder: &Path, args: &mut Args) -> Result<GeneratedNetwork, Box<dyn Error>> {
    let name = next(args, "SITUATION")?;
    let known: Vec<String> = NetworkSituation::all().map(|s| s.to_string()).collect();
    let situation = NetworkSituation::all()
        .find(|s| s.to_string() == name)
        .ok_or_else(|| {
            format!(
                "networks: no situation {name:?}; there are {}",
                known.join(", ")
            )
        })?;
    let seed = next(args, "SEED")?.parse()?;
    let unasked = match next(args, "asked or unasked")?.as_str() {
        "asked" => false,
        "unasked" => true,
        other => return Err(format!("networks: {other:?} is neither asked nor unasked").into()),
    };
    let network = generate(&situation.options(seed, unasked), seed);
    fs::create_dir_all(folder)?;
    fs::write(folder.join("TRUTH.md"), truth(&network))?;
    Ok(network)
}

fn regular(args: &mut Args) -> Result<GeneratedNetwork, Box<dyn Error>> {
    let mut options = NetworkOptions::regular(10_000, 200_000);
    while let Some(flag) = args.pop_front() {
        let value = next(args, &format!("value after {flag}"))?;
        match flag.as_str() {
            "--switches" => options.switches = value.parse()?,
            "--hosts" => options.hosts = value.parse()?,
            "--host-lldp" => options.host_lldp = value.parse()?,
            "--talks" => options.talks = value.parse()?,
            _ => return Err(format!("networks: unknown flag {flag}").into()),
        }
    }
    Ok(generate(&options, 1))
}

/// The true nodes and cables.
fn truth(network: &GeneratedNetwork) -> String {
    let mut text = "# The truth\n\n| node | calls itself | kind | asked | listed | speaks | address |\n|---|---|---|---|---|---|---|\n".to_owned();
    for node in &network.truth.nodes {
        let is = &network.nodes[&node.name];
        let address = node.chassis.map_or_else(String::new, |m| m.to_string());
        let _ = writeln!(
            text,
            "| {} | {:?} | {:?} | {} | {} | {} | {address} |",
            node.name, is.called, node.kind, is.asked, is.listed, is.speaks
        );
    }
    text += "\n| cable | state | members | shown by |\n|---|---|---|---|\n";
    for (link, voice) in network.truth.links.iter().zip(&network.voices) {
        let members: Vec<String> = link
            .members
            .iter()
            .map(|m| format!("{}-{}", m.a_port, m.b_port))
            .collect();
        let _ = writeln!(
            text,
            "| {} {} - {} {} | {:?} | {} | {voice:?} |",
            link.a,
            link.a_port,
            link.b,
            link.b_port,
            link.state,
            members.join(" ")
        );
    }
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args: Args = std::env::args().skip(1).collect();
    let what = next(&mut args, "command: situation or regular")?;
    let folder = PathBuf::from(next(&mut args, "FOLDER")?);
    let network = match what.as_str() {
        "situation" => situation(&folder, &mut args)?,
        "regular" => regular(&mut args)?,
        _ => return Err(format!("networks: unknown command {what}").into()),
    };
    fs::create_dir_all(&folder)?;
    for name in network.views.keys() {
        let file = folder.join(format!("{name}.snmprec"));
        fs::write(&file, network.walk(name)).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    println!("{} walks in {}", network.views.len(), folder.display());
    Ok(())
}
