//! What the rank index costs, alone: one thread, no I/O, time on the processor.

use std::{hint::black_box, ops::ControlFlow};

use standings_core::{IndexRecord, Position};
use standings_index::RankIndex;
use standings_index::{Spot, WARM};

use crate::{
    board::{Id, Ids, MONTH, START, after_win, first_record, sorted},
    meter::{Clock, float, median},
    progress,
    random::Random,
};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How ids look.
    pub ids: Ids,
    /// Players on the board.
    pub players: u64,
    /// Random updates between loading and measuring, so that the board is not as tidy as one just loaded.
    pub churn: u64,
}

/// Nanoseconds an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Read the entry, add points, store it.
    pub update: f64,
    /// The same in batches of [`WARM`] that are fetched ahead.
    pub update_in_batches: f64,
    /// The rank where the earliest leads.
    pub rank: f64,
    /// The rank where ties share.
    pub shared: f64,
    /// Both, as a read of a player asks for them.
    pub both: f64,
    /// The same in batches, as a list of players asks.
    pub both_in_batches: f64,
    /// A player with the four before and after.
    pub window: f64,
    /// The first ten.
    pub top: f64,
}

impl Costs {
    /// The median of several, each kind by itself.
    pub fn median(all: &[Self]) -> Self {
        let of = |kind: fn(&Self) -> f64| median(all.iter().map(kind).collect());
        Self {
            update: of(|costs| costs.update),
            update_in_batches: of(|costs| costs.update_in_batches),
            rank: of(|costs| costs.rank),
            shared: of(|costs| costs.shared),
            both: of(|costs| costs.both),
            both_in_batches: of(|costs| costs.both_in_batches),
            window: of(|costs| costs.window),
            top: of(|costs| costs.top),
        }
    }
}

/// A board that was loaded and stirred.
pub struct Board {
    index: RankIndex,
    run: Run,
    /// Bytes a player after loading, as the index counts them.
    pub loaded: f64,
    /// Bytes a player after the updates, as the index counts them.
    pub churned: f64,
    /// Seconds to load everyone in order.
    pub load: f64,
}

impl Board {
    /// Loads a board and stirs it.
    pub fn load(plan: Plan) -> Self {
        let Plan { ids, players, churn } = plan;
        progress::step(&format!("index of {players} players with {}: sorting", ids.name()));
        let rows = sorted(ids, players);
        let start = Clock::start();
        let expected = rows.len();
        let in_order = rows.iter().map(|(record, player)| (ids.id(*player), *record));
        let mut index = RankIndex::from_sorted(in_order, expected).expect("the rows are sorted");
        let load = start.nanoseconds() / 1e9;
        let loaded = index.memory_bytes() as u64;
        drop(rows);

        progress::step(&format!("index: {churn} updates"));
        let mut run = Run { ids, players, random: Random(players), now: START + MONTH };
        let mut left = churn;
        while left > 0 {
            let count = left.min(100_000);
            run.update_in_batches(&mut index, count);
            left -= count;
        }
        let each = |bytes: u64| float(bytes) / float(players);
        let churned = each(index.memory_bytes() as u64);
        Self { index, run, loaded: each(loaded), churned, load }
    }

    /// Measures so many operations of each kind.
    pub fn costs(&mut self, operations: u64) -> Costs {
        let Self { index, run, .. } = self;
        Costs {
            update: run.update(index, operations),
            update_in_batches: run.update_in_batches(index, operations),
            rank: run.ask(operations, |id| index.position(id)),
            shared: run.ask(operations, |id| index.shared_position(id)),
            both: run.ask(operations, |id| index.find(id)),
            both_in_batches: run.ask_in_batches(index, operations),
            window: run.ask(operations.div_ceil(4), |id| window(index, id)),
            top: run.ask(operations.div_ceil(4), |_| rows_from(index, 0, 10)),
        }
    }

    /// Measures new players, of whom the board has more from then on: the last thing to do with it.
    pub fn insert(mut self, operations: u64) -> f64 {
        self.run.insert(&mut self.index, operations)
    }
}

/// The rank of a player with the four before and after.
fn window(index: &RankIndex, id: &str) -> Option<u64> {
    let (position, _) = index.position(id)?;
    Some(rows_from(index, position.0.saturating_sub(4), 9))
}

/// Visits some rows and returns something made of them.
fn rows_from(index: &RankIndex, from: u64, rows: u64) -> u64 {
    let (mut left, mut sum) = (rows, 0);
    index.scan(Position(from), |id, record| {
        sum += record.key.folded.unsigned_abs() + id.len() as u64;
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    sum
}

/// Random players and a clock that goes on.
struct Run {
    ids: Ids,
    players: u64,
    random: Random,
    now: i64,
}

/// The ids as the index takes them.
fn ids(players: &[(Id, u64)]) -> Vec<&str> {
    players.iter().map(|(id, _)| id.as_ref()).collect()
}

impl Run {
    /// Ids and points are made before the clock starts.
    fn players(&mut self, count: u64) -> Vec<(Id, u64)> {
        let player =
            |run: &mut Self| (run.ids.id(run.random.below(run.players)), 1 + run.random.below(10));
        (0..count).map(|_| player(self)).collect()
    }

    /// What a win does: read the entry, add points, store it.
    fn update(&mut self, index: &mut RankIndex, count: u64) -> f64 {
        let players = self.players(count);
        let ids = ids(&players);
        let start = Clock::start();
        for (id, (_, points)) in ids.iter().zip(&players) {
            self.now += 20;
            let (record, spot) = index.look_up(id).expect("all players are loaded");
            let record = after_win(record, *points, self.now);
            black_box(index.change(id, Some(spot), record, None));
        }
        start.per(count)
    }

    fn update_in_batches(&mut self, index: &mut RankIndex, count: u64) -> f64 {
        let players = self.players(count);
        let ids = ids(&players);
        let mut records: Vec<(IndexRecord, Spot)> = Vec::new();
        let start = Clock::start();
        for (ids, batch) in ids.chunks(WARM).zip(players.chunks(WARM)) {
            records.clear();
            let mut points = batch.iter().map(|(_, points)| *points);
            index.look_up_many(ids, |found| {
                self.now += 20;
                let (record, spot) = found.expect("all players are loaded");
                records.push((after_win(record, points.next().unwrap_or(0), self.now), spot));
            });
            let last = records.len() - 1;
            let keys: [_; WARM] = std::array::from_fn(|at| records[at.min(last)].0.key);
            index.warm_keys(&keys[..batch.len()]);
            // A player who comes twice in a batch loses points here, which costs neither more nor less.
            for (id, (record, spot)) in ids.iter().zip(&records) {
                black_box(index.change(id, Some(*spot), *record, None));
            }
        }
        start.per(count)
    }

    fn ask<R>(&mut self, count: u64, ask: impl Fn(&str) -> R) -> f64 {
        let players = self.players(count);
        let ids = ids(&players);
        let start = Clock::start();
        for id in ids {
            black_box(ask(id));
        }
        start.per(count)
    }

    fn ask_in_batches(&mut self, index: &RankIndex, count: u64) -> f64 {
        let players = self.players(count);
        let ids = ids(&players);
        let start = Clock::start();
        for ids in ids.chunks(WARM) {
            black_box(index.find_many(ids));
        }
        start.per(count)
    }

    fn insert(&mut self, index: &mut RankIndex, count: u64) -> f64 {
        let new = self.players..self.players + count;
        let rows: Vec<_> = new.map(|player| (self.ids.id(player), first_record(player))).collect();
        let start = Clock::start();
        for (id, record) in &rows {
            black_box(index.upsert(id.as_ref(), *record));
        }
        start.per(count)
    }
}
