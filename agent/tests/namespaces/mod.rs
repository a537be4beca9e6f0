//! A host and a switch with a cable between them: two network namespaces without names, which
//! vanish with the test.
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The switch's namespace. The calling thread, and every process it starts, is on the host.
pub(crate) struct SwitchNamespace {
    /// Keeps the switch's namespace until its input ends.
    keeper: Child,
}

pub(crate) const HOST_MAC: &str = "02:00:00:00:0b:01";
pub(crate) const PORT_MAC: &str = "02:00:00:00:0a:03";

/// Makes both ends: `eth0` here, `swp3` in the bridge `br0` there. STP sends a hello every second
/// and forgets after 6 s.
pub(crate) fn plug() -> SwitchNamespace {
    unshare(CloneFlags::CLONE_NEWNET).expect("network namespaces need root: run this test as root");
    let mut keeper = Command::new("unshare");
    let keeper = keeper
        .args(["--net", "cat"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("unshare of util-linux");
    let switch = SwitchNamespace { keeper };
    until("the switch has a namespace of its own", || {
        (switch.namespace() != namespace("self")).then_some(())
    });
    switch.run(
        "ip link add br0 address 02:00:00:00:0a:00 type bridge stp_state 1 forward_delay 200 \
         hello_time 100 max_age 600 priority 4096",
    );
    switch.run("ip link set br0 up");
    switch.cable();
    switch
}

impl SwitchNamespace {
    /// Creates the cable.
    pub(crate) fn cable(&self) {
        let pid = self.keeper.id();
        run(&format!(
            "ip link add eth0 address {HOST_MAC} type veth peer name swp3 address {PORT_MAC} \
             netns {pid}"
        ));
        run("ip link set eth0 up");
        self.run("ip link set swp3 master br0 up");
    }

    /// Runs a command on the switch and returns its output.
    pub(crate) fn run(&self, command: &str) -> String {
        run(&format!(
            "nsenter --net=/proc/{}/ns/net {command}",
            self.keeper.id()
        ))
    }

    /// Starts lldpd on the switch. It announces every second, and each announcement holds for
    /// `hold` seconds.
    pub(crate) fn lldpd(&self, hold: u32) -> LldpdProcess {
        LldpdProcess::start(
            &[
                "nsenter",
                &format!("--net=/proc/{}/ns/net", self.keeper.id()),
            ],
            "s1",
            "swp*",
            hold,
        )
    }

    fn namespace(&self) -> String {
        namespace(&self.keeper.id().to_string())
    }
}

impl Drop for SwitchNamespace {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn namespace(process: &str) -> String {
    let link = if process == "self" {
        "/proc/thread-self/ns/net".into()
    } else {
        format!("/proc/{process}/ns/net")
    };
    std::fs::read_link(link)
        .map(|n| n.display().to_string())
        .unwrap_or_default()
}

/// lldpd in the foreground. When dropped, it ends without a farewell.
pub(crate) struct LldpdProcess {
    child: Child,
    folder: tempfile::TempDir,
}

impl LldpdProcess {
    /// Starts lldpd on the host, at its end of the cable. The switch keeps its announcements for
    /// long enough on a busy machine.
    pub(crate) fn on_host(name: &str) -> LldpdProcess {
        LldpdProcess::start(&["env"], name, "eth0", 30)
    }

    fn start(before: &[&str], name: &str, ports: &str, hold: u32) -> LldpdProcess {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("conf");
        let lines = [
            format!("configure system hostname {name}"),
            format!("configure system interface pattern {ports}"),
            "configure lldp tx-interval 1".into(),
            format!("configure lldp tx-hold {hold}"),
            "configure lldp portidsubtype ifname".into(),
        ];
        std::fs::write(&conf, lines.join("\n") + "\n").unwrap();
        let mut command = Command::new(before[0]);
        command
            .args(&before[1..])
            .args(["lldpd", "-d", "-O"])
            .arg(conf)
            .arg("-u")
            .arg(folder.path().join("socket"));
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        LldpdProcess {
            child: child
                .expect("no lldpd on this machine; this test asks a real one: apt install lldpd"),
            folder,
        }
    }

    /// The neighbours that it has seen: `lldp.eth0.chassis.name=n3`, a line each.
    pub(crate) fn neighbours(&self) -> String {
        let socket: PathBuf = self.folder.path().join("socket");
        until("lldpd can be asked", || {
            let shown = Command::new("lldpcli")
                .arg("-u")
                .arg(&socket)
                .args(["-f", "keyvalue", "show", "neighbors"])
                .output()
                .unwrap();
            shown
                .status
                .success()
                .then(|| String::from_utf8_lossy(&shown.stdout).into_owned())
        })
    }

    /// Ends it as an operator does, so that it sends a farewell.
    pub(crate) fn end(mut self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for LldpdProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command here and returns its output.
pub(crate) fn run(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = Command::new(words[0])
        .args(&words[1..])
        .output()
        .unwrap_or_else(|e| panic!("{command}: {e}"));
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Asks often until there is a result; fails if there never is one.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "not so within 60 s: {what}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}
