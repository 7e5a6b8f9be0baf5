//! What goes wrong on a machine is said in words that help, and ends with the code for it.

use std::process::Command;

use crate::commands::Place;

const CONFIG: &str = r#"
version: 1
sandbox: { require_os_sandbox: false }
tools:
  hello: { command: [echo, hello], approval: none }
  person: { command: [echo, person], approval: human }
"#;

fn script(place: &Place, script: &str) -> (i32, String) {
    let mut command = Command::new("setsid");
    command.args(["--wait", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_askfirst")]);
    command.current_dir(place.path()).stdin(std::process::Stdio::null());
    place.alone(&mut command);
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

#[test]
fn a_limit_on_the_size_of_files_is_a_record_that_cannot_be_written() {
    let place = Place::new(CONFIG);
    let (code, said) = script(&place, "ulimit -f 0; exec \"$1\" call hello --config c.yaml");
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("the record cannot be written: cannot ") && !said.contains("hello\n"), "{said}");
}

#[test]
fn doctor_says_where_no_record_can_be_begun() {
    let place = Place::new(CONFIG);
    let doctor = "exec \"$1\" doctor --config c.yaml | grep record";
    let (_, said) = script(&place, &format!("export XDG_STATE_HOME=/proc/nope; {doctor}"));
    assert!(said.starts_with("BAD") && said.contains("nothing can be made in /proc"), "{said}");
    let (_, said) = script(&place, doctor);
    assert!(said.starts_with("ok") && said.contains("will be begun"), "{said}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "it leaves nothing behind");
}

#[test]
fn no_flag_is_offered_for_what_a_person_must_answer() {
    let place = Place::new(CONFIG);
    let (code, said) = script(&place, "exec \"$1\" call person --approve-all --config c.yaml");
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("no flag runs it") && !said.contains("`--approve-all` runs"), "{said}");
}
