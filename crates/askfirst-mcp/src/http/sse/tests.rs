//! Tests that a stream gives the same events wherever it is cut.

use super::*;

fn all(parts: &[&[u8]]) -> Vec<SseEvent> {
    let mut splitter = Splitter::default();
    let mut events = Vec::new();
    for part in parts {
        splitter.push(part).unwrap();
        while let Some(event) = splitter.next().unwrap() {
            events.push(event);
        }
    }
    events
}

const STREAM: &[u8] =
    b"\xef\xbb\xbf: hello\n\nid: 1\nretry: 500\ndata:\n\nevent: message\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nevent: ping\rdata: x\r\rdata\n\n";

#[test]
fn events_are_equal_however_the_bytes_arrive() {
    let whole = all(&[STREAM]);
    assert_eq!(whole.len(), 5);
    assert_eq!((whole[0].data.clone(), whole[0].raw.as_slice()), (None, b": hello\n\n".as_slice()));
    assert_eq!(whole[1].data.as_deref(), Some(b"".as_slice()));
    assert_eq!((whole[1].id.as_deref(), whole[1].retry), (Some(b"1".as_slice()), Some(500)));
    assert_eq!(whole[2].data.as_deref(), Some(b"{\"a\":\n1}".as_slice()));
    assert_eq!(whole[2].kind, None);
    assert_eq!(whole[3].kind.as_deref(), Some(b"ping".as_slice()));
    assert_eq!(whole[4].data.as_deref(), Some(b"".as_slice()));
    let bytes: Vec<&[u8]> = STREAM.chunks(1).collect();
    assert_eq!(all(&bytes), whole);
    for at in 0..STREAM.len() {
        assert_eq!(all(&[&STREAM[..at], &STREAM[at..]]), whole, "cut at {at}");
    }
    let raw: Vec<u8> = whole.into_iter().flat_map(|event| event.raw).collect();
    assert_eq!(raw, STREAM[3..]);
}

#[test]
fn byte_order_mark_counts_only_at_the_start() {
    assert_eq!(all(&[b"\n", b"\xef\xbb\xbfdata: x\n\n"]).last().unwrap().data, None);
    assert_eq!(all(&[b"\xef", b"\xbb", b"\xbfdata: x\n\n"]).last().unwrap().data.as_deref(), Some(&b"x"[..]));
}

#[test]
fn half_an_event_is_not_an_event() {
    assert_eq!(all(&[b"data: {\"a\":1}\n"]), []);
}

#[test]
fn replaced_data_keeps_the_id_and_cannot_end_the_event() {
    let event = all(&[b"id: 7\nevent: message\ndata: x\ndata: y\n\n"]).remove(0);
    let changed = with_data(&event, b"{\"a\":\n\n1}");
    assert_eq!(changed, b"id: 7\nevent: message\ndata: {\"a\":  1}\n\n");
    assert_eq!(all(&[&of(b"{}\n\ndata: {}")]).len(), 1);
}

#[test]
fn event_without_an_end_is_reported_before_it_is_buffered() {
    let mut splitter = Splitter::default();
    let chunk = vec![b'x'; 1 << 20];
    let mut told = false;
    for _ in 0..64 {
        told |= splitter.push(&chunk).is_err() || splitter.next().is_err();
    }
    assert!(told);
}
