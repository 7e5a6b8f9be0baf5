//! Reading goes on where it stopped, across rotation, and reports a file that was replaced.

use super::*;

fn ids(entries: &mut Entries) -> Vec<String> {
    let found = entries.by_ref().map(Result::unwrap);
    found.filter_map(|entry| entry.call_id().map(str::to_owned)).collect()
}

fn append(ledger: &Ledger, id: &str) {
    ledger.append(&executed(id), Durability::Written).unwrap();
}

#[test]
fn refreshed_reader_returns_only_what_is_new() {
    let (_folder, path) = scratch();
    let ledger = with_entries(&path, 2);
    let mut entries = read(&path, Filter::default()).unwrap();
    assert_eq!(ids(&mut entries), ["call-0", "call-1"]);
    assert_eq!(entries.refresh().unwrap(), Refresh::Same);
    assert_eq!(ids(&mut entries), Vec::<String>::new());
    append(&ledger, "new");
    assert_eq!(entries.refresh().unwrap(), Refresh::Grown);
    let found: Vec<Entry> = entries.by_ref().map(Result::unwrap).collect();
    assert_eq!((found.len(), found[0].call_id(), found[0].line), (1, Some("new"), 3));
}

#[test]
fn refreshed_reader_follows_any_number_of_rotations() {
    let (_folder, path) = scratch();
    let ledger = open_small(&path, 600);
    append(&ledger, "0");
    let mut entries = read(&path, Filter::default()).unwrap();
    let mut found = ids(&mut entries);
    for step in [1, 2, 7, 1, 12] {
        for _ in 0..step {
            let id = found.len().to_string();
            append(&ledger, &id);
            found.push(id);
        }
        assert_eq!(entries.refresh().unwrap(), Refresh::Grown);
        assert_eq!(ids(&mut entries), found[found.len() - step..]);
    }
    assert!(verify(&path, None).unwrap().files.len() > 5);
}

#[test]
fn torn_end_is_passed_over_without_losing_an_entry() {
    let (_folder, path) = scratch();
    drop(with_entries(&path, 1));
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&good[..], b"{\"v\":1,\"seq\":2,\"half"].concat()).unwrap();
    let mut entries = read(&path, Filter::default()).unwrap();
    assert_eq!(entries.by_ref().map(|entry| entry.is_ok()).collect::<Vec<_>>(), [true, false]);
    append(&open(&path), "after");
    assert_eq!(entries.refresh().unwrap(), Refresh::Grown);
    let found: Vec<_> = entries.by_ref().filter_map(Result::ok).collect();
    assert_eq!(found.iter().filter_map(Entry::call_id).collect::<Vec<_>>(), ["after"]);
}

#[test]
fn replaced_or_cut_file_is_reported_and_read_again() {
    let (_folder, path) = scratch();
    let ledger = with_entries(&path, 3);
    let mut entries = read(&path, Filter::default()).unwrap();
    assert_eq!(ids(&mut entries).len(), 3);
    let first: String = std::fs::read_to_string(&path).unwrap().split_inclusive('\n').take(1).collect();
    std::fs::write(&path, &first).unwrap();
    assert_eq!(entries.refresh().unwrap(), Refresh::Replaced);
    assert_eq!(ids(&mut entries), ["call-0"]);
    drop(ledger);
    std::fs::remove_file(&path).unwrap();
    assert!(entries.refresh().is_err());
    append(&open(&path), "other");
    assert_eq!(entries.refresh().unwrap(), Refresh::Replaced);
    assert_eq!(ids(&mut entries), ["other"]);
}

#[test]
fn entry_names_who_started_its_session() {
    let (_folder, path) = scratch();
    let (old, new) = (open(&path), open(&path));
    let start = |origin: Option<ProcessOrigin>| {
        Record::Session(SessionRecord {
            program: "askfirst".to_owned(),
            door: "run".to_owned(),
            mode: askfirst::Mode::Interactive,
            policy: None,
            warnings: Vec::new(),
            origin,
        })
    };
    let ann = ProcessOrigin {
        uid: 1000,
        user: Some("ann".to_owned()),
        host: "laptop".to_owned(),
        terminal: Some("/dev/pts/3".to_owned()),
    };
    append(&new, "early");
    old.append(&start(None), Durability::Written).unwrap();
    new.append(&start(Some(ann.clone())), Durability::Written).unwrap();
    append(&old, "a");
    append(&new, "b");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"origin\"").count(), 1, "an entry of an older version has none");
    // The first entries count even if the filter leaves them out.
    let filter = Filter { tool: Some("read_*".to_owned()), ..Filter::default() };
    let found: Vec<Entry> = read(&path, filter).unwrap().map(Result::unwrap).collect();
    let origins: Vec<_> = found.iter().map(Entry::origin).collect();
    assert_eq!(origins, [None, None, Some(&ann)]);
    assert_eq!(found[1].session_start.as_ref().unwrap().door, "run");
    assert_eq!(ann.to_string(), "ann (uid 1000) on laptop");
}

#[test]
fn filter_matches_globs_session_ends_and_refusals() {
    let (_folder, path) = scratch();
    let ledger = open(&path);
    let Record::Decided(mut refused) = decided("s-1.7-2", Args::new()) else { panic!() };
    refused.approved = false;
    let Record::Executed(mut denied) = executed("x-3") else { panic!() };
    denied.ended = Ending::Denied;
    for record in [decided("s-1", Args::new()), Record::Decided(refused), Record::Executed(denied)] {
        ledger.append(&record, Durability::Written).unwrap();
    }
    let found = |filter: Filter| -> Vec<String> {
        let entries = read(&path, filter).unwrap().map(Result::unwrap);
        entries.filter_map(|entry| entry.call_id().map(str::to_owned)).collect()
    };
    let tool = |tool: &str| found(Filter { tool: Some(tool.to_owned()), ..Filter::default() });
    assert_eq!((tool("send").len(), tool("s*").len(), tool("*").len(), tool("sen").len()), (2, 2, 3, 0));
    assert_eq!(tool("["), Vec::<String>::new(), "a text that is no glob can only be a name");
    assert_eq!(found(Filter { refused: true, ..Filter::default() }), ["s-1.7-2", "x-3"]);
    let session = |end: &str| found(Filter { session: Some(end.to_owned()), ..Filter::default() });
    assert_eq!((session("s"), session("1.7")), (vec!["s-1".to_owned()], vec!["s-1.7-2".to_owned()]));
    assert_eq!(session(ledger.session().as_str()).len(), 3);
}
