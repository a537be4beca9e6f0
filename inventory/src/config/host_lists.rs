//! Hosts as other programs list them: hostfiles of launchers, Slurm's nodes, Ansible's inventories.
//!
//! Source: the manuals of mpirun and mpiexec (hostfile, machinefile), scontrol(1), sinfo(1), and
//! Ansible's inventory guide. Input: foreign text. Guarantee: names in the order in which they
//! stand there, each once, and no more than [`MOST_NAMES`]. Cost: linear. Deviations: variables,
//! children and nested groups of Ansible are followed only as far as they name hosts.
use crate::config::input_file_error::InputFileError;
use crate::config::name_ranges::{MOST_NAMES, NameRangeError, expand_within};
use crate::config::yaml;
use indexmap::{IndexMap, IndexSet};
use serde::Deserialize;

/// Hosts by name, in order, with the address that the list has for them; empty if none.
pub type ListedHosts = IndexMap<String, String>;

/// A list that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostListError {
    /// A line names no host.
    #[error("{file}{}: {problem}; nothing was written", line.map(|n| format!(":{n}")).unwrap_or_default())]
    Line {
        /// The file, or the command.
        file: String,
        /// Its line, from 1; none where the reader does not know it.
        line: Option<usize>,
        /// The reason.
        problem: NameRangeError,
    },
    /// A YAML file has another form.
    #[error(transparent)]
    Yaml(#[from] InputFileError),
    /// The list has no host.
    #[error("{file}: no host in it; expected {expected}; nothing was written")]
    Empty {
        /// The file, or the command.
        file: String,
        /// The expected form.
        expected: &'static str,
    },
}

struct HostCollector<'f> {
    file: &'f str,
    hosts: ListedHosts,
}

impl HostCollector<'_> {
    fn add(
        &mut self,
        line: Option<usize>,
        names: &str,
        address: &str,
    ) -> Result<(), HostListError> {
        let left = MOST_NAMES.saturating_sub(self.hosts.len());
        let names = expand_within(names, left).map_err(|problem| HostListError::Line {
            file: self.file.to_owned(),
            line,
            problem,
        })?;
        let one = names.len() == 1;
        for name in names {
            let address = if one && address != name { address } else { "" };
            let known = self.hosts.entry(name).or_default();
            if known.is_empty() {
                address.clone_into(known);
            }
        }
        Ok(())
    }

    fn done(self, expected: &'static str) -> Result<ListedHosts, HostListError> {
        if self.hosts.is_empty() {
            let file = self.file.to_owned();
            return Err(HostListError::Empty { file, expected });
        }
        Ok(self.hosts)
    }
}

/// A hostfile: a host, or a range of them, in each line, as Open MPI (`node01 slots=4`), MPICH
/// (`node01:4`) and others have it. The rest of the word is not read.
pub fn hostfile(file: &str, text: &str) -> Result<ListedHosts, HostListError> {
    let mut list = HostCollector {
        file,
        hosts: ListedHosts::new(),
    };
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        if let Some(word) = line.split_whitespace().next() {
            let name = word.split(':').next().unwrap_or(word);
            list.add(Some(at + 1), name, "")?;
        }
    }
    list.done("one host or range in each line, such as node[01-40]")
}

/// The output of `scontrol show nodes --oneliner`, or of `sinfo -N -h -o %N`: node names, with
/// their addresses where they have others.
pub fn slurm(file: &str, text: &str) -> Result<ListedHosts, HostListError> {
    let mut list = HostCollector {
        file,
        hosts: ListedHosts::new(),
    };
    for (at, line) in text.lines().enumerate() {
        let plain = line.split_whitespace().next().filter(|w| !w.contains('='));
        if let Some(name) = field("NodeName", line).or(plain) {
            list.add(
                Some(at + 1),
                name,
                field("NodeAddr", line).unwrap_or_default(),
            )?;
        }
    }
    list.done("nodes as `scontrol show nodes --oneliner` prints them")
}

fn field<'l>(key: &str, line: &'l str) -> Option<&'l str> {
    let mut words = line.split_whitespace();
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// An inventory of Ansible, in INI or in YAML; every host of every group.
pub fn ansible(file: &str, text: &str) -> Result<ListedHosts, HostListError> {
    let is_yaml = file.ends_with(".yaml")
        || file.ends_with(".yml")
        || text
            .lines()
            .any(|line| line.trim_end() == "all:" || line.trim_end() == "---");
    let mut list = HostCollector {
        file,
        hosts: ListedHosts::new(),
    };
    if is_yaml {
        let groups: IndexMap<String, Option<AnsibleGroup>> = yaml::read(file, text)?;
        for group in groups.into_values().flatten() {
            group.add_to(&mut list)?;
        }
    } else {
        ansible_ini(text, &mut list)?;
    }
    list.done("hosts of Ansible, below [group] or below hosts:")
}

/// A group of a YAML inventory.
#[derive(Deserialize)]
#[serde(expecting = "a group of Ansible, with hosts and children")]
struct AnsibleGroup {
    #[serde(default)]
    hosts: Option<IndexMap<String, Option<AnsibleVariables>>>,
    #[serde(default)]
    children: Option<IndexMap<String, Option<AnsibleGroup>>>,
}

#[derive(Deserialize)]
struct AnsibleVariables {
    ansible_host: Option<String>,
}

impl AnsibleGroup {
    /// The reader of YAML bounds how deep groups are nested.
    fn add_to(self, list: &mut HostCollector<'_>) -> Result<(), HostListError> {
        for (name, variables) in self.hosts.unwrap_or_default() {
            let address = variables.and_then(|v| v.ansible_host).unwrap_or_default();
            list.add(None, &as_brackets(&name), &address)?;
        }
        for group in self.children.unwrap_or_default().into_values().flatten() {
            group.add_to(list)?;
        }
        Ok(())
    }
}

fn ansible_ini(text: &str, list: &mut HostCollector<'_>) -> Result<(), HostListError> {
    let mut lists_hosts = true;
    for (at, line) in text.lines().enumerate() {
        let line = line.split(['#', ';']).next().unwrap_or_default().trim();
        if let Some(group) = line.strip_prefix('[').filter(|_| line.ends_with(']')) {
            // `[group:vars]` and `[group:children]` name no hosts.
            lists_hosts = !group.contains(':');
        } else if let Some(name) = line.split_whitespace().next().filter(|_| lists_hosts) {
            let mut words = line.split_whitespace();
            let address = words.find_map(|word| word.strip_prefix("ansible_host="));
            list.add(
                Some(at + 1),
                &as_brackets(name),
                address.unwrap_or_default(),
            )?;
        }
    }
    Ok(())
}

/// Ansible writes the range `[01:40]`, with a step `[01:40:2]`, and a port behind the name.
fn as_brackets(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let (mut inside, mut colons) = (false, 0);
    for c in name.chars() {
        match c {
            '[' | ']' => (inside, colons) = (c == '[', 0),
            ':' if !inside => break,
            ':' => colons += 1,
            _ => {}
        }
        text.push(match (c, colons) {
            (':', 1) => '-',
            (':', _) => '/',
            _ => c,
        });
    }
    text
}

/// The lists one after the other, each host once.
pub fn joined(lists: impl IntoIterator<Item = ListedHosts>) -> ListedHosts {
    let mut all = ListedHosts::new();
    for (name, address) in lists.into_iter().flatten() {
        let known = all.entry(name).or_default();
        if known.is_empty() {
            *known = address;
        }
    }
    all
}

/// The names without their domains, unless two hosts would have one name.
pub fn without_domains<'n>(
    names: impl IntoIterator<Item = &'n String>,
) -> IndexMap<String, String> {
    let names: Vec<&String> = names.into_iter().collect();
    let short = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    let mut seen = IndexSet::new();
    let twice: Vec<String> = names
        .iter()
        .map(|name| short(name))
        .filter(|name| !seen.insert(name.clone()))
        .collect();
    names
        .iter()
        .map(|name| {
            let short = short(name);
            let kept = if twice.contains(&short) {
                (*name).clone()
            } else {
                short
            };
            ((*name).clone(), kept)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(list: Result<ListedHosts, HostListError>) -> String {
        match list {
            Ok(hosts) => hosts
                .iter()
                .map(|(name, address)| format!("{name}={address}"))
                .collect::<Vec<_>>()
                .join(" "),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn hostfiles_of_both_launchers_are_read() {
        let text = "# all\nnode[01-02] slots=4\n\nnode03:8 # last\nnode01\n";
        assert_eq!(shown(hostfile("hosts", text)), "node01= node02= node03=");
        assert_eq!(
            shown(hostfile("hosts", "# nothing\n")),
            "hosts: no host in it; expected one host or range in each line, such as node[01-40]; \
             nothing was written"
        );
        assert_eq!(
            shown(hostfile("hosts", "n1\nn[2-1]\n")),
            "hosts:2: \"n[2-1]\": [2-1] ends before it begins; expected the smaller number first; \
             nothing was written"
        );
        let many = format!("{}n[0-65535]\n", "m\n".repeat(3));
        assert!(shown(hostfile("hosts", &many)).contains("more than 65536"));
    }

    #[test]
    fn nodes_of_slurm_come_with_other_addresses() {
        let text = "NodeName=node01 Arch=x86_64 NodeAddr=node01 NodeHostName=node01 State=IDLE\n\
                    NodeName=node02 CoresPerSocket=4 NodeAddr=10.1.0.2 Version=24.05\n";
        assert_eq!(shown(slurm("scontrol", text)), "node01= node02=10.1.0.2");
        assert_eq!(
            shown(slurm("sinfo", "node01\nnode02\nnode01\n")),
            "node01= node02="
        );
        assert!(shown(slurm("scontrol", "")).contains("no host in it"));
    }

    #[test]
    fn inventories_of_ansible_are_read_in_both_forms() {
        let ini = "head ansible_host=10.0.0.1\n[compute]\nnode[01:03]\nnode07:2222 ansible_host=\
                   10.0.0.7 ; spare\n[compute:vars]\nx=1\n[all:children]\ncompute\n";
        let expected = "head=10.0.0.1 node01= node02= node03= node07=10.0.0.7";
        assert_eq!(shown(ansible("hosts.ini", ini)), expected);
        let yaml = "all:\n  hosts:\n    head: {ansible_host: 10.0.0.1}\n  children:\n    compute:\n      \
                    hosts:\n        node[01:03]:\n        node07: {ansible_host: 10.0.0.7, x: 1}\n    \
                    empty:\n";
        assert_eq!(shown(ansible("hosts", yaml)), expected);
        assert_eq!(
            shown(ansible("h.yml", "web:\n  hosts:\n    n[0:4:2]: {}\n")),
            "n0= n2= n4="
        );
        let backwards = shown(ansible("h.yml", "web:\n  hosts:\n    n[2:1]:\n"));
        assert!(backwards.starts_with("h.yml: \"n[2-1]\": "), "{backwards}");
        let deep = "a: {children: ".repeat(100);
        assert!(shown(ansible("h.yml", &deep)).contains("nested deeper"));
    }

    #[test]
    fn domains_go_unless_names_would_meet() {
        let names = ["a.x", "b.x", "b.y", "c"].map(str::to_owned);
        let short: Vec<String> = without_domains(&names).into_values().collect();
        assert_eq!(short, ["a", "b.x", "b.y", "c"]);
    }
}
