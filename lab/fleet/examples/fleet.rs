//! Serves a large regular network by SNMP from one process, and writes an inventory of it, for
//! benchmarks:
//!
//! ```text
//! fleet INVENTORY [--switches 1000] [--hosts 20000] [--host-lldp 1] [--talks 2]
//!       [--delay-ms 1] [--timing "{…}"]
//! ```
//!
//! It prints `ready` when everything answers. Then each line of standard input is a command,
//! answered by a line: `move HOST SWITCH` plugs a host into another switch. The end of the input
//! ends the fleet.
use fleet::network::{NetworkOptions, generate};
use fleet::responder::SnmpResponder;
use std::collections::VecDeque;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::spawn_blocking;

struct Args {
    inventory: PathBuf,
    options: NetworkOptions,
    delay: Duration,
    timing: String,
}

fn args() -> Result<Args, Box<dyn Error>> {
    let mut rest: VecDeque<String> = std::env::args().skip(1).collect();
    let inventory = rest
        .pop_front()
        .ok_or("fleet: no INVENTORY to write; expected fleet INVENTORY [--switches N] [--hosts N]")?
        .into();
    let options = NetworkOptions::regular(1_000, 20_000);
    let mut args = Args {
        inventory,
        options,
        delay: Duration::from_millis(1),
        timing: String::new(),
    };
    while let Some(flag) = rest.pop_front() {
        let value = rest
            .pop_front()
            .ok_or_else(|| format!("fleet: {flag}: nothing follows it"))?;
        match flag.as_str() {
            "--switches" => args.options.switches = value.parse()?,
            "--hosts" => args.options.hosts = value.parse()?,
            "--host-lldp" => args.options.host_lldp = value.parse()?,
            "--talks" => args.options.talks = value.parse()?,
            "--delay-ms" => args.delay = Duration::from_millis(value.parse()?),
            "--timing" => args.timing = format!("timing: {value}\n"),
            _ => return Err(format!("fleet: unknown flag {flag}").into()),
        }
    }
    Ok(args)
}

// One thread: the fleet's cost must not be mistaken for heddle's, and cores are few.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let Args {
        inventory,
        options,
        delay,
        timing,
    } = args()?;
    let mut network = generate(&options, 1);
    let responder = SnmpResponder::start(&network.views, delay).await?;
    let hosts = network
        .inventory
        .hosts
        .iter()
        .map(|(name, host)| (name.as_str(), host.mac));
    let text = responder.inventory(hosts, &timing);
    std::fs::write(&inventory, text).map_err(|e| format!("fleet: {}: {e}", inventory.display()))?;
    println!("ready");
    while let Some(line) = spawn_blocking(|| std::io::stdin().lines().next().transpose()).await?? {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["move", host, to] => match network.recable(host, to) {
                Some(touched) => {
                    touched.iter().for_each(|switch| {
                        responder.replace(switch, network.views[switch].clone())
                    });
                    println!("moved {}", touched.join(" "));
                }
                None => println!("refused: {line}"),
            },
            _ => println!("unknown: {line}"),
        }
    }
    Ok(())
}
