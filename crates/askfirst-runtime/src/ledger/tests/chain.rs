//! The chain: every entry can be read back, and every change is found.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn log_line_has_the_documented_format() {
    let (_folder, path) = scratch();
    let ledger = open(&path);
    ledger.append(&executed("a"), Durability::Synced).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let (pid, session) = (std::process::id(), ledger.session());
    let start = format!(
        "{{\"v\":1,\"seq\":1,\"at\":\"2023-11-14T22:13:20.001Z\",\"session\":\"{session}\",\"pid\":{pid},\
         \"kind\":\"executed\",\"call_id\":\"a\",\"tool_name\":\"read_file\",\"ended\":\"done\",\"took_ms\":1,\
         \"prev\":\"sha256:{}\"",
        "0".repeat(64)
    );
    let hash = askfirst::Digest::of(&start);
    assert_eq!(text, format!("{start},\"hash\":\"{hash}\"}}\n"));
}

#[test]
fn records_come_back_whole() {
    let (_folder, path) = scratch();
    let ledger = open(&path);
    let args = Args::from_iter([("to".to_owned(), json!("me")), ("n".to_owned(), json!([1, {"x": null}]))]);
    let records = [decided("a", args.clone()), executed("a"), executed("b")];
    records.iter().for_each(|record| ledger.append(record, Durability::Written).unwrap());
    let entries: Vec<Entry> = read(&path, Filter::default()).unwrap().map(Result::unwrap).collect();
    assert_eq!(entries.iter().filter_map(Entry::record).collect::<Vec<_>>(), records);
    assert_eq!(entries.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2, 3]);
    let digest = askfirst::Digest::of(askfirst::json::canonical(&serde_json::Value::Object(args)));
    assert_eq!(entries[0].fields["args_digest"], json!(digest.to_string()));
    assert_eq!(entries[1].prev, entries[0].hash);

    assert_eq!(find(&path, "a").unwrap().len(), 2);
    let count = |filter| read(&path, filter).unwrap().count();
    assert_eq!(count(Filter { tool: Some("send".to_owned()), ..Filter::default() }), 1);
    assert_eq!(count(Filter { kind: Some("executed".to_owned()), ..Filter::default() }), 2);
    assert_eq!(count(Filter { session: Some("other".to_owned()), ..Filter::default() }), 0);
    let second = Timestamp(1_700_000_000_002);
    assert_eq!(count(Filter { since: Some(second), ..Filter::default() }), 2);
    assert_eq!(count(Filter { until: Some(second), ..Filter::default() }), 1);
}

#[test]
fn verify_says_what_it_covers_and_names_the_head() {
    let (_folder, path) = scratch();
    let ledger = with_entries(&path, 3);
    let before = verify(&path, None).unwrap();
    assert_eq!((before.entries, before.first, before.last, before.torn), (3, Some(1), Some(3), 0));
    assert!(before.holds() && before.covers.contains("removal of the newest entries"), "{}", before.covers);
    ledger.append(&executed("later"), Durability::Written).unwrap();
    assert!(verify(&path, before.head).unwrap().holds());
    let other = askfirst::Digest::of("other");
    let missing = verify(&path, Some(other)).unwrap();
    assert_eq!(missing.faults[0].what, format!("the hash `{other}` is not in the chain"));
    assert!(missing.covers.contains("the hash that you noted"));
}

#[test]
fn every_changed_byte_is_found() {
    let (_folder, path) = scratch();
    with_entries(&path, 3);
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        for flip in [0x01, 0x20, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            std::fs::write(&path, &bad).unwrap();
            assert!(!faults(&path).is_empty(), "byte {at} with {flip:#x}");
        }
    }
}

/// Long arguments, which the hash of their line covers by their digest.
fn long_args() -> (Args, String) {
    let text = "a line of text\n".repeat(300);
    let args = Args::from_iter([("text".to_owned(), json!(text)), ("to".to_owned(), json!("me"))]);
    let written = serde_json::to_string(&args).unwrap();
    (args, written)
}

#[test]
fn line_hash_covers_long_arguments_by_their_digest() {
    let (_folder, path) = scratch();
    let (args, written) = long_args();
    open(&path).append(&decided("a", args), Durability::Written).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let (line, hash) = text.rsplit_once(",\"hash\":\"").unwrap();
    let digest = askfirst::ContentDigest::of(written.as_bytes()).to_string();
    assert!(line.starts_with("{\"v\":2,\"seq\":1,") && digest.starts_with("blake3:"), "{line}");
    assert!(line.contains(&format!("\"args_digest\":\"{digest}\"")), "{line}");
    let hashed = line.replacen(&written, &digest, 1);
    assert_eq!(hash, format!("{}\"}}\n", askfirst::Digest::of(hashed)));
}

#[test]
fn every_changed_byte_of_a_line_with_long_arguments_is_found() {
    let (_folder, path) = scratch();
    let ledger = open(&path);
    let (args, written) = long_args();
    let append = |id| ledger.append(&decided(id, args.clone()), Durability::Written).unwrap();
    ["a", "b"].into_iter().for_each(append);
    let good = std::fs::read(&path).unwrap();
    assert!(faults(&path).is_empty());
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        assert!(!faults(&path).is_empty(), "byte {at}");
    }
    // A line cannot pass as the other version, and the digest cannot pass as the arguments.
    let text = String::from_utf8(good).unwrap();
    let digest = askfirst::ContentDigest::of(written.as_bytes()).to_string();
    for bad in [text.replace("{\"v\":2", "{\"v\":1"), text.replacen(&written, &digest, 1)] {
        std::fs::write(&path, &bad).unwrap();
        assert!(!faults(&path).is_empty(), "{bad}");
    }
}

#[test]
fn cut_inside_a_line_is_found() {
    let (_folder, path) = scratch();
    with_entries(&path, 2);
    let good = std::fs::read(&path).unwrap();
    let line = good.iter().position(|b| *b == b'\n').unwrap() + 1;
    for end in 1..good.len() {
        std::fs::write(&path, &good[..end]).unwrap();
        assert_eq!(faults(&path).is_empty(), end == line, "cut at {end}");
    }
}

#[test]
fn faults_say_where_and_what() {
    let (_folder, path) = scratch();
    with_entries(&path, 4);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let changed = lines[1].replace("read_file", "rm_folder");
    let show = |lines: &[&str]| {
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let faults = verify(&path, None).unwrap().faults;
        faults.iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect::<Vec<_>>()
    };
    assert_eq!(
        show(&[lines[0], &changed, lines[2], lines[3]]),
        [
            format!(
                "2: this line was changed: its hash is not that of its bytes, and the next entry does not explain this line ({} bytes)",
                changed.len() + 1
            ),
            "3: entries 2 to 2 are missing".to_owned()
        ]
    );
    assert_eq!(show(&[lines[0], lines[2], lines[3]]), ["2: entries 2 to 2 are missing"]);
    assert_eq!(show(&[lines[1], lines[2], lines[3]]), ["1: entries 1 to 1 are missing"]);
    assert_eq!(show(&[lines[0], lines[0]]), ["2: this entry has number 1 instead of 2"]);
}

#[test]
fn entry_of_another_chain_is_found() {
    let (_one, path) = scratch();
    let (_two, other) = scratch();
    with_entries(&path, 3);
    with_entries(&other, 3);
    let text = std::fs::read_to_string(&path).unwrap();
    let foreign = std::fs::read_to_string(&other).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1] = foreign.lines().nth(1).unwrap();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let found = verify(&path, None).unwrap().faults;
    assert_eq!(found[0].what, "this entry does not follow from the one before it");
}

#[test]
fn hostile_lines_are_faults_and_no_more() {
    let (_folder, path) = scratch();
    let ledger = with_entries(&path, 1);
    let good = std::fs::read(&path).unwrap();
    let sealed = |body: &str| {
        let prev = askfirst::Digest::of("x");
        let start = format!("{{\"v\":1,\"seq\":2,{body},\"prev\":\"{prev}\"");
        let hash = askfirst::Digest::of(&start);
        format!("{start},\"hash\":\"{hash}\"}}").into_bytes()
    };
    for bad in [
        vec![0; 1000],
        vec![0xff; 1000],
        vec![b'['; 200_000],
        vec![b'a'; 10_000_000],
        b"{}".to_vec(),
        Vec::new(),
        sealed(&format!("\"x\":{}1{}", "[".repeat(5000), "]".repeat(5000))),
        sealed("\"x\":"),
        sealed("\"kind\":7,\"at\":[],\"pid\":-1"),
        sealed("\"kind\":\"recovered\",\"torn_bytes\":18446744073709551615,\"torn_sha256\":\"sha256:00\""),
    ] {
        std::fs::write(&path, [good.as_slice(), &bad, b"\n"].concat()).unwrap();
        assert!(!faults(&path).is_empty());
        let read: Vec<_> = read(&path, Filter::default()).unwrap().collect();
        assert!(read[0].is_ok() && read.len() == 2);
        drop(read);
        ledger.append(&executed("after"), Durability::Written).unwrap();
        assert_eq!(call_ids(&path).last().map(String::as_str), Some("after"));
    }
}

#[test]
fn unknown_kinds_are_read_and_verified() {
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    let first = read(&path, Filter::default()).unwrap().next().unwrap().unwrap();
    let mut line = super::line::EntryLine::default();
    let head = super::line::Head { at: "2099-01-01T00:00:00.000Z", session: "s", pid: 1 };
    line.begin(head).unwrap().extend_from_slice(b",\"kind\":\"from_the_future\",\"x\":1");
    let (bytes, _) = line.end(2, &first.hash.unwrap().hex()).unwrap();
    std::fs::write(&path, [&std::fs::read(&path).unwrap(), bytes].concat()).unwrap();
    assert_eq!(faults(&path), Vec::<String>::new());
    let entry = read(&path, Filter::default()).unwrap().nth(1).unwrap().unwrap();
    assert_eq!((entry.kind.as_str(), entry.record()), ("from_the_future", None));
}

#[test]
fn entry_of_ten_megabytes_is_kept() {
    let (_folder, path) = scratch();
    let ledger = open(&path);
    let args = Args::from_iter([("text".to_owned(), json!("x\0\u{1f600}".repeat(2_000_000)))]);
    let record = decided("big", args);
    ledger.append(&record, Durability::Synced).unwrap();
    open(&path).append(&executed("next"), Durability::Synced).unwrap();
    assert_eq!(find(&path, "big").unwrap()[0].record(), Some(record));
    assert_eq!(faults(&path), Vec::<String>::new());
}

#[test]
fn too_large_an_entry_is_refused_and_the_next_is_not() {
    let (_folder, path) = scratch();
    let ledger = open(&path);
    let args = Args::from_iter([("text".to_owned(), json!("x".repeat(65 << 20)))]);
    let failed = ledger.record(&decided("big", args), Durability::Written).unwrap_err();
    assert!(failed.to_string().contains("more than the audit log can hold"), "{failed}");
    ledger.append(&executed("next"), Durability::Written).unwrap();
    assert_eq!((call_ids(&path), faults(&path)), (vec!["next".to_owned()], Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn moved_lines_are_found(from in 0..6_usize, to in 0..6_usize, act in 0..4_u8) {
        let (_folder, path) = scratch();
        with_entries(&path, 6);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        match act {
            0 => lines.swap(from, to),
            1 => drop(lines.remove(from)),
            2 => lines.insert(to, lines[from]),
            _ => lines.insert(to, "{\"v\":1,\"seq\":3}"),
        }
        let same = lines.join("\n") + "\n" == text;
        let only_newest_removed = act == 1 && from == 5;
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        prop_assert_eq!(faults(&path).is_empty(), same || only_newest_removed);
    }
}

proptest::proptest! {
    #[test]
    fn digest_of_arguments_is_that_of_their_json(name in ".{0,20}", key in ".{0,12}", text in r#"(?s:.{0,40}|[\\\\"{}:,a]{0,30})"#, n in -5_i64..5, times in 0_usize..200) {
        let inner = serde_json::json!([text, n, {key.as_str(): {"args": {}, "tool_name": text}}, "}", "\"}"]);
        let args = Args::from_iter([
            (key.clone(), inner),
            ("\"}".to_owned(), serde_json::json!(key)),
            ("long".to_owned(), serde_json::json!(text.repeat(times))),
        ]);
        let (_folder, path) = scratch();
        let mut record = decided(&text, args.clone());
        if let Record::Decided(decided) = &mut record {
            std::sync::Arc::make_mut(&mut decided.call.call).tool_name = name;
        }
        open(&path).append(&record, Durability::Written).unwrap();
        let line: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let digest = askfirst::ContentDigest::of(&serde_json::to_vec(&args).unwrap()).to_string();
        let hidden = line["hidden"].as_u64().unwrap_or(0) > 0;
        proptest::prop_assert!(hidden || line["args_digest"] == digest, "{line}");
        proptest::prop_assert!(hidden || line["call"]["args"] == serde_json::Value::Object(args), "{line}");
        proptest::prop_assert!(faults(&path).is_empty(), "{line}");
    }
}
