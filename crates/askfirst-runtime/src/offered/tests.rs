//! What is warned of is true, and found out without starting anything.

use super::*;
use askfirst_config::testing::World;

fn said(user: &str, managed: &str) -> String {
    let world = World::new();
    world.write("home/.config/askfirst/askfirst.yaml", &format!("version: 1\n{user}"));
    world.write("etc/askfirst.yaml", &format!("version: 1\n{managed}"));
    warnings(&world.load().unwrap(), Mode::Interactive).join("\n")
}

#[test]
fn a_config_that_accepts_missing_walls_is_not_said_to_have_none() {
    let accepts = "sandbox: { require_os_sandbox: false }\n";
    assert_eq!(
        said(accepts, ""),
        "where walls do not hold, processes run without them: `sandbox.require_os_sandbox` is false"
    );
    assert_eq!(said("sandbox: { require_os_sandbox: true }\n", ""), "");
    assert_eq!(said("", ""), "");
    assert_eq!(said(accepts, "sandbox: { require_os_sandbox: true }\n"), "", "a floor demands them");
}
