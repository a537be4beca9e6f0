//! The table of the pages: for each command examples, files, variables and related pages.

/// The parts of a command's page beside its flags.
pub(super) struct CommandPage {
    pub(super) command: &'static str,
    /// The purpose of an example, and its command line.
    pub(super) examples: &'static [(&'static str, &'static str)],
    /// Files with their meaning.
    pub(super) files: &'static [(&'static str, &'static str)],
    pub(super) variables: &'static [&'static str],
    /// Other commands by name, and pages of other sections as `name(5)`.
    pub(super) see_also: &'static [&'static str],
}

const SHARED: (&str, &str) = (
    "/srv/heddle",
    "the shared directory: epochs, job records, measurements",
);
const INVENTORY: (&str, &str) = (
    "/etc/heddle/inventory.yaml",
    "switches, credentials and hosts",
);

pub(super) const PAGES: &[CommandPage] = &[
    CommandPage {
        command: "init",
        examples: &[(
            "Write an inventory from what one switch knows",
            "heddle init 10.0.0.1 --output /etc/heddle/inventory.yaml",
        )],
        files: &[("/etc/heddle/community", "the SNMPv2c community")],
        variables: &[],
        see_also: &["discover", "controller", "heddle-inventory(5)"],
    },
    CommandPage {
        command: "status",
        examples: &[("Ask the controller of this machine", "heddle status")],
        files: &[],
        variables: &["HEDDLE_CONNECT", "HEDDLE_CA", "HEDDLE_TOKEN_FILE"],
        see_also: &["tui", "controller"],
    },
    CommandPage {
        command: "cert",
        examples: &[(
            "Make an authority and a certificate for two names",
            "heddle cert head 10.0.0.5 --dir /etc/heddle/tls",
        )],
        files: &[(
            "/etc/heddle/tls",
            "the authority, the certificate and their keys",
        )],
        variables: &[],
        see_also: &["controller", "agent"],
    },
    CommandPage {
        command: "schedule",
        examples: &[
            (
                "Plan an all-to-all, and count its phases",
                "heddle schedule alltoall --topology cluster.yaml",
            ),
            (
                "Write a ring for allgather as JSON",
                "heddle schedule allgather --topology cluster.yaml --format json",
            ),
        ],
        files: &[],
        variables: &[],
        see_also: &["verify", "predict", "heddle-topology(5)"],
    },
    CommandPage {
        command: "verify",
        examples: &[(
            "Check a schedule against the network",
            "heddle verify --topology cluster.yaml schedule.json",
        )],
        files: &[],
        variables: &[],
        see_also: &["schedule", "heddle-topology(5)"],
    },
    CommandPage {
        command: "discover",
        examples: &[
            (
                "Print the tree and its problems",
                "heddle discover --inventory /etc/heddle/inventory.yaml",
            ),
            (
                "Write Slurm's topology",
                "heddle discover --inventory /etc/heddle/inventory.yaml --format slurm > topology.conf",
            ),
            (
                "Write the network found as a topology file",
                "heddle discover --inventory /etc/heddle/inventory.yaml --format topology > cluster.yaml",
            ),
        ],
        files: &[INVENTORY],
        variables: &[],
        see_also: &[
            "check",
            "controller",
            "heddle-inventory(5)",
            "heddle-tables(5)",
        ],
    },
    CommandPage {
        command: "check",
        examples: &[(
            "Name each difference between cables and plan",
            "heddle check --inventory /etc/heddle/inventory.yaml --plan plan.yaml",
        )],
        files: &[INVENTORY],
        variables: &[],
        see_also: &["discover", "what-if", "heddle-topology(5)"],
    },
    CommandPage {
        command: "predict",
        examples: &[(
            "Say how long each way of a call takes",
            "heddle predict --topology cluster.yaml --size 64k",
        )],
        files: &[],
        variables: &[],
        see_also: &["tune", "what-if", "heddle-topology(5)"],
    },
    CommandPage {
        command: "what-if",
        examples: &[
            (
                "Say what another place of a host would gain",
                "heddle what-if --topology cluster.yaml --move n3=s1",
            ),
            (
                "Say what one more spine of a fabric would gain",
                "heddle what-if --topology cluster.yaml --add spine5=spine4",
            ),
            (
                "List the single changes that would gain most",
                "heddle what-if --topology cluster.yaml --advise",
            ),
        ],
        files: &[],
        variables: &[],
        see_also: &["predict", "check", "heddle-topology(5)"],
    },
    CommandPage {
        command: "map",
        examples: &[(
            "Find the tree of the hosts",
            "mpirun --map-by node -n 16 heddle map --output cluster.yaml",
        )],
        files: &[],
        variables: &[],
        see_also: &["publish", "discover", "heddle-topology(5)"],
    },
    CommandPage {
        command: "publish",
        examples: &[(
            "Publish for a cluster that never changes",
            "heddle publish --topology cluster.yaml --dir /srv/heddle",
        )],
        files: &[SHARED],
        variables: &[],
        see_also: &["controller", "history", "heddle-topology(5)"],
    },
    CommandPage {
        command: "history",
        examples: &[
            (
                "List the epochs and what changed",
                "heddle history --dir /srv/heddle",
            ),
            (
                "Publish the network of epoch 41 again",
                "heddle history --dir /srv/heddle --rollback 41",
            ),
        ],
        files: &[SHARED],
        variables: &[],
        see_also: &["controller", "publish"],
    },
    CommandPage {
        command: "controller",
        examples: &[
            (
                "Run in the foreground",
                "heddle controller --inventory /etc/heddle/inventory.yaml --dir /srv/heddle",
            ),
            (
                "Serve viewers on other machines by HTTPS",
                "heddle controller --inventory inventory.yaml --dir /srv/heddle --listen 0.0.0.0:7171 --token-file api.token --tls-cert cert.pem --tls-key key.pem",
            ),
            (
                "Read a journal again",
                "heddle controller --replay /var/lib/heddle/journal",
            ),
        ],
        files: &[
            INVENTORY,
            SHARED,
            (
                "/var/lib/heddle/journal",
                "the events that the controller decided on",
            ),
            (
                "/etc/heddle/controller.env",
                "the unit's settings: HEDDLE_LISTEN, HEDDLE_OPTIONS",
            ),
        ],
        variables: &[],
        see_also: &["discover", "tui", "agent", "heddle-inventory(5)"],
    },
    CommandPage {
        command: "agent",
        examples: &[
            (
                "Report to a controller",
                "heddle agent --controller https://head:7171 --token-file /etc/heddle/agent.token --ca /etc/heddle/ca.pem",
            ),
            ("Print what this host knows", "heddle agent --once"),
        ],
        files: &[
            ("/etc/heddle/agent.token", "the token that agents send"),
            (
                "/etc/heddle/agent.env",
                "the unit's settings: HEDDLE_CONTROLLER, HEDDLE_OPTIONS",
            ),
        ],
        variables: &[],
        see_also: &["controller", "doctor"],
    },
    CommandPage {
        command: "tui",
        examples: &[
            ("Watch the controller of this machine", "heddle tui"),
            (
                "Watch another one by HTTPS",
                "heddle tui --connect https://head:7171 --ca ca.pem --token-file api.token",
            ),
        ],
        files: &[],
        variables: &["HEDDLE_CONNECT", "HEDDLE_CA", "HEDDLE_TOKEN_FILE"],
        see_also: &["controller"],
    },
    CommandPage {
        command: "lab",
        examples: &[
            (
                "Bring up an emulated cluster",
                "heddle lab up lab/topologies/demo.yaml",
            ),
            ("Move a host's cable", "heddle lab move n0 s1"),
            ("Take it down", "heddle lab down"),
        ],
        files: &[("/run/heddle-lab/NAME", "a lab's state, logs and inventory")],
        variables: &["HEDDLE_LAB"],
        see_also: &["demo", "bench", "heddle-topology(5)"],
    },
    CommandPage {
        command: "bench",
        examples: &[(
            "Measure in a lab, with heddle and without",
            "heddle bench --lab demo --size 16k,64k",
        )],
        files: &[],
        variables: &["HEDDLE_LAB"],
        see_also: &["lab", "tune"],
    },
    CommandPage {
        command: "tune",
        examples: &[
            (
                "Measure on the hosts of an Open MPI job",
                "heddle tune --dir /srv/heddle --mpi openmpi -- mpirun -n 24 --hostfile hosts",
            ),
            (
                "Check that the table keeps its promise",
                "heddle tune --dir /srv/heddle --mpi mpich --check -- mpiexec -n 24 -f hosts",
            ),
        ],
        files: &[SHARED, ("/srv/heddle/tuning.json", "the measurements")],
        variables: &[],
        see_also: &["predict", "doctor"],
    },
    CommandPage {
        command: "trace",
        examples: &[(
            "Say what the time of a job's calls went into",
            "heddle trace /tmp/traces",
        )],
        files: &[],
        variables: &["HEDDLE_TRACE"],
        see_also: &["tune", "doctor"],
    },
    CommandPage {
        command: "demo",
        examples: &[("Play the whole scenario", "heddle demo")],
        files: &[],
        variables: &[],
        see_also: &["lab", "tui"],
    },
    CommandPage {
        command: "doctor",
        examples: &[
            (
                "Say what jobs that start here find",
                "heddle doctor --mpi --dir /srv/heddle",
            ),
            (
                "Say whether heddle serves a program's MPI library, and how to load it",
                "heddle doctor --program ./program",
            ),
            (
                "List what this machine lacks to build heddle",
                "heddle doctor --for build",
            ),
        ],
        files: &[SHARED],
        variables: &["HEDDLE_DIR"],
        see_also: &["tune", "controller"],
    },
    CommandPage {
        command: "completions",
        examples: &[
            (
                "Complete in bash",
                "heddle completions bash > ~/.local/share/bash-completion/completions/heddle",
            ),
            (
                "Complete in fish",
                "heddle completions fish > ~/.config/fish/completions/heddle.fish",
            ),
            (
                "Write the man pages",
                "heddle completions --man /usr/local/share/man/man1",
            ),
        ],
        files: &[],
        variables: &[],
        see_also: &["doctor"],
    },
];

/// A document that is a man page of section 5, too.
pub(super) struct FilePage {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    whole: &'static str,
    /// The heading at which the page begins, and the one at which it ends.
    from: Option<&'static str>,
    to: Option<&'static str>,
}

impl FilePage {
    /// The text of the page, in Markdown.
    pub(super) fn text(&self) -> &'static str {
        let after = self.from.and_then(|from| self.whole.split_once(from));
        let text = after.map_or(self.whole, |(_, text)| text);
        let before = self.to.and_then(|to| text.split_once(to));
        before.map_or(text, |(text, _)| text)
    }
}

const INVENTORY_TEXT: &str = include_str!("../../docs/inventory.md");
const TOPOLOGY: &str = "## The topology file\n";

pub(super) const DOCUMENTS: &[FilePage] = &[
    FilePage {
        name: "heddle-inventory",
        title: "switches to ask, credentials, and hosts to expect",
        whole: INVENTORY_TEXT,
        from: None,
        to: Some(TOPOLOGY),
    },
    FilePage {
        name: "heddle-topology",
        title: "a network as a file states it",
        whole: INVENTORY_TEXT,
        from: Some(TOPOLOGY),
        to: None,
    },
    FilePage {
        name: "heddle-tables",
        title: "the SNMP tables that heddle reads from switches",
        whole: include_str!("../../docs/tables.md"),
        from: None,
        to: None,
    },
];
