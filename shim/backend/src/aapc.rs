//! MPI_Alltoall and MPI_Alltoallv by the phases of a schedule, over point-to-point messages.
//!
//! A rank sends one block at a time, in the order of phases, each as soon as its tokens have come; receives
//! are posted ahead. Tokens are empty messages whose tag is their number. Every message of one call is awaited in that
//! call, so the next one, perhaps of another plan, never meets a message of this one. A block of nothing is not sent; its tokens are.
//! Where a schedule has barriers, each part between two of them is carried out on its own.
use crate::call::{Blocks, Call, Outgoing};
use crate::data::Data;
use crate::requests::Requests;
use crate::result::Result;
use crate::twin::Twin;
use crate::within::Within;
use runtime::watch;
use schedules::slice::{Step, Token};
use selection::table::Collective;
use std::ffi::c_int;

/// Receives posted ahead. Enough that a block never waits for its receive; more would make each wait look at more.
const AHEAD: usize = 32;
const DATA: c_int = 1;
const FIRST_TOKEN: c_int = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    /// A step's block has come.
    Received(usize),
    /// A step's block is on its way.
    Sent(usize),
    /// A token of this rank for the next step that sends has come.
    Token(u32),
    /// A token has been given.
    Given,
}

/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(call: &Call, within: &Within, twin: &Twin, parts: &[Vec<Step>]) -> Result<()> {
    // SAFETY: passed on to the caller.
    let outgoing = unsafe { Outgoing::of(call, within.size) }?;
    let incoming = call.received()?;
    let me = within.rank as u32;
    // If its own block does not fit, others still wait for what this rank sends.
    // SAFETY: passed on to the caller.
    let copied = if outgoing.own_block_moves() { unsafe { outgoing.to(me).copy(incoming.of_rank(me)) } } else { Ok(()) };
    let outcome = within.part_by_part(parts, |steps| {
        let mut exchange = Exchange {
            collective: call.collective,
            twin,
            steps,
            outgoing: &outgoing,
            incoming,
            requests: Requests::new(),
            done: Vec::new(),
            send: 0,
            receive: 0,
            tokens: 0,
        };
        exchange.run()
    });
    outcome.and(copied)
}

/// A call under way.
struct Exchange<'a> {
    collective: Collective,
    twin: &'a Twin,
    steps: &'a [Step],
    outgoing: &'a Outgoing,
    incoming: Blocks,
    requests: Requests<Done>,
    /// What is done without any message: blocks of nothing.
    done: Vec<Done>,
    /// Steps before this one have sent their blocks.
    send: usize,
    /// For steps before this one a receive has been posted.
    receive: usize,
    /// Tokens the next block waits for.
    tokens: usize,
}

impl Exchange<'_> {
    fn run(&mut self) -> Result<()> {
        for _ in 0..AHEAD {
            self.receive_next()?;
        }
        self.send_next()?;
        let mut events = Vec::new();
        loop {
            std::mem::swap(&mut events, &mut self.done);
            if events.is_empty() {
                if self.requests.is_empty() {
                    return self.requests.outcome();
                }
                watch::waits(|| self.waits_for());
                self.requests.wait_some(&mut events)?;
            }
            for event in events.drain(..) {
                self.happened(event)?;
            }
        }
    }

    /// For the watchdog.
    fn waits_for(&self) -> String {
        let phases = self.steps.last().map_or(0, |step| step.phase + 1);
        let mut next = None;
        let mut parts = Vec::new();
        for &event in self.requests.meanings() {
            match event {
                // Of the receives posted ahead, the first one counts.
                Done::Received(at) => next = Some(next.map_or(at, |first: usize| first.min(at))),
                Done::Sent(at) => {
                    parts.push((self.steps[at].phase, format!("its block to rank {} to go", self.steps[at].send_to.unwrap_or_default())))
                }
                Done::Token(peer) => parts.push((self.steps[self.send].phase, format!("the token of rank {peer}"))),
                Done::Given => {}
            }
        }
        parts.extend(
            next.map(|at| (self.steps[at].phase, format!("the block of rank {}", self.steps[at].receive_from.unwrap_or_default()))),
        );
        watch::in_phases(&format!("rank {} in {}", self.twin.rank, self.collective), &parts, phases)
    }

    fn happened(&mut self, event: Done) -> Result<()> {
        let steps = self.steps;
        match event {
            Done::Received(at) => {
                self.give(&steps[at].give_after_receive)?;
                self.receive_next()
            }
            Done::Sent(at) => {
                self.give(&steps[at].give_after_send)?;
                self.send = at + 1;
                self.send_next()
            }
            Done::Token(_) => {
                self.tokens -= 1;
                if self.tokens == 0 { self.send_now() } else { Ok(()) }
            }
            Done::Given => Ok(()),
        }
    }

    fn receive_next(&mut self) -> Result<()> {
        while let Some(step) = self.steps.get(self.receive) {
            self.receive += 1;
            let Some(from) = step.receive_from else { continue };
            let (block, done) = (self.incoming.of_rank(from), Done::Received(self.receive - 1));
            if block.count == 0 {
                self.done.push(done);
            } else {
                // SAFETY: the application leaves the buffer alone during the call, and the call waits for every request.
                self.requests.add(unsafe { self.twin.receive(block, from as c_int, DATA) }?, done);
            }
            break;
        }
        Ok(())
    }

    /// Turns to the next step that sends, and posts the receives of the tokens it needs.
    fn send_next(&mut self) -> Result<()> {
        let steps = self.steps;
        let Some(ahead) = steps[self.send..].iter().position(|step| step.send_to.is_some()) else {
            self.send = steps.len();
            return Ok(());
        };
        self.send += ahead;
        let wait = &steps[self.send].wait;
        for token in wait {
            // SAFETY: no buffer.
            self.requests.add(unsafe { self.twin.receive(Data::nothing(), token.peer as c_int, tag(token)) }?, Done::Token(token.peer));
        }
        self.tokens = wait.len();
        if self.tokens == 0 { self.send_now() } else { Ok(()) }
    }

    fn send_now(&mut self) -> Result<()> {
        if let Some(to) = self.steps[self.send].send_to {
            let (block, done) = (self.outgoing.to(to), Done::Sent(self.send));
            if block.count == 0 {
                self.done.push(done);
            } else {
                // SAFETY: the buffer stays as it is during the call, and the call waits for every request.
                self.requests.add(unsafe { self.twin.send(block, to as c_int, DATA) }?, done);
            }
        }
        Ok(())
    }

    fn give(&mut self, tokens: &[Token]) -> Result<()> {
        for token in tokens {
            // SAFETY: no buffer.
            self.requests.add(unsafe { self.twin.send(Data::nothing(), token.peer as c_int, tag(token)) }?, Done::Given);
        }
        Ok(())
    }
}

fn tag(token: &Token) -> c_int {
    FIRST_TOKEN + token.id as c_int
}
