//! A maker of bash scripts: small, seeded, harmless; every program in them is a stub that only notes its words.

/// Stubs that succeed, stubs that fail, and one that prints words.
pub(super) const STUBS: [&str; 9] = ["aa", "bb", "cc", "dd", "ee", "no1", "no2", "says", "ff-g.h"];

pub(super) struct Maker(u64);

impl Maker {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap() % below
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.next(of.len())]
    }

    /// A whole script. Jobs are waited for, so that every start is noted.
    pub(super) fn script(&mut self) -> String {
        let depth = 1 + self.next(4);
        let mut text = self.list(depth);
        if self.next(8) == 0 {
            text.insert_str(0, "# a comment; aa $(bb\n");
        }
        format!("{text}\nwait\n")
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for turn in 0..1 + self.next(3) {
            if turn > 0 {
                let joint = if text.ends_with('\n') {
                    ""
                } else {
                    self.one(&[";", " && ", " || ", "\n", " & ", " ;\n", "&&\n", " # note ' \" $(\n"])
                };
                text.push_str(joint);
            }
            text.push_str(&self.statement(depth));
        }
        text
    }

    /// A list that ends so that a reserved word may follow.
    fn body(&mut self, depth: usize) -> String {
        let text = self.list(depth);
        if text.ends_with('\n') { text } else { format!("{text}{}", self.one(&["; ", "\n", " ;\n"])) }
    }

    fn statement(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.command(0);
        }
        let d = depth - 1;
        match self.next(64) {
            0 => format!("( {})", self.body(d)),
            1 => format!("{{ {}}}", self.body(d)),
            2 => format!("if {}then {}fi", self.body(d), self.body(d)),
            3 => format!("if {}then {}else {}fi", self.body(d), self.body(d), self.body(d)),
            4 => format!(
                "if {}then {}elif {}then {}fi",
                self.body(d),
                self.body(d),
                self.body(d),
                self.body(d)
            ),
            5 => format!("while no1 {}; do {}done", self.word(d), self.body(d)),
            6 => format!("until aa {}; do {}done", self.word(d), self.body(d)),
            7 | 8 => format!("for v in {} {}; do {}done", self.word(d), self.word(d), self.body(d)),
            9 => format!("case {} in x|y) {};; (*) {};; esac", self.word(d), self.inline(d), self.inline(d)),
            10 => {
                let name = self.one(&["fun", "g_2"]);
                let head = self.one(&["() ", " () ", "()\n"]);
                let first = self.one(&[
                    "",
                    "",
                    "\"$1\" x; ",
                    "aa \"$@\"; ",
                    "bb $1; ",
                    "cc \"$(says $2)\"; ",
                    "shift; dd \"$1\"; ",
                ]);
                let made = format!("{name}{head}{{ {first}{}}}", self.body(d));
                let given = format!("{} {}", self.one(&STUBS), self.word(d));
                let more = format!("{name} {} 'y z'", self.one(&STUBS));
                match self.next(4) {
                    0 => format!("{made}\n{name} {given}\n{more}"),
                    1 => format!("{made}\n{more}; {more}"),
                    2 => format!("{made}\nif {name} {given}; then {more}; fi"),
                    _ => format!("{made}\n{name} {}", self.word(d)),
                }
            }
            11 => format!("! {}", self.command(d)),
            12 => format!("time {}", self.command(d)),
            13 => format!("[[ {} == {} ]]", self.word(d), self.word(d)),
            14..=16 => format!("{} | {}", self.piped(d), self.piped(d)),
            17 => format!("{} |& {}", self.piped(d), self.piped(d)),
            18 => format!("cd {}", self.one(&["d1", "d2", "..", "d1/../d2", "missing", "\"d1\"", "./d2"])),
            19 => format!("v={}", self.word(d)),
            20 => format!("w={} {}", self.word(d), self.command(d)),
            21 => format!("{{ {}}} > out", self.body(d)),
            22 => format!(
                "aa <<EOF\n{} text $v $(bb {})\nEOF\n",
                self.word(0).replace(['\'', '"', '`', '\\'], ""),
                self.one(&["x", "'y z'", "\"$v\""])
            ),
            23 => "cc <<-'E O' && dd <<\\X\n\tit's $(ee)\n\tE O\nb `ff`\nX\n".to_owned(),
            24 => format!("for ((i=0; i<2; i++)); do {}done", self.body(d)),
            25 => format!("(( {} ))", self.one(&["1", "0", "2 > 1", "3 & 1"])),
            26 => format!("time -p {{ {}}}", self.body(d)),
            27 => format!("select q in; do {}done </dev/null", self.body(d)),
            28 => format!("coproc {}", self.command(0)),
            29 => format!("u=({} {})", self.word(d), self.word(d)),
            30 => format!("u=({} {})\n\"${{u[@]}}\" {}", self.one(&STUBS), self.word(d), self.word(d)),
            31 => self
                .one(&["u+=(x)", "u[0]=bb", "u=cc", "unset u", "unset 'u[0]'", "u=()", "u=([1]=x y)"])
                .to_owned(),
            32 => format!(
                "[[ {} {} && x -nt {} ]]",
                self.one(&["-f", "-e", "! -d"]),
                self.word(d),
                self.word(d)
            ),
            33 => format!(
                "{} {}\n{}{}",
                self.one(&["aa", "cat"]),
                self.one(&["<<EOF", "<<-EOF", "<<'EOF'", "<<\\EOF", "<<E\\\nOF", "<<\"EOF\""]),
                self.one(&["x\\\n", "EO\\\nF\n", "\tEOF\nbb\n", "EOF \n", "EOF\\\n\n", "\\\nEOF\ncc\n", ""]),
                self.one(&["EOF\n", "EOF\ndd\n", "EO\\\nF\nee\nEOF\n"]),
            ),
            34 | 35 => {
                let fails = self.one(&[
                    ": $((1/0))",
                    "aa $((1a))",
                    "bb ${v:1a}",
                    "u[-9]=1",
                    "u[]=1",
                    "u[0]=(1 2)",
                    "cc $((1+q=3))",
                    "dd $[1/0]",
                    "ee $((08))",
                    "aa ${#v%x}",
                    "bb $((1?2:))",
                    "exit $((1/0))",
                ]);
                let after = self.one(&["v=bb", "cd d1", "fun() { aa; }", "set -- x", "u=(cc)", "i=5"]);
                format!("{fails}; {after}\n{}", self.command(d))
            }
            36 => self
                .one(&[
                    "break",
                    "continue",
                    "break 2",
                    "eval break",
                    "eval \"bre\"ak",
                    "return 1",
                    "exit 1 2",
                    "aa && break",
                    "no1 || continue",
                ])
                .to_owned(),
            37 => self
                .one(&[
                    "{c..c}d d1",
                    "c=c; ${c}d d1",
                    "s{e..e}t -- aa",
                    "rea{d..d} v <<< bb",
                    "ev{a..a}l 'v=bb'",
                    "printf '%n' v",
                    "printf -v v %s cc",
                    "read -r v <<< dd",
                    "unset -f fun",
                    "f\"u\"n x",
                ])
                .to_owned(),
            38 => format!("v={}", self.one(&STUBS)),
            39 => format!("{} {}", self.one(&["$v", "\"$v\"", "${v}", "$v{s..s}"]), self.word(d)),
            40 => self
                .one(&[
                    "i=$((i+1))",
                    "aa $((i))",
                    "i='1 x'",
                    "bb x$i",
                    "i=08",
                    "cc $((i<<1))",
                    "dd $((i++ + 1))",
                ])
                .to_owned(),
            41 => format!("for i in 1 2; do {}aa $i; {}done", self.body(d), self.body(d)),
            42 => {
                let given =
                    format!("v='{} {}'", self.one(&STUBS), self.one(&["x", "y z", "-n", "\n aa", "\tbb"]));
                let copy = self.one(&[
                    "w=$v",
                    "w=x$v",
                    "w=${v}",
                    "w=\"$v\"",
                    "w=$v v=$w",
                    "for w in $v; do aa; done",
                ]);
                let used = self.one(&["$w", "${w}", "aa $w", "bb x$w", "cc \"$w\"", "aa <<< $w; $w x"]);
                format!("{given}; {copy}; {used}")
            }
            43 => self
                .one(&[
                    "w=$v",
                    "w=x$v",
                    "w=${v}",
                    "v=$w",
                    "w=\"$v\"",
                    "w=$v$i",
                    "v=$v$w",
                    "w=$v v=$w",
                    "u=($v $w)",
                ])
                .to_owned(),
            44 => format!(
                "{} {}",
                self.one(&["$w", "${w}", "aa $w", "bb x$w", "cc <<< $w; dd $w"]),
                self.word(d)
            ),
            45 => {
                let sets = self.one(&[
                    "local v=bb",
                    "declare v=cc",
                    "export v=dd",
                    "declare -A u; u=(aa bb)",
                    "readonly v; for v in cc; do aa; done",
                    "shopt -s nullglob; for k in q*; do v=bb; done",
                    "for k in q*; do v=bb; done",
                    "case x in $((i=2))) aa;; *) bb;; esac",
                    "case $v in ${v:=aa}) aa;; esac",
                    "let i=i+1",
                    "let v=08",
                    "set -oo errexit noglob",
                    "u=(); for k in \"${u[@]}\"; do v=cc; done",
                    "u=(aa 'bb x'); w=\"${u[@]}\"",
                    "v='a*'; w=$v",
                    "exec {v}</dev/null",
                ]);
                format!("{sets}; {}", self.command(d))
            }
            46 => {
                let counts = self.one(&[
                    "$((i-$n))",
                    "$((i -$n))",
                    "$((i - $n))",
                    "$((1-$n))",
                    "$((-$n))",
                    "$((i+$n))",
                ]);
                format!("n={}; aa {counts}; v=bb\n$v x", self.one(&["-1", "2", "$((0-3))", "$((i-9))"]))
            }
            47 => {
                let loops = "w=; i=0; while [ $i -lt 2 ]; do i=$((i+1)); aa \"$w\"";
                let sets = self.one(&[
                    "; bb <<E; done\n${w:=cc}\nE\n",
                    "; { bb; } <<< \"${w:=cc}\"; done\n",
                    "; (bb) <<< \"${w:=cc}\"; w=dd; done\n",
                    "; if bb; then aa; fi <<E; done\n${w:=cc}\nE\n",
                    " 3<<< \"${w:=cc}\"; done\n",
                ]);
                let trapped = self.one(&["-- 'v=cc'", "'for v in cc; do aa; done'", "'read v <<< cc'"]);
                match self.next(2) {
                    0 => format!("{loops}{sets}"),
                    _ => {
                        format!("trap {trapped} USR1; v=bb; kill -USR1 $$; {} x", self.one(&["$v", "aa $v"]))
                    }
                }
            }
            _ => self.command(depth),
        }
    }

    fn inline(&mut self, depth: usize) -> String {
        let text = self.statement(depth);
        if text.ends_with('\n') { text } else { format!("{text} ") }
    }

    fn piped(&mut self, depth: usize) -> String {
        match self.next(6) {
            0 => format!("( {})", self.body(depth)),
            1 => format!("while read -r line; do {}done", self.body(depth)),
            2 => format!("{{ {}}}", self.body(depth)),
            _ => self.command(depth),
        }
    }

    fn command(&mut self, depth: usize) -> String {
        let mut text = String::new();
        if self.next(12) == 0 {
            text.push_str(">out ");
        }
        text.push_str(match self.next(14) {
            0 => "a\"a\"",
            1 => "\\bb",
            2 => "'cc'",
            3 => "d''d",
            4 => "$'\\x65e'",
            5 => "a\\\na",
            _ => self.one(&STUBS),
        });
        for _ in 0..self.next(4) {
            text.push_str(self.one(&[" ", " ", "  ", "\t", " \\\n "]));
            text.push_str(&self.word(depth));
        }
        for _ in 0..self.next(2) {
            text.push_str(self.one(&[
                " >/dev/null",
                " 2>&1",
                " </dev/null",
                " >> out",
                " 2>out",
                " &>out",
                " >&2",
                " 3<>out",
                " <<<\"x y\"",
                " <<< $v",
                " {a[$'\\x24(bb)']}>/dev/null",
                " 0<&-",
            ]));
        }
        text
    }

    fn word(&mut self, depth: usize) -> String {
        if depth > 0 && self.next(3) == 0 {
            let inner = self.list(depth - 1);
            let inner = inner.trim_end_matches("# note ' \" $(\n").to_owned();
            return match self.next(9) {
                0 => format!("$({inner}\n)"),
                1 | 2 => format!("\"$({inner}\n)\""),
                3 if !inner.contains(['`', '\\']) => format!("`{inner}\n`"),
                4 => format!("\"a ${{v:-$({inner}\n)}} b\""),
                5 => format!("<({inner}\n)"),
                6 => format!("x\"$( ({inner}\n) )\"y"),
                7 => format!(
                    "\"$(cat <<'E'\nit's ) $({}) `\n{}E\n)\"",
                    self.one(&["aa", "x"]),
                    self.one(&["", "", "E bb)\n", "E$(cc)\n", "\tE dd )\n", "Ex ) ee\n", "E x\n"])
                ),
                _ => format!("${{unset:-$({inner}\n)}}"),
            };
        }
        self.one(&[
            "x",
            "-n",
            "--long=1",
            "'a b; aa | bb && (cc)'",
            "\"q 'r' \\\" \\$v \\\\\"",
            "a\\ b",
            "\\;",
            "\\$v",
            "{x,y}",
            "p{1..3}q",
            "a{b,c{d,e}}f",
            "{}",
            "a{b",
            "{x}",
            "*.txt",
            "[ab]*",
            "?",
            "~",
            "''",
            "\"\"",
            "a#b",
            "HEAD~1",
            "HEAD^",
            "@{u}",
            "$v",
            "\"$v\"",
            "${v}",
            "$w",
            "\"$w\"",
            "x$w",
            "\"${v}x\"",
            "${v:-d e}",
            "${v%x}",
            "${#v}",
            "$((1+2))",
            "\"$((2*3))\"",
            "$'a\\tb\\'c'",
            "$\"l\"",
            "]",
            "=",
            "==",
            "a=b",
            "a!b",
            "'!'",
            "%",
            "+",
            ":",
            "$1",
            "\"$@\"",
            "$?",
            "$",
            "\"$\"",
            "\"it's\"",
            "'\"'",
            "if",
            "done",
            "esac",
            "in",
            "}",
            "\"a\nb\"",
            "'a\nb'",
            "\"a\\\nb\"",
            "~/x",
            "a~b",
            "x:y",
            "{1..2}{a,b}",
            "{a,}",
            "\"${u[@]}\"",
            "\"${u[@]}\"",
            "\"x${u[@]}y\"",
            "${u[@]}",
            "${u[0]}",
            "$u",
            "\"{a,b}\"",
            "$v{a,b}",
            "{$v,x}y",
            "{$,a}v",
            "\"$v\"/{a,b}",
            "${v}{a,b}",
            "$v/{a,b}",
            "['!'x]*",
            "$((i))",
            "$((i * 2 - 1))",
            "${v:1:2}",
        ])
        .to_owned()
    }
}
