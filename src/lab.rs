//! `heddle lab`
use crate::connection::variable;
use crate::flags::{NameList, one_of, whole};
use crate::output::TextFormat;
use crate::{CommandOutcome, flags, input_file};
use anyhow::Context;
use clap::Subcommand;
use clap::builder::{PossibleValue, TypedValueParser};
use inventory::units::duration;
use inventory::{BitsPerSec, Mpi, counted};
use lab::conditions::{JobConditions, LibraryNetwork, Percent, TrafficBeside};
use lab::mpi::MpiJob;
use lab::{Lab, LabOptions, SegmentChoice};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Emulate a switched-Ethernet cluster on this machine
///
/// Nodes are network namespaces of the kernel, so this needs root.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: LabCommand,
}

/// The least queue of a port. A shorter one holds no frame while another one leaves, and the lab
/// would wait for its switches for ever.
const TWO_FRAMES: u64 = 3_100;

#[derive(clap::Args)]
struct LabNameArgs {
    /// The lab's name; several labs can be up side by side [default: $HEDDLE_LAB, or "lab" if that
    /// is not set]
    #[arg(long = "name", value_name = "NAME")]
    name: Option<String>,
}

impl LabNameArgs {
    fn get(&self) -> String {
        named(self.name.as_ref())
    }
}

/// The lab that a flag names, or else the environment.
pub(crate) fn named(flag: Option<&String>) -> String {
    let name = flag.cloned().or_else(|| variable("HEDDLE_LAB"));
    name.unwrap_or_else(|| "lab".into())
}

#[derive(clap::Args)]
struct LabUpArgs {
    /// Topology file
    file: PathBuf,
    #[command(flatten)]
    name: LabNameArgs,
    /// The queue of a switch port, in bytes [default: 131072, or what the cable carries in 1 ms]
    #[arg(long, value_name = "BYTES", value_parser = whole::<u32>(TWO_FRAMES..=u32::MAX.into()))]
    port_buffer: Option<u32>,
    /// Whether hosts send segments of several frames, as over cards that divide them: on cables of
    /// 500 Mbit/s and more, on all, or on none
    #[arg(long, value_parser = segments(), default_value = "by-rate")]
    segments: SegmentChoice,
    /// The STP forward delay, in seconds; a port forwards after twice this time
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 2,
        value_parser = whole::<u64>(2..=30)
    )]
    forward_delay: u64,
    /// The STP hello time, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1,
        value_parser = whole::<u64>(1..=10)
    )]
    hello: u64,
    /// The STP max age, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 6,
        value_parser = whole::<u64>(6..=40)
    )]
    max_age: u64,
    /// The time after which a bridge forgets a silent station, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = whole::<u64>(0..=1_000_000))]
    ageing: u64,
}

fn segments() -> impl TypedValueParser<Value = SegmentChoice> {
    use SegmentChoice::{Always, ByRate, Never};
    one_of([ByRate, Always, Never], |choice| match choice {
        ByRate => "by-rate".into(),
        Always => "always".into(),
        Never => "never".into(),
    })
}

#[derive(clap::Args)]
struct LabMpirunArgs {
    #[command(flatten)]
    name: LabNameArgs,
    /// The MPI library that the program was compiled for
    #[arg(long, value_parser = flags::mpi())]
    mpi: Mpi,
    /// The number of ranks [default: all that fit]
    #[arg(short = 'n', value_name = "N", value_parser = whole::<usize>(1..=u64::MAX))]
    ranks: Option<usize>,
    /// Ranks on each host
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = whole::<usize>(1..=1024))]
    per_host: usize,
    /// Hosts in rank order: n0,n1 or n[0-3] [default: all]
    #[arg(long, value_name = "A,B,C")]
    hosts: Vec<NameList>,
    /// Run without heddle's runtime
    #[arg(long)]
    no_shim: bool,
    /// Kill the job after this time; the exit status is then 124
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// The network that the MPI library uses
    #[arg(long, value_parser = library_network(), default_value = "data")]
    network: LibraryNetwork,
    #[command(flatten)]
    kept: LabConditionArgs,
    /// Program and arguments
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

fn library_network() -> impl TypedValueParser<Value = LibraryNetwork> {
    use LibraryNetwork::{Data, Management};
    one_of([Data, Management], |network| {
        PossibleValue::new(network.name()).help(match network {
            Data => "That of the topology file's switches",
            Management => {
                "The one beside it, without switches and limits unless the topology file has a \
                 network of this name"
            }
        })
    })
}

/// The conditions that last as long as the job.
#[derive(clap::Args)]
struct LabConditionArgs {
    /// The share of packets from the data network that each host drops during the job
    #[arg(long, value_name = "PERCENT")]
    loss: Option<Percent>,
    /// Traffic beside the job; may be given several times: flows:N:FROM-TO, N TCP flows from one
    /// host to another; udp:PERCENT:FROM-TO, datagrams at this share of the slowest cable's rate
    /// between them; mpi:HOST,HOST,..., the same program without heddle on hosts that the job
    /// leaves out, again and again
    #[arg(long, value_name = "KIND:...")]
    beside: Vec<TrafficBeside>,
}

impl LabConditionArgs {
    fn on(&self, network: LibraryNetwork) -> JobConditions {
        JobConditions {
            network,
            loss: self.loss,
            beside: self.beside.clone(),
        }
    }
}

#[derive(Subcommand)]
enum LabCommand {
    /// Build the cluster of a topology file out of namespaces, bridges and shaped cables
    Up(LabUpArgs),
    /// End a lab and remove everything of it
    Down {
        #[command(flatten)]
        name: LabNameArgs,
    },
    /// Show nodes, cables, and the STP state of each cable
    Status {
        #[command(flatten)]
        name: LabNameArgs,
        /// The form of the status
        #[arg(long, value_enum, default_value = "text")]
        format: TextFormat,
    },
    /// Run a program inside a host, a switch, or the head node "ctl"
    Exec {
        #[command(flatten)]
        name: LabNameArgs,
        /// Where it runs: a name of the lab, or ctl
        node: String,
        /// Program and arguments
        #[arg(last = true, required = true)]
        program: Vec<OsString>,
    },
    /// Move a host's cable to another switch
    Move {
        #[command(flatten)]
        name: LabNameArgs,
        /// Whose cable moves
        host: String,
        /// Where the cable goes
        switch: String,
    },
    /// Cut the cables between two nodes
    Cut {
        #[command(flatten)]
        name: LabNameArgs,
        /// The two nodes, as A-B
        link: String,
    },
    /// Join two nodes again that were cut, or two switches by a new cable
    Join {
        #[command(flatten)]
        name: LabNameArgs,
        /// The two nodes, as A-B
        link: String,
        /// The cable's rate, such as 100M [default: its rate before the cut; 1G for a new cable]
        #[arg(long, value_name = "RATE")]
        rate: Option<BitsPerSec>,
    },
    /// Run an MPI program across the lab's hosts, ranks in host order
    Mpirun(LabMpirunArgs),
    /// Serve the BRIDGE-MIB of a kernel bridge to snmpd (pass_persist)
    BridgeMib {
        /// Name of its network device
        bridge: String,
    },
    /// Carry the cables that have a delay
    #[command(hide = true)]
    Relay {
        #[command(flatten)]
        name: LabNameArgs,
    },
    /// Run as process 1 of a node, started by `up`
    #[command(hide = true)]
    NodeInit {
        #[command(flatten)]
        name: LabNameArgs,
        node: String,
    },
    /// Keep up the conditions of a job until standard input ends
    #[command(hide = true)]
    Conditions {
        #[command(flatten)]
        name: LabNameArgs,
        #[command(flatten)]
        kept: LabConditionArgs,
        /// The arguments of a neighbour's `mpirun`
        #[arg(last = true)]
        neighbour: Vec<OsString>,
    },
    /// Stand in for ssh under an MPI launcher
    #[command(hide = true)]
    Agent {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a command, and end all that it leaves behind
    #[command(hide = true)]
    Session {
        #[arg(last = true, required = true)]
        program: Vec<OsString>,
    },
}

impl LabCommand {
    /// False of commands that run inside a lab, perhaps as a user of less right.
    fn is_for_people(&self) -> bool {
        !matches!(
            self,
            LabCommand::BridgeMib { .. }
                | LabCommand::Relay { .. }
                | LabCommand::NodeInit { .. }
                | LabCommand::Agent { .. }
                | LabCommand::Session { .. }
        )
    }
}

impl LabUpArgs {
    fn options(&self) -> LabOptions {
        LabOptions {
            port_buffer: self.port_buffer,
            segments: self.segments,
            forward_delay: Duration::from_secs(self.forward_delay),
            hello: Duration::from_secs(self.hello),
            max_age: Duration::from_secs(self.max_age),
            ageing: Duration::from_secs(self.ageing),
        }
    }
}

impl LabMpirunArgs {
    fn job(&self) -> MpiJob {
        MpiJob {
            mpi: self.mpi,
            ranks: self.ranks,
            per_host: self.per_host,
            hosts: NameList::all(&self.hosts),
            shim: !self.no_shim,
            timeout: self.timeout,
            conditions: self.kept.on(self.network),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    Duration::try_from_secs_f64(flags::seconds(text)?).map_err(|e| e.to_string())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    if args.command.is_for_people() {
        lab::need_root()?;
    }
    match &args.command {
        LabCommand::Up(args) => up(args)?,
        LabCommand::Down { name } => down(&name.get())?,
        LabCommand::Status { name, format } => status(&Lab::open(&name.get())?.status()?, *format)?,
        LabCommand::Exec {
            name,
            node,
            program,
        } => std::process::exit(lab::exec::exec(&name.get(), node, program)?),
        LabCommand::Move { name, host, switch } => {
            let (from, to) = Lab::open(&name.get())?.move_host(host, switch)?;
            say!(
                "{} {host}: from {} {} to {} {}",
                timestamp(),
                from.node,
                from.port,
                to.node,
                to.port
            );
        }
        LabCommand::Cut { name, link } => {
            let lab = Lab::open(&name.get())?;
            let (a, b) = ends(&lab, link)?;
            report("cut", &lab.cut(a, b)?)?;
        }
        LabCommand::Join { name, link, rate } => {
            let lab = Lab::open(&name.get())?;
            let (a, b) = ends(&lab, link)?;
            report("joined", &lab.join(a, b, *rate)?)?;
        }
        LabCommand::Mpirun(args) => {
            std::process::exit(lab::mpi::run(&args.name.get(), &args.job(), &args.program)?)
        }
        LabCommand::BridgeMib { bridge } => lab::bridge_mib::serve(bridge)?,
        LabCommand::Relay { name } => lab::relay::run(&name.get())?,
        LabCommand::NodeInit { name, node } => lab::node::init(&name.get(), node)?,
        LabCommand::Conditions {
            name,
            kept,
            neighbour,
        } => lab::conditions::keep(&name.get(), &kept.on(LibraryNetwork::default()), neighbour)?,
        LabCommand::Agent { arguments } => std::process::exit(lab::exec::launcher_agent(
            &LabNameArgs { name: None }.get(),
            arguments,
        )?),
        LabCommand::Session { program } => std::process::exit(lab::exec::session(program)?),
    }
    Ok(CommandOutcome::Done)
}

/// The two nodes of `A-B`.
fn ends<'a>(lab: &Lab, link: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
    let plan = lab.plan()?;
    plan.ends(link).with_context(|| {
        let nodes: Vec<&str> = plan.nodes.iter().map(|n| n.name.as_str()).collect();
        format!(
            "link \"{link}\": expected two nodes as A-B; nodes: {}",
            nodes.join(", ")
        )
    })
}

fn report(what: &str, cables: &[lab::plan::LabCable]) -> anyhow::Result<()> {
    for c in cables {
        say!(
            "{} {what} {} {} - {} {}, {}bit/s",
            timestamp(),
            c.a.node,
            c.a.port,
            c.b.node,
            c.b.port,
            c.rate
        );
    }
    Ok(())
}

/// The time in seconds since the Unix epoch, as in journals and job records.
fn timestamp() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!("{}.{:03}", now.as_secs(), now.subsec_millis())
}

fn up(args: &LabUpArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let topology = input_file::network(&args.file)?;
    let program = std::env::current_exe().context("the path of this program")?;
    let name = &args.name.get();
    // Half a lab is of no use; a lab that stands is not this command's to take down.
    if !Lab::is_up(name)? {
        lab::down_on_signal(name, "lab up")?;
    }
    let lab = Lab::up(name, &topology, args.options(), &program)?;
    let (plan, status) = (lab.plan()?, lab.status()?);
    tell!(
        "lab \"{name}\" is up after {:.1} s: {}{}, {}{}; try: heddle lab exec --name \
         {name} ctl -- heddle discover --inventory {}",
        began.elapsed().as_secs_f64(),
        if topology.networks.is_empty() {
            String::new()
        } else {
            counted(topology.all_networks().count(), "network") + ", "
        },
        counted(plan.switches().count(), "switch"),
        if topology.routers.is_empty() {
            String::new()
        } else {
            counted(topology.routers.len(), "router") + ", "
        },
        counted(plan.hosts().count(), "host"),
        lab.inventory_path().display()
    );
    for cable in status
        .cables
        .iter()
        .filter(|c| (c.state == "blocking") != c.expect_blocked)
    {
        tell!(
            "link {}-{}: STP state {}, which the topology file does not expect",
            cable.a.0,
            cable.b.0,
            cable.state
        );
    }
    Ok(())
}

fn down(name: &str) -> anyhow::Result<()> {
    if !Lab::down(name)? {
        tell!("lab \"{name}\": was not up; nothing was left of it");
    }
    Ok(())
}

fn status(status: &lab::LabStatus, format: TextFormat) -> anyhow::Result<()> {
    if let TextFormat::Json = format {
        say!("{}", serde_json::to_string_pretty(status)?);
        return Ok(());
    }
    say!(
        "lab {}: {}, {}",
        status.name,
        if status.up { "up" } else { "not all nodes run" },
        status.directory.display()
    );
    for n in &status.nodes {
        let pid = n
            .pid
            .map_or_else(|| "not running".to_owned(), |p| format!("pid {p}"));
        say!(
            "  {:<12} {:<8} {:<15} {:<15} {pid}",
            n.name,
            format!("{:?}", n.kind).to_lowercase(),
            n.management,
            n.data.as_deref().unwrap_or("-")
        );
        for (port, address) in &n.ports {
            say!("  {:<12} {port:<8} {address}", "");
        }
    }
    for c in &status.cables {
        let ends = format!("{}:{} - {}:{}", c.a.0, c.a.1, c.b.0, c.b.1);
        let delay = if c.delay_us == 0 {
            String::new()
        } else {
            format!(
                ", {} away",
                duration::show(Duration::from_micros(c.delay_us))
            )
        };
        say!(
            "  {ends:<30} {:>6} {}{delay}",
            BitsPerSec(c.rate_bps).to_string(),
            c.state
        );
    }
    Ok(())
}
