//! Arbitrary bytes into what reads the log: for fuzzers, and for tests that do the same in short.

use std::sync::Arc;

use crate::{
    files::{disk::Disk as _, sim_disk::SimDisk},
    log::{DIR, Frame, Log, LogOptions},
    record,
};

/// Gives bytes to the log's reader three times: as all that there is of a segment, as what follows an intact header, and
/// as the records of an intact frame. Nothing of it may panic; what is understood must be the same after writing and
/// reading it again.
pub fn log(bytes: &[u8]) {
    open(bytes);
    let disk = SimDisk::new();
    let header = Log::open(Arc::new(disk.clone()), LogOptions::default());
    drop(header.expect("an empty disk has room for a log"));
    let segment = disk.read(&segment()).expect("the segment was made");
    open(&[&segment[..], bytes].concat());
    records(bytes);
}

fn segment() -> String {
    format!("{DIR}/{:020}.log", 1)
}

/// Recovers a log whose only segment has this content, and reads what is left.
fn open(content: &[u8]) {
    let disk = SimDisk::new();
    disk.create_dir(DIR).expect("a new disk takes a directory");
    drop(disk.create(&segment()).expect("a new disk takes a file"));
    disk.overwrite(&segment(), content);
    let Ok(opened) = Log::open(Arc::new(disk), LogOptions::default()) else { return };
    let mut reader = opened.log.read_from(opened.first_seq).expect("the log begins there");
    let mut next = opened.first_seq;
    while let Some(frame) = reader.next_frame().expect("what was opened is intact") {
        assert_eq!(frame.first_seq, next, "frames follow each other");
        next = frame.next_seq();
        let _ = record::decode(&frame);
    }
    assert_eq!(next, opened.next_seq, "the log ends where it says");
}

/// Decodes records, of which the first byte says how many.
fn records(bytes: &[u8]) {
    let Some((count, payload)) = bytes.split_first() else { return };
    let frame = |payload| Frame { first_seq: 1, count: u32::from(*count), durable_seq: 1, payload };
    let Ok(records) = record::decode(&frame(payload)) else { return };
    assert_eq!(records.len(), usize::from(*count));
    let mut again = Vec::new();
    record::encode(&records, &mut again);
    let decoded = record::decode(&frame(&again)).expect("what was encoded decodes");
    assert_eq!(decoded, records, "records are the same after writing and reading");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::LogRecord;

    /// Changes of each byte, and each length.
    #[test]
    fn no_bytes_make_the_log_reader_panic() {
        let mut tried = 0;
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/log");
        for seed in std::fs::read_dir(corpus).unwrap() {
            let seed = std::fs::read(seed.unwrap().path()).unwrap();
            log(&seed);
            for at in 0..seed.len() {
                log(&seed[..at]);
                for byte in 0..=255 {
                    let mut changed = seed.clone();
                    changed[at] = byte;
                    log(&changed);
                }
                tried += 257;
            }
        }
        assert!(tried > 30_000, "the corpus is too small: {tried}");
    }

    /// `UPDATE_CORPUS=1` writes the seeds: one record of each of the commonest kinds.
    #[test]
    fn the_corpus_has_records_that_decode() {
        let id = |text| standings_core::PlayerId::new(text).unwrap();
        let removed = LogRecord::EntryRemoved {
            board: 1,
            season: 2,
            player: id("alice"),
            at: standings_core::Millis(1_794_736_800_000),
        };
        let friends = LogRecord::FriendsPut { player: id("bob"), friends: vec![id("a"), id("b")] };
        let put = LogRecord::BoardPut {
            board: 3,
            id: standings_core::BoardId::new("main").unwrap(),
            definition: r#"{"season":"daily"}"#.to_owned(),
            at: standings_core::Millis(0),
        };
        let frozen = LogRecord::SeasonFrozen {
            board: 1,
            season: 1,
            file: Box::new(crate::record::FrozenFile {
                name: "1-1-9-0.standing".into(),
                players: 3,
                total: -12,
                ..Default::default()
            }),
        };
        let mut payload = Vec::new();
        record::encode(&[removed, friends, put, frozen], &mut payload);
        let bytes = [&[4][..], &payload].concat();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/log/records");
        if std::env::var_os("UPDATE_CORPUS").is_some() {
            std::fs::write(path, &bytes).unwrap();
        }
        assert_eq!(std::fs::read(path).unwrap(), bytes);
        records(&bytes);
    }
}
