use super::steps::{ProgramStep, by_host};
use crate::alltoall::{AlltoallAlgorithm, AlltoallSchedule};
use crate::message::Message;
use crate::synchronization::dummy::dummies;
use crate::synchronization::scheme::{SyncMechanism, SyncScheme};
use crate::synchronization::{SyncKind, SyncReduction};
use crate::{allgather, alltoall};
use inventory::Tree;
use proptest::prelude::*;
use samples::trees::{any_tree, star};
use std::collections::{HashMap, HashSet};

/// Hosts that do their steps as alltoall.c does. `turns` sets their pace: it names the host that
/// goes on next.
struct SteppedNetwork<'a> {
    steps: &'a [Vec<ProgramStep>],
    hosts: Vec<SteppedHost>,
    /// On their way: blocks and fillers by sender, receiver and kind; tokens by giver, taker and
    /// number.
    blocks: HashSet<(u32, u32, bool)>,
    tokens: Vec<(u32, u32, u32)>,
    /// Blocks in the order of their arrival.
    order: Vec<Message>,
    in_barrier: usize,
}

#[derive(Default, Clone)]
struct SteppedHost {
    at: usize,
    received: Vec<bool>,
    barriers: usize,
    waits: bool,
}

impl<'a> SteppedNetwork<'a> {
    fn new(steps: &'a [Vec<ProgramStep>]) -> Self {
        let hosts = steps
            .iter()
            .map(|s| SteppedHost {
                received: vec![false; s.len()],
                ..SteppedHost::default()
            })
            .collect();
        SteppedNetwork {
            steps,
            hosts,
            blocks: HashSet::new(),
            tokens: Vec::new(),
            order: Vec::new(),
            in_barrier: 0,
        }
    }

    fn give(&mut self, host: u32, after: usize) {
        for step in &self.steps[host as usize][after + 1..] {
            let ProgramStep::Give { to, number } = *step else {
                break;
            };
            self.tokens.push((host, to, number));
        }
    }

    /// Takes in everything that has arrived, then goes one step on if it can. True if the host did
    /// anything.
    fn turn(&mut self, host: u32) -> bool {
        let steps = &self.steps[host as usize];
        for (i, step) in steps.iter().enumerate() {
            let (from, filler) = match *step {
                ProgramStep::Receive(from) => (from, false),
                ProgramStep::Drain(from) => (from, true),
                _ => continue,
            };
            if !self.hosts[host as usize].received[i] && self.blocks.remove(&(from, host, filler)) {
                self.hosts[host as usize].received[i] = true;
                if !filler {
                    self.order.push(Message {
                        src: from,
                        dst: host,
                    });
                }
                self.give(host, i);
                return true;
            }
        }
        let at = self.hosts[host as usize].at;
        let Some(step) = steps.get(at) else {
            return false;
        };
        match *step {
            ProgramStep::Await { from, number } => {
                let Some(token) = self.tokens.iter().position(|&t| t == (from, host, number))
                else {
                    return false;
                };
                self.tokens.swap_remove(token);
            }
            ProgramStep::Send(to) | ProgramStep::Fill(to) => {
                assert!(
                    self.blocks
                        .insert((host, to, matches!(step, ProgramStep::Fill(_)))),
                    "two messages of a pair under way"
                );
                self.give(host, at);
            }
            ProgramStep::Barrier { times, received } => {
                return self.enter_barrier(host, times, received);
            }
            // The blocks that it sent before must be on the wire first.
            ProgramStep::Phase(_) if self.blocks.iter().any(|&(from, ..)| from == host) => {
                return false;
            }
            ProgramStep::Phase(_)
            | ProgramStep::Receive(_)
            | ProgramStep::Drain(_)
            | ProgramStep::Give { .. } => {}
        }
        self.hosts[host as usize].at += 1;
        true
    }

    fn enter_barrier(&mut self, host: u32, times: usize, received: usize) -> bool {
        let own = &mut self.hosts[host as usize];
        if own.barriers == times {
            (own.at, own.barriers) = (own.at + 1, 0);
            return true;
        }
        if own.waits || own.received.iter().filter(|&&r| r).count() < received {
            return false;
        }
        own.waits = true;
        self.in_barrier += 1;
        if self.in_barrier == self.hosts.len() {
            assert!(self.blocks.is_empty(), "a block crosses a barrier");
            self.in_barrier = 0;
            self.hosts
                .iter_mut()
                .for_each(|h| (h.barriers, h.waits) = (h.barriers + 1, false));
        }
        true
    }

    /// Runs until no host can go on. An error names the steps that are left.
    fn run(&mut self, turns: &[u16]) -> Result<(), String> {
        let hosts = self.hosts.len();
        let mut turns = turns.iter().cycle();
        loop {
            let first = usize::from(*turns.next().unwrap_or(&0));
            if !(0..hosts).any(|i| self.turn(((first + i) % hosts) as u32)) {
                break;
            }
        }
        let behind: Vec<usize> = (0..hosts)
            .filter(|&h| self.hosts[h].at < self.steps[h].len())
            .collect();
        let left = (behind.len(), self.tokens.len(), self.blocks.len());
        if left == (0, 0, 0) {
            Ok(())
        } else {
            Err(format!(
                "hosts {behind:?} hang, {} tokens and {} blocks left",
                left.1, left.2
            ))
        }
    }
}

/// True if blocks that share an edge came in the order of their phases.
fn in_order(tree: &Tree, phases: &[Vec<Message>], order: &[Message], block: usize) -> bool {
    let phase: HashMap<Message, usize> = phases
        .iter()
        .enumerate()
        .flat_map(|(p, ms)| ms.iter().map(move |&m| (m, p / block)))
        .collect();
    let mut last = vec![None; tree.edges() as usize];
    let mut fine = true;
    for m in order {
        tree.path(m.src, m.dst, |edge| {
            fine &= last[edge as usize].replace(phase[m]) <= Some(phase[m])
        });
    }
    fine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn programs_carry_out_the_plan_at_any_pace(
        tree in any_tree(1..=14),
        scheme in any_scheme(),
        turns in prop::collection::vec(any::<u16>(), 1..50),
    ) {
        let plan = planned(&tree, scheme);
        let fillers = if scheme.mechanism() == SyncMechanism::Dummy {
            dummies(&tree, &plan.phases)
        } else {
            Vec::new()
        };
        let steps = by_host(&plan, &fillers);
        let mut network = SteppedNetwork::new(&steps);
        if let Err(left) = network.run(&turns) {
            panic!("{left}")
        }
        prop_assert_eq!(
            network.order.len() as u32,
            tree.hosts() * (tree.hosts() - 1)
        );
        // A sender's token may be early, and a token within a block that is left out may have
        // implied others.
        let (barriers, tokens) = (
            scheme.barrier_before(scheme.block() as usize),
            scheme.tokens(),
        );
        if barriers && tokens == SyncKind::None
            || scheme.keeps_all_apart() && tokens == SyncKind::Receiver
        {
            let block = if scheme.keeps_all_apart() {
                1
            } else {
                scheme.block() as usize
            };
            prop_assert!(in_order(&tree, &plan.phases, &network.order, block));
        }
    }
}

fn any_scheme() -> impl Strategy<Value = SyncScheme> {
    prop::sample::select(SyncScheme::table_5(&[2, 3, 7]))
}

fn planned(tree: &Tree, scheme: SyncScheme) -> AlltoallSchedule {
    alltoall::plan_as(
        tree,
        AlltoallAlgorithm::faster_for(tree),
        scheme,
        SyncReduction::Minimal,
    )
}

/// The text as a C compiler sees it: trigraphs and line splices replaced, comments removed, string
/// literals decoded and taken out of the code.
fn compiled(text: &str) -> (String, Vec<Vec<u8>>) {
    let trigraphs = [
        ("=", "#"),
        ("/", "\\"),
        ("'", "^"),
        ("(", "["),
        (")", "]"),
        ("!", "|"),
        ("<", "{"),
        (">", "}"),
        ("-", "~"),
    ];
    let text = trigraphs
        .iter()
        .fold(text.to_owned(), |text, (sign, means)| {
            text.replace(&format!("??{sign}"), means)
        })
        .replace("\\\n", "");
    let (mut code, mut strings) = (String::new(), Vec::new());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").expect("a comment without an end");
            assert!(!comment[..end].contains("/*"), "compilers warn of this");
            rest = &comment[end + 2..];
        } else if c == '"' {
            let (string, after) = string(&rest[1..]);
            strings.push(string);
            code.push_str("\"\"");
            rest = after;
        } else {
            assert!(c.is_ascii() && !rest.starts_with("//"));
            code.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    (code, strings)
}

/// The literal whose opening quote has been read, and the text behind it.
fn string(text: &str) -> (Vec<u8>, &str) {
    let (mut string, bytes) = (Vec::new(), text.as_bytes());
    let mut i = 0;
    while bytes[i] != b'"' {
        assert_ne!(bytes[i], b'\n', "a literal without an end");
        if bytes[i] == b'\\' {
            let digits = &text[i + 1..i + 4];
            string.push(u8::from_str_radix(digits, 8).expect("an octal escape"));
            i += 4;
        } else {
            string.push(bytes[i]);
            i += 1;
        }
    }
    (string, &text[i + 1..])
}

/// Names that try to leave their string or comment, made of the characters that could do so.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "*/",
        "/*",
        "//",
        "\"",
        "\\",
        "\\\"",
        "\n",
        "\r",
        "\u{2028}",
        "\u{202e}",
        "??/",
        "??",
        "?",
        "'",
        "%",
        "%s",
        "{}",
        "};",
        "#define",
        " ",
        "\\\n",
        "\\x41",
        "1",
        "n0",
        "\u{7f}",
        "\u{e9}",
        "\u{1b}[2J",
        "int main;",
        "*",
        "/",
        ".",
        "-",
    ]);
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn names_stay_where_they_belong(hostile in prop::collection::hash_set(hostile(), 6)) {
        let tree = star(&[3, 2, 1]);
        let mut plan = planned(&tree, SyncKind::Receiver.into());
        let (harmless, _) = compiled(&super::alltoall(&tree, &plan));
        plan.hosts = hostile.into_iter().collect();
        plan.bound.edge = (plan.hosts[5].clone(), plan.hosts[4].clone());
        let (code, strings) = compiled(&super::alltoall(&tree, &plan));
        prop_assert_eq!(code, harmless);
        let names: Vec<Vec<u8>> = plan
            .hosts
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        prop_assert_eq!(&strings[..6], &names[..]);

        let ring = allgather::AllgatherSchedule {
            hosts: plan.hosts,
            ..allgather::plan(&tree)
        };
        prop_assert_eq!(&compiled(&super::allgather(&ring)).1[..6], &names[..]);
    }
}

#[test]
fn ranks_of_one_host_have_its_name() {
    let tree = star(&[4]);
    let mut plan = planned(&tree, SyncScheme::NO_SYNC);
    plan.hosts = ["n0:0", "n1", "n0:1", "\0n1"].map(str::to_owned).to_vec();
    let strings = compiled(&super::alltoall(&tree, &plan)).1;
    assert_eq!(
        strings[..4],
        [b"n0".to_vec(), b"n1".to_vec(), b"n0".to_vec(), Vec::new()]
    );
}
