//! The grammar of a line as a parser finds it: statements and the places of their words, nothing of what words mean.

use std::ops::Range;
use std::rc::Rc;

/// Bytes of the whole text.
pub(super) type Span = Range<usize>;

/// A parser: the only way from a foreign grammar into this module.
pub(super) trait Grammar {
    /// The statements in this part of the text, or why there are none.
    fn parse(&self, text: &str, part: Span) -> Result<Script, Fault>;
}

/// Why a text has no tree.
#[derive(Debug)]
pub(super) struct Fault {
    /// Where.
    pub(super) span: Span,
    /// Why, in words for a person.
    pub(super) why: String,
}

/// What was parsed.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The statements in order.
    pub(super) stmts: Vec<Stmt>,
    /// Every word, redirection and body: what is left over may only be operators, reserved words and comments.
    pub(super) leaves: Vec<Span>,
}

/// A statement with what is written around it.
#[derive(Debug)]
pub(super) struct Stmt {
    /// Where it stands.
    pub(super) span: Span,
    /// What it is.
    pub(super) node: Node,
    /// Its redirections, in order.
    pub(super) redirects: Vec<Redirect>,
    /// Behind `!`.
    pub(super) negated: bool,
    /// In front of `&`.
    pub(super) background: bool,
}

/// What a statement is.
#[derive(Debug)]
pub(super) enum Node {
    /// Assignments and words.
    Simple(Vec<Assign>, Vec<Raw>),
    /// `a && b`.
    And(Box<Stmt>, Box<Stmt>),
    /// `a || b`.
    Or(Box<Stmt>, Box<Stmt>),
    /// `a | b | c`.
    Pipe(Vec<Stmt>),
    /// Conditions with their branches, and the last branch.
    If(Vec<(Vec<Stmt>, Vec<Stmt>)>, Option<Vec<Stmt>>),
    /// `while` and `until`.
    While(Turn, Vec<Stmt>, Vec<Stmt>),
    /// `for` and `select` over words.
    For(String, Pick, Option<Vec<Raw>>, Vec<Stmt>),
    /// `for (( … ))`.
    Count(Vec<Span>, Vec<Stmt>),
    /// `case`: the word, then patterns and bodies.
    Case(Span, Vec<(Vec<Span>, Vec<Stmt>)>),
    /// `( … )`.
    Subshell(Vec<Stmt>),
    /// `{ … }`.
    Group(Vec<Stmt>),
    /// `(( … ))`.
    Arithmetic(Span),
    /// `[[ … ]]`.
    Test(Vec<Check>),
    /// `time …`.
    Time(Option<Box<Stmt>>),
    /// `name() …`.
    Function(String, Rc<Stmt>),
}

/// When a loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// While its condition holds.
    While,
    /// Until it does.
    Until,
}

/// Who picks the value of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// Every value in turn.
    Each,
    /// A person (`select`).
    Person,
}

/// A word of a command: plain, or `name=(…)` behind a declaration.
#[derive(Debug)]
pub(super) enum Raw {
    /// A word.
    Word(Span),
    /// `declare name=(…)`.
    Array(Assign),
}

/// `NAME=value`.
#[derive(Debug)]
pub(super) struct Assign {
    /// Where it stands.
    pub(super) span: Span,
    /// The name.
    pub(super) name: String,
    /// What is between brackets behind it.
    pub(super) index: Option<Span>,
    /// `+=`.
    pub(super) append: bool,
    /// The value.
    pub(super) value: Value,
}

/// What is assigned.
#[derive(Debug)]
pub(super) enum Value {
    /// One word.
    One(Span),
    /// `( … )`: its words, and the keys in brackets.
    Many(Vec<Span>, Vec<Span>),
}

/// A redirection.
#[derive(Debug)]
pub(super) struct Redirect {
    /// Where it stands.
    pub(super) span: Span,
    /// The descriptor, if it is written.
    pub(super) fd: Option<i32>,
    /// `{name}` in front of it.
    pub(super) named: Option<String>,
    /// What it does.
    pub(super) kind: Kind,
}

/// What a redirection does.
#[derive(Debug)]
pub(super) enum Kind {
    /// `<`.
    Read(Span),
    /// `>`, `>>`, `>|`, `&>`.
    Write(Span),
    /// `<>`.
    Both(Span),
    /// `<&`.
    DupIn(Span),
    /// `>&`.
    DupOut(Span),
    /// `<<<`.
    String(Span),
    /// `<<`: the body, and whether it is expanded and stripped of tabs.
    Doc {
        /// Where the body stands.
        body: Span,
        /// Whether `$` and backquotes act in it.
        expands: bool,
        /// Whether tabs at the beginning of its lines are dropped (`<<-`).
        strips: bool,
    },
}

/// A part of `[[ … ]]`.
#[derive(Debug)]
pub(super) enum Check {
    /// A word, a pattern or an expression.
    Text(Span),
    /// A file that is looked at, and how: `-f`.
    File(Span, &'static str),
    /// What is evaluated as a number.
    Number(Span),
    /// The name of a variable.
    Name(Span),
}

impl Stmt {
    /// What stands before `|&`: what it says of failures goes where its output goes.
    pub(super) fn mix(&mut self) -> Result<(), Fault> {
        match &mut self.node {
            Node::Simple(..) => {
                let (span, named) = (self.span.clone(), None);
                let kind = Kind::DupOut(span.end..span.end);
                self.redirects.push(Redirect { span, fd: Some(2), named, kind });
                Ok(())
            }
            Node::Pipe(parts) => parts.last_mut().map_or(Ok(()), Self::mix),
            Node::And(..)
            | Node::Or(..)
            | Node::If(..)
            | Node::While(..)
            | Node::For(..)
            | Node::Count(..)
            | Node::Case(..)
            | Node::Subshell(_)
            | Node::Group(_)
            | Node::Arithmetic(_)
            | Node::Test(_)
            | Node::Time(_)
            | Node::Function(..) => {
                Err(Fault { span: self.span.clone(), why: "`|&` after several commands".to_owned() })
            }
        }
    }
}
