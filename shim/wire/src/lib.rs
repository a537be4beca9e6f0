//! The transport's core: which octets of a rank's part go where, and when. It opens no socket and
//! reads no clock; a shell moves the octets and says what time it is.
//!
//! ```text
//! RankPart --PartExchange--> pieces and tokens --CallStreams--> octets --WireShell--> sockets,
//!                                                                     virtual time, ns-3
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`exchange`] | a part under way: the next piece to receive and to send, the next token to give |
//! | [`streams`] | pieces as octets on connections: their places, when tokens are due, turns |
//! | [`framing`] | blocks of which only the two ends know the length |
//! | [`shell`] | what moves the octets |
//! | [`call`] | both together: a call, event by event |
//! | [`relay`] | a call along the ring: what comes is combined and sent on |
//! | [`links`] | the links to another rank, and how early a token for it is given |
//! | [`sent_log`] | what is sent again when a connection was made anew |
//! | [`send_window`] | the octets that may be under way |
//! | [`stream_pace`] | what follows from the rates on the way to a rank |
pub mod call;
pub mod exchange;
pub mod framing;
pub mod links;
pub mod relay;
pub mod send_window;
pub mod sent_log;
pub mod shell;
pub mod stream_pace;
pub mod streams;

#[cfg(any(test, feature = "hostile"))]
pub mod hostile_peer;
#[cfg(test)]
mod virtual_time;
