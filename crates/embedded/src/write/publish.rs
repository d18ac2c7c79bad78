//! Showing a durable group to readers, and answering those who sent it.

use parking_lot::{ArcRwLockWriteGuard, RawRwLock};
use standings_core::{PlayerId, Position, Rank, SortKey, board::Ties};
use standings_index::{Change, Spot, WARM};

use crate::write::{
    Sequencer,
    group::{Answer, Draft, DraftEvent, Outcome, Target},
};
use crate::{
    history::Group,
    record::LogRecord,
    state::live::{Live, record_of},
    write::mailbox::Post,
};
use standings_engine::{Exactness, Receipt, Refused};

/// Entries changed under one lock, so that readers wait for some hundred microseconds at most.
const PUBLISH_ROWS: usize = 256;

impl Sequencer {
    /// Shows a durable group to readers and answers those who sent it.
    pub(super) fn publish_draft(&mut self, mut draft: Draft, group: Option<Group>) {
        if let Some(group) = group {
            self.open_seasons(&mut draft.targets, &group);
            publish_events(&draft.targets, &mut draft.events);
            for record in &group.records {
                if let LogRecord::Scores { board, .. } = record {
                    self.shared.note_import(*board);
                }
            }
            self.shared.metrics.accepted.inc_by(draft.events.len() as u64);
            self.publish_group(group);
        }
        let mut post = Post::default();
        for answer in std::mem::take(&mut draft.answers) {
            match answer {
                Answer::Receipts { outcomes, reply } => {
                    let receipts = outcomes.into_iter().map(|outcome| draft.receipt(outcome));
                    post.add(reply, Ok(receipts.collect()));
                }
                Answer::Set { set, reply } => drop(reply.send(Ok(set))),
                Answer::Done { reply } => drop(reply.send(Ok(()))),
            }
        }
        post.deliver();
    }

    /// Opens the seasons that a group is the first to count in.
    fn open_seasons(&mut self, targets: &mut [Target], group: &Group) {
        let opens = group.records.iter().filter(|r| matches!(r, LogRecord::Season { .. }));
        let opens: Vec<&LogRecord> = opens.collect();
        if opens.is_empty() {
            return;
        }
        self.shared.apply(opens.iter().copied());
        let catalog = self.shared.catalog.read();
        for target in targets.iter_mut().filter(|target| target.live.is_none()) {
            target.live = catalog.live(target.board, target.season).cloned();
        }
        drop(catalog);
        for record in opens {
            if let LogRecord::Season { board, .. } = record {
                self.schedule(*board);
            }
        }
    }
}

/// Applies events in order and notes the ranks before and after each.
fn publish_events(targets: &[Target], events: &mut [DraftEvent]) {
    for piece in events.chunks_mut(PUBLISH_ROWS) {
        let mut locked: Option<ArcRwLockWriteGuard<RawRwLock, Live>> = None;
        for run in piece.chunk_by_mut(|a, b| a.target == b.target) {
            let target = &targets[run[0].target];
            // The one lock is released before the other is taken.
            drop(locked.take());
            let live = target.live.as_ref().expect("a season with events is open");
            let live = locked.insert(live.write_arc());
            for few in run.chunks_mut(WARM) {
                warm(live, target, few);
                for event in few {
                    event.ranks = publish(live, target, event);
                }
            }
        }
    }
}

/// Brings the memory that a few changes will need into the cache at once.
fn warm(live: &Live, target: &Target, events: &[DraftEvent]) {
    let order = target.definition.order();
    let unknown = events.iter().filter(|event| event.spot.is_none());
    let players: Vec<&str> = unknown.map(|event| event.player.as_str()).collect();
    let spots: Vec<Spot> = events.iter().filter_map(|event| event.spot).collect();
    let key = |event: &DraftEvent| SortKey::new(order, event.entry.score, event.entry.at);
    let keys: Vec<SortKey> = events.iter().map(key).collect();
    live.index().warm(&players);
    live.index().warm_spots(&spots);
    live.index().warm_keys(&keys);
}

/// Applies one event; the ranks before and after it, where anyone will be told.
fn publish(live: &mut Live, target: &Target, event: &DraftEvent) -> [Option<Rank>; 2] {
    let record = record_of(target.definition.order(), event.entry);
    let ties = event.ranked.then(|| target.definition.ties());
    let Change { before, after, .. } = live.change(&event.player, event.spot, record, ties);
    [before, after].map(|place| place.map(Position::rank))
}

/// A player's rank, by the cheaper way that the tie rule allows.
fn rank(live: &Live, ties: Ties, player: &PlayerId) -> Option<Rank> {
    let (position, _) = match ties {
        Ties::Share => live.index().shared_position(player),
        Ties::Earliest => live.index().position(player),
    }?;
    Some(position.rank())
}

impl Draft {
    fn receipt(&self, outcome: Outcome) -> Result<Receipt, Refused> {
        Ok(match outcome {
            Outcome::Rejected(rejection) => return Err(rejection.into()),
            Outcome::Accepted(event) => {
                let event = &self.events[event];
                let previous_score = event.previous.map(|entry| entry.score);
                Receipt {
                    player: event.player.clone(),
                    season: self.targets[event.target].season_id.clone(),
                    score: event.entry.score,
                    rank: event.ranks[1],
                    previous_score,
                    previous_rank: event.ranks[0],
                    exactness: Exactness::Exact,
                    changed: previous_score != Some(event.entry.score),
                    at: event.entry.at,
                    duplicate: false,
                }
            }
            Outcome::Duplicate(stored, season, target) => Receipt {
                rank: target.and_then(|target| self.rank_now(target, &stored.player)),
                player: stored.player,
                season,
                score: stored.entry.score,
                previous_score: None,
                previous_rank: None,
                exactness: Exactness::Exact,
                changed: false,
                at: stored.entry.at,
                duplicate: true,
            },
        })
    }

    fn rank_now(&self, target: usize, player: &PlayerId) -> Option<Rank> {
        let Target { live, definition, .. } = &self.targets[target];
        rank(&live.as_ref()?.read(), definition.ties(), player)
    }
}
