//! MPI_Alltoall by the phases of a schedule, over point-to-point messages.
//!
//! A rank sends one block at a time, in the order of phases, each as soon as its tokens have come; receives
//! are posted ahead. Tokens are empty messages whose tag is their number. Every message of one call is awaited in that
//! call, so the next one, perhaps of another plan, never meets a message of this one.
use crate::call::{Call, Outgoing};
use crate::private::{Data, Private, Requests, Result};
use schedules::slice::{Step, Token};
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
    /// A token for the next step that sends has come.
    Token,
    /// A token has been given.
    Given,
}

/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(call: &Call, private: &Private, steps: &[Step]) -> Result<()> {
    // SAFETY: passed on to the caller.
    let outgoing = unsafe { Outgoing::of(call, private) }?;
    let incoming = call.received()?;
    let me = private.rank as u32;
    if outgoing.own_block_moves() {
        // SAFETY: passed on to the caller.
        unsafe { private.copy(outgoing.to(me), incoming.of_rank(me), DATA) }?;
    }
    let mut receives = steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.receive_from?)));
    let mut sends = steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.send_to?)));
    let mut requests = Requests::new();
    let mut done = Vec::new();
    let mut receive_next = |requests: &mut Requests<Done>| -> Result<()> {
        if let Some((at, from)) = receives.next() {
            // SAFETY: the application leaves the buffer alone during the call, and the call waits for every request.
            requests.add(unsafe { private.receive(incoming.of_rank(from), from as c_int, DATA) }?, Done::Received(at));
        }
        Ok(())
    };
    for _ in 0..AHEAD {
        receive_next(&mut requests)?;
    }
    let mut sending = sends.next();
    let mut tokens = await_tokens(private, steps, sending, &mut requests)?;
    if tokens == 0 {
        send(private, &outgoing, sending, &mut requests)?;
    }
    while !requests.is_empty() {
        requests.wait_some(&mut done)?;
        for &event in &done {
            match event {
                Done::Received(at) => {
                    give(private, &steps[at].give_after_receive, &mut requests)?;
                    receive_next(&mut requests)?;
                }
                Done::Sent(at) => {
                    give(private, &steps[at].give_after_send, &mut requests)?;
                    sending = sends.next();
                    tokens = await_tokens(private, steps, sending, &mut requests)?;
                    if tokens == 0 {
                        send(private, &outgoing, sending, &mut requests)?;
                    }
                }
                Done::Token => {
                    tokens -= 1;
                    if tokens == 0 {
                        send(private, &outgoing, sending, &mut requests)?;
                    }
                }
                Done::Given => {}
            }
        }
    }
    Ok(())
}

/// Posts the receives of the tokens that the next block needs, and gives their number.
fn await_tokens(private: &Private, steps: &[Step], sending: Option<(usize, u32)>, requests: &mut Requests<Done>) -> Result<usize> {
    let Some((at, _)) = sending else { return Ok(0) };
    for token in &steps[at].wait {
        // SAFETY: no buffer.
        requests.add(unsafe { private.receive(Data::nothing(), token.peer as c_int, tag(token)) }?, Done::Token);
    }
    Ok(steps[at].wait.len())
}

fn send(private: &Private, outgoing: &Outgoing, sending: Option<(usize, u32)>, requests: &mut Requests<Done>) -> Result<()> {
    if let Some((at, to)) = sending {
        // SAFETY: the buffer stays as it is during the call, and the call waits for every request.
        requests.add(unsafe { private.send(outgoing.to(to), to as c_int, DATA) }?, Done::Sent(at));
    }
    Ok(())
}

fn give(private: &Private, tokens: &[Token], requests: &mut Requests<Done>) -> Result<()> {
    for token in tokens {
        // SAFETY: no buffer.
        requests.add(unsafe { private.send(Data::nothing(), token.peer as c_int, tag(token)) }?, Done::Given);
    }
    Ok(())
}

fn tag(token: &Token) -> c_int {
    FIRST_TOKEN + token.id as c_int
}
