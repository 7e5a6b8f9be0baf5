//! A change at the end of the file is never mistaken for a torn write, no matter which writer comes next.

use super::*;

/// Changes one byte of the last line at a time, and calls `then` for each change.
fn with_last_line_changed(path: &Path, flips: &[u8], then: impl Fn(usize, u8)) {
    let good = std::fs::read(path).unwrap();
    let start = good[..good.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for at in start..good.len() {
        for flip in flips {
            let mut bad = good.clone();
            bad[at] ^= flip;
            std::fs::write(path, &bad).unwrap();
            then(at, *flip);
        }
    }
}

// invariant: 8
#[test]
fn every_changed_byte_is_found_after_the_next_entry() {
    let (_folder, path) = scratch();
    with_entries(&path, 3);
    with_last_line_changed(&path, &[0x01, 0x20, 0x80], |at, flip| {
        open(&path).append(&executed("after"), Durability::Written).unwrap();
        let found = faults(&path);
        assert!(!found.is_empty(), "byte {at} with {flip:#x}");
        assert_eq!(call_ids(&path).last().unwrap(), "after", "byte {at} with {flip:#x}");
    });
}

#[test]
fn changed_last_line_with_long_arguments_is_found() {
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    let args = Args::from_iter([("text".to_owned(), serde_json::json!("a line\n".repeat(700)))]);
    open(&path).append(&decided("long", args), Durability::Written).unwrap();
    let good = std::fs::read(&path).unwrap();
    for at in [good.len() - 2000, good.len() - 200, good.len() - 60, good.len() - 3, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        open(&path).append(&executed("after"), Durability::Written).unwrap();
        assert!(!faults(&path).is_empty(), "byte {at}");
    }
}

#[test]
fn found_change_is_logged_for_good() {
    let (_folder, path) = scratch();
    with_entries(&path, 2);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("call-1", "call-7")).unwrap();
    open(&path).append(&executed("after"), Durability::Written).unwrap();
    let kinds: Vec<String> =
        read(&path, Filter::default()).unwrap().filter_map(Result::ok).map(|entry| entry.kind).collect();
    assert_eq!(kinds, ["executed", "altered", "executed"]);
    let found = verify(&path, None).unwrap();
    assert_eq!((found.torn, found.faults.len()), (0, 2), "{:?}", found.faults);
    // After the original text is restored, the log still shows that it had been changed.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("call-7", "call-1")).unwrap();
    assert!(!faults(&path).is_empty());
}

#[test]
fn false_explanation_of_a_torn_write_is_a_fault() {
    let (_folder, path) = scratch();
    with_entries(&path, 2);
    let good = std::fs::read(&path).unwrap();
    let cut = [&good[..], b"{\"v\":1,\"seq\":3,\"half"].concat();
    std::fs::write(&path, cut).unwrap();
    open(&path).append(&executed("after"), Durability::Written).unwrap();
    assert!(faults(&path).is_empty());
    // An attacker replaces the torn bytes with as many others, and adjusts the explanation to match.
    let other = b"what stands here is mine";
    let digest = |bytes: &[u8]| askfirst::Digest::of(bytes).to_string();
    let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut last = super::line::NO_HASH;
    let mut forged = String::new();
    for (at, text) in lines.iter().enumerate() {
        if at == 2 {
            forged += &format!("{}\n", std::str::from_utf8(other).unwrap());
            continue;
        }
        let seq = if at < 2 { at + 1 } else { at } as u64;
        let body = text.get(text.find(",\"at\"").unwrap()..text.rfind(",\"prev\"").unwrap()).unwrap();
        let body = body.replace(&digest(lines[2].as_bytes()), &digest(other));
        let body = body.replace("\"torn_bytes\":22", &format!("\"torn_bytes\":{}", other.len()));
        let line = format!(
            "{{\"v\":1,\"seq\":{seq}{body},\"prev\":\"sha256:{}\"",
            std::str::from_utf8(&last).unwrap()
        );
        last = askfirst::Digest::of(&line).hex();
        forged += &format!("{line},\"hash\":\"sha256:{}\"}}\n", std::str::from_utf8(&last).unwrap());
    }
    std::fs::write(&path, forged).unwrap();
    let found = faults(&path);
    assert!(found.len() == 1 && found[0].contains("no torn write can leave this"), "{found:?}");
}

/// Changes the file while a session writes it, and returns the faults.
fn meanwhile(change: impl Fn(&str) -> String) -> Vec<String> {
    let (_folder, path) = scratch();
    let ledger = with_entries(&path, 4);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, change(&text)).unwrap();
    ledger.append(&executed("after"), Durability::Written).unwrap();
    ledger.append(&executed("more"), Durability::Written).unwrap();
    assert_eq!(call_ids(&path).last().unwrap(), "more");
    faults(&path)
}

#[test]
fn entries_removed_during_a_session_are_missed() {
    assert_eq!(meanwhile(str::to_owned), Vec::<String>::new());
    let first = |text: &str, count: usize| text.split_inclusive('\n').take(count).collect::<String>();
    let found = meanwhile(|text| first(text, 2));
    assert!(found.iter().any(|fault| fault.contains("entries 3 to 4 are missing")), "{found:?}");
    // This also holds if another writer has written since, and if a line was cut in the middle.
    let found = meanwhile(|text| {
        let (_folder, path) = scratch();
        with_entries(&path, 0);
        std::fs::write(&path, first(text, 3)).unwrap();
        let other = open(&path);
        (0..3).for_each(|_| other.append(&executed("other"), Durability::Written).unwrap());
        std::fs::read_to_string(&path).unwrap()
    });
    assert!(!found.is_empty());
    let found = meanwhile(|text| text.get(..text.len() - 30).unwrap().to_owned());
    assert!(!found.is_empty());
}
