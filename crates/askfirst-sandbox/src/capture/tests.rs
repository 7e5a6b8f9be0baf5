//! Tests that the budget is exact for every size of stream, budget and chunk.

use super::*;

fn captured(stream: &[u8], budget: usize, chunk: usize) -> Capture {
    let mut keeper = CaptureBuffer::new(budget);
    for bytes in stream.chunks(chunk) {
        keeper.push(bytes);
    }
    keeper.finish()
}

#[test]
fn capture_of_any_size_keeps_both_ends_and_counts_gap() {
    for length in 0..40_usize {
        let stream: Vec<u8> = (0..length as u8).collect();
        for budget in 0..45 {
            for chunk in 1..12 {
                let got = captured(&stream, budget, chunk);
                let head = length.min(budget - budget / 2);
                let tail = (length - head).min(budget / 2);
                assert_eq!(got.head, stream[..head], "length {length}, budget {budget}, chunk {chunk}");
                assert_eq!(
                    got.tail,
                    stream[length - tail..],
                    "length {length}, budget {budget}, chunk {chunk}"
                );
                assert_eq!(got.dropped, (length - head - tail) as u64);
            }
        }
    }
}

#[test]
fn whole_stream_is_returned_only_if_nothing_was_dropped() {
    assert_eq!(captured(b"abcdef", 6, 4).whole().as_deref(), Some(b"abcdef".as_slice()));
    assert_eq!(captured(b"abcdef", 5, 4).whole(), None);
    assert_eq!(captured(b"", 0, 1).whole().as_deref(), Some(b"".as_slice()));
}
