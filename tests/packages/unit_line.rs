//! The command line of an installed unit, run as systemd would run it.
use super::clean_root::CleanRoot;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// The program that a unit starts, its user, and its settings.
pub(super) struct UnitLine {
    start: String,
    user: Option<String>,
    environment: BTreeMap<String, String>,
}

impl UnitLine {
    pub(super) fn read(root: &CleanRoot, name: &str) -> UnitLine {
        let unit = fs::read_to_string(root.path("/lib/systemd/system").join(name)).expect(name);
        let value = |key: &str| {
            let lines = unit.lines();
            let line = lines.filter_map(|line| line.strip_prefix(key)).next();
            line.and_then(|rest| rest.strip_prefix('='))
                .map(str::to_owned)
        };
        let pairs = value("Environment").unwrap_or_default();
        UnitLine {
            start: value("ExecStart").expect("ExecStart"),
            user: value("User"),
            environment: pairs
                .split_whitespace()
                .filter_map(|text| text.split_once('=').map(|(a, b)| (a.into(), b.into())))
                .collect(),
        }
    }

    /// The command in that root, with further settings.
    pub(super) fn command(&self, root: &CleanRoot, more: &[(&str, &str)]) -> Command {
        let mut environment = self.environment.clone();
        environment.extend(more.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        let mut line = self.start.clone();
        for (name, value) in &environment {
            line = line.replace(&format!("${{{name}}}"), value);
            line = line.replace(&format!("${name}"), value);
        }
        assert!(!line.contains('$'), "a setting is missing: {line}");
        let mut command = Command::new("setpriv");
        if let Some(user) = &self.user {
            command.args(["--reuid", user, "--regid", user, "--init-groups"]);
        }
        command.args(line.split_whitespace()).envs(environment);
        root.inside(&command)
    }
}
