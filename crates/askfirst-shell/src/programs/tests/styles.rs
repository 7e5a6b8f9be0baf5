//! How words are read: clusters, abbreviations, values, endings, sub-commands, rows with conditions.

use super::{by, reading, verdict};
use crate::programs::table::{Verdict, tables};
use crate::programs::used::{Lifts, Role, Used, Yields};

const TOOL: &str = "\
program tool
style gnu front
reads
  -C =folder
  -v --verbose | -q --quiet
  -c =text asks
  --version alone
sub push
  changes
  operands text text*
  -f --force asks
  -n --dry-run | --dry | --forward
  -o --out =write
  --[no-]color [=text]
  -NUM
sub list,ls
  operands tree* or .
  yields paths unless -l
  -l --long
sub list deep
  changes
sub set
  operands change
sub copy
  changes
  operands read* write
sub go
  runs
  operands file rest
";

fn check(command: &str, expected: Verdict) -> Used {
    let used = by(TOOL, command);
    assert_eq!(verdict(&used), expected, "{command}: {}", reading(&used));
    used
}

#[test]
fn cluster_hides_no_option() {
    check("tool push -nf x", Verdict::Asks);
    check("tool push -nfo out x", Verdict::Asks);
    let used = check("tool push -no out x", Verdict::Covered);
    assert_eq!(used.paths.first().map(|path| path.role), Some(Role::Write));
    let used = check("tool push -nof x", Verdict::Covered);
    assert_eq!(reading(&used).matches("write `f`").count(), 1, "{}", reading(&used));
}

#[test]
fn doubt_about_a_letter_in_a_cluster_is_lifted_by_nothing() {
    let used = check("tool push -nZo x", Verdict::Asks);
    assert!(used.doubts.iter().any(|doubt| doubt.lifts == Lifts::Nothing), "{}", reading(&used));
    let used = check("tool push -Z x", Verdict::Asks);
    assert!(used.doubts.iter().all(|doubt| doubt.lifts == Lifts::Named && doubt.names == ["-Z"]));
}

#[test]
fn abbreviations_are_followed_where_they_are_unique() {
    let used = check("tool push --forc x", Verdict::Asks);
    assert!(used.doubts.iter().any(|doubt| doubt.names.contains(&"--force".to_owned())));
    let used = check("tool push --for x", Verdict::Asks);
    assert!(used.doubts.iter().all(|doubt| doubt.lifts == Lifts::Nothing), "{}", reading(&used));
    check("tool push --dry x", Verdict::Covered);
    check("tool push --dry-r x", Verdict::Covered);
    check("tool push --ou=x y", Verdict::Covered);
}

#[test]
fn exact_programs_have_no_abbreviations() {
    let table = "program t\nstyle exact\nreads\n  --verbose\n";
    assert_eq!(verdict(&by(table, "t --verbose")), Verdict::Reads);
    assert_eq!(verdict(&by(table, "t --verb")), Verdict::Asks);
}

#[test]
fn value_of_a_flag_without_values_is_asked_about() {
    check("tool push --dry-run=no x", Verdict::Asks);
    check("tool push --color=no x", Verdict::Covered);
    check("tool push --no-color x", Verdict::Covered);
    check("tool push --no-color=x x", Verdict::Asks);
}

#[test]
fn missing_value_is_asked_about() {
    check("tool push x -o", Verdict::Asks);
    check("tool push x --out", Verdict::Asks);
}

#[test]
fn numbers_are_options_where_the_table_says_so() {
    check("tool push -5 x", Verdict::Covered);
    check("tool push -n5 x", Verdict::Covered);
    check("tool push -5f x", Verdict::Asks);
    check("tool ls -5", Verdict::Asks);
}

#[test]
fn options_after_operands_count_and_those_after_dashes_do_not() {
    check("tool push x -f", Verdict::Asks);
    check("tool push -- x -f", Verdict::Covered);
}

#[test]
fn value_that_looks_like_a_subcommand_stays_a_value() {
    let used = check("tool -C push ls", Verdict::Reads);
    assert_eq!(used.subs.iter().map(|sub| sub.name.as_str()).collect::<Vec<_>>(), ["list"]);
    assert_eq!(used.folders.len(), 1);
}

#[test]
fn options_in_front_are_not_those_of_the_section() {
    check("tool -c x ls", Verdict::Asks);
    check("tool ls -v", Verdict::Asks);
    check("tool -v ls", Verdict::Reads);
}

#[test]
fn unknown_sub_commands_are_asked_about_by_name() {
    let used = check("tool frobnicate x", Verdict::Asks);
    assert!(used.doubts.iter().any(|doubt| doubt.names == ["frobnicate"] && doubt.lifts == Lifts::Named));
    check("tool -- push x", Verdict::Asks);
    check("tool $X x", Verdict::Asks);
    check("tool '' x", Verdict::Asks);
}

#[test]
fn sub_commands_may_have_their_own() {
    check("tool ls deep", Verdict::Covered);
    let used = check("tool ls -l src deep", Verdict::Reads);
    assert_eq!(used.paths.len(), 2);
    assert_eq!(used.yields, Yields::Text);
    assert_eq!(check("tool ls", Verdict::Reads).yields, Yields::Paths);
}

#[test]
fn default_operand_is_a_path_if_there_may_be_none() {
    let used = check("tool ls -l", Verdict::Reads);
    assert!(reading(&used).contains("tree `.`"));
    let used = check("tool ls src", Verdict::Reads);
    assert!(!reading(&used).contains("tree `.`"));
    let used = by(TOOL, "tool ls $X");
    assert!(reading(&used).contains("tree `.`"), "it may vanish: {}", reading(&used));
}

#[test]
fn operand_can_turn_a_read_into_a_change() {
    check("tool set", Verdict::Reads);
    check("tool set x", Verdict::Covered);
    check("tool set x y", Verdict::Asks);
}

#[test]
fn last_operand_can_have_its_own_role() {
    let used = check("tool copy a b c", Verdict::Covered);
    let roles: Vec<Role> = used.operands.iter().map(|operand| operand.role).collect();
    assert_eq!(roles, [Role::Read, Role::Read, Role::Write]);
    check("tool copy src/* c", Verdict::Covered);
    check("tool copy a src/*", Verdict::Asks);
}

#[test]
fn rest_is_not_read_as_options() {
    let used = check("tool go x.py --anything -f", Verdict::Covered);
    assert_eq!(used.options, []);
    check("tool go --anything x.py", Verdict::Asks);
}

#[test]
fn alone_means_alone() {
    check("tool --version", Verdict::Reads);
    check("tool --version push", Verdict::Asks);
    check("tool -v --version", Verdict::Asks);
    check("tool --version --version", Verdict::Asks);
}

#[test]
fn rows_may_depend_on_values_and_on_other_options() {
    let table =
        "program t\nreads\n  -X =\"GET\"\n  -X =text asks\n  -x | -t\n  -f =read if -x -t\n  -f =write\n";
    assert_eq!(verdict(&by(table, "t -XGET")), Verdict::Reads);
    assert_eq!(verdict(&by(table, "t -X GET -X PUT")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "t -X \"$M\"")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "t -f a -x")), Verdict::Reads);
    assert_eq!(verdict(&by(table, "t -f a")), Verdict::Covered);
}

#[test]
fn old_clusters_take_their_values_in_order() {
    let table =
        "program tar\nstyle gnu old\nchanges\n  -c | -z\n  -f =write\n  -C =folder\n  letter e asks\n  -e\n";
    let used = by(table, "tar czfC out dir x");
    assert!(reading(&used).contains("write `out`; folder `dir`"), "{}", reading(&used));
    assert_eq!(verdict(&by(table, "tar -e")), Verdict::Covered);
    assert_eq!(verdict(&by(table, "tar e")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "tar cQ")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "tar $X a")), Verdict::Asks);
}

#[test]
fn long_names_with_one_dash_are_never_a_cluster() {
    let table = "program go\nstyle long\nreads\n  -n | -v\n  -run =text\n  -exec =text asks\n  -D*\n";
    assert_eq!(verdict(&by(table, "go -v -run x --run=y -Dany=thing")), Verdict::Reads);
    assert_eq!(verdict(&by(table, "go -nv")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "go --exec=x")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "go -run -exec")), Verdict::Asks);
}

#[test]
fn faults_are_found_and_make_the_program_asked_about() {
    for row in [
        "reeds",
        "-x frobs",
        "operands what",
        "operands read* tree*",
        "style odd",
        "-x asks asks",
        "yields x",
    ] {
        let text = format!("program t\nreads\n{row}\n");
        let tables = tables(&text);
        let table = tables.first().expect("a table");
        assert_eq!(table.faults.len(), 1, "{row}");
        let words = super::split("t x");
        let used = crate::programs::read::read(table, "t".to_owned(), &words);
        assert_eq!(verdict(&used), Verdict::Asks, "{row}");
    }
}

#[test]
fn section_can_copy_the_rows_of_another() {
    let table = "program t\nasks\nsub a\n  reads\n  -x\n  -y =text asks\nsub b\n  reads\n  like a\n  -y\nsub c\n  reads\n  like b\n";
    assert_eq!(verdict(&by(table, "t b -x -y")), Verdict::Reads);
    assert_eq!(verdict(&by(table, "t c -x -y")), Verdict::Reads);
    assert_eq!(verdict(&by(table, "t a -y z")), Verdict::Asks);
    assert!(!tables("program t\nasks\nsub a\n like b\n").first().expect("one").faults.is_empty());
}

#[test]
fn other_signs_begin_options_where_the_table_says_so() {
    let table = "program t\nreads\n  + [=text]\n  -f --force +* asks\n";
    assert_eq!(verdict(&by(table, "t +%F x")), Verdict::Reads);
    let table = "program t\nreads\n  -f --force +* asks\n";
    let used = by(table, "t origin +main");
    assert!(used.doubts.iter().any(|doubt| doubt.names.contains(&"--force".to_owned())));
}

#[test]
fn started_tool_is_read_by_its_own_table() {
    let table = "program npx\nstyle posix exact\nruns\n  -y\n  -m =tool\n  operands tool\n";
    let used = by(table, "npx -y sed -n p a");
    assert_eq!(used.subs.iter().map(|sub| sub.name.as_str()).collect::<Vec<_>>(), ["sed"]);
    assert_eq!(verdict(&used), Verdict::Covered);
    assert_eq!(verdict(&by(table, "npx sed -n -i p a")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "npx sed 'w x' a")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "npx -m sed -n p a")), Verdict::Covered);
    assert_eq!(verdict(&by(table, "npx -m sed -i p a")), Verdict::Asks);
    let used = by(table, "npx frobnicate -x --y");
    assert!(used.doubts.iter().all(|doubt| doubt.names == ["frobnicate"]), "{}", reading(&used));
    assert_eq!(used.doubts.len(), 1);
    assert_eq!(verdict(&by(table, "npx $X -n")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "npx sh x.sh")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "npx env ls")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "npx ./sed -n p a")), Verdict::Asks);
}

#[test]
fn word_that_sets_a_variable_is_asked_about() {
    let table = "program make\nruns\n  operands word*\n";
    assert_eq!(verdict(&by(table, "make test")), Verdict::Covered);
    assert_eq!(verdict(&by(table, "make SHELL=./x test")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "make \"a$X\"")), Verdict::Asks);
    assert_eq!(verdict(&by(table, "make ../x")), Verdict::Asks);
}
