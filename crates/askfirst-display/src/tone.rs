//! How a piece of text is meant to stand out. Renderers choose the colours; every tone can be left out.

/// What a word of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Token {
    /// A word of the language.
    Keyword,
    /// A quoted text.
    Quoted,
    /// A number or another constant.
    Constant,
    /// A remark.
    Comment,
    /// The name of a function or a command.
    Function,
    /// The name of a type, a tag or a key.
    Name,
}

/// How a piece stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tone {
    /// Not at all.
    #[default]
    None,
    /// Less than the rest: numbers of lines, remarks of ours.
    Dim,
    /// More than the rest.
    Strong,
    /// It must not be overlooked.
    Warning,
    /// It would be allowed.
    Allowed,
    /// It is added.
    Added,
    /// It is taken away.
    Removed,
    /// The words of an added line that differ.
    AddedWord,
    /// The words of a removed line that differ.
    RemovedWord,
    /// A word of a program.
    Code(Token),
}
