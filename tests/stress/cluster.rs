//! The lab with its controller, which is killed and restarted, and the shared directory on a file
//! system that stalls.
use super::directory::DirectoryViews;
use super::{HANGS, jobs};
use crate::common::HEDDLE;
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use crate::common::stalled_storage::{StallableFolder, StalledStorage};
use directory::job_record::{JobRecord, reading};
use directory::reading::current_epoch;
use lab::plan::CONTROL;
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

pub(crate) const HOSTS: [&str; 4] = ["n0", "n1", "n2", "n3"];
pub(crate) const SWITCHES: [&str; 3] = ["s0", "s1", "s2"];
/// The communicators of a lasting job: one of all ranks, and two halves.
const COMMUNICATORS: usize = 3;
/// The tokens of agents and of viewers.
pub(crate) const AGENTS: &str = "agents-show-this-to-the-controller";
const VIEWERS: &str = "viewers-show-that-to-the-controller";
/// Files the controller may open: its API takes half of them, and one address an eighth of that
/// half.
const FILES: u32 = 512;
/// The controller's port.
const API: u16 = 7171;

/// A lab, its controller, and each host's view of the shared directory.
pub(crate) struct StressCluster {
    pub(crate) up: RunningLab,
    controller: Option<KilledAtEnd>,
    /// The number of controllers started so far. Each has its own journal.
    pub(crate) controllers: u32,
    pub(crate) views: DirectoryViews,
    pub(crate) shared: StallableFolder,
    /// The switches whose cable is out.
    pub(crate) out: Option<(&'static str, &'static str)>,
}

impl StressCluster {
    /// Brings up the lab with its first epoch.
    pub(crate) fn up(topology: &str) -> StressCluster {
        lib();
        // Nodes see only file systems that were mounted before the nodes started.
        let shared = StallableFolder::new(StalledStorage::Disk);
        let mirror = StallableFolder::mirror(shared.path());
        let up = RunningLab::with(MachinePart::Whole, "stress", topology);
        let views = DirectoryViews::new(up.path("views"), shared.path(), mirror, &HOSTS);
        // UCX gives up a connection that was idle for ten seconds and then gets no answer for six.
        // A spanning tree may take as long, and such a job ends without heddle, too. With more
        // probes it goes on.
        let script = "#!/bin/sh
            HEDDLE_DIR=$(dirname \"$0\")/${STRESS_VIEWS:-views}/$(hostname) UCX_TCP_KEEPCNT=60
            export HEDDLE_DIR UCX_TCP_KEEPCNT
            exec \"$@\"";
        for (file, text, mode) in [
            ("in-view", script, 0o755),
            ("agents", AGENTS, 0o600),
            ("viewers", VIEWERS, 0o600),
        ] {
            fs::write(up.path(file), text).unwrap();
            fs::set_permissions(up.path(file), Permissions::from_mode(mode)).unwrap();
        }
        let mut cluster = StressCluster {
            up,
            controller: None,
            controllers: 0,
            views,
            shared,
            out: None,
        };
        cluster.start_controller();
        super::wait("the first epoch", &[], || cluster.is_published());
        cluster
    }

    /// The program that runs another program with its host's view from the folder that STRESS_VIEWS
    /// names.
    pub(crate) fn in_view(&self) -> PathBuf {
        self.up.path("in-view")
    }

    /// The folder of job records.
    pub(crate) fn jobs(&self) -> PathBuf {
        self.shared.path().join("jobs")
    }

    /// The journal of the controller that was started as number `started`.
    pub(crate) fn journal(&self, started: u32) -> PathBuf {
        self.up.path(&format!("journal-{started}"))
    }

    /// Starts a controller if none runs.
    pub(crate) fn start_controller(&mut self) {
        if self.controller.is_some() {
            return;
        }
        self.controllers += 1;
        let limited = format!("ulimit -Sn {FILES} && ulimit -Hn {FILES} && exec \"$@\"");
        let mut command = self.up.lab.exec(
            CONTROL,
            [
                "sh",
                "-c",
                &limited,
                "sh",
                HEDDLE,
                "controller",
                "--log",
                "info",
            ],
        );
        command
            .arg("--inventory")
            .arg(self.up.lab.inventory_path())
            .arg("--dir")
            .arg(self.shared.path());
        command
            .arg("--listen")
            .arg(self.api().to_string())
            .arg("--journal")
            .arg(self.journal(self.controllers));
        command
            .arg("--token-file")
            .arg(self.up.path("viewers"))
            .arg("--agent-token-file")
            .arg(self.up.path("agents"));
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.up.path("controller.log"))
            .unwrap();
        self.controller = Some(KilledAtEnd(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
                .unwrap(),
        ));
        super::wait("the controller's API", &[], || self.is_well());
    }

    /// Kills the controller at once. It ends with the process that entered the node for it.
    pub(crate) fn kill_controller(&mut self) {
        self.controller = None;
    }

    /// The address of the controller.
    pub(crate) fn api(&self) -> SocketAddr {
        (
            self.up
                .lab
                .plan()
                .unwrap()
                .node(CONTROL)
                .unwrap()
                .management,
            API,
        )
            .into()
    }

    /// The controller's answer to a node. A node at the address of a flood may lose its connection
    /// once or twice, and tries again.
    pub(crate) fn answer(&self, node: &str, request: &str, token: &str, body: &str) -> String {
        let mut answer = String::new();
        let began = Instant::now();
        while answer.is_empty() {
            assert!(began.elapsed() < HANGS, "no answer to {request} of {node}");
            answer = self.ask(node, request, token, body);
        }
        answer
    }

    /// The controller's answer to a request; empty without an answer. The request begins with its
    /// method.
    fn ask(&self, node: &str, request: &str, token: &str, body: &str) -> String {
        let header = format!("Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n");
        self.up
            .ask(node, self.api(), request, &header, body)
            .unwrap_or_default()
    }

    /// True if the controller answers a request for its health.
    pub(crate) fn is_well(&self) -> bool {
        self.ask(CONTROL, "GET /healthz", "", "")
            .ends_with("\r\n\r\nok\n")
    }

    /// True if the controller shows the lasting jobs to viewers.
    pub(crate) fn tells_of_jobs(&self) -> bool {
        self.ask(CONTROL, "GET /v1/snapshot", VIEWERS, "")
            .contains(jobs::LASTING)
    }

    /// True if the current epoch has each host at the present end of its cable.
    pub(crate) fn is_published(&self) -> bool {
        let Ok(Some(epoch)) = current_epoch(self.shared.path()) else {
            return false;
        };
        let cables = self.up.lab.plan().unwrap().cables;
        epoch.topology.hosts.len() == HOSTS.len()
            && epoch
                .topology
                .hosts
                .iter()
                .all(|(name, host)| cables.iter().any(|cable| cable.joins(name, &host.switch)))
    }

    /// The number of the current epoch; 0 before the first.
    pub(crate) fn epoch(&self) -> u64 {
        directory::reading::current(self.shared.path())
            .unwrap()
            .map_or(0, |pointer| pointer.number)
    }

    /// True if the communicators of this many lasting jobs all follow the current epoch.
    pub(crate) fn is_followed(&self, jobs: usize) -> bool {
        let epoch = self.epoch();
        // Other files of the folder are passed over.
        let records = reading::beginning_with(self.shared.path(), "").unwrap();
        let lasting: Vec<JobRecord> = records
            .filter(|record| record.program.starts_with(jobs::LASTING))
            .collect();
        lasting.len() == COMMUNICATORS * jobs && lasting.iter().all(|record| record.epoch == epoch)
    }
}

impl StressCluster {
    /// Keeps the controllers' journals, so that `heddle controller --replay` can replay them after
    /// the lab is gone.
    fn keep_journals(&self) {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stress");
        let _ = fs::create_dir_all(&kept);
        let journals = fs::read_dir(self.up.folder.path())
            .into_iter()
            .flatten()
            .flatten();
        for journal in
            journals.filter(|entry| entry.file_name().to_string_lossy().starts_with("journal-"))
        {
            let _ = fs::copy(journal.path(), kept.join(journal.file_name()));
        }
        eprintln!(
            "their journals are in {}; cables: {:?}",
            kept.display(),
            self.up.lab.plan().map(|plan| plan.cables)
        );
    }
}

impl Drop for StressCluster {
    fn drop(&mut self) {
        // A process that waits for the directory cannot end.
        self.shared.go_on();
        self.kill_controller();
        if std::thread::panicking() {
            eprintln!(
                "the controllers printed:\n{}",
                fs::read_to_string(self.up.path("controller.log")).unwrap_or_default()
            );
            self.keep_journals();
        }
    }
}
