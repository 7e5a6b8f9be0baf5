//! Torn writes stay in the file, the next entry explains them, and no whole entry is lost.

use proptest::prelude::*;

use super::*;

// invariant: 8
/// Cuts a file at every byte, as a torn write would.
#[test]
fn torn_write_is_explained_by_the_next_entry() {
    let (_folder, path) = scratch();
    with_entries(&path, 3);
    let good = std::fs::read(&path).unwrap();
    let ends: Vec<usize> =
        good.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
    for end in 0..=good.len() {
        std::fs::write(&path, &good[..end]).unwrap();
        open(&path).append(&executed("after"), Durability::Written).unwrap();
        let checked = verify(&path, None).unwrap();
        assert_eq!(checked.faults, [], "cut at {end}");
        assert_eq!(checked.torn, u64::from(end != 0 && !ends.contains(&end)), "cut at {end}");
        // A line that lacks only its newline is whole.
        let whole = ends.iter().filter(|line| **line <= end + 1 && end > 0).count();
        let mut expected: Vec<String> = (0..whole).map(|i| format!("call-{i}")).collect();
        expected.push("after".to_owned());
        assert_eq!(call_ids(&path), expected, "cut at {end}");
        assert!(std::fs::read(&path).unwrap().starts_with(&good[..end]), "something was cut off at {end}");
    }
}

#[test]
fn torn_first_line_with_long_arguments_is_explained() {
    let (_folder, path) = scratch();
    let args = Args::from_iter([("text".to_owned(), serde_json::json!("x".repeat(5000)))]);
    open(&path).append(&decided("a", args), Durability::Written).unwrap();
    let good = std::fs::read(&path).unwrap();
    for end in [1, 6, 7, 20, 300, 3000, good.len() - 2] {
        std::fs::write(&path, &good[..end]).unwrap();
        open(&path).append(&executed("after"), Durability::Written).unwrap();
        let checked = verify(&path, None).unwrap();
        assert_eq!((checked.faults, checked.torn), (Vec::new(), 1), "cut at {end}");
    }
}

#[test]
fn torn_write_with_a_fake_line_end_counts_as_torn() {
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    let start = std::fs::read(&path).unwrap().len();
    let args = serde_json::json!({"a": 1, "prev": format!("sha256:{}", "0".repeat(64)), "z": "x".repeat(99)});
    open(&path).append(&decided("b", args.as_object().unwrap().clone()), Durability::Written).unwrap();
    let good = std::fs::read(&path).unwrap();
    for end in start + 1..good.len() {
        std::fs::write(&path, &good[..end]).unwrap();
        open(&path).append(&executed("after"), Durability::Written).unwrap();
        assert_eq!(faults(&path), Vec::<String>::new(), "cut at {end}");
    }
}

#[test]
fn torn_write_and_its_explanation_cannot_be_changed() {
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&good[..], b"{\"v\":1,\"seq\":2,\"half"].concat()).unwrap();
    open(&path).append(&executed("after"), Durability::Written).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for at in good.len()..whole.len() {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        std::fs::write(&path, bad).unwrap();
        assert!(!faults(&path).is_empty(), "byte {at}");
    }
}

#[test]
fn open_writer_sees_a_torn_write_of_another() {
    let (_folder, path) = scratch();
    let ledger = with_entries(&path, 2);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"\0\0\0\n\0garbage\n\n");
    std::fs::write(&path, &bytes).unwrap();
    ledger.append(&executed("after"), Durability::Written).unwrap();
    assert_eq!((faults(&path), verify(&path, None).unwrap().torn), (Vec::new(), 1));
    assert_eq!(call_ids(&path), ["call-0", "call-1", "after"]);
    let read: Vec<_> = read(&path, Filter::default()).unwrap().collect();
    assert_eq!(read.iter().filter(|entry| entry.is_err()).count(), 3);
}

#[test]
fn garbage_longer_than_one_read_is_skipped() {
    let (_folder, path) = scratch();
    with_entries(&path, 2);
    for garbage in ["x".repeat(3 << 20), "line of something else\n".repeat(100_000)] {
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&bytes, garbage.as_bytes()].concat()).unwrap();
        open(&path).append(&executed("after"), Durability::Written).unwrap();
    }
    assert_eq!(call_ids(&path), ["call-0", "call-1", "after", "after"]);
    // An interrupted writer never leaves such bytes.
    assert_eq!(faults(&path).len(), 4, "{:?}", faults(&path));
}

#[test]
fn first_line_of_zeros_is_a_torn_write() {
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    std::fs::write(&path, [0; 300]).unwrap();
    open(&path).append(&executed("after"), Durability::Written).unwrap();
    let checked = verify(&path, None).unwrap();
    assert_eq!((checked.faults, checked.torn, checked.last), (Vec::new(), 1, Some(2)));
}

#[test]
fn overflowing_last_number_is_refused_without_a_panic() {
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    let mut line = super::line::EntryLine::default();
    let head = super::line::Head { at: "", session: "", pid: 0 };
    line.begin(head).unwrap().extend_from_slice(b",\"kind\":\"x\"");
    let (bytes, _) = line.end(u64::MAX, &super::line::NO_HASH).unwrap();
    std::fs::write(&path, bytes).unwrap();
    assert!(open(&path).append(&executed("after"), Durability::Written).is_err());
    assert!(!faults(&path).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_leftover_at_the_end_loses_no_entry(
        left in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..4)
    ) {
        let (_folder, path) = scratch();
        with_entries(&path, 2);
        for (i, left) in left.iter().enumerate() {
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, [&bytes[..], left].concat()).unwrap();
            open(&path).append(&executed(&format!("after-{i}")), Durability::Written).unwrap();
        }
        prop_assert_eq!(call_ids(&path).len(), 2 + left.len());
        let torn = left.iter().all(|left| left.split(|byte| *byte == b'\n').all(line::may_be_torn));
        prop_assert_eq!(faults(&path).is_empty(), torn, "{:?}", faults(&path));
    }
}
