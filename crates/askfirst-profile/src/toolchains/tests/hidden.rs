//! Tests of the line that explains why a program did not start, and of the config line that would show its folder.

use super::*;

impl World {
    fn explain(&self, errors: &str) -> Option<String> {
        let line =
            self.find().explain_errors(errors.as_bytes(), &self.at("project"), &self.profile_with_root());
        line.map(|line| line.replace(&self.at("").display().to_string(), "[world]/"))
    }

    fn explain_output(&self, streams: [&str; 2]) -> Option<String> {
        let profile = self.profile_with_root();
        self.find().explain_output(streams.map(str::as_bytes), &self.at("project"), &profile)
    }

    fn profile_with_root(&self) -> OSProfile {
        let mut profile = self.profile();
        profile.readable.push(askfirst_sandbox::Grant::of(self.at("project")).unwrap());
        profile
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
fn output_of_a_pipeline_names_the_hidden_folder() {
    let world = world();
    for output in [
        "bash: line 1: tool: command not found\n",
        "a\nsh: 1: tool: not found\nb\n",
        "zsh:1: command not found: tool\n",
        "/usr/bin/env: ‘tool’: No such file or directory\n",
        "timeout: failed to run command ‘tool’: No such file or directory\n",
        "make: tool: No such file or directory\nmake: *** [Makefile:2: all] Error 127\n",
        "make[1]: tool: Permission denied\n",
        "FileNotFoundError: [Errno 2] No such file or directory: 'tool'\n",
        "bash: line 1: [world]/opt/open/bin/tool: No such file or directory\n",
    ] {
        let output = output.replace("[world]", world.at("").to_str().unwrap().trim_end_matches('/'));
        for streams in [["", output.as_str()], [output.as_str(), ""]] {
            let line = world.explain_output(streams).unwrap_or_else(|| panic!("{output}"));
            assert!(line.contains("opt/open/bin`, which is hidden") && !line.contains('\n'), "{line}");
        }
    }
}

#[test]
fn absolute_path_names_a_folder_that_is_not_shown() {
    let world = world();
    // The answer is the same for a file that exists and for one that does not.
    for (program, folder) in [("/var/log/tool", "/var/log"), ("/nowhere/bin/tool", "/nowhere/bin")] {
        let line = world.explain(&format!("bash: line 1: {program}: No such file or directory\n"));
        let expected = format!("`{folder}` is not among the folders that the sandbox shows; hint: ");
        assert!(line.clone().is_some_and(|line| line.starts_with(&expected)), "{line:?}");
    }
    let inside = world.at("project/nowhere").display().to_string();
    for program in ["/usr/bin/nowhere", "/tmp/nowhere", "/usr/../nowhere/tool", "./nowhere", &inside] {
        assert_eq!(world.explain(&format!("bash: line 1: {program}: not found\n")), None, "{program}");
    }
}

#[test]
fn output_without_a_hidden_program_is_not_explained() {
    let mut world = world();
    world.program("home/bin/both", "");
    world.program("opt/open/bin/both", "");
    world.link("project/gone", "/nowhere/data");
    let long = format!("bash: line 1: tool: command not found\n{}", "text\n".repeat(4_000));
    for output in [
        "bash: line 1: nowhere: command not found\n",
        "bash: line 1: known: command not found\n",
        "bash: line 1: both: command not found\n",
        "cat: tool: No such file or directory\n",
        "ls: cannot access 'tool': No such file or directory\n",
        "cat: ./gone: No such file or directory\n",
        "tool: ok\nnothing was not found here\n",
        "note: tool is fine\n",
        "not found\n: not found\n",
        &long,
    ] {
        assert_eq!(world.explain_output(["", output]), None, "{output}");
    }
    // Without a hidden folder, the output is not searched.
    world.path.pop();
    assert_eq!(world.explain_output(["bash: line 1: tool: command not found\n", ""]), None);
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
    assert_eq!(world.reason("opt/open/bin"), None);
}
