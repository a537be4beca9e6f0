//! The API, the log and the files of a controller whose devices give hostile names.
use super::{is_plain, is_plain_json, names, output};
use crate::common::daemon::ControllerProcess;
use crate::common::golden::folder;
use crate::common::schema::assert_follows;
use crate::common::until::{LIMIT, until_or_why};
use agent::recording::read_folder;
use fleet::responder::SnmpResponder;
use inventory::device_view::{DeviceViews, apply};
use inventory::{Mac, Millis};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The demo's devices, which send hostile names as they are.
fn views() -> DeviceViews {
    let mut views = DeviceViews::new();
    for observation in read_folder(&folder("walks").join("demo"))
        .unwrap()
        .recordings
        .into_iter()
        .flat_map(|r| r.observations(Millis(1)))
    {
        apply(&mut views, &observation);
    }
    let s1 = {
        let mut text = serde_json::to_string(&views["s1"]).unwrap();
        for (good, evil) in names(900) {
            text = text.replace(
                &format!("\"{good}\""),
                &serde_json::to_string(&evil).unwrap(),
            );
        }
        serde_json::from_str(&text).unwrap()
    };
    views.insert("s1".to_owned(), s1);
    views
}

/// A controller that asks these devices.
struct HostileCluster {
    dir: TempDir,
    daemon: ControllerProcess,
    /// Keeps the devices alive.
    _runtime: Runtime,
    _devices: SnmpResponder,
}

impl HostileCluster {
    /// Starts it, and waits for an epoch and for the alarm about a job record with a hostile name.
    fn start() -> HostileCluster {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let runtime = Runtime::new().unwrap();
        let devices = runtime
            .block_on(SnmpResponder::start(&views(), Duration::ZERO))
            .unwrap();
        fs::write(at("inventory.yaml"), inventory(&devices)).unwrap();
        fs::write(at("token"), "agents-show-this-one").unwrap();
        let [journal, token] = ["journal", "token"].map(|name| at(name).display().to_string());
        let more = [
            "--journal",
            &journal,
            "--log",
            "debug",
            "--agent-token-file",
            &token,
        ];
        let daemon = ControllerProcess::start(&at("inventory.yaml"), &at("shared"), &more);
        until_or_why("an epoch is published", LIMIT, || {
            if at("shared/current").exists() {
                Ok(())
            } else {
                Err(daemon.get("/v1/snapshot", ""))
            }
        });
        fs::write(at("shared/jobs/\u{1b}[2J\u{202e}.json"), "{}").unwrap();
        daemon.wait_for("of its files are not job records");
        HostileCluster {
            dir,
            daemon,
            _runtime: runtime,
            _devices: devices,
        }
    }

    fn at(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn body(&self, path: &str) -> String {
        let answer = self.daemon.get(path, "");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// The snapshot, after a check that the hostile names are in it.
    fn plain_snapshot(&self) -> String {
        let snapshot = self.body("/v1/snapshot");
        let shown = is_plain_json("snapshot", &snapshot);
        assert!(
            shown["topology"]["links"]
                .to_string()
                .contains("swp4\\\"; } graph {"),
            "the names came through: {snapshot}"
        );
        assert!(
            shown["alarms"]
                .to_string()
                .contains("n5-SwitchName-evil-Nodes-n0"),
            "a stranger is listed: {snapshot}"
        );
        snapshot
    }

    fn other_answers_are_plain(&self) {
        is_plain_json("topology", &self.body("/v1/topology"));
        is_plain_json("epochs", &self.body("/v1/epochs"));
        let metrics = self.body("/metrics");
        is_plain("metrics", &metrics);
        assert!(
            metrics.lines().all(|line| ["heddle_", "process_", "# "]
                .iter()
                .any(|start| line.starts_with(start))),
            "{metrics}"
        );
        let token =
            "Authorization: Bearer agents-show-this-one\r\nContent-Type: application/json\r\n";
        let request = "POST /v1/hosts/n\u{202e}0/report";
        let answer = self.daemon.ask(request, token, "{}");
        is_plain("refusal", &answer.replace('\r', ""));
    }

    fn answers_follow_the_schema(&self) {
        let schema = self.body("/v1/schema");
        for (path, definition) in [
            ("/v1/snapshot", "Snapshot"),
            ("/v1/topology", "Topology"),
            ("/v1/epochs", "Epochs"),
        ] {
            assert_follows(&schema, definition, &self.body(path));
        }
        assert_ne!(self.body("/v1/epochs"), "[]");
    }

    /// Stops the controller and lets other commands read the files it wrote.
    fn stops_and_wrote_plain_files(self, snapshot: &str) {
        let [shared, journal, picture] =
            ["shared", "journal", "snapshot.json"].map(|name| self.at(name));
        is_plain("log", &self.daemon.stop());
        fs::write(&picture, snapshot).unwrap();
        for (what, arguments) in [
            ("history", &["history", "--dir", &shared][..]),
            ("replay", &["controller", "--replay", &journal]),
            (
                "picture",
                &["tui", "--print", "200x60", "--snapshot", &picture],
            ),
        ] {
            is_plain(what, &output(arguments));
        }
        is_plain_json(
            "history",
            &output(&["history", "--format", "json", "--dir", &shared]),
        );
        for line in fs::read_to_string(&journal).unwrap().lines() {
            is_plain_json("journal", line);
        }
        epoch_files_are_plain(&Path::new(&shared).join("epochs"));
    }
}

/// An inventory of the devices. Of the three hosts that go by other names two are known by their
/// address, and the third is a stranger.
fn inventory(devices: &SnmpResponder) -> String {
    let hosts: Vec<(String, Option<Mac>)> = (0..12)
        .filter(|n| *n != 5)
        .map(|n| {
            let mac = [3, 4].contains(&n).then_some(Mac([2, 0x4c, 2, 0, n, 0]));
            (format!("n{n}"), mac)
        })
        .collect();
    devices.inventory(hosts.iter().map(|(host, mac)| (host.as_str(), *mac)), "")
}

fn epoch_files_are_plain(epochs: &Path) {
    let files = fs::read_dir(epochs)
        .unwrap()
        .flat_map(|epoch| fs::read_dir(epoch.unwrap().path()).unwrap());
    for file in files.map(|file| file.unwrap().path()) {
        is_plain("a file's name", file.to_str().unwrap());
        match file.extension().and_then(|e| e.to_str()) {
            Some("json") => drop(is_plain_json("epoch", &fs::read_to_string(&file).unwrap())),
            Some("yaml") => is_plain("epoch", &fs::read_to_string(&file).unwrap()),
            _ => {}
        }
    }
}

#[test]
fn nothing_breaks_out_of_what_the_controller_says_and_writes() {
    let cluster = HostileCluster::start();
    let snapshot = cluster.plain_snapshot();
    cluster.other_answers_are_plain();
    cluster.answers_follow_the_schema();
    cluster.stops_and_wrote_plain_files(&snapshot);
}
