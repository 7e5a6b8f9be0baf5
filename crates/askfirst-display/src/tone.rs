//! The emphasis of a piece of text, without colors.
//!
//! Renderers choose the colors. They may leave out every tone, because no tone carries information of its own.

/// The syntax class of a word in source code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Token {
    /// A keyword of the language.
    Keyword,
    /// A string literal.
    Quoted,
    /// A number or another constant.
    Constant,
    /// A comment.
    Comment,
    /// The name of a function or a command.
    Function,
    /// The name of a type, a tag or a key.
    Name,
}

/// The emphasis of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tone {
    /// No emphasis.
    #[default]
    None,
    /// Less visible than the rest: line numbers, askfirst's own remarks.
    Dim,
    /// More visible than the rest.
    Strong,
    /// Must not be overlooked.
    Warning,
    /// Allowed by the policy.
    Allowed,
    /// Added by a diff.
    Added,
    /// Removed by a diff.
    Removed,
    /// The words of an added line that differ from the removed line.
    AddedWord,
    /// The words of a removed line that differ from the added line.
    RemovedWord,
    /// A word of source code.
    Code(Token),
}
