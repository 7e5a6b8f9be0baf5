//! Makes the program start faster on Linux with glibc. A client starts it once per server, and askfirst starts it again for
//! sandboxed commands. The build links the unwinder statically: loading one more library takes 5% of the start time. It
//! also uses the short form of relocations, which has 1% of the size of the usual form.

use std::path::Path;
use std::process::Command;

const LIBRARY: &str = "libgcc_eh.a";

/// The first glibc that supports the short form. With an older glibc, such a program does not start.
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
    // For a library that it does not have, the linker prints the name alone, without a folder.
    let path = Path::new(path.trim());
    if let Some(folder) = path.parent().filter(|folder| folder.is_absolute() && path.is_file()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// Returns the version of glibc on this machine, from text such as `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
