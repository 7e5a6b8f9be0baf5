//! Tests the changes that a script tries to make on its view.

use super::*;

// invariant: 11
#[test]
fn never_written_file_is_refused_by_name() {
    needs_views!("never_written_file_is_refused_by_name");
    let project = Project::with(FREE, "", "").yes();
    project.refuses("echo x > .git/hooks/pre-commit", "`root/.git/hooks/pre-commit`");
    project.refuses("git config core.fsmonitor ./x", "`root/.git/config`");
    project.refuses("rm -rf .git/hooks; ln -s ../src .git/hooks", "`root/.git/hooks`");
    project.refuses("mv .git g; ln -s g .git", "`root/.git`");
    project.refuses("mkdir sub; echo 'gitdir: ../src' > sub/.git", "`root/sub/.git`");
    project.refuses("echo x > src/.bashrc; echo y > b", "`root/src/.bashrc`");
    assert_eq!(project.read("b"), "b\n", "one refused file discards all changes");
}

// invariant: 11
#[test]
fn never_write_of_the_config_is_refused_by_name() {
    needs_views!("never_write_of_the_config_is_refused_by_name");
    let project = Project::new().yes();
    let config = project.base().join("askfirst.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(config, text.replace("shell:\n", "  never_write: [keep/**, '*.lock']\nshell:\n")).unwrap();
    project.write("keep/k", "k").write("x.lock", "l");
    project.refuses("echo x > keep/k", "`root/keep/k`");
    project.refuses("mv keep other", "`root/keep/k`");
    project.refuses("rm x.lock", "`root/x.lock`");
    project.refuses("ln -sf b x.lock", "`root/x.lock`");
}

#[test]
fn read_only_folder_in_a_root_is_refused() {
    needs_views!("read_only_folder_in_a_root_is_refused");
    let project = Project::new().yes();
    project.write("fixed/f", "f\n");
    let config = project.base().join("askfirst.yaml");
    let text = fs::read_to_string(&config).unwrap();
    let nested = "    fixed: { root: root/fixed, mode: ro }\nshell:\n";
    fs::write(config, text.replace("shell:\n", nested)).unwrap();
    let _ = project.script("echo x > fixed/f");
    let _ = project.script("rm -rf fixed");
    let _ = project.script("mv fixed moved; mkdir fixed; echo x > fixed/f");
    assert_eq!(project.read("fixed/f"), "f\n");
}

// invariant: 11
#[test]
fn shown_file_is_asked_about_with_its_diff() {
    needs_views!("shown_file_is_asked_about_with_its_diff");
    let project = Project::new();
    project.write("Makefile", "all:\n");
    project.asks_about("echo '\t./evil' >> Makefile", "+\\t./evil");
    for file in ["package.json", "src/build.rs", "conftest.py", "src/x.pth", ".github/workflows/x.yml"] {
        project.asks_about(&format!("mkdir -p $(dirname {file}); echo x > {file}"), file);
    }
    for file in ["node_modules/.bin/tsc", ".venv/bin/python", "CLAUDE.md", ".cargo/config.toml"] {
        let script = format!("mkdir -p $(dirname {file}); echo x > {file}");
        assert!(!matches!(project.script(&script), Outcome::Done(_)), "{file}");
        assert!(!project.path(file).exists(), "{file}");
    }
}

// invariant: 11
#[test]
fn file_that_git_ignores_is_asked_about() {
    needs_views!("file_that_git_ignores_is_asked_about");
    let project = Project::new();
    project.asks_about("echo x > src/a.ignored", "git ignores it");
    project.asks_about("echo '*.hide' >> .gitignore; echo x > x.hide", "git ignores it");
    project
        .asks_about("echo 'src/x' > src/.gitignore; mkdir -p src/src; echo x > src/src/x", "git ignores it");
    project.asks_about("echo hidden >> .git/info/exclude; echo x > hidden", "and 1 more");
}

// invariant: 11
#[test]
fn new_program_and_new_script_are_asked_about() {
    needs_views!("new_program_and_new_script_are_asked_about");
    let project = Project::new();
    project.asks_about("echo x > tool; chmod 755 tool", "it is a program");
    project.asks_about("chmod 755 src/a", "it is a program");
    project.asks_about("printf '#!/bin/sh\\n' > tool", "it is a script");
    project.asks_about("mkdir d; cp /bin/true d/true", "it is a program");
}

#[test]
fn new_time_of_a_shown_file_is_not_asked_about() {
    needs_views!("new_time_of_a_shown_file_is_not_asked_about");
    let project = Project::new();
    project.write("Makefile", "all:\n").write("x.ignored", "x");
    done(project.script("touch Makefile x.ignored; cp -p Makefile m; cat m > Makefile; rm m"));
    assert_eq!(project.asked(), [""; 0]);
}

// invariant: 11
#[test]
fn link_that_leads_outside_is_asked_about() {
    needs_views!("link_that_leads_outside_is_asked_about");
    let project = Project::new();
    for target in ["/etc/passwd", "../../outside", "src/../../x", "/proc/self/root"] {
        project.asks_about(&format!("ln -s {target} link"), "a link that leads out of the folder");
    }
    project.asks_about("rm -rf src; ln -s /etc src", "a link that leads out of the folder");
    done(project.script("ln -s ../b src/inside; ln -s src/a inside"));
}

// invariant: 11
#[test]
fn special_files_are_asked_about() {
    needs_views!("special_files_are_asked_about");
    let project = Project::new();
    project.asks_about("mkfifo pipe", "it is a named pipe");
    project.asks_about("ln b src/second", "another name outside these changes");
    // The sandbox refuses these before there is anything to decide.
    let _ = project.script("cp /bin/true t; chmod u+s t");
    let _ = project.script("mknod dev c 1 3");
    for path in ["t", "dev"] {
        let mode = fs::symlink_metadata(project.path(path)).map_or(0, |meta| meta.permissions().mode());
        assert_eq!(mode & 0o6000, 0, "{path}");
    }
    assert!(!project.path("dev").exists());
}

use std::os::unix::fs::PermissionsExt;

// invariant: 11
#[test]
fn name_that_a_screen_hides_is_asked_about_and_escaped() {
    needs_views!("name_that_a_screen_hides_is_asked_about_and_escaped");
    let project = Project::new();
    let hostile = |project: &Project| {
        let shown = project.shown();
        let raw = ['\u{1b}', '\u{202e}', '\u{200b}', '\u{7}', '\r'];
        assert!(!shown.contains(raw), "{shown:?}");
        let presented = project.asked.lock().unwrap().last().unwrap().presentation.clone().unwrap();
        let rows: Vec<&str> = presented.content.lines().collect();
        assert_eq!(rows.len(), 1, "{rows:?}");
    };
    for name in [
        "a\\nadded    forged",
        "\\033[2Jx",
        "x\\342\\200\\256y",
        "x\\342\\200\\213y",
        "bad\\377",
        "bell\\007",
        "cr\\rx",
    ] {
        project
            .asks_about(&format!("touch \"$(printf '{name}')\""), "characters that a screen does not show");
        hostile(&project);
    }
}

// invariant: 11
#[test]
fn product_folder_gets_no_file_that_is_never_written() {
    needs_views!("product_folder_gets_no_file_that_is_never_written");
    let project = Project::new().yes();
    project.write("out/x", "x");
    let _ = project
        .script("mkdir -p out/r/.git/hooks; echo x > out/r/.git/hooks/pre-commit; echo x > out/.bashrc");
    assert!(!project.path("out/r/.git/hooks/pre-commit").exists());
    assert!(!project.path("out/.bashrc").exists());
    assert_eq!(project.read("out/x"), "x");
}

#[test]
fn product_folder_can_be_removed_and_made_again() {
    needs_views!("product_folder_can_be_removed_and_made_again");
    let project = Project::new();
    project.write("out/old", "x");
    done(project.script("rm -rf out && mkdir out && echo new > out/new && echo more >> b"));
    assert_eq!((project.read("out/new"), project.read("b")), ("new\n".into(), "b\nmore\n".into()));
    assert!(!project.path("out/old").exists());
    done(project.run("rm -rf out"));
    assert!(!project.path("out").exists());
    assert_eq!(project.asked(), [""; 0]);
}

#[test]
fn link_in_place_of_a_product_folder_is_asked_about() {
    needs_views!("link_in_place_of_a_product_folder_is_asked_about");
    let project = Project::new();
    project.asks_about("ln -s /etc out", "a link that leads out of the folder");
    std::os::unix::fs::symlink(project.base().join("home"), project.path("out")).unwrap();
    let _ = project.script("echo x > out/x");
    assert!(!project.base().join("home/x").exists());
}

#[test]
fn file_written_to_the_home_is_named_as_lost() {
    needs_views!("file_written_to_the_home_is_named_as_lost");
    let project = Project::new();
    let result = done(project.script("mkdir -p ~/.x && echo s > ~/.x/S; echo $HOME"));
    assert!(result["stderr"].as_str().unwrap().contains(".x/S` outside every root"), "{result}");
}

#[test]
fn changed_file_with_another_name_is_asked_about() {
    needs_views!("changed_file_with_another_name_is_asked_about");
    let project = Project::new();
    project.write("a.txt", "a\n");
    fs::hard_link(project.base().join("root/a.txt"), project.base().join("outside.txt")).unwrap();
    project.asks_about("echo b >> a.txt", "it has another name");
}

// invariant: 4
#[test]
fn hidden_file_is_read_under_no_other_name() {
    needs_views!("hidden_file_is_read_under_no_other_name");
    let project = Project::new();
    let config = project.base().join("askfirst.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(config, text.replace("shell:\n", "  never_read: [.env]\nshell:\n")).unwrap();
    project.write(".env", "hush\n").write("sub/.env", "hush\n");
    for script in [
        "cat .env sub/.env",
        "ln .env x; cat x",
        "cp .env x; cat x",
        "mv .env x; cat x",
        "mv sub moved; cat moved/.env",
        "cp -r sub copy; cat copy/.env",
        "cat /proc/self/root$PWD/.env /proc/1/root$PWD/.env /proc/self/cwd/.env",
        "ln -s .env x; cat x",
        "tar c . | tar xO",
        "rm -f .env; cat .env",
    ] {
        let outcome = format!("{:?}", project.script(script));
        assert!(!outcome.contains("hush"), "{script}: {outcome}");
        let copies = project.tree().into_values().filter(|(_, content)| content == b"hush\n").count();
        assert_eq!(copies, 2, "{script}");
    }
}

// invariant: 11
#[test]
fn root_that_is_itself_listed_is_protected_by_its_name() {
    needs_views!("root_that_is_itself_listed_is_protected_by_its_name");
    let project = Project::new();
    let config = project.base().join("askfirst.yaml");
    let text = fs::read_to_string(&config).unwrap();
    let more = "    ci: { root: root/.github, mode: rw, approval: { write: none } }\nshell:\n";
    project.write(".github/workflows/ci.yml", "on: push\n");
    fs::write(config, text.replace("shell:\n", more)).unwrap();
    project.asks_about("echo x >> .github/workflows/ci.yml", "it can run or control programs");
}

// invariant: 11
#[test]
fn new_folder_of_build_output_is_offered_once() {
    needs_views!("new_folder_of_build_output_is_offered_once");
    let offer = "makes `root/out` a folder of build output";
    let refused = Project::with(FREE, "", "");
    refused.asks_about("mkdir out; echo x > out/a", offer);
    let project = Project::with(FREE, "", "").yes();
    let session = project.session();
    for (script, asked) in [("mkdir out; echo x > out/a", 1), ("echo y > out/b; chmod +x out/b", 1)] {
        done(run_in(&session, &project.hide(script)));
        assert_eq!(project.asked().len(), asked, "{script}: {:?}", project.asked());
        assert!(project.shown().contains(offer), "{}", project.shown());
    }
    assert_eq!(project.read("out/b"), "y\n");
    // The approval ends with its session, and a folder that existed before is not offered.
    done(project.script("echo z > out/c"));
    assert_eq!(project.asked().len(), 2);
    assert!(!project.shown().contains("build output"), "{}", project.shown());
}

// invariant: 11
#[test]
fn only_new_ignored_folders_are_offered_as_build_output() {
    needs_views!("only_new_ignored_folders_are_offered_as_build_output");
    let project = Project::with("{ read: none }", "", "");
    project.write(".gitignore", "out/\nnode_modules/\n");
    for script in [
        "mkdir out && echo x > out/a && echo y > b",
        "mkdir new && echo x > new/a",
        "mkdir node_modules && echo x > node_modules/a",
    ] {
        project.asks_about(script, "job");
        assert!(!project.shown().contains("build output"), "{script}: {}", project.shown());
    }
}
