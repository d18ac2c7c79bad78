use std::{
    convert::Infallible,
    ops::ControlFlow,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, Waker},
};

use proptest::prelude::*;

use super::*;
use crate::{board::Board, score::Score, sort_key::Order};

/// The simplest standing there is: a sorted vector. An empty id is the place of an erased player.
struct Model(Vec<(SortKey, String)>);

impl Model {
    fn new(order: Order, rows: &[(i64, i64)]) -> Self {
        let key = |(score, at): &(i64, i64)| {
            SortKey::new(order, Score::new(*score).unwrap(), Millis(*at))
        };
        let rows = rows.iter().enumerate();
        let mut rows: Vec<_> = rows.map(|(id, row)| (key(row), format!("p{id}"))).collect();
        rows.sort();
        Self(rows)
    }
}

impl Standing for Model {
    type Error = Infallible;
    fn size(&self) -> Size {
        let total = self.0.iter().map(|(key, _)| i128::from(key.folded)).sum();
        Size { players: self.0.len() as u64, total }
    }
    fn find(&self, player: &str) -> Result<Option<Found>, Infallible> {
        let Some(position) = self.0.iter().position(|(_, id)| id == player) else {
            return Ok(None);
        };
        let key = self.0[position].0;
        Ok(Some(Found {
            position: Position(position as u64),
            first_of_score: self.before_score(key.folded)?,
            record: IndexRecord { key, updated_at: key.at },
        }))
    }
    fn before_score(&self, folded: i64) -> Result<Position, Infallible> {
        Ok(Position(self.0.iter().filter(|(key, _)| key.folded < folded).count() as u64))
    }
    fn through(&self, key: SortKey, player: &str) -> Result<Position, Infallible> {
        let place = (key, player.to_owned());
        // The place of an erased player is before a row if it is in front of it: it has no id to compare.
        let last = self.0.iter().rposition(|row| !row.1.is_empty() && *row <= place);
        let before_key = self.0.iter().filter(|row| row.0 < key).count();
        Ok(Position(last.map_or(0, |last| last + 1).max(before_key) as u64))
    }
    fn visit(
        &self,
        from: Position,
        visitor: &mut dyn FnMut(&str, IndexRecord) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        for (key, id) in self.0.iter().skip(usize::try_from(from.0).unwrap()) {
            if visitor(id, IndexRecord { key: *key, updated_at: key.at }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A standing whose every answer takes a trip.
struct Far<'a> {
    near: Near<'a, Model>,
    asked: AtomicUsize,
}

/// Pending once.
async fn trip() {
    let mut there = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut there, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

impl Ranks for Far<'_> {
    type Error = Infallible;
    fn ties(&self) -> Ties {
        self.near.ties()
    }
    async fn size(&self) -> Result<Size, Infallible> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        trip().await;
        self.near.size().await
    }
    async fn find(&self, players: &[&PlayerId]) -> Result<Vec<Option<Found>>, Infallible> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        trip().await;
        self.near.find(players).await
    }
    async fn better(&self, folded: &[i64]) -> Result<Vec<Position>, Infallible> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        trip().await;
        self.near.better(folded).await
    }
    async fn through(&self, places: &[(SortKey, &PlayerId)]) -> Result<Vec<Position>, Infallible> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        trip().await;
        self.near.through(places).await
    }
    async fn rows(&self, spans: &[(From<'_>, usize)]) -> Result<Vec<Rows>, Infallible> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        trip().await;
        self.near.rows(spans).await
    }
}

/// How many trips a derivation takes.
fn trips<T>(future: impl Future<Output = T>) -> usize {
    let mut future = std::pin::pin!(future);
    let mut polls = 0;
    while future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        polls += 1;
    }
    polls
}

fn id(text: &str) -> PlayerId {
    PlayerId::new(text).unwrap()
}

const ALL: (i64, i64) = (i64::MIN, i64::MAX);

#[test]
fn what_does_not_depend_on_each_other_goes_in_one_trip() {
    let rows: Vec<_> = (0..100).map(|i| (i * 7 % 40, i)).collect();
    let model = Model::new(Order::Desc, &rows);
    let far = Far { near: Near(&model, Ties::Share), asked: AtomicUsize::new(0) };
    let gaps = Gaps::default();
    let player = id("p7");
    let key = model.0[30].0;
    assert_eq!(trips(entry(&far, &gaps, &player, None)), 1);
    assert_eq!(trips(entry(&far, &gaps, &player, Some(4))), 2);
    assert_eq!(trips(selected(&far, &gaps, &[&player, &id("p8")])), 1);
    assert_eq!(trips(page(&far, &gaps, ALL, Start::Offset(20), 10)), 1);
    assert_eq!(trips(page(&far, &gaps, ALL, Start::After(key, &player), 10)), 1);
    assert_eq!(trips(page(&far, &gaps, (-30, -10), Start::Offset(20), 10)), 2);
    assert_eq!(trips(page(&far, &gaps, (-30, -10), Start::After(key, &player), 10)), 2);
    assert_eq!(trips(place(&far, &gaps, -12, 0)), 1);
    assert_eq!(trips(place(&far, &gaps, -12, 3)), 2);
    assert_eq!(trips(distribution(&far, &gaps, Order::Desc)), 3);
    assert_eq!(far.asked.into_inner(), 2 + 3 + 2 + 2 + 2 + 4 + 4 + 2 + 3 + 3);
}

fn ranks_of(ties: Ties, scores: &[i64], start: u64, limit: usize) -> Vec<u64> {
    let rows: Vec<_> = scores.iter().zip(0..).map(|(score, at)| (*score, at)).collect();
    let model = Model::new(Order::Desc, &rows);
    let near = Near(&model, ties);
    let Ok(page) = now(page(&near, &Gaps::default(), ALL, Start::Offset(start), limit));
    page.rows.iter().map(|row| row.rank.get()).collect()
}

#[test]
fn a_tie_shares_the_rank_or_goes_to_the_earliest() {
    let scores = [50, 40, 40, 30];
    assert_eq!(ranks_of(Ties::Share, &scores, 0, 4), [1, 2, 2, 4]);
    assert_eq!(ranks_of(Ties::Earliest, &scores, 0, 4), [1, 2, 3, 4]);
    // A page that begins in the middle of a tie knows where the tie began.
    assert_eq!(ranks_of(Ties::Share, &scores, 2, 2), [2, 4]);
    assert_eq!(ranks_of(Ties::Share, &scores, 4, 1), [] as [u64; 0]);
}

#[test]
fn the_best_is_in_the_hundredth_percentile() {
    let percentiles = [percentile(4, Position(0)), percentile(4, Position(3))];
    assert!((percentiles[0] - 100.0).abs() < 1e-9 && (percentiles[1] - 25.0).abs() < 1e-9);
}

#[test]
fn deciles_end_at_the_last_player_within_the_share() {
    let rows: Vec<_> = (1..=20).map(|score| (score * 10, 0)).collect();
    let of = |order| {
        let model = Model::new(order, &rows);
        let Ok(scores) = now(distribution(&Near(&model, Ties::Share), &Gaps::default(), order));
        scores
    };
    let scores = of(Order::Desc);
    let deciles: Vec<_> = scores.deciles.iter().map(|d| (d.top_percent, d.score.get())).collect();
    assert_eq!((deciles[0], deciles[8], deciles.len()), ((10, 190), (90, 30), 9));
    assert_eq!((scores.min, scores.max), (Score::new(10), Score::new(200)));
    assert_eq!(scores.mean, Some(105.0));
    assert_eq!(of(Order::Asc).deciles[0].score.get(), 20);
}

/// A standing of which some places were erased and some removed, and the same one as a person would count it.
struct Gapped {
    model: Model,
    gaps: Gaps,
    /// The rows that are shown, with their ranks.
    shown: Vec<(String, SortKey, u64)>,
    /// Places that ranks count.
    ranked: u64,
}

fn gapped(rows: &[(i64, i64)], kinds: &[u8], ties: Ties) -> Gapped {
    let mut model = Model::new(Order::Desc, rows);
    let (mut erased, mut removed, mut total) = (Vec::new(), Vec::new(), 0);
    let mut shown = Vec::new();
    // Ranks count all that were not removed.
    let mut counted: Vec<SortKey> = Vec::new();
    for (position, (key, id)) in model.0.iter_mut().enumerate() {
        let kind = kinds.get(position).copied().unwrap_or(0);
        if kind == 2 {
            removed.push(position as u64);
            total += i128::from(key.folded);
            continue;
        }
        let better = match ties {
            Ties::Share => counted.iter().filter(|other| other.folded < key.folded).count(),
            Ties::Earliest => counted.len(),
        };
        counted.push(*key);
        if kind == 1 {
            erased.push(position as u64);
            total += i128::from(key.folded);
            id.clear();
        } else {
            shown.push((id.clone(), *key, better as u64 + 1));
        }
    }
    let gaps = Gaps::new(erased, removed, total);
    Gapped { model, gaps, shown, ranked: counted.len() as u64 }
}

fn plain(rows: &[Ranked]) -> Vec<(String, SortKey, u64)> {
    let plain = |row: &Ranked| (row.player.as_str().to_owned(), row.record.key, row.rank.get());
    rows.iter().map(plain).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pages_show_what_a_person_would_count(
        rows in prop::collection::vec((-8i64..8, 0i64..4), 0..40),
        kinds in prop::collection::vec(prop_oneof![6 => Just(0u8), 1 => Just(1), 1 => Just(2)], 40),
        earliest: bool,
        bounds in prop_oneof![Just(ALL), (-9i64..9, -9i64..9), (-9i64..9).prop_map(|first| (first, i64::MAX))],
        offset in 0u64..45,
        limit in 1usize..12,
        around in 0usize..6,
    ) {
        let ties = if earliest { Ties::Earliest } else { Ties::Share };
        let Gapped { model, gaps, shown, ranked } = gapped(&rows, &kinds, ties);
        let near = Near(&model, ties);
        let passing: Vec<_> =
            shown.iter().filter(|row| (bounds.0..=bounds.1).contains(&row.1.folded)).cloned().collect();
        // By offset.
        let skip = usize::try_from(offset).unwrap();
        let Ok(got) = now(page(&near, &gaps, bounds, Start::Offset(offset), limit));
        let wanted: Vec<_> = passing.iter().skip(skip).take(limit).cloned().collect();
        prop_assert_eq!(plain(&got.rows), wanted);
        prop_assert_eq!(got.more, passing.len() > skip + limit);
        prop_assert_eq!(got.players, shown.len() as u64);
        // After any row of the standing.
        if let Some((key, who)) = model.0.get(skip).filter(|(_, who)| !who.is_empty()) {
            let after = id(who);
            let Ok(got) = now(page(&near, &gaps, bounds, Start::After(*key, &after), limit));
            let rest: Vec<_> = passing.iter()
                .filter(|(other, k, _)| (*k, other.as_str()) > (*key, who.as_str())).cloned().collect();
            let wanted: Vec<_> = rest.iter().take(limit).cloned().collect();
            prop_assert_eq!(plain(&got.rows), wanted);
            prop_assert_eq!(got.more, rest.len() > limit);
        }
        // Entries, with their windows.
        for (number, row) in shown.iter().enumerate() {
            let Ok(got) = now(entry(&near, &gaps, &id(&row.0), Some(around)));
            let got = got.expect("it is shown");
            prop_assert_eq!(&plain(&[got.row])[0], row);
            let size = (2 * around + 1).min(shown.len());
            let start = number.saturating_sub(around).min(shown.len() - size);
            prop_assert_eq!(plain(&got.around), shown[start..start + size].to_vec());
            let better = model.0.iter().enumerate().filter(|(i, (k, _))| {
                k.folded < row.1.folded && kinds.get(*i) != Some(&2)
            });
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let percentile = 100.0 * (ranked - better.count() as u64) as f64 / ranked as f64;
            prop_assert!((got.percentile - percentile).abs() < 1e-9);
        }
        // All of them at once, and one that is not there.
        let ids: Vec<PlayerId> = model.0.iter().enumerate().map(|(i, (_, who))| {
            if who.is_empty() { id(&format!("gone{i}")) } else { id(who) }
        }).collect();
        let Ok(got) = now(selected(&near, &gaps, &ids.iter().rev().collect::<Vec<_>>()));
        prop_assert_eq!(plain(&got.rows), shown.clone());
        prop_assert_eq!(got.missing.len(), ids.len() - shown.len());
        // Some of them are friends.
        let friends: Vec<Ranked> = got.rows.into_iter().step_by(around + 1).collect();
        for (number, rank) in among(near.1, &friends).into_iter().enumerate() {
            let folded = |row: &Ranked| row.record.key.folded;
            let better = friends.iter().filter(|row| folded(row) < folded(&friends[number]));
            let ahead = if earliest { number } else { better.count() };
            prop_assert_eq!(rank.get(), ahead as u64 + 1);
        }
        // The place of a score.
        let folded = bounds.0.max(-100);
        let Ok(got) = now(place(&near, &gaps, folded, around));
        let counted = model.0.iter().enumerate().filter(|(i, _)| kinds.get(*i) != Some(&2));
        let before = counted.filter(|(_, (key, _))| {
            if earliest { key.folded <= folded } else { key.folded < folded }
        });
        prop_assert_eq!(got.rank.get(), before.count() as u64 + 1);
    }

    #[test]
    fn a_filter_passes_exactly_the_scores_it_names(
        rows in prop::collection::vec((-20i64..20, 0i64..5), 0..60),
        asc: bool,
        min in prop::option::of(-25i64..25),
        max in prop::option::of(-25i64..25),
        success: Option<bool>,
        goal in prop::option::of(-25i64..25),
    ) {
        let order = if asc { Order::Asc } else { Order::Desc };
        let board = Board::from_json(&format!(r#"{{"order":"{}"}}"#, if asc { "asc" } else { "desc" })).unwrap();
        let model = Model::new(order, &rows);
        let score = |value: Option<i64>| value.and_then(Score::new);
        let filter = Filter { min: score(min), max: score(max), success };
        let met = |value: i64| goal.is_some_and(|goal| if asc { value <= goal } else { value >= goal });
        let wanted: Vec<String> = model
            .0
            .iter()
            .filter(|(key, _)| {
                let value = order.unfold(key.folded).get();
                min.is_none_or(|min| value >= min)
                    && max.is_none_or(|max| value <= max)
                    && success.is_none_or(|wanted| met(value) == wanted)
            })
            .map(|(_, id)| id.clone())
            .collect();
        let got = match filter.folded(&board, score(goal)) {
            Some(bounds) => {
                let near = Near(&model, Ties::Share);
                let Ok(page) = now(page(&near, &Gaps::default(), bounds, Start::Offset(0), 1000));
                plain(&page.rows).into_iter().map(|(id, ..)| id).collect()
            }
            None => Vec::new(),
        };
        prop_assert_eq!(got, wanted);
    }

    #[test]
    fn a_distribution_counts_every_player_once(
        rows in prop::collection::vec((-1000i64..1000, 0i64..5), 1..200),
        kinds in prop::collection::vec(prop_oneof![6 => Just(0u8), 1 => Just(1), 1 => Just(2)], 200),
    ) {
        let Gapped { model, gaps, shown, .. } = gapped(&rows, &kinds, Ties::Share);
        let Ok(scores) = now(distribution(&Near(&model, Ties::Share), &gaps, Order::Desc));
        let values: Vec<i64> = shown.iter().map(|(_, key, _)| -key.folded).collect();
        prop_assert_eq!(scores.players, values.len() as u64);
        prop_assert_eq!(scores.histogram.iter().map(|bin| bin.players).sum::<u64>(), values.len() as u64);
        for bin in &scores.histogram {
            let inside = values.iter().filter(|s| (bin.from.get()..=bin.to.get()).contains(s));
            prop_assert_eq!(bin.players, inside.count() as u64);
        }
        prop_assert_eq!(scores.min.map(Score::get), values.iter().copied().min());
        prop_assert_eq!(scores.max.map(Score::get), values.iter().copied().max());
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let mean = (!values.is_empty()).then(|| values.iter().sum::<i64>() as f64 / values.len() as f64);
        prop_assert!(mean.zip(scores.mean).is_none_or(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn a_view_is_the_standing_of_its_instant(
        rows in prop::collection::vec((0i64..6, 0i64..4), 0..40),
        changes in prop::collection::vec((0usize..45, prop::option::of(0i64..6)), 0..60),
        most in 1usize..9,
    ) {
        let mut model = Model::new(Order::Desc, &rows);
        let wanted: Vec<_> = model.0.iter().map(|(key, who)| (who.clone(), *key)).collect();
        let mut view = as_of::AsOfView::new(model.0.len() as u64);
        let mut cursor = as_of::Cursor::default();
        let mut got = Vec::new();
        let mut changes = changes.into_iter();
        while !cursor.done {
            // A few changes, then a piece.
            for (number, score) in changes.by_ref().take(3) {
                let who = format!("p{number}");
                let had = model.0.iter().position(|(_, other)| *other == who).map(|i| model.0.remove(i).0);
                view.keep(&id(&who), had.map(|key| IndexRecord { key, updated_at: key.at }));
                if let Some(score) = score {
                    let key = SortKey::new(Order::Desc, Score::new(score).unwrap(), Millis(9));
                    model.0.push((key, who));
                    model.0.sort();
                }
            }
            let from = cursor.after().map(|(key, who)| (key, who.to_owned()));
            let rest = model.0.iter().filter(|row| from.as_ref().is_none_or(|from| *row > from));
            let piece: Vec<_> = rest.take(most).map(|(key, who)| {
                (who.as_str().into(), IndexRecord { key: *key, updated_at: key.at })
            }).collect();
            let full = piece.len() == most;
            let rows = view.merge(piece, full, &mut cursor);
            got.extend(rows.into_iter().map(|(who, record)| (who.to_string(), record.key)));
        }
        prop_assert_eq!(got, wanted);
    }
}
