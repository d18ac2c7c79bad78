use super::*;

fn file_with_unsynced_tail() -> SimDisk {
    let disk = SimDisk::new();
    let file = disk.create("d/f").unwrap();
    file.write_at(b"synced", 0).unwrap();
    file.sync().unwrap();
    disk.sync_dir("d").unwrap();
    file.write_at(b"+tail", 6).unwrap();
    disk
}

#[test]
fn a_power_cut_keeps_what_was_synced_and_any_part_of_the_rest() {
    let disk = file_with_unsynced_tail();
    assert_eq!(disk.read("d/f").unwrap(), b"synced+tail");
    assert_eq!(disk.crash(Survive::Nothing).read("d/f").unwrap(), b"synced");
    assert_eq!(disk.crash(Survive::Bytes(2)).read("d/f").unwrap(), b"synced+t");
    assert_eq!(disk.crash(Survive::Everything).read("d/f").unwrap(), b"synced+tail");
    for seed in 0..20 {
        let torn = disk.crash(Survive::Garbage(seed)).read("d/f").unwrap();
        assert_eq!(&torn[..6], b"synced");
    }
}

#[test]
fn a_name_is_durable_once_its_directory_is_synced() {
    let disk = file_with_unsynced_tail();
    disk.rename("d/f", "d/g").unwrap();
    disk.create("d/h").unwrap();
    let names = |disk: &SimDisk| -> Vec<String> {
        disk.list("d").unwrap().into_iter().map(|file| file.name).collect()
    };
    assert_eq!(names(&disk.crash(Survive::Nothing)), ["f"]);
    assert_eq!(names(&disk.crash(Survive::Everything)), ["g", "h"]);
    disk.sync_dir("d").unwrap();
    assert_eq!(names(&disk.crash(Survive::Nothing)), ["g", "h"]);
}

#[test]
fn a_sync_after_a_failed_one_does_not_bring_back_what_was_lost() {
    let lost = (0..20).any(|extra| {
        let disk = file_with_unsynced_tail();
        let file = disk.open("d/f").unwrap();
        // The number of the operation is the seed of what the failed sync keeps.
        (0..extra).for_each(|_| disk.sync_dir("d").unwrap());
        disk.fail_next(Failure::Error(io::ErrorKind::Other));
        file.sync().unwrap_err();
        file.sync().unwrap();
        disk.crash(Survive::Everything).read("d/f").unwrap() == b"synced"
    });
    assert!(lost);
}

#[test]
fn a_full_disk_takes_nothing_until_it_is_healed_and_a_crashed_one_is_gone() {
    let disk = file_with_unsynced_tail();
    let file = disk.open("d/f").unwrap();
    disk.fail_next(Failure::Full);
    for _ in 0..2 {
        let error = file.write_at(b"more", 11).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
    file.set_len(11).unwrap();
    disk.heal();
    file.write_at(b"more", 11).unwrap();
    assert_eq!(disk.read("d/f").unwrap(), b"synced+tailmore");
    disk.fail_next(Failure::Crash);
    file.sync().unwrap_err();
    disk.heal();
    disk.read("d/f").unwrap_err();
}
