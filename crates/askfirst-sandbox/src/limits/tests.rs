//! Tests that a limit is only ever lowered.

use rustix::process::Rlimit;

use super::kernel::lower;

#[test]
fn limit_that_is_already_lower_stays() {
    let limit = |current, maximum| Rlimit { current, maximum };
    assert_eq!(lower(limit(None, None), 5, 6), limit(Some(5), Some(6)));
    assert_eq!(lower(limit(Some(3), Some(4)), 5, 6), limit(Some(3), Some(4)));
    assert_eq!(lower(limit(Some(3), None), 5, 6), limit(Some(3), Some(6)));
    assert_eq!(lower(limit(Some(9), Some(9)), 5, 6), limit(Some(5), Some(6)));
}
