//! Detects the language of a file by its name, and the type of binary content by its first bytes.

use std::path::Path;

/// File suffixes and their languages.
const LANGUAGES: [(&str, &str); 45] = [
    ("bash", "bash"),
    ("c", "c"),
    ("cc", "cpp"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("css", "css"),
    ("diff", "diff"),
    ("go", "go"),
    ("h", "c"),
    ("hpp", "cpp"),
    ("hs", "haskell"),
    ("htm", "html"),
    ("html", "html"),
    ("ini", "ini"),
    ("java", "java"),
    ("js", "javascript"),
    ("json", "json"),
    ("jsonl", "json"),
    ("jsx", "javascript"),
    ("kt", "kotlin"),
    ("lua", "lua"),
    ("md", "markdown"),
    ("mjs", "javascript"),
    ("nix", "nix"),
    ("patch", "diff"),
    ("php", "php"),
    ("pl", "perl"),
    ("proto", "protobuf"),
    ("py", "python"),
    ("pyi", "python"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("scala", "scala"),
    ("sh", "bash"),
    ("sql", "sql"),
    ("svg", "xml"),
    ("swift", "swift"),
    ("tf", "terraform"),
    ("toml", "toml"),
    ("ts", "typescript"),
    ("tsx", "typescript"),
    ("xml", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zsh", "bash"),
];

/// The first bytes of file types, and the names of the types.
const MAGIC: [(&[u8], &str); 13] = [
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "ZIP archive, or a document in ZIP format"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\xfd7zXZ", "xz archive"),
    (b"BZh", "bzip2 archive"),
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"\0asm", "WebAssembly program"),
    (b"SQLite format 3", "SQLite database"),
];

/// Returns the language of a file by its name.
pub(crate) fn language(path: &Path) -> Option<&'static str> {
    match path.file_name()?.to_str()? {
        "Makefile" | "makefile" | "GNUmakefile" => return Some("make"),
        "Dockerfile" => return Some("dockerfile"),
        _ => {}
    }
    let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
    LANGUAGES.iter().find(|(known, _)| *known == suffix).map(|(_, language)| *language)
}

/// Returns the type of binary content by its first bytes.
pub(crate) fn binary_kind(bytes: &[u8]) -> &'static str {
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map_or("unknown kind", |(_, kind)| kind)
}
