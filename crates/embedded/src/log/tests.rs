//! Statements about a log that nothing crashes, and about one that was damaged on purpose.

use std::io::ErrorKind;
use std::sync::Arc;

use super::*;
use crate::files::disk::RealDisk;
use crate::files::sim_disk::{Failure, SimDisk, Survive};
use crate::log::format::{FRAME_HEADER, SEGMENT_HEADER, SegmentHeader};

const FIRST: &str = "log/00000000000000000001.log";
const SMALL: LogOptions =
    LogOptions { segment_bytes: 400, ahead_bytes: 64, start_seq: 1, must_reach: 0 };

fn try_open(disk: &SimDisk) -> Result<Opened, LogError> {
    Log::open(Arc::new(disk.clone()), SMALL)
}

fn open(disk: &SimDisk) -> Opened {
    try_open(disk).unwrap()
}

/// Appends groups and makes each durable before the next.
fn write(log: &mut Log, groups: &[(u32, &[u8])]) {
    for &(count, payload) in groups {
        log.append(count, payload).unwrap();
        log.sync().unwrap();
    }
}

fn read(log: &Log, from: u64) -> Vec<(u64, u32, Vec<u8>)> {
    let mut reader = log.read_from(from).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push((frame.first_seq, frame.count, frame.payload.to_vec()));
    }
    frames
}

/// Three segments: records 1..=6 (two frames of 180 bytes), 7..=12, and 13..=15 (one frame).
fn three_segments() -> SimDisk {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    for i in 0..5 {
        write(&mut log, &[(3, &[b'a' + i; 152])]);
    }
    let firsts: Vec<u64> = log.segments().iter().map(|segment| segment.first_seq).collect();
    assert_eq!(firsts, [1, 7, 13]);
    disk
}

fn flipped(disk: &SimDisk, file: &str, at: usize, mask: u8) -> SimDisk {
    let disk = disk.crash(Survive::Everything);
    let mut bytes = disk.read(file).unwrap();
    bytes[at] ^= mask;
    disk.overwrite(file, &bytes);
    disk
}

#[test]
fn records_are_numbered_on_and_read_back_after_reopening() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    assert_eq!(log.append(2, b"ab").unwrap(), 1..3);
    assert_eq!(log.append(1, b"").unwrap(), 3..4);
    assert_eq!((log.next_seq(), log.durable_seq()), (4, 1));
    log.sync().unwrap();
    assert_eq!(log.durable_seq(), 4);

    let opened = open(&disk);
    assert_eq!((opened.first_seq, opened.next_seq, opened.repaired), (1, 4, None));
    let all = [(1, 2, b"ab".to_vec()), (3, 1, vec![])];
    assert_eq!(read(&opened.log, 1), all);
    assert_eq!(read(&opened.log, 2), all);
    assert_eq!(read(&opened.log, 3), all[1..]);
    assert_eq!(read(&opened.log, 4), []);
}

#[test]
fn a_new_log_begins_where_it_is_told() {
    let options = LogOptions { start_seq: 500, must_reach: 500, ..SMALL };
    let mut log = Log::open(Arc::new(SimDisk::new()), options).unwrap().log;
    assert_eq!(log.append(1, b"x").unwrap(), 500..501);
    assert_eq!(log.segments()[0].path(), "log/00000000000000000500.log");
}

#[test]
fn a_group_costs_one_write_and_one_sync() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    let before = (disk.operations(), disk.syncs());
    write(&mut log, &[(1, b"one"), (1, b"two")]);
    log.sync().unwrap();
    assert_eq!((disk.operations() - before.0, disk.syncs() - before.1), (4, 2));
}

#[test]
fn a_full_segment_is_followed_by_a_new_one_and_a_long_frame_gets_its_own() {
    let disk = three_segments();
    let mut log = open(&disk).log;
    write(&mut log, &[(1, &[1; 5000]), (1, b"after")]);
    let segments = log.segments();
    let lengths: Vec<u64> = segments.iter().map(|segment| segment.bytes).collect();
    assert_eq!(lengths, [392, 392, 212, 5060, 65]);
    assert_eq!(log.bytes(), lengths.iter().sum::<u64>());
    assert_eq!(read(&open(&disk).log, 16), [(16, 1, vec![1; 5000]), (17, 1, b"after".to_vec())]);
}

#[test]
fn rolling_seals_what_is_there_once() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    log.roll().unwrap();
    assert_eq!(log.segments().len(), 1);
    log.append(4, b"four").unwrap();
    log.roll().unwrap();
    log.roll().unwrap();
    let sealed = Segment { first_seq: 1, next_seq: 5, bytes: 64 };
    assert_eq!(log.segments(), [sealed, Segment { first_seq: 5, next_seq: 5, bytes: 32 }]);
    assert_eq!(log.durable_seq(), 5);
    assert_eq!(open(&disk.crash(Survive::Nothing)).next_seq, 5);
}

#[test]
fn dropping_removes_whole_segments_but_never_the_active_one() {
    let disk = three_segments();
    let mut log = open(&disk).log;
    assert_eq!(log.drop_before(6).unwrap(), 0);
    assert_eq!(log.drop_before(7).unwrap(), 1);
    assert_eq!(log.first_seq(), 7);
    assert_eq!(log.drop_before(1000).unwrap(), 1);
    assert_eq!((log.first_seq(), log.next_seq()), (13, 16));
    let error = log.read_from(12).err().unwrap();
    let text = "record 12 was asked for, but the log begins with record 13";
    assert_eq!(error.to_string(), text);
    let opened = open(&disk.crash(Survive::Nothing));
    assert_eq!((opened.first_seq, opened.next_seq), (13, 16));
}

#[test]
fn a_removal_that_was_not_made_durable_is_repeated() {
    let disk = three_segments();
    let mut log = open(&disk).log;
    disk.fail_at(disk.operations() + 1, Failure::Error(ErrorKind::Other));
    let error = log.drop_before(16).unwrap_err();
    assert!(error.to_string().starts_with("log: cannot sync the directory"), "{error}");
    assert_eq!(log.first_seq(), 1);
    assert_eq!(log.drop_before(16).unwrap(), 2);
    assert_eq!(open(&disk.crash(Survive::Nothing)).first_seq, 13);
}

#[test]
fn a_reader_sees_what_was_there_when_it_was_made() {
    let disk = three_segments();
    let mut log = open(&disk).log;
    let mut reader = log.read_from(13).unwrap();
    write(&mut log, &[(1, b"later")]);
    assert_eq!(reader.next_frame().unwrap().unwrap().first_seq, 13);
    assert_eq!(reader.next_frame().unwrap(), None);
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_off_and_reported() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    write(&mut log, &[(2, b"durable")]);
    let end = log.bytes();
    log.append(1, &[b'x'; 200]).unwrap();
    let whole = (FRAME_HEADER + 200) as u64;
    let written = disk.read(FIRST).unwrap().split_off(usize::try_from(end).unwrap());
    for survived in 0..=whole {
        let opened = open(&disk.crash(Survive::Bytes(survived)));
        let next_seq = if survived == whole { 4 } else { 3 };
        assert_eq!(opened.next_seq, next_seq, "{survived} bytes survived");
        // Zeros at its end cannot be told from those prepared ahead and are not counted.
        let torn_frame = &written[..usize::try_from(survived).unwrap()];
        let used = torn_frame.iter().rposition(|&byte| byte != 0);
        let dropped_bytes = used.map_or(0, |last| last as u64 + 1);
        let repair = Repair { file: FIRST.into(), offset: end, dropped_bytes };
        let torn = survived > 0 && survived < whole;
        assert_eq!(opened.repaired, torn.then_some(repair), "{survived} bytes survived");
        let mut log = opened.log;
        write(&mut log, &[(1, b"goes on")]);
        assert_eq!(read(&log, next_seq), [(next_seq, 1, b"goes on".to_vec())]);
    }
}

#[test]
fn a_flipped_bit_in_a_complete_segment_is_refused_with_file_and_offset() {
    let disk = three_segments();
    for (file, frames) in [(FIRST, [32, 212]), ("log/00000000000000000007.log", [32, 212])] {
        for at in 0..disk.read(file).unwrap().len() {
            let damaged = flipped(&disk, file, at, 1 << (at % 8));
            let begins = if at < SEGMENT_HEADER {
                0
            } else if at < 392 {
                frames[usize::from(at >= frames[1])]
            } else {
                392
            };
            let error = try_open(&damaged).err().unwrap().to_string();
            let expected = format!("{file}: damaged at offset {begins}: ");
            assert!(error.starts_with(&expected), "byte {at}: {error}");
            assert_eq!(try_open(&damaged).err().unwrap().to_string(), error, "changed by opening");
        }
    }
}

#[test]
fn a_flipped_bit_in_the_last_segment_is_refused_unless_it_is_in_the_last_flush() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    write(&mut log, &[(1, &[b'a'; 40]), (1, &[b'b'; 40]), (1, &[b'c'; 40])]);
    let (second, third, end) = (100, 168, 236);
    assert_eq!(log.bytes(), end as u64);
    for at in 0..disk.read(FIRST).unwrap().len() {
        let damaged = flipped(&disk, FIRST, at, 0x80 >> (at % 8));
        if at < third {
            let begins = [0, 32, second][usize::from(at >= 32) + usize::from(at >= second)];
            let error = try_open(&damaged).err().unwrap().to_string();
            let expected = format!("{FIRST}: damaged at offset {begins}: ");
            assert!(error.starts_with(&expected), "byte {at}: {error}");
        } else {
            let opened = open(&damaged);
            let (kept, offset) = if at < end { (3, third) } else { (4, end) };
            assert_eq!(opened.next_seq, kept, "byte {at}");
            assert_eq!(opened.repaired.unwrap().offset, offset as u64, "byte {at}");
        }
    }
}

#[test]
fn the_message_for_damage_says_why_it_is_not_a_torn_tail_and_what_to_do() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    write(&mut log, &[(1, b"first"), (1, b"second")]);
    let error = try_open(&flipped(&disk, FIRST, 60, 1)).err().unwrap();
    assert_eq!(
        error.to_string(),
        "log/00000000000000000001.log: damaged at offset 32: checksum mismatch; frames after it \
         are intact (one at offset 65), so this is not a torn tail. Restore from a backup or run \
         `standings check`"
    );
}

#[test]
fn a_hole_among_unsynced_frames_is_a_torn_tail_and_becomes_damage_with_the_next_flush() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    write(&mut log, &[(1, b"durable")]);
    for payload in [b"two", b"thr", b"fou"] {
        log.append(1, payload).unwrap();
    }
    // The checksum of the second frame, which the disk is assumed to have lost.
    let hole = 32 + 35 + 4;
    let opened = open(&flipped(&disk, FIRST, hole, 1));
    assert_eq!(opened.next_seq, 2);
    let dropped = Repair { file: FIRST.into(), offset: 67, dropped_bytes: 93 };
    assert_eq!(opened.repaired, Some(dropped));

    log.sync().unwrap();
    log.append(1, b"fiv").unwrap();
    let error = try_open(&flipped(&disk, FIRST, hole, 1)).err().unwrap().to_string();
    assert!(error.contains("damaged at offset 67: checksum mismatch; frames after it"), "{error}");
}

#[test]
fn a_payload_that_imitates_a_frame_is_not_taken_for_one() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    write(&mut log, &[(1, b"durable")]);
    let mut forged = b"name: ".to_vec();
    Frame { first_seq: 1000, count: 1, durable_seq: 1000, payload: b"!" }.encode(0, &mut forged);
    forged.extend_from_slice(&[b'.'; 60]);
    log.append(1, &forged).unwrap();
    let survived = (FRAME_HEADER + forged.len() - 30) as u64;
    assert_eq!(open(&disk.crash(Survive::Bytes(survived))).next_seq, 2);
}

#[test]
fn a_missing_segment_is_refused() {
    let disk = three_segments();
    disk.remove("log/00000000000000000007.log").unwrap();
    let error = try_open(&disk).err().unwrap();
    assert_eq!(
        error.to_string(),
        "log/00000000000000000013.log: begins with record 13, but the segment before it ends at \
         offset 392, before record 7: records are missing. Restore from a backup or run `standings \
         check`"
    );
}

#[test]
fn a_half_made_last_segment_is_made_again() {
    let header = SegmentHeader::new(16).encode();
    for content in [&b""[..], &header[..7], &header[..31], &[0; 32], &[0; 500]] {
        let disk = three_segments();
        disk.create("log/00000000000000000016.log").unwrap().write_at(content, 0).unwrap();
        let opened = open(&disk);
        let repair = opened.repaired.unwrap();
        assert_eq!((repair.offset, repair.dropped_bytes), (0, content.len() as u64));
        let mut log = opened.log;
        assert_eq!(log.append(1, b"x").unwrap(), 16..17);
        log.sync().unwrap();
        assert_eq!(open(&disk.crash(Survive::Nothing)).next_seq, 17);
    }
}

#[test]
fn another_format_is_refused_and_told_by_its_version() {
    let disk = SimDisk::new();
    let header = SegmentHeader { version: 2, ..SegmentHeader::new(1) };
    disk.create(FIRST).unwrap().write_at(&header.encode(), 0).unwrap();
    let error = try_open(&disk).err().unwrap();
    assert_eq!(
        error.to_string(),
        "log/00000000000000000001.log: has format version 2, and this build reads version 3 only. \
         Export the boards with the build that wrote them, and import them anew into an empty data \
         directory"
    );
}

#[test]
fn a_log_that_ends_before_what_is_known_durable_is_refused_unchanged() {
    let disk = flipped(&three_segments(), "log/00000000000000000013.log", 40, 1);
    let before = disk.read("log/00000000000000000013.log").unwrap();
    let options = LogOptions { must_reach: 16, ..SMALL };
    let error = Log::open(Arc::new(disk.clone()), options).err().unwrap();
    assert!(matches!(error, LogError::Short { next_seq: 13, must_reach: 16 }), "{error}");
    assert_eq!(disk.read("log/00000000000000000013.log").unwrap(), before);
    assert_eq!(open(&disk).next_seq, 13);
}

#[test]
fn checking_reports_what_opening_would_do_and_changes_nothing() {
    let disk = three_segments();
    disk.create("log/notes.txt").unwrap();
    let last = "log/00000000000000000013.log";
    let damaged = flipped(&disk, last, 40, 1);
    let before = damaged.operations();
    let (segments, repair) = Log::check(&damaged, &SMALL).unwrap();
    assert_eq!(segments[2], Segment { first_seq: 13, next_seq: 13, bytes: 32 });
    assert_eq!(repair, Some(Repair { file: last.into(), offset: 32, dropped_bytes: 180 }));
    assert_eq!(damaged.operations(), before);
    assert_eq!(open(&damaged).repaired, repair);
}

#[test]
fn a_full_disk_refuses_and_takes_again_when_there_is_space() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    write(&mut log, &[(1, b"before")]);
    disk.fail_next(Failure::Full);
    // Both where a frame needs a longer file, and where it needs a new segment.
    for payload in [&[b'n'; 200][..], &[b'n'; 390]] {
        let error = log.append(1, payload).unwrap_err();
        assert!(matches!(error, WriteError::NotApplied(_)), "{error}");
        assert!(!log.is_poisoned());
    }
    disk.heal();
    assert_eq!(log.append(1, &[b'y'; 390]).unwrap(), 2..3);
    log.sync().unwrap();
    let acknowledged = [(1, 1, b"before".to_vec()), (2, 1, vec![b'y'; 390])];
    for survive in [Survive::Nothing, Survive::Everything] {
        assert_eq!(read(&open(&disk.crash(survive)).log, 1), acknowledged);
    }
}

#[test]
fn what_is_left_of_a_segment_that_could_not_be_made_does_not_confuse_opening() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    write(&mut log, &[(1, &[b'a'; 300])]);
    // Its header cannot be written, and then it cannot be removed either.
    for operation in [1, 2] {
        disk.fail_at(disk.operations() + operation, Failure::Error(ErrorKind::Other));
    }
    assert!(matches!(log.append(1, &[b'b'; 300]), Err(WriteError::NotApplied(_))));
    assert_eq!(open(&disk.crash(Survive::Everything)).next_seq, 2);
    // This frame would fit into the first segment, where it would run past the second's name.
    assert_eq!(log.append(1, b"c").unwrap(), 2..3);
    log.sync().unwrap();
    for survive in [Survive::Nothing, Survive::Everything] {
        let opened = open(&disk.crash(survive));
        assert_eq!(read(&opened.log, 2), [(2, 1, b"c".to_vec())]);
    }
}

#[test]
fn a_refused_write_does_not_come_back_with_a_power_cut() {
    // The number of the operation decides how much a failed write leaves: 0 bytes to all.
    for extra in 0..40 {
        let disk = SimDisk::new();
        let mut log = open(&disk).log;
        write(&mut log, &[(1, b"before")]);
        (0..extra).for_each(|_| disk.sync_dir("log").unwrap());
        disk.fail_next(Failure::Error(ErrorKind::StorageFull));
        log.append(1, b"no").unwrap_err();
        for survive in [Survive::Nothing, Survive::Everything, Survive::Sectors(extra)] {
            assert_eq!(open(&disk.crash(survive)).next_seq, 2);
        }
    }
}

#[test]
fn a_failed_sync_poisons_until_reopened_and_what_is_seen_then_is_durable() {
    let mut kept = [0, 0];
    for extra in 0..20 {
        let disk = SimDisk::new();
        let mut log = open(&disk).log;
        write(&mut log, &[(1, b"before")]);
        (0..extra).for_each(|_| disk.sync_dir("log").unwrap());
        log.append(1, b"unknown").unwrap();
        disk.fail_next(Failure::Error(ErrorKind::Other));
        assert!(matches!(log.sync(), Err(WriteError::Unknown(_))));
        assert!(matches!(log.sync(), Err(WriteError::Poisoned)));
        assert!(matches!(log.append(1, b"x"), Err(WriteError::Poisoned)));
        assert!(matches!(log.roll(), Err(WriteError::Poisoned)));
        assert_eq!((log.durable_seq(), log.is_poisoned()), (2, true));

        kept[usize::from(open(&disk.crash(Survive::Nothing)).next_seq == 3)] += 1;
        // The process restarts, the machine does not: the kernel still shows the frame.
        assert_eq!(open(&disk).next_seq, 3);
        assert_eq!(open(&disk.crash(Survive::Nothing)).next_seq, 3);
    }
    assert!(kept[0] > 0 && kept[1] > 0, "the simulation should show both outcomes: {kept:?}");
}

#[test]
fn a_header_whose_sync_failed_is_written_again_before_frames_follow_it() {
    for extra in 0..20 {
        let disk = SimDisk::new();
        let mut log = open(&disk).log;
        write(&mut log, &[(1, b"before")]);
        (0..extra).for_each(|_| disk.sync_dir("log").unwrap());
        // Create and write work; the sync fails, and so does the removal.
        for operation in [2, 3] {
            disk.fail_at(disk.operations() + operation, Failure::Error(ErrorKind::Other));
        }
        assert!(matches!(log.roll(), Err(WriteError::NotApplied(_))));
        let mut log = open(&disk).log;
        write(&mut log, &[(1, b"after")]);
        assert_eq!(open(&disk.crash(Survive::Nothing)).next_seq, 3);
    }
}

#[test]
fn a_write_in_doubt_that_opening_did_not_find_stays_away() {
    for extra in 0..40 {
        let disk = SimDisk::new();
        let mut log = open(&disk).log;
        write(&mut log, &[(1, b"before")]);
        (0..extra).for_each(|_| disk.sync_dir("log").unwrap());
        // The write fails, cutting back works, but its sync does not.
        for operation in [0, 2] {
            disk.fail_at(disk.operations() + operation, Failure::Error(ErrorKind::Other));
        }
        assert!(matches!(log.append(1, b"in doubt"), Err(WriteError::Unknown(_))));
        assert_eq!(open(&disk).next_seq, 2);
        assert_eq!(open(&disk.crash(Survive::Nothing)).next_seq, 2);
    }
}

#[test]
fn a_write_that_cannot_be_cut_back_poisons() {
    let disk = SimDisk::new();
    let mut log = open(&disk).log;
    disk.fail_next(Failure::Stuck(ErrorKind::Other));
    assert!(matches!(log.append(1, b"x"), Err(WriteError::Unknown(_))));
    disk.heal();
    assert!(matches!(log.append(1, b"x"), Err(WriteError::Poisoned)));
}

#[test]
fn a_payload_over_the_limit_is_refused_without_harm() {
    let mut log = open(&SimDisk::new()).log;
    let error = log.append(1, &vec![0; MAX_PAYLOAD_BYTES + 1]).unwrap_err();
    assert!(matches!(error, WriteError::TooLarge { bytes: 268_435_457, limit: 268_435_456 }));
    assert_eq!(log.append(1, b"x").unwrap(), 1..2);
}

#[test]
fn a_log_on_a_real_disk_survives_reopening_rolling_and_dropping() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::new(dir.path()).unwrap());
    let options = LogOptions { segment_bytes: 4096, ahead_bytes: 1024, ..LogOptions::default() };
    let mut log = Log::open(disk.clone(), options.clone()).unwrap().log;
    for i in 0..40u8 {
        write(&mut log, &[(2, &[i; 300])]);
    }
    assert_eq!(log.segments().len(), 4);
    assert_eq!(log.drop_before(50).unwrap(), 2);
    drop(log);

    let last = dir.path().join("log/00000000000000000073.log");
    let mut bytes = std::fs::read(&last).unwrap();
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[used] ^= 1;
    std::fs::write(&last, bytes).unwrap();
    let opened = Log::open(disk, options).unwrap();
    assert_eq!((opened.first_seq, opened.next_seq), (49, 79));
    assert_eq!(opened.repaired.unwrap().dropped_bytes, 328);
    let frames = read(&opened.log, 51);
    assert_eq!(frames.first(), Some(&(51, 2, vec![25; 300])));
    assert_eq!(frames.last(), Some(&(77, 2, vec![38; 300])));
}
