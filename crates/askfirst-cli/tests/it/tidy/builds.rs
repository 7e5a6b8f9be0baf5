//! Rules about the settings of builds.

use super::root;

/// Returns a section of a manifest, without its header.
fn section(manifest: &str, name: &str) -> String {
    let text = std::fs::read_to_string(root().join(manifest)).unwrap();
    let (_, rest) = text.split_once(&format!("\n[{name}]\n")).unwrap_or_else(|| panic!("{manifest}: {name}"));
    rest.split("\n[").next().unwrap().to_owned()
}

/// People who build askfirst themselves wait for it. The shipped and measured builds are optimized.
#[test]
fn release_builds_quickly_and_dist_is_optimized() {
    let release = section("Cargo.toml", "profile.release");
    assert!(release.contains("lto = \"off\"\ncodegen-units = 16\n"), "{release}");
    for (manifest, profile) in [("Cargo.toml", "profile.dist"), ("bench/Cargo.toml", "profile.release")] {
        let optimized = section(manifest, profile);
        assert!(optimized.contains("lto = \"fat\"\ncodegen-units = 1\n"), "{manifest}: {optimized}");
    }
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    assert!(read("dist").contains("\nprofile=dist\n"));
    let backend = read("crates/askfirst-python/build/askfirst_build.py");
    assert!(
        backend.contains("bring(_arguments(config_settings, \"release\"))"),
        "pip install builds quickly"
    );
}
