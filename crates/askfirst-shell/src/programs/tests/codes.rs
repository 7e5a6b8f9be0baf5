//! Small languages: what only computes is read, all else is a doubt.

use super::{asks, of, reading, reads};
use crate::programs::code::{Looked, jq, yq};
use crate::programs::glob;

#[test]
fn plain_sed_scripts_only_read() {
    for script in [
        "s/a/b/g",
        "120,180p",
        "$!d",
        "/x/,/y/p",
        "/a/I,+3d",
        "1~2p",
        "s|a|b|2gi",
        "y/abc/xyz/",
        ":a;N;$!ba;s/\\n/ /g",
        "/x/{s/a/b/;p;}",
        "/x/{s/a/b/;p}",
        "1i\\\ntext",
        "$a end",
        "# note",
        "2q",
        "s/[a-z]*/X/",
        "\\,x,d",
        "0,/a/s//b/",
        "/^$/d;s/^ *//",
        "$=",
        "s/\\//x/",
        "/foo/b end;p;:end",
        "",
        "s/a/w/",
        "s/w/e/",
    ] {
        reads(&format!("sed '{script}' file"));
    }
}

#[test]
fn sed_scripts_that_do_more_are_doubts() {
    for script in [
        "w pwned",
        "1w pwned",
        "$!w pwned",
        "s/a/b/w pwned",
        "s/a/b/gw pwned",
        "s/a/b/e",
        "s/a/b/pe",
        "e touch pwned",
        "1e",
        "W x",
        "/a/{p;w x\n}",
        "s/a/b/;w x",
        "p;e id",
        "s/[/]w/;w x",
        "s/a\nb/",
        "s/a",
        "y/a/b",
        "v 4",
        "M",
        "a\\\nx\nw y",
        ":a}w x",
        "\\",
        "s\\a\\b\\",
        "1,2",
        "{w x\n}",
        "p p",
        "s/a/b/ w x",
        "s,a,b,we",
        "/a/,/b/w x",
        "0~3w x",
        "}w x",
    ] {
        asks(&format!("sed '{script}' file"));
    }
    asks("sed -n -e p -e 'w x' file");
    asks("sed \"s/a/$X/\" file");
    asks("sed $X file");
}

#[test]
fn suffix_with_a_folder_is_asked_about() {
    for suffix in ["-i'.git/*'", "-i/tmp/x", "-ni'../*'", "--in-place='x/*'", "-i'bak_*'", "-i\"$X\""] {
        let used = of(&format!("sed {suffix} s/a/b/ file"));
        assert!(reading(&used).contains("where `sed` writes the old file"), "{suffix}: {}", reading(&used));
    }
    assert!(!reading(&of("sed -i.bak s/a/b/ file")).contains("old file"));
}

#[test]
fn file_that_a_sed_script_reads_is_a_path() {
    assert!(reading(&of("sed 'r /etc/passwd' file")).contains("read `/etc/passwd`"));
    assert!(reading(&of("sed -e '1R other' file")).contains("read `other`"));
}

#[test]
fn plain_awk_programs_only_read() {
    for program in [
        "{print $1}",
        "NR>=10 && NR<=20",
        "$3 > 5",
        "{ if ($1 > 3) print $2 }",
        "BEGIN{FS=\":\"} {n+=$2} END{print n/NR}",
        "/re/ {print; next}",
        "!seen[$0]++",
        "{gsub(/a/,\"b\"); print}",
        "length($0) > 80",
        "NR==1 || /x/",
        "{printf \"%s\\n\", $1}",
        "{a[$1]++} END{for (k in a) print k, a[k]}",
        "$1 ~ /x|y/ {print}",
        "# note\n1",
        "{print (a > b)}",
        "/start/,/end/",
        "{ print substr($0, 1, 3) }",
        "END{print (a+b)/2}",
        "$1 > 0x1f && $2 < 1.5e-3 { n += 1e6 }",
        "{print $1 .5 $NF}",
    ] {
        reads(&format!("awk '{program}' file"));
    }
}

#[test]
fn awk_programs_that_do_more_are_doubts() {
    for program in [
        "BEGIN{system(\"id\")}",
        "{print > \"x\"}",
        "{print >> \"x\"}",
        "{print | \"sh\"}",
        "BEGIN{\"id\"|getline}",
        "{print |& \"sh\"}",
        "BEGIN{while((getline l < \"/etc/passwd\")>0) print l}",
        "@load \"x\"",
        "@include \"x\"",
        "BEGIN{f=\"system\"; @f(\"id\")}",
        "BEGIN{print ENVIRON[\"X\"]}",
        "BEGIN{ARGV[1]=\"/etc/passwd\"; ARGC=2}",
        "BEGIN{awk::system(\"id\")}",
        "{print \"a\" \"b\" > \"x\"}",
        "{printf(\"a\") > \"x\"}",
        "{ print $1, $2 > $3 }",
        "BEGIN { x = (1) /\"/ ; system(\"id\") ; y = 1 /\"/ }",
        "{",
        "{print \"a",
        "/a",
        "/[/]/",
        "sys\\\ntem(\"id\")",
        "BEGIN{print 1\n> \"x\"}",
        "{x = y++ /\"/; system(\"id\") /\"/}",
        "`id`",
        "{ if (x) /\"/ ; system(\"id\") ; y = 1 /\"/ }",
        "{ while (x) /a/ }",
        "1system(\"id\")",
        "{print $1system(\"id\")}",
        "NR==1.5system(\"id\")",
        ".5system(\"id\")",
        "1e3system(\"id\")",
        "1e+3system(\"id\")",
        "0xfsystem(\"id\")",
        "1getline x < \"/etc/passwd\"",
        "{print $1ENVIRON[\"K\"]}",
        "{x = 1in/\"/; system(\"id\"); y = 1 /\"/}",
    ] {
        asks(&format!("awk '{program}' file"));
    }
    asks("awk \"$X\" file");
    asks("awk -f x.awk file");
    asks("gawk -i inplace '{print}' file");
}

#[test]
fn variables_of_awk_are_no_code() {
    reads("awk -v x='system(1)' '{print x}' file");
}

#[test]
fn globs_of_values_match_as_in_a_shell() {
    for (glob, text, expected) in [
        ("GET", "GET", true),
        ("GET", "GETS", false),
        ("color.*", "color.ui=x", true),
        ("color.*", "core.pager=x", false),
        ("*a*b", "xaybb", true),
        ("*a*b", "xayc", false),
        ("[a-c]?", "bz", true),
        ("[!a-c]*", "bz", false),
        ("", "", true),
        ("*", "", true),
        ("[a", "[a", false),
    ] {
        assert_eq!(glob::matches(glob, text), expected, "{glob} {text}");
    }
}

#[test]
fn filters_of_jq_and_yq_that_reach_outside_are_doubts() {
    let is_fine = |looked: Looked| matches!(looked, Looked::Fine { .. });
    for filter in [
        ".scripts",
        ".env",
        ".a.env",
        "{env: .x}",
        "[.[] | select(.name == \"x\")] | length",
        "input_filename",
        "inputs",
        ".environment",
        "keys[]",
        "@base64d",
        ". as $x | $x",
    ] {
        assert!(is_fine(jq(filter)), "{filter}");
    }
    for filter in [
        "env",
        "env.X",
        "$ENV",
        "$ENV.X",
        "$ENV | .X",
        "import \"a\" as a; 1",
        "include \"a\"; 1",
        "\"x\" | modulemeta",
        "\"\\(env.X)\"",
        ".a | env",
        "..env",
        "[env]",
        "{a: env}",
        "$ENV[\"X\"]",
    ] {
        assert!(!is_fine(jq(filter)), "{filter}");
    }
    for filter in ["$ENV.X", "$ENV", "import \"a\" as a; 1"] {
        assert!(!is_fine(yq(filter)), "{filter}");
    }
    for filter in ["load(\"x\")", "env(X)", "strenv(X)", "envsubst", ".a = load_str(\"x\")", "system(\"id\")"]
    {
        assert!(!is_fine(yq(filter)), "{filter}");
    }
    assert!(is_fine(yq(".a.b[0] | keys")));
}
