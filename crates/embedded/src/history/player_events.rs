//! A player's events: where they are, and the last ones.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use standings_core::PlayerId;

use crate::history::{History, Result, StoredEvent, event_key, split_event_key, tail::Groups};
use crate::record::BoardNo;

/// An event with its board and its number.
pub(crate) type Numbered = (BoardNo, u64, StoredEvent);

impl History {
    /// Records that wait, and from which number on a player's are to be considered: whoever was erased starts anew.
    fn waiting(&self, player: &PlayerId) -> (Groups, Option<u64>) {
        let tail = self.tail.lock();
        (tail.groups(), tail.erased_at(player))
    }

    /// The boards on which a player has ever had an event.
    pub(crate) fn boards_of(&self, player: &PlayerId) -> Result<BTreeSet<BoardNo>> {
        // The tail before the store: what leaves the one meanwhile is in the other.
        let (waiting, erased) = self.waiting(player);
        let mut boards: BTreeSet<BoardNo> =
            waiting_events(&waiting, player, erased).map(|(board, ..)| board).collect();
        if erased.is_none() {
            boards.extend(self.stored_boards_of(player)?);
        }
        Ok(boards)
    }

    /// One seek a board: the number of events does not matter.
    fn stored_boards_of(&self, player: &PlayerId) -> Result<BTreeSet<BoardNo>> {
        let mut boards = BTreeSet::new();
        let mut from = 0;
        loop {
            let (low, high) =
                (event_key(player, from, 0), event_key(player, BoardNo::MAX, u64::MAX));
            let Some(guard) = self.events.range(low..=high).next() else { break };
            let board = split_event_key(&guard.key()?)?.1;
            boards.insert(board);
            let Some(next) = board.checked_add(1) else { break };
            from = next;
        }
        Ok(boards)
    }

    /// A player's events before a number, newest first, as long as they are wanted: of one board, or of all. What each costs
    /// does not depend on how many there are.
    pub(crate) fn visit_player_events(
        &self,
        player: &PlayerId,
        board: Option<BoardNo>,
        before: u64,
        mut wanted: impl FnMut(Numbered) -> bool,
    ) -> Result<()> {
        let (waiting, erased) = self.waiting(player);
        let of_board = |event: &Numbered| board.is_none_or(|board| board == event.0);
        let mut newest: BTreeMap<u64, Numbered> = waiting_events(&waiting, player, erased)
            .filter(|event| of_board(event) && event.1 < before)
            .map(|event| (event.1, event))
            .collect();
        // What is in the tail may be in the store by now; it is older than all that waits, or the same.
        let oldest_waiting =
            waiting.iter().next().map_or(before, |group| group.first_seq.min(before));
        while let Some((_, event)) = newest.pop_last() {
            if !wanted(event) {
                return Ok(());
            }
        }
        if erased.is_some() {
            return Ok(());
        }
        let boards = match board {
            Some(board) => BTreeSet::from([board]),
            None => self.stored_boards_of(player)?,
        };
        // The newest of each board; the newest of these comes next.
        let mut streams = Vec::new();
        let mut heads = BinaryHeap::new();
        for board in boards {
            let range = event_key(player, board, 0)..event_key(player, board, oldest_waiting);
            let mut stream = self.events.range(range).rev();
            if let Some(guard) = stream.next() {
                heads.push(head(guard, streams.len())?);
                streams.push(stream);
            }
        }
        while let Some(Head { seq, stream, board, value }) = heads.pop() {
            if !wanted((board, seq, postcard::from_bytes(&value)?)) {
                break;
            }
            if let Some(guard) = streams[stream].next() {
                heads.push(head(guard, stream)?);
            }
        }
        Ok(())
    }
}

/// The next event of a board.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    seq: u64,
    stream: usize,
    board: BoardNo,
    value: Vec<u8>,
}

fn head(guard: fjall::Guard, stream: usize) -> Result<Head> {
    let (key, value) = guard.into_inner()?;
    let (_, board, seq) = split_event_key(&key)?;
    Ok(Head { seq, stream, board, value: value.to_vec() })
}

/// A player's events among records that wait, but for those from before an erasure.
fn waiting_events<'a>(
    waiting: &'a Groups,
    player: &'a PlayerId,
    erased: Option<u64>,
) -> impl Iterator<Item = Numbered> + 'a {
    let events = waiting.iter().flat_map(move |group| group.events_of(player));
    let events = events.filter(move |(seq, _)| erased.is_none_or(|erased| *seq > erased));
    events.map(|(seq, event)| (event.board, seq, StoredEvent::of(event)))
}
