//! Links what unwinds the stack into the program where that can be had: a client starts the program for each of its
//! servers, and loading another library takes a twentieth of that start.

use std::path::Path;
use std::process::Command;

const LIBRARY: &str = "libgcc_eh.a";

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|set| set == value);
    let elsewhere = std::env::var_os("HOST") != std::env::var_os("TARGET");
    if elsewhere || !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    let linker = std::env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let Ok(said) = Command::new(linker).arg(format!("-print-file-name={LIBRARY}")).output() else { return };
    let Ok(path) = String::from_utf8(said.stdout) else { return };
    // What it does not have it names as it was asked for, without a folder.
    let path = Path::new(path.trim());
    if let Some(folder) = path.parent().filter(|folder| folder.is_absolute() && path.is_file()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
