//! One engine for many servers: any number of them, which keep nothing, over one shared store.
//!
//! The store is three things, each behind a narrow trait that knows no rule ([`traits`]): a **ledger** of facts, in one or several
//! shards; **live standings**, an ordered view of the open entries that may be lost at any time; an **archive** of standings that no
//! longer change. Rules are in core, the protocol is here, and an adapter only stores.
//!
//! # The protocol
//! **Writes are optimistic.** A server reads the facts ([`Ledger::facts`]), decides in core, and commits on condition that what it decided on
//! still holds ([`Ledger::commit`]). Each item names the version that it replaces, and versions grow for good: what begins anew begins at
//! the shard's clock ([`Version::beginning`]), above any tombstone of before. So of two decisions on the same facts one is stored, the
//! other is decided anew. An item that only has to be as it was is *held*: an entry that begins holds the player's own row, which
//! an erasure replaces. None that was decided before the erasure can then be stored after it.
//!
//! **Epochs fence.** What decides where a submission lands (a season closed, a snapshot's instant, a board deleted) is in the board's record
//! and changes only with the board's epoch. Raising it takes two steps, which any server may do in any order and any number of times: the
//! record ([`Ledger::define`]), then the fence on each shard ([`Ledger::fence`]). A commit names the epoch in which it was decided, and
//! is stored only while the fence names the same one. A server decides only where its record and the facts' fence agree, so facts and
//! commit belong to one epoch, and a record of the fence's epoch is never too old to decide by. Once the fence stands everywhere, all of the
//! old epoch is visible and nothing more of it can land, however late the network delivers it. No clock and no time limit is
//! trusted for this.
//!
//! **Lost answers are asked for again.** Commits of a writer are numbered in [`Stream`]s, one at a time: n + 1 is sent when n is
//! settled. The same call with the same token again is answered [`Stored::Already`] if it was stored. A refusal is final, because what it rests
//! on never comes back: versions and epochs only grow, a number is not given twice, a seal is not lifted. Changes of records are
//! settled likewise by their nonces. So a call may be repeated at any time, and is never decided anew before it is settled.
//!
//! **Each commit leaves a numbered record** in an outbox, in the same transaction, with what entries were and what they became. It settles lost
//! answers, it is what live standings lack after a crash, and it tells what entries were at an instant: of all records of later
//! epochs, the one that replaced a value of that epoch or an older one names it.
//!
//! **The view commutes.** It keeps the newest version of each entry, so any server may apply any committed entry at any time, again, in any
//! order ([`Standings::apply`]). Beside the entries each partition keeps how far it has taken in each stream, and where it was last complete.
//! Both are lost or restored together with the entries, so a partition that lost something says so with the next call. It is repaired from
//! the outbox ([`Standings::replay`]), or built anew beside the old one and made current in one step ([`Standings::flip`]). Nothing
//! that is kept for good is ever taken from it.
//!
//! **Archives are written once**, each attempt under a number of its own, and mean nothing until a record names one. Two servers that freeze
//! the same season write two, of which one is named.
//!
//! [`Stream`]: traits::Stream
//! [`Ledger::facts`]: traits::Ledger::facts
//! [`Ledger::commit`]: traits::Ledger::commit
//! [`Ledger::define`]: traits::Ledger::define
//! [`Ledger::fence`]: traits::Ledger::fence
//! [`Standings::apply`]: traits::Standings::apply
//! [`Standings::replay`]: traits::Standings::replay
//! [`Standings::flip`]: traits::Standings::flip
//! [`Stored::Already`]: traits::Stored::Already
//! [`Version::beginning`]: traits::Version::beginning

pub mod call;
pub mod dice;
pub mod guard;
pub mod memory;
pub mod meter;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
pub mod traits;
pub mod wrap;
