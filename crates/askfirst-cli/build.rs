//! Makes the program quick to start where that can be had: a client starts it for each of its servers, and every command
//! behind walls may. What unwinds the stack is linked in, as loading another library takes a twentieth of a start. The
//! places that must be told where the program lies are listed in the short form, a hundredth as long as the other.

use std::path::Path;
use std::process::Command;

const LIBRARY: &str = "libgcc_eh.a";

/// The first glibc that reads the short form. A program that has it does not start with an older one.
const READS_SHORT_FORM: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|set| set == value);
    let elsewhere = std::env::var_os("HOST") != std::env::var_os("TARGET");
    if elsewhere || !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    if glibc().is_some_and(|version| version >= READS_SHORT_FORM) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
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

/// The version of the C library here: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
