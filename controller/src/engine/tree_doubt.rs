//! Why there is no tree to plan on.
use inventory::tree::TreeError;
use std::fmt;

/// One reason why nothing can be planned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TreeDoubt {
    /// A link between switches of which it is not certain whether it carries frames.
    Link(String, String, LinkDoubt),
    /// No forwarding link leads from one host to others.
    CutOff {
        /// The host.
        from: String,
        /// The others.
        lost: Vec<String>,
    },
    /// What forwards is no tree.
    Torn(TreeError),
    /// With the links between switches as this epoch has them, because one flaps.
    Frozen(u64, Vec<TreeDoubt>),
    /// Before the first epoch: a switch does not answer.
    SwitchSilent(String),
    /// Before the first epoch: a host is not seen.
    HostUnseen(String),
}

/// Why it is not certain that a link carries frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkDoubt {
    /// Spanning tree listens or learns at an end.
    InTransition,
    /// No end says its state.
    Unsaid,
    /// It may not be there.
    Ambiguous,
}

impl fmt::Display for TreeDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeDoubt::Link(a, b, doubt) => write!(f, "link {a}-{b}: {doubt}"),
            TreeDoubt::CutOff { from, lost } => write!(
                f,
                "no forwarding link leads from \"{from}\" to {}; where a router joins them that \
                 cannot be asked, state it under routers and its cables under links in the \
                 inventory",
                lost.join(", ")
            ),
            TreeDoubt::Torn(error) => write!(f, "{error}"),
            TreeDoubt::Frozen(epoch, doubts) => {
                let doubts: Vec<String> = doubts.iter().map(TreeDoubt::to_string).collect();
                write!(
                    f,
                    "a link between switches flaps, and with those of epoch {epoch}: {}",
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
            LinkDoubt::InTransition => "STP is between states",
            LinkDoubt::Unsaid => "its ends do not say whether it forwards",
            LinkDoubt::Ambiguous => "more than one reading fits the evidence",
        })
    }
}
