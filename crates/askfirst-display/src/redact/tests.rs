//! Tests of redaction in texts and in arguments.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn for_log(text: &str) -> String {
    Redactor::default().text(text, Mark::Record).left
}

fn args(value: serde_json::Value) -> Redaction<serde_json::Value> {
    let Value::Object(map) = value else { panic!("not an object") };
    let Redaction { left, hidden } = Redactor::default().args(&map, Mark::Record);
    Redaction { left: Value::Object(left), hidden }
}

/// Sample tokens, built from parts so that no scanner reports this file as a leak.
fn samples() -> Vec<(&'static str, String)> {
    let run = |n: usize| "aB3dE6gH9".chars().cycle().take(n).collect::<String>();
    let upper = |n: usize| "A1B2C3D4".chars().cycle().take(n).collect::<String>();
    vec![
        ("github token", format!("ghp{}{}", "_", run(36))),
        ("github token", format!("github{}{}", "_pat_", run(60))),
        ("gitlab token", format!("glpat{}{}", "-", run(20))),
        ("slack token", format!("xoxb{}{}", "-", run(40))),
        ("stripe key", format!("sk_live{}{}", "_", run(24))),
        ("google key", format!("AIza{}", run(35))),
        ("anthropic key", format!("sk-ant{}{}", "-api03-", run(80))),
        ("openai key", format!("sk-proj{}{}", "-", run(48))),
        ("npm token", format!("npm{}{}", "_", run(36))),
        ("pypi token", format!("pypi{}{}", "-", run(80))),
        ("aws access key id", format!("AKIA{}", upper(16))),
        ("json web token", format!("eyJ{}.eyJ{}.{}", run(20), run(40), run(43))),
        ("access token", format!("hf{}{}", "_", run(34))),
    ]
}

#[test]
fn token_with_a_known_shape_is_hidden() {
    for (kind, token) in samples() {
        for text in
            [token.clone(), format!("curl -H 'x: {token}' host"), format!("({token})."), format!("é{token}é")]
        {
            let left = for_log(&text);
            assert!(!left.contains(&token), "{left}");
            let mark = format!("‹secret: {kind}, {} characters›", token.chars().count());
            assert!(left.contains(&mark), "{kind}: {left}");
        }
    }
}

#[test]
fn mark_has_a_digest_on_screen_but_not_in_the_audit_log() {
    let (_, token) = samples().remove(0);
    let screen = Redactor::default().text(&token, Mark::Screen);
    let digest = askfirst::Digest::of(&token).short();
    assert_eq!(screen.left, format!("‹secret: github token, 40 characters, {digest}›"));
    assert_eq!(screen.hidden, 1);
    assert_eq!(for_log(&token), "‹secret: github token, 40 characters›");
}

#[test]
fn value_after_a_word_like_password_is_hidden() {
    for (text, secret) in [
        ("DB_PASSWORD=hunter2 ./run", "hunter2"),
        ("mysql://root:hunter2@db/x", "hunter2"),
        ("postgres://u:p@ss@db", "p@ss"),
        ("tool --password hunter2 --verbose", "hunter2"),
        ("tool --api-key=hunter2", "hunter2"),
        ("tool --db-password 'hunter two'", "hunter two"),
        ("curl -u admin:hunter2 https://x", "hunter2"),
        ("curl --user 'admin:hunter2' https://x", "hunter2"),
        ("sshpass -p hunter2 ssh x", "hunter2"),
        ("mysqldump -h db -phunter2 x", "hunter2"),
        ("Authorization: Bearer abcdefghijkl", "abcdefghijkl"),
        ("authorization: token hunterhunter", "hunterhunter"),
        ("-H 'Authorization: Basic dXNlcjpwYXNz'", "dXNlcjpwYXNz"),
        ("then Basic dXNlcjpwYXNz is sent", "dXNlcjpwYXNz"),
        ("Bearer 0123456789abcdef", "0123456789abcdef"),
        ("Set-Cookie: sid=hunter2; Path=/", "hunter2"),
        (r#"{"password": "hunter2"}"#, "hunter2"),
        (r#"{"password": "hun\"ter2"}"#, "ter2"),
        (r#"{\"client_secret\":\"hunter2\"}"#, "hunter2"),
        (r#"{\"client_secret\":\"hun\\\"ter2\"}"#, "ter2"),
        ("password: hunter2", "hunter2"),
        ("password = 'hunter two'", "hunter two"),
        ("api_key: 'abcdef'", "abcdef"),
        ("DB_PASS=hunter2", "hunter2"),
        ("pass=hunter2", "hunter2"),
        ("?user=x&token=hunter2&y=1", "hunter2"),
        ("PASSWORD=пароль", "пароль"),
    ] {
        let left = Redactor::default().text(text, Mark::Record);
        assert!(!left.left.contains(secret), "{text}: {}", left.left);
        assert_eq!(left.hidden, 1, "{text}: {}", left.left);
    }
}

/// Commands with a password, each as a list of words.
const COMMANDS: [&[&str]; 28] = [
    &["docker", "login", "-p", "hunter2"],
    &["docker", "login", "-phunter2", "r.example"],
    &["docker", "login", "-u", "me", "-p=hunter2", "r.example"],
    &["docker", "login", "--password=hunter2"],
    &["docker", "login", "--password", "hunter2"],
    &["sudo", "/usr/bin/docker", "--config", "d", "login", "r.example", "-u", "me", "-p", "hunter2"],
    &["podman", "login", "-p", "hunter2", "quay.io"],
    &["helm", "registry", "login", "-u", "me", "-p", "hunter2", "r.example"],
    &["helm", "repo", "add", "x", "https://x", "--password", "hunter2"],
    &["oras", "login", "-u", "me", "-p", "hunter2", "r.example"],
    &["buildah", "login", "-p", "hunter2", "r.example"],
    &["nerdctl", "login", "-p", "hunter2"],
    &["skopeo", "login", "-u", "me", "-p", "hunter2"],
    &["crane", "auth", "login", "r.example", "-u", "me", "-p", "hunter2"],
    &["az", "login", "-u", "me", "-p", "hunter2"],
    &["mysql", "-phunter2", "db"],
    &["mysqldump", "-h", "db", "-phunter2", "x"],
    &["mariadb", "-u", "root", "-phunter2"],
    &["redis-cli", "-h", "db", "-a", "hunter2", "ping"],
    &["redis-cli", "--pass", "hunter2"],
    &["sshpass", "-p", "hunter2", "ssh", "-p", "22", "x"],
    &["sshpass", "-v", "-phunter2", "ssh", "x"],
    &["curl", "-s", "-u", "me:hunter2", "https://x"],
    &["curl", "-ume:hunter2", "https://x"],
    &["curl", "--user", "me:hunter2", "https://x"],
    &["wget", "--password=hunter2", "https://x"],
    &["wget", "--http-password", "hunter2", "https://x"],
    &["env", "PGPASSWORD=hunter2", "psql"],
];

#[test]
fn password_of_a_command_is_hidden_in_text_and_words() {
    for words in COMMANDS {
        // A password can contain any character.
        let secrets = ["hunter2", "hunter 2", "hun'ter2", "h;u|n&ter2"];
        // The end of a variable's value cannot be told from a script that starts with an assignment.
        let known = if words.contains(&"env") { 1 } else { secrets.len() };
        for secret in secrets.into_iter().take(known) {
            let words: Vec<String> = words.iter().map(|word| word.replace("hunter2", secret)).collect();
            let left = args(json!({"argv": words, "after": ["-p", "80"]}));
            assert_eq!(left.hidden, 1, "{}", left.left);
            let text = left.left.to_string();
            assert!(!text.contains("ter2") && !text.contains("r 2"), "{text}");
            let quote = if secret.contains('\'') { '"' } else { '\'' };
            let whole = [format!("me:{secret}"), format!("me:{quote}{secret}{quote}")];
            let line = words.join(" ").replace(secret, &format!("{quote}{secret}{quote}"));
            let line = line.replace(&whole[1], &format!("{quote}{}{quote}", whole[0]));
            let left = Redactor::default().text(&format!("cd x && {line} && y -p 80"), Mark::Record);
            assert!(!left.left.contains("ter2") && !left.left.contains("r 2"), "{line}: {}", left.left);
            assert!(left.hidden == 1 && left.left.ends_with(" y -p 80"), "{line}: {}", left.left);
        }
    }
}

#[test]
fn other_words_of_login_commands_stay() {
    for words in [
        &["docker", "run", "--name", "login", "-p", "8080:80", "x"][..],
        &["docker", "login", "--password-stdin", "r.example"],
        &["docker", "login", "-p", "$PASSWORD"],
        &["mysql", "-p", "db"],
        &["sshpass", "-e", "ssh", "-p", "22", "x"],
        &["ssh", "-p", "22", "login"],
        &["redis-cli", "-h", "db", "get", "-a"],
        &["mkdir", "-p", "docker/login"],
    ] {
        assert_eq!(args(json!({"argv": words})).hidden, 0, "{words:?}");
        let line = words.join(" ");
        assert_eq!(for_log(&line), line);
    }
}

#[test]
fn url_keeps_everything_except_its_password() {
    let left = for_log("https://me:hunter2@example.org/x?y");
    assert_eq!(left, "https://me:‹secret: password in a URL, 7 characters›@example.org/x?y");
}

#[test]
fn private_key_is_hidden_with_its_armor() {
    let key = format!("-----BEGIN RSA {0} KEY-----\nMIIabc\ndef==\n-----END RSA {0} KEY-----", "PRIVATE");
    assert_eq!(
        for_log(&format!("a\n{key}\nb")),
        format!("a\n‹secret: private key, {} characters›\nb", key.len())
    );
    let cut = key.split("-----END").next().unwrap();
    assert!(!for_log(&format!("x {cut}")).contains("MIIabc"));
    let public = key.replace("PRIVATE", "PUBLIC");
    assert_eq!(for_log(&public), public);
}

#[test]
fn secret_next_to_an_access_key_id_is_hidden() {
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    let text = format!("AKIAIOSFODNN7EXAMPLE {secret} da39a3ee5e6b4b0d3255bfef95601890afd80709");
    let left = for_log(&text);
    assert!(!left.contains(secret), "{left}");
    assert!(left.ends_with("da39a3ee5e6b4b0d3255bfef95601890afd80709"), "{left}");
    assert_eq!(for_log(secret), secret);
}

#[test]
fn hashes_counts_code_and_prose_stay_unchanged() {
    for text in [
        "git show 1cde502aa2f4da39a3ee5e6b4b0d3255bfef9560",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "max_tokens=4096 tokens: 12",
        "let password: String = ask();",
        "fn token(&self) -> Token { self.token }",
        "login(password=self.password, token=get_token())",
        "password=$DB_PASSWORD",
        "password=${DB_PASSWORD} --token \"$TOKEN\"",
        "https://user:${PASS}@host",
        "http://localhost:8080/path@v2",
        "http://localhost:8080?mail=a@b",
        "git@github.com:me/repo.git",
        "docker run -u 1000:1000 alpine",
        "PWD=/home/me",
        "--password-stdin --token-file /run/x",
        "a basic understanding of bearer authentication",
        "the cookie jar is a secret: keep it",
        "disk-usage task-aB3dE6gH9aB3dE6gH9aB3",
        "9f86d081-884c-4d63-a1a5-1b4e6c3a2f10",
        "use std::token::Stream;",
        "",
    ] {
        assert_eq!(for_log(text), text);
    }
}

#[test]
fn secret_argument_name_hides_at_any_depth() {
    let left = args(json!({
        "user": "me", "password": "p", "clientSecret": "s", "X-Api-Key": "k", "max_tokens": 4096, "tokens": 7,
        "deep": [{"access_token": "t", "credentials": {"user": "u", "pin": 1234}}],
        "primary_key": "id", "sort_key": "2024-01-01T00:00:00-abcdef", "signing_key": "k2", "cookie": "c",
        "encryptionKey": "0123456789abcdef", "pwd": "/home/me", "db_pw": "p", "passWord": "p", "password_file": "/run/pw", "token_count": "12",
        "foo_key": "abcdef0123456789abcdef", "uuid_key": "9f86d081-884c-4d63-a1a5-1b4e6c3a2f10", "secret": null,
    }));
    let mark = |kind: &str, n: usize| format!("‹secret: {kind}, {n} characters›");
    assert_eq!(
        left.left,
        json!({
            "user": "me", "password": mark("password", 1), "clientSecret": mark("secret", 1),
            "X-Api-Key": mark("key", 1), "max_tokens": 4096, "tokens": 7,
            "deep": [{"access_token": mark("token", 1),
                "credentials": {"user": mark("credentials", 1), "pin": mark("credentials", 4)}}],
            "primary_key": "id", "sort_key": "2024-01-01T00:00:00-abcdef", "signing_key": mark("key", 2),
            "cookie": mark("cookie", 1), "encryptionKey": mark("key", 16), "pwd": "/home/me", "db_pw": mark("password", 1), "passWord": mark("password", 1),
            "password_file": "/run/pw", "token_count": "12", "foo_key": mark("key", 22),
            "uuid_key": "9f86d081-884c-4d63-a1a5-1b4e6c3a2f10", "secret": null,
        })
    );
    assert_eq!(left.hidden, 12);
}

#[test]
fn word_after_a_password_option_is_hidden() {
    let left = args(json!({"argv": ["x", "--password", "hunter2", "--token", "--verbose", "y"]}));
    assert_eq!(
        left.left,
        json!({"argv": ["x", "--password", "‹secret: password, 7 characters›", "--token", "--verbose", "y"]})
    );
}

#[test]
fn argument_names_from_the_config_are_hidden() {
    let redactor = Redactor::new(&["*PIN*".to_owned(), "note".to_owned()], Vec::new()).unwrap();
    let Value::Object(map) = json!({"my_pin": true, "Note": "x", "other": 1, "in": {"pins": [1, "2"]}})
    else {
        panic!()
    };
    let left = redactor.args(&map, Mark::Record);
    assert_eq!(left.hidden, 4);
    assert_eq!(left.left.get("other"), Some(&json!(1)));
    assert!(!serde_json::to_string(&left.left).unwrap().contains("true"));
}

#[test]
fn invalid_glob_is_named_in_the_error() {
    let error = Redactor::new(&["[".to_owned()], Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "invalid glob `[`: unclosed character class; missing ']'");
    assert!(secret_env(&["{".to_owned()], []).is_err());
}

#[test]
fn known_value_is_hidden_in_every_encoding() {
    let value = "p \"ä/+x\n?&=>~";
    let redactor = Redactor::new(&[], vec![value.to_owned(), "short".to_owned()]).unwrap();
    let escaped = serde_json::to_string(value).unwrap();
    let escaped = escaped.trim_matches('"');
    let twice = serde_json::to_string(escaped).unwrap();
    for form in [
        value,
        escaped,
        twice.trim_matches('"'),
        "p%20%22%C3%A4%2F%2Bx%0A%3F%26%3D%3E~",
        "p%20%22%c3%a4%2f%2bx%0a%3f%26%3d%3e~",
        "p+%22%C3%A4%2F%2Bx%0A%3F%26%3D%3E~",
        "702022c3a42f2b780a3f263d3e7e",
        "cCAiw6QvK3gKPyY9Pn4=",
        "eHAgIsOkLyt4Cj8mPT5-eQ==",
    ] {
        let left = redactor.text(&format!("a{form}b"), Mark::Record);
        assert_eq!(left.hidden, 1, "{form}: {}", left.left);
    }
    assert_eq!(redactor.text("short", Mark::Record).hidden, 0);
}

#[test]
fn known_value_is_hidden_in_keys_and_numbers() {
    let redactor = Redactor::new(&[], vec!["12345678".to_owned(), "hunter2hunter2".to_owned()]).unwrap();
    let Value::Object(map) = json!({"hunter2hunter2": 1, "12345678": 2, "n": 912345678}) else { panic!() };
    let left = redactor.args(&map, Mark::Record);
    assert_eq!((left.hidden, left.left.len()), (3, 3));
    assert!(!serde_json::to_string(&left.left).unwrap().contains("345678"));
}

#[test]
fn overlapping_known_values_are_hidden_as_one() {
    let redactor = Redactor::new(&[], vec!["abcdefgh".to_owned(), "ghijklmn".to_owned()]).unwrap();
    assert_eq!(
        redactor.text("xabcdefghijklmnx", Mark::Record).left,
        "x‹secret: known value, 14 characters›x"
    );
}

#[test]
fn environment_variables_are_secret_by_name() {
    let vars = [("GITHUB_TOKEN", "v-token"), ("PATH", "/bin"), ("pgpassword", "v-pass"), ("MY_PIN", "v-pin")];
    let vars = vars.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    assert_eq!(secret_env(&["*_pin".to_owned()], vars).unwrap(), ["v-token", "v-pass", "v-pin"]);
}

#[test]
fn debug_output_of_a_redactor_has_no_secrets() {
    let redactor = Redactor::new(&[], vec!["hunter2hunter2".to_owned()]).unwrap();
    assert_eq!(format!("{redactor:?}"), "Redactor");
}

#[test]
fn secret_disguised_as_a_mark_is_hidden() {
    let (_, token) = samples().remove(0);
    for text in
        [format!("‹secret: {token}, 4 characters›"), format!("‹secret: token, 4 characters, {token}›")]
    {
        assert!(!for_log(&text).contains(&token));
    }
}

#[test]
fn value_nested_too_deep_is_replaced_as_a_whole() {
    let mut value = json!("hunter2");
    (0..300).for_each(|_| value = json!([value.take()]));
    let left = Redactor::default().value(&value, Mark::Record);
    assert_eq!(left.hidden, 1);
    let again = Redactor::default().value(&left.left, Mark::Record);
    assert_eq!((again.left == left.left, again.hidden), (true, 0));
    assert!(!Redactor::default().is_plain(&value));
}

#[test]
fn ten_megabytes_of_partial_shapes_finish() {
    for part in [
        "eyJ-AKIAABCDEFGHIJKLMNOP-",
        "://a:",
        "password=",
        "-----BEGIN PRIVATE KEY-----",
        "‹secret: ",
        "-token ",
        "\"token\":\"",
    ] {
        let text = part.repeat(10_000_000 / part.len());
        let left = Redactor::default().text(&text, Mark::Record);
        assert!(left.left.len() <= text.len() * 4);
    }
}

proptest! {
    #[test]
    fn redacting_twice_equals_redacting_once(parts in prop::collection::vec(any_part(), 0..8), known in "[a-z0-9]{6,12}") {
        let redactor = Redactor::new(&[], vec![known.clone()]).unwrap();
        let text = parts.concat() + &known;
        for mark in [Mark::Record, Mark::Screen] {
            let once = redactor.text(&text, mark);
            let twice = redactor.text(&once.left, mark);
            prop_assert_eq!(&twice.left, &once.left);
            prop_assert_eq!(twice.hidden, 0);
        }
    }

    #[test]
    fn clean_text_has_nothing_to_hide(parts in prop::collection::vec(any_part(), 0..8), known in "[a-z\"\\\\é]{6,12}") {
        let redactor = Redactor::new(&[], vec![known.clone()]).unwrap();
        let text = parts.concat() + &known;
        let json = serde_json::to_string(&text).unwrap();
        if redactor.is_clean(json.as_bytes()) {
            prop_assert_eq!(redactor.text(&text, Mark::Record).hidden, 0);
        }
    }

    #[test]
    fn known_value_in_any_text_is_hidden(before in ".{0,20}", after in ".{0,20}", known in "[a-zA-Z0-9!-~]{8,30}") {
        let redactor = Redactor::new(&[], vec![known.clone()]).unwrap();
        let left = redactor.text(&format!("{before}{known}{after}"), Mark::Record);
        prop_assert!(!left.left.contains(&known));
    }
}

fn any_part() -> impl Strategy<Value = String> {
    let token = prop::sample::select(samples()).prop_map(|(_, token)| token);
    let words = prop::sample::select(vec![
        "password=",
        "token: ",
        "://u:",
        "@",
        "Bearer ",
        "Basic ",
        "--secret ",
        "\"",
        "'",
        "\\",
        " ",
        "\n",
        "‹secret: ",
        " characters›",
        "‹secret: token, 4 characters›",
        "-u a:",
        "=",
        ":",
        "sk-",
        "Cookie: a=",
        "authorization: ",
        "é",
    ]);
    prop_oneof![token, words.prop_map(str::to_owned), ".{0,12}", "[a-zA-Z0-9_-]{0,40}"]
}

#[test]
fn built_in_variable_names_match_like_their_globs() {
    let set = glob_set(SECRET_ENV.into_iter()).unwrap();
    for name in [
        "A_KEY",
        "a_Key",
        "KEY",
        "A_KEYS",
        "DB_PASSWORD_OLD",
        "password",
        "X_TOKEN",
        "TOKEN_X",
        "_SECRET",
        "MY_CREDENTIALS",
        "PATH",
        "",
    ] {
        let own = SECRET_ENV.iter().any(|glob| is_like(name, glob));
        assert_eq!(own, set.is_match(name), "{name}");
    }
    let vars = ["A_KEY", "PATH", "mine"].map(|name| (name.into(), name.into()));
    assert_eq!(secret_env(&["m*".to_owned()], vars).unwrap(), ["A_KEY", "mine"]);
}
