//! A lab of a test. Needs root and the programs of the lab; without them it does not come up and
//! says which command gives them.
use super::HEDDLE;
use super::machine_share::{MachinePart, MachineShare};
use super::until::{LIMIT, until_or_why};
use inventory::TopologyFile;
use lab::plan::CONTROL;
use lab::{Lab, LabOptions};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The topology of switches in a row, each with so many hosts on cables of 20 Mbit/s, and with trunks of
/// a rate.
pub(crate) fn row(hosts: &[usize], trunk: &str) -> String {
    let switches: Vec<String> = (0..hosts.len()).map(|s| format!("s{s}")).collect();
    let places = hosts
        .iter()
        .zip(&switches)
        .flat_map(|(&each, switch)| std::iter::repeat_n(switch, each));
    let host = |(n, switch)| format!("  n{n}: {{switch: {switch}, rate: 20M}}\n");
    format!(
        "switches: [{}]\nhosts:\n{}links: [{}]\n",
        switches.join(", "),
        places.enumerate().map(host).collect::<String>(),
        switches
            .windows(2)
            .map(|ends| format!("{{a: {}, b: {}, rate: {trunk}}}", ends[0], ends[1]))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

/// A unique name of a lab, and room for it on the machine. Everything with this name is taken down when
/// this is dropped.
pub(crate) struct TestLab {
    pub(crate) name: String,
    _share: Option<MachineShare>,
}

impl TestLab {
    pub(crate) fn new(test: &str, part: MachinePart) -> TestLab {
        TestLab::named(test, Some(part.take()))
    }

    /// Another name for the same test, whose room is for both labs.
    pub(crate) fn beside(&self, test: &str) -> TestLab {
        TestLab::named(test, None)
    }

    fn named(test: &str, _share: Option<MachineShare>) -> TestLab {
        TestLab {
            name: format!("t{}-{test}", std::process::id()),
            _share,
        }
    }

    /// The folder of the lab's state.
    pub(crate) fn directory(&self) -> PathBuf {
        Path::new("/run/heddle-lab").join(&self.name)
    }

    /// Everything on this machine that carries the name.
    pub(crate) fn left(&self) -> Vec<String> {
        let names = fs::read_dir("/run/netns")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let mut left: Vec<String> = names
            .map(|path| path.display().to_string())
            .filter(|path| self.is_named_in(path))
            .collect();
        let directory = self.directory();
        left.extend(directory.exists().then(|| directory.display().to_string()));
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        left.extend(
            mounts
                .lines()
                .filter(|mount| self.is_named_in(mount))
                .map(str::to_owned),
        );
        left.extend(self.processes());
        left
    }

    /// True if a text holds the name, and not only as the beginning of a longer name.
    fn is_named_in(&self, text: &str) -> bool {
        text.match_indices(&self.name).any(|(at, name)| {
            !text[at + name.len()..]
                .starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        })
    }

    /// Processes of the lab: those whose command line or environment names it.
    pub(crate) fn processes(&self) -> Vec<String> {
        let own = std::process::id().to_string();
        let all = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .map(|entry| entry.path());
        let mut found = Vec::new();
        for process in all.filter(|process| !process.ends_with(&own)) {
            let line = of_process("cmdline", &process);
            if self.is_named_in(&line) || self.is_named_in(&of_process("environ", &process)) {
                found.push(format!("{} {}", process.display(), line.replace('\0', " ")));
            }
        }
        found
    }
}

/// A file of a process, such as its command line.
pub(crate) fn of_process(what: &str, process: &Path) -> String {
    String::from_utf8_lossy(&fs::read(process.join(what)).unwrap_or_default()).into_owned()
}

impl Drop for TestLab {
    fn drop(&mut self) {
        let _ = Lab::down(&self.name);
    }
}

/// A lab, the topology it was built from, and a folder for files about it.
pub(crate) struct RunningLab {
    pub(crate) lab: Lab,
    pub(crate) file: TopologyFile,
    // Dropped before the folder, into which the lab's programs write.
    named: TestLab,
    pub(crate) folder: TempDir,
}

impl RunningLab {
    /// Brings up a topology file's text.
    pub(crate) fn new(test: &str, text: &str) -> RunningLab {
        RunningLab::with(MachinePart::Quarter, test, text)
    }

    /// The same for a test that needs more of the machine, since it runs MPI jobs in it.
    pub(crate) fn with(part: MachinePart, test: &str, text: &str) -> RunningLab {
        let named = TestLab::new(test, part);
        let file = TopologyFile::parse("topology", text).unwrap();
        let lab = Lab::up(&named.name, &file, LabOptions::default(), Path::new(HEDDLE)).unwrap();
        RunningLab {
            lab,
            file,
            named,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The lab's inventory without the lines that begin with `less`, and with `more` after it. Its
    /// time limits are long, so that a single look is complete on a busy machine, too.
    pub(crate) fn inventory(&self, less: &str, more: &str) -> PathBuf {
        let written = fs::read_to_string(self.lab.inventory_path()).unwrap();
        let kept: String = written
            .lines()
            .filter(|l| less.is_empty() || !l.trim().starts_with(less))
            .map(|l| format!("{l}\n"))
            .collect();
        assert!(less.is_empty() || kept != written, "no {less} in {written}");
        let path = self.path("inventory.yaml");
        fs::write(
            &path,
            kept.replace("timing: {", "timing: {timeout: 5s, ") + more,
        )
        .unwrap();
        path
    }

    /// The output of a program on a node. The program must succeed.
    pub(crate) fn exec(&self, node: &str, program: &[&str]) -> String {
        let output = self.lab.exec(node, program).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{node} {program:?}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }

    /// A controller on the head node, with the lab's inventory and shared directory. Its output
    /// goes into a file of the folder.
    pub(crate) fn start_controller(&self, log: &str, more: &[&str]) -> Child {
        let (inventory, shared) = (self.lab.inventory_path(), self.lab.shared_dir());
        let paths = [
            inventory.to_str().unwrap(),
            "--dir",
            shared.to_str().unwrap(),
        ];
        let arguments = [HEDDLE, "controller", "--inventory"]
            .into_iter()
            .chain(paths)
            .chain(more.iter().copied());
        self.start(CONTROL, log, arguments)
    }

    /// A controller's answer to a node's request, head and body; `None` without an answer. The
    /// request begins with its method.
    pub(crate) fn ask(
        &self,
        node: &str,
        api: SocketAddr,
        request: &str,
        header: &str,
        body: &str,
    ) -> Option<String> {
        let asked = self.lab.within_network(node, || {
            let mut stream = TcpStream::connect_timeout(&api, Duration::from_secs(5))?;
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            let length = body.len();
            write!(
                stream,
                "{request} HTTP/1.1\r\nHost: localhost\r\n{header}Connection: \
                            close\r\nContent-Length: {length}\r\n\r\n{body}"
            )?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        });
        asked.ok()
    }

    /// Starts a program on a node. Its output goes into a file of the folder.
    pub(crate) fn start<'a>(
        &self,
        node: &str,
        log: &str,
        program: impl IntoIterator<Item = &'a str>,
    ) -> Child {
        let mut command: Command = self.lab.exec(node, program);
        let log = File::create(self.path(log)).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    /// The network that `heddle discover` finds from the head node.
    pub(crate) fn discover(&self, inventory: &Path, format: &str, more: &[&str]) -> String {
        let look = [
            HEDDLE,
            "discover",
            "--inventory",
            inventory.to_str().unwrap(),
            "--format",
            format,
        ];
        self.exec(CONTROL, &[&look, more].concat())
    }

    /// The address of a node's card.
    pub(crate) fn address(&self, node: &str) -> Ipv4Addr {
        self.lab.plan().unwrap().node(node).unwrap().data.unwrap()
    }

    /// Its topology file as the lab keeps it.
    pub(crate) fn topology(&self) -> String {
        fs::read_to_string(self.lab.dir().join("topology.yaml")).expect("the lab's topology")
    }

    /// The state of the cable between two nodes.
    fn cable(&self, a: &str, b: &str) -> String {
        let status = self.lab.status().unwrap();
        status
            .cables
            .iter()
            .find(|c| (c.a.0 == a && c.b.0 == b) || (c.a.0 == b && c.b.0 == a))
            .unwrap()
            .state
            .clone()
    }

    /// Waits until the cable between two nodes is in a state.
    pub(crate) fn await_cable(&self, a: &str, b: &str, state: &str) {
        until_or_why(&format!("{a}-{b} is {state}"), LIMIT, || {
            let seen = self.cable(a, b);
            if seen == state { Ok(()) } else { Err(seen) }
        });
    }

    /// Takes the lab down and checks that nothing with its name is left.
    pub(crate) fn down(self) {
        Lab::down(self.lab.name()).unwrap();
        assert_eq!(self.named.left(), Vec::<String>::new());
    }
}
