//! Tests of the line that explains why a program did not start, and of the config line that would show its folder.

use super::*;

impl World {
    fn explain(&self, errors: &str) -> Option<String> {
        let mut profile = self.profile();
        profile.readable.push(askfirst_sandbox::Grant::of(self.at("project")).unwrap());
        let line = self.find().explain_errors(errors.as_bytes(), &self.at("project"), &profile);
        line.map(|line| line.replace(&self.at("").display().to_string(), "[world]/"))
    }
}

fn world() -> World {
    let mut world = World::new();
    world.program("opt/open/bin/tool", "");
    fs::set_permissions(world.at("opt/open/bin"), fs::Permissions::from_mode(0o777)).unwrap();
    world.program("home/bin/known", "");
    world.on_path(&["home/bin", "opt/open/bin"]);
    world
}

#[test]
fn errors_of_shells_name_the_hidden_folder() {
    let world = world();
    let line = "`tool` is in `[world]/opt/open/bin`, which is hidden in the sandbox: everyone can write in it; \
                hint: `sandbox.toolchains: [auto, [world]/opt/open/bin]` would show it";
    for errors in [
        "bash: line 1: tool: command not found\n",
        "sh: 1: tool: not found\n",
        "zsh:1: command not found: tool\n",
        "/usr/bin/env: ‘tool’: No such file or directory\n",
        "bash: Zeile 1: tool: Kommando nicht gefunden.\n",
        "output\nbash: line 3: tool: command not found\nmore: output\n",
    ] {
        assert_eq!(world.explain(errors).as_deref(), Some(line), "{errors}");
    }
    for errors in [
        "bash: line 1: known: command not found\n",
        "bash: line 1: nowhere: command not found\n",
        "",
        ": : \n",
    ] {
        assert_eq!(world.explain(errors), None, "{errors}");
    }
}

#[test]
fn line_names_the_setting_that_hides_everything() {
    let mut world = world();
    world.config.main.sandbox.toolchains = ToolchainAccess::OFF;
    let line = world.explain("bash: line 1: known: command not found\n").unwrap();
    let expected = "`known` is in `~/bin`, which is hidden in the sandbox: `sandbox.toolchains` does not include it; \
                    hint: `sandbox.toolchains: auto` would show it";
    assert_eq!(line, expected);
}

#[test]
fn link_and_script_in_a_root_name_what_they_need() {
    let world = world();
    world.link("project/.venv/bin/python", "python3");
    world.link("project/.venv/bin/python3", "/nowhere/python/bin/python3.12");
    world.program("project/script", "#!/nowhere/bin/lua\n");
    let needs = |errors: &str| world.explain(errors).unwrap();
    let line = needs("bash: line 1: .venv/bin/python: No such file or directory\n");
    assert!(
        line.starts_with("`.venv/bin/python` needs `/nowhere/python/bin/python3.12`, which is hidden"),
        "{line}"
    );
    let line = needs("bash: line 1: ./script: cannot execute: required file not found\n");
    assert!(line.starts_with("`./script` needs `/nowhere/bin/lua`, which is hidden"), "{line}");
}

/// The agent chooses the text of the errors.
// invariant: 4
#[test]
fn explanation_does_not_tell_whether_a_hidden_file_exists() {
    let world = world();
    world.program("home/.ssh/id_rsa", "#!/secret/interpreter\n");
    world.program("home/private/script", "#!/secret/interpreter\n");
    world.link("project/there", world.at("home/private/script"));
    world.link("project/gone", world.at("home/private/nothing"));
    for name in ["home/.ssh/id_rsa", "home/.ssh/nothing", "home/private/script", "home/private/nothing"] {
        assert_eq!(
            world.explain(&format!("bash: {}: not found\n", world.at(name).display())),
            None,
            "{name}"
        );
    }
    let line = |name: &str| world.explain(&format!("bash: ./{name}: not found\n")).unwrap();
    let (there, gone) = (line("there"), line("gone"));
    assert_eq!(there.replace("there", "gone").replace("script", "nothing"), gone);
}

#[test]
fn hidden_entries_are_named_without_errors() {
    let world = world();
    let line = world.find().name_hidden_entries().unwrap();
    assert!(line.starts_with("these folders of `PATH` are hidden in the sandbox: `/"), "{line}");
    assert!(line.contains("opt/open/bin`; hint: `askfirst doctor`") && !line.contains("~/bin"), "{line}");
    let mut all = World::new();
    all.program("home/bin/known", "");
    all.on_path(&["home/bin"]);
    assert_eq!(all.find().name_hidden_entries(), None);
}

#[test]
fn config_line_keeps_the_listed_paths() {
    let mut world = world();
    world.file("home/a b/x", "");
    world.config.main.sandbox.toolchains = ToolchainAccess { auto: true, paths: vec![world.at("home/a b")] };
    let line = world.find().config_line(&world.at("opt/open/bin")).unwrap();
    let expected = format!("sandbox.toolchains: [auto, \"~/a b\", {}]", world.at("opt/open/bin").display());
    assert_eq!(line, expected);
    // The line that is offered does what it says.
    world.config.main.sandbox.toolchains.paths.push(world.at("opt/open/bin"));
    assert!(world.shown().contains(&"opt/open/bin".to_owned()));
}
