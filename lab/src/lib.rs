//! An emulated switched-Ethernet cluster out of kernel namespaces.
//!
//! Each node is a set of namespaces. A switch has a Linux bridge that runs STP, and snmpd and
//! lldpd. A cable is a veth pair that a token bucket filter with a shallow queue shapes to its
//! rate. One more node, [`plan::CONTROL`], is the head node. Routers divide the network into
//! segments, each with a spanning tree and a subnet of its own. Nothing of a lab is in the root
//! network namespace, so two labs can stand side by side with the same addresses.
//!
//! | module | one idea |
//! |---|---|
//! | [`plan`] | topology file to nodes, addresses, ports (pure) |
//! | `up`, `down`, `cable` | building, removing, recabling |
//! | `aggregate`, `pair` | cables as one link, two switches as one |
//! | `address` | a node's addresses, neighbours and routes |
//! | [`relay`] | the cables that have a delay |
//! | `port_shape` | frames or segments, bucket and queue of a port (pure) |
//! | `netlink`, `tbf`, `netns` | interfaces, queues, namespaces |
//! | [`node`] | the init of a node, its `daemons`, a host's `arp_announcer` |
//! | [`exec`], [`mpi`] | running programs inside a node, and MPI programs across hosts |
//! | [`conditions`] | a job's network, lost packets, and the traffic beside it |
//! | [`bridge_mib`] | the MIB that snmpd lacks |
//! | [`status`] | nodes and cables now, with their STP states |
//! | [`state`](crate::Lab::dir) | the lab's files |
//! | `signals` | an interrupted `up` takes the lab down |
//! | `name` | the names that a lab may have |
#![deny(clippy::print_stdout, clippy::print_stderr)]
mod address;
mod aggregate;
mod arp_announcer;
pub mod bridge_mib;
mod cable;
pub mod conditions;
mod daemons;
mod departure;
mod down;
mod error;
pub mod exec;
pub mod mpi;
mod name;
mod netlink;
mod netns;
pub mod node;
mod pair;
pub mod plan;
mod port_shape;
mod probe;
pub mod relay;
mod requirements;
mod signals;
mod state;
pub mod status;
mod tbf;
mod up;

pub use error::{LabError, LabResult};
pub use plan::{LabOptions, SegmentChoice};
pub use requirements::need_root;
pub use signals::down_on_signal;
pub use status::LabStatus;

use inventory::{BitsPerSec, TopologyFile};
use name::LabName;
use state::LabState;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A lab that is up.
#[derive(Debug, Clone)]
pub struct Lab {
    name: LabName,
    program: PathBuf,
}

impl Lab {
    /// Builds a lab, and returns when every SNMP agent answers and the spanning tree has settled.
    /// `program` is the heddle binary, which the nodes run. Remains of a killed `up` of the same
    /// name are removed first.
    ///
    /// # Errors
    /// [`LabError`]. Nothing of the lab is left then, unless it was up before or another command is
    /// changing it.
    pub fn up(
        name: &str,
        file: &TopologyFile,
        options: LabOptions,
        program: &Path,
    ) -> LabResult<Lab> {
        let state = block_on(up::up(&LabName::new(name)?, file, options, program))?;
        Ok(Lab {
            name: state.name,
            program: state.program,
        })
    }

    /// Checks that a lab can have this name.
    ///
    /// # Errors
    /// [`LabError::Refused`] if none can.
    pub fn check_name(name: &str) -> LabResult<()> {
        LabName::new(name).map(drop)
    }

    /// True if a lab of this name is up.
    ///
    /// # Errors
    /// [`LabError::Refused`] if no lab can have this name.
    pub fn is_up(name: &str) -> LabResult<bool> {
        Ok(up::is_up(&LabName::new(name)?))
    }

    /// A lab that is up already.
    ///
    /// # Errors
    /// [`LabError::Refused`] if no lab has this name, or none can have it.
    pub fn open(name: &str) -> LabResult<Lab> {
        let state = LabState::load(&LabName::new(name)?)?;
        Ok(Lab {
            name: state.name,
            program: state.program,
        })
    }

    /// Ends every process of a lab, complete or not, and removes its namespaces and files. Returns
    /// false if no lab has this name.
    ///
    /// # Errors
    /// [`LabError::Refused`] if no lab can have this name, any other if a part of the lab cannot be
    /// removed.
    pub fn down(name: &str) -> LabResult<bool> {
        down::down(&LabName::new(name)?)
    }

    /// The state of its nodes and cables now.
    ///
    /// # Errors
    /// [`LabError`] if its switches cannot be asked.
    pub fn status(&self) -> LabResult<LabStatus> {
        let state = LabState::load(&self.name)?;
        block_on(async move { status::status(&state).await })
    }

    /// Moves a host's cable to the lowest free port of another switch, and gives the old and the
    /// new port. The host's own interface and its connections stay; the new port forwards after
    /// twice the forward delay.
    ///
    /// # Errors
    /// [`LabError`] if there is no such host or switch, or the host is on that switch already.
    pub fn move_host(&self, host: &str, switch: &str) -> LabResult<(plan::PortEnd, plan::PortEnd)> {
        block_on(cable::move_host(&self.name, host, switch))
    }

    /// Cuts every cable between two nodes, so that both ends lose their carrier. Gives the cables.
    ///
    /// # Errors
    /// [`LabError`] if all of them are cut already, or there is none.
    pub fn cut(&self, a: &str, b: &str) -> LabResult<Vec<plan::LabCable>> {
        block_on(cable::cut(&self.name, a, b))
    }

    /// Joins the cut cables between two nodes, or two switches by a new cable. Without a `rate`, a
    /// new cable has 1 Gbit/s, and a joined one keeps its own.
    ///
    /// # Errors
    /// [`LabError`] if they are joined already, or one of them is a host without such a cable.
    pub fn join(
        &self,
        a: &str,
        b: &str,
        rate: Option<BitsPerSec>,
    ) -> LabResult<Vec<plan::LabCable>> {
        block_on(cable::join(&self.name, a, b, rate))
    }

    /// The present plan: nodes and cables.
    ///
    /// # Errors
    /// [`LabError::Refused`] if the lab is gone.
    pub fn plan(&self) -> LabResult<plan::LabPlan> {
        Ok(LabState::load(&self.name)?.plan)
    }

    /// A command that runs `arguments` inside a node. Its streams, directory and environment can be
    /// set like those of any command. Killing its process kills the program.
    pub fn exec<S: AsRef<std::ffi::OsStr>>(
        &self,
        node: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["lab", "exec", "--name", self.name.as_str(), node, "--"])
            .args(arguments);
        command
    }

    /// A command that runs an MPI program across the lab's hosts. Its output is that of all ranks.
    /// Killing its process kills the job.
    pub fn mpirun<S: AsRef<std::ffi::OsStr>>(
        &self,
        job: &mpi::MpiJob,
        program: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["lab", "mpirun", "--name", self.name.as_str()])
            .args(job.flags())
            .arg("--")
            .args(program);
        command
    }

    /// Runs `work` on a thread inside a node's network: sockets that it opens belong to that node.
    ///
    /// # Errors
    /// [`LabError::Kernel`] if the node's namespace is gone or `work` fails.
    pub fn within_network<T: Send>(
        &self,
        node: &str,
        work: impl FnOnce() -> std::io::Result<T> + Send,
    ) -> LabResult<T> {
        netns::within(&netns::path(&self.name, node), work)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Its directory, which has the same path inside and outside the lab.
    pub fn dir(&self) -> PathBuf {
        state::directory(&self.name)
    }

    /// The shared directory of its jobs: their `HEDDLE_DIR`.
    pub fn shared_dir(&self) -> PathBuf {
        self.dir().join("shared")
    }

    /// The inventory for a controller on the head node.
    pub fn inventory_path(&self) -> PathBuf {
        self.dir().join("inventory.yaml")
    }
}

/// Runs netlink work to its end on a thread of its own, so that callers inside a tokio runtime can
/// call this, too.
fn block_on<T: Send>(work: impl Future<Output = LabResult<T>> + Send) -> LabResult<T> {
    std::thread::scope(|s| {
        s.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime
                .map_err(|cause| LabError::Kernel {
                    place: "lab: starting its runtime".into(),
                    cause,
                })?
                .block_on(work)
        })
        .join()
    })
    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
