//! Which names count as secret.

use std::path::Path;

use super::is_secret;

#[test]
fn names_of_secrets_are_known_and_samples_are_none() {
    for path in [
        "/r/.env",
        "/r/.ENV",
        "/r/.env.local",
        "/r/prod.env",
        "/h/.ssh/config",
        "/r/key.pem",
        "/h/.aws/credentials",
    ] {
        assert!(is_secret(Path::new(path)), "{path}");
    }
    for path in
        ["/r/.env.example", "/r/.env.test", "/r/env", "/r/src/shadow.rs", "/r/cert.pem", "/r/README.md", "/"]
    {
        assert!(!is_secret(Path::new(path)), "{path}");
    }
}
