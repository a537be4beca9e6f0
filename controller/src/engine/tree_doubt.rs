//! The reasons against a tree to plan on.
use inventory::tree::TreeError;
use std::fmt;

/// One reason why there is no tree to plan on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TreeDoubt {
    /// It is not certain that a link between switches carries frames.
    Link(String, String, LinkDoubt),
    /// No forwarding link leads from one host to others.
    CutOff {
        /// The host.
        from: String,
        /// The others.
        lost: Vec<String>,
    },
    /// The forwarding links do not make a tree.
    Torn(TreeError),
    /// A link between switches flaps, so the links of this epoch stay; with them there are these
    /// reasons.
    Frozen(u64, Vec<TreeDoubt>),
    /// Before the first epoch: a switch does not answer.
    SwitchSilent(String),
    /// Before the first epoch: a host is not seen.
    HostUnseen(String),
}

/// The reason why it is not certain that a link carries frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkDoubt {
    /// A port at one of its ends listens or learns.
    InTransition,
    /// Neither end states whether the link forwards.
    Unsaid,
    /// The link may not exist.
    Ambiguous,
}

impl fmt::Display for TreeDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeDoubt::Link(a, b, doubt) => write!(f, "link {a}-{b}: {doubt}"),
            TreeDoubt::CutOff { from, lost } => write!(
                f,
                "no forwarding link leads from \"{from}\" to {}; if a router that cannot be asked \
                 joins them, state it under routers, and its cables under links, in the inventory",
                lost.join(", ")
            ),
            TreeDoubt::Torn(error) => write!(f, "{error}"),
            TreeDoubt::Frozen(epoch, doubts) => {
                let doubts: Vec<String> = doubts.iter().map(TreeDoubt::to_string).collect();
                write!(
                    f,
                    "a link between switches flaps; with the links of epoch {epoch} there is no \
                     tree either: {}",
                    doubts.join("; ")
                )
            }
            TreeDoubt::SwitchSilent(switch) => write!(f, "switch \"{switch}\" does not answer"),
            TreeDoubt::HostUnseen(host) => write!(f, "host \"{host}\" is not seen yet"),
        }
    }
}

impl fmt::Display for LinkDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinkDoubt::InTransition => "a port listens or learns",
            LinkDoubt::Unsaid => "its ends do not say whether it forwards",
            LinkDoubt::Ambiguous => "more than one reading fits the evidence",
        })
    }
}
