//! shuck-parser behind our trait. Whatever it recovers from, leaves out or knows from zsh is a fault, not a tree.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use shuck_ast as ast;
use shuck_parser::parser::{ParseStatus, Parser, ShellDialect, ShellProfile};

use super::quiet::quietly;
use super::syntax::{
    Assign, Check, Fault, Grammar, Kind, Node, Pick, Raw, Redirect, Script, Span, Stmt, Turn, Value,
};

/// How deep a tree may be.
const DEPTH: usize = 40;
/// How many steps a parse may take.
const FUEL: usize = 50_000;

/// The first parser.
pub(super) struct Shuck;

impl Grammar for Shuck {
    fn parse(&self, text: &str, part: Span) -> Result<Script, Fault> {
        let fault = |span: Span, why: &str| Fault { span, why: why.to_owned() };
        let Some(slice) = text.get(part.clone()) else {
            return Err(fault(part, "a part that cannot be cut out"));
        };
        let parsed = quietly(|| {
            let profile = ShellProfile::native(ShellDialect::Bash);
            Parser::with_limits_and_profile(slice, DEPTH, FUEL, profile).parse()
        });
        let Some(parsed) = parsed else {
            return Err(fault(part, "the parser failed on this text"));
        };
        if parsed.status != ParseStatus::Clean
            || !parsed.diagnostics.is_empty()
            || parsed.terminal_error.is_some()
        {
            return Err(fault(part, "not a complete command"));
        }
        let facts = &parsed.syntax_facts;
        if !(facts.zsh_brace_if_spans.is_empty()
            && facts.zsh_always_spans.is_empty()
            && facts.zsh_case_group_parts.is_empty())
        {
            return Err(fault(part, "zsh syntax"));
        }
        let mut turn = Turner { text, base: part.start, end: part.end, leaves: Vec::new() };
        let stmts = turn.seq(&parsed.file.body)?;
        Ok(Script { stmts, leaves: turn.leaves })
    }
}

/// Turns their tree into ours.
struct Turner<'a> {
    text: &'a str,
    base: usize,
    end: usize,
    leaves: Vec<Span>,
}

impl Turner<'_> {
    fn span(&self, span: ast::Span) -> Result<Span, Fault> {
        let range = self.base + span.start.offset()..self.base + span.end.offset();
        if range.start <= range.end && range.end <= self.end && self.text.get(range.clone()).is_some() {
            Ok(range)
        } else {
            Err(Fault { span: self.base..self.end, why: "a part that the parser cannot place".to_owned() })
        }
    }

    fn leaf(&mut self, span: ast::Span) -> Result<Span, Fault> {
        let range = self.span(span)?;
        self.leaves.push(range.clone());
        Ok(range)
    }

    fn refuse<T>(&self, span: ast::Span, why: &str) -> Result<T, Fault> {
        Err(Fault { span: self.span(span)?, why: why.to_owned() })
    }

    fn seq(&mut self, seq: &ast::StmtSeq) -> Result<Vec<Stmt>, Fault> {
        let mut made: Vec<Stmt> = Vec::with_capacity(seq.stmts.len());
        for stmt in &seq.stmts {
            let start = self.span(stmt.span)?.start;
            // Two commands without anything between them are none to bash.
            let end = self.leaves.iter().map(|leaf| leaf.end).filter(|end| *end <= start).max();
            if !made.is_empty()
                && let Some(between) = end.and_then(|end| self.text.get(end..start))
                && !between.contains([';', '&', '\n'])
                && !self.text.get(..end.unwrap_or(0)).is_some_and(|before| before.ends_with('\n'))
            {
                return self.refuse(stmt.span, "a command directly after another");
            }
            made.push(self.stmt(stmt)?);
        }
        Ok(made)
    }

    fn stmt(&mut self, stmt: &ast::Stmt) -> Result<Stmt, Fault> {
        let background = match stmt.terminator {
            None | Some(ast::StmtTerminator::Semicolon) => false,
            Some(ast::StmtTerminator::Background(ast::BackgroundOperator::Plain)) => true,
            Some(ast::StmtTerminator::Background(_)) => {
                return self.refuse(stmt.span, "`&|` or `&!`, which are zsh syntax");
            }
        };
        let node = self.command(&stmt.command)?;
        let redirects =
            stmt.redirects.iter().map(|redirect| self.redirect(redirect)).collect::<Result<_, _>>()?;
        Ok(Stmt { span: self.span(stmt.span)?, node, redirects, negated: stmt.negated, background })
    }

    fn command(&mut self, command: &ast::Command) -> Result<Node, Fault> {
        match command {
            ast::Command::Simple(simple) => {
                let assigns = self.assigns(&simple.assignments)?;
                let mut words = Vec::with_capacity(simple.args.len() + 1);
                // A command of assignments or redirections alone has an empty name without a place.
                if simple.name.span.start.offset() < simple.name.span.end.offset() {
                    words.push(Raw::Word(self.leaf(simple.name.span)?));
                } else if !simple.args.is_empty() {
                    return self.refuse(simple.span, "words without a program");
                }
                for arg in &simple.args {
                    words.push(Raw::Word(self.leaf(arg.span)?));
                }
                Ok(Node::Simple(assigns, words))
            }
            ast::Command::Builtin(builtin) => self.builtin(builtin),
            ast::Command::Decl(decl) => {
                let assigns = self.assigns(&decl.assignments)?;
                let mut words = vec![Raw::Word(self.leaf(decl.variant_span)?)];
                for operand in &decl.operands {
                    words.push(match operand {
                        ast::DeclOperand::Flag(word) | ast::DeclOperand::Dynamic(word) => {
                            Raw::Word(self.leaf(word.span)?)
                        }
                        ast::DeclOperand::Name(name) => Raw::Word(self.leaf(name.span)?),
                        ast::DeclOperand::Assignment(assign) => match assign.value {
                            ast::AssignmentValue::Scalar(_) => Raw::Word(self.leaf(assign.span)?),
                            ast::AssignmentValue::Compound(_) => Raw::Array(self.assign(assign)?),
                        },
                    });
                }
                Ok(Node::Simple(assigns, words))
            }
            ast::Command::Binary(binary) => self.binary(binary),
            ast::Command::Compound(compound) => self.compound(compound),
            ast::Command::Function(function) => {
                let [entry] = function.header.entries.as_slice() else {
                    return self.refuse(function.span, "a function with several names");
                };
                let place = self.leaf(entry.word.span)?;
                let Some(name) = &entry.static_name else {
                    return self.refuse(function.span, "a function whose name is not plain");
                };
                if self.text.get(place) != Some(name.as_str()) {
                    return self.refuse(function.span, "a function whose name is not plain");
                }
                Ok(Node::Function(name.as_str().to_owned(), Rc::new(self.stmt(&function.body)?)))
            }
            ast::Command::AnonymousFunction(function) => {
                self.refuse(function.span, "a function without a name")
            }
        }
    }

    fn builtin(&mut self, builtin: &ast::BuiltinCommand) -> Result<Node, Fault> {
        let (name, first, rest, assigns, span) = match builtin {
            ast::BuiltinCommand::Break(it) => ("break", &it.depth, &it.extra_args, &it.assignments, it.span),
            ast::BuiltinCommand::Continue(it) => {
                ("continue", &it.depth, &it.extra_args, &it.assignments, it.span)
            }
            ast::BuiltinCommand::Return(it) => ("return", &it.code, &it.extra_args, &it.assignments, it.span),
            ast::BuiltinCommand::Exit(it) => ("exit", &it.code, &it.extra_args, &it.assignments, it.span),
        };
        let assigns = self.assigns(assigns)?;
        let whole = self.span(span)?;
        let from = assigns.last().map_or(whole.start, |last| last.span.end);
        // The name has no place of its own: it is the first text behind the assignments.
        let place = self
            .text
            .get(from..whole.end)
            .and_then(|rest| rest.find(name))
            .map(|at| from + at..from + at + name.len())
            .filter(|at| {
                self.text
                    .get(from..at.start)
                    .is_some_and(|gap| gap.bytes().all(|b| matches!(b, b' ' | b'\t')))
            });
        let Some(place) = place else {
            return self.refuse(span, "a quoted name of a shell command");
        };
        self.leaves.push(place.clone());
        let mut words = vec![Raw::Word(place)];
        for word in first.iter().chain(rest) {
            words.push(Raw::Word(self.leaf(word.span)?));
        }
        Ok(Node::Simple(assigns, words))
    }

    fn binary(&mut self, binary: &ast::BinaryCommand) -> Result<Node, Fault> {
        match binary.op {
            ast::BinaryOp::And => {
                Ok(Node::And(Box::new(self.stmt(&binary.left)?), Box::new(self.stmt(&binary.right)?)))
            }
            ast::BinaryOp::Or => {
                Ok(Node::Or(Box::new(self.stmt(&binary.left)?), Box::new(self.stmt(&binary.right)?)))
            }
            ast::BinaryOp::Pipe | ast::BinaryOp::PipeAll => {
                let mut parts = Vec::new();
                for (at, side) in [&binary.left, &binary.right].into_iter().enumerate() {
                    let mut turned = self.stmt(side)?;
                    if at == 0 && matches!(binary.op, ast::BinaryOp::PipeAll) {
                        turned.mix()?;
                    }
                    let flat = turned.redirects.is_empty() && !turned.negated && !turned.background;
                    match turned.node {
                        Node::Pipe(inner) if flat => parts.extend(inner),
                        node => parts.push(Stmt { node, ..turned }),
                    }
                }
                Ok(Node::Pipe(parts))
            }
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) -> Result<Node, Fault> {
        use ast::CompoundCommand as C;
        match compound {
            C::If(it) => {
                if matches!(it.syntax, ast::IfSyntax::Brace { .. }) {
                    return self.refuse(it.span, "a short `if` of zsh");
                }
                let mut arms = vec![(self.seq(&it.condition)?, self.seq(&it.then_branch)?)];
                for (condition, body) in &it.elif_branches {
                    arms.push((self.seq(condition)?, self.seq(body)?));
                }
                let other = it.else_branch.as_ref().map(|body| self.seq(body)).transpose()?;
                Ok(Node::If(arms, other))
            }
            C::For(it) => {
                let ast::ForSyntax::InDoDone { .. } = it.syntax else {
                    return self.refuse(it.span, "a short loop of zsh");
                };
                let [target] = it.targets.as_slice() else {
                    return self.refuse(it.span, "a loop over several names");
                };
                self.leaf(target.span)?;
                let Some(name) = &target.name else {
                    return self.refuse(it.span, "a loop whose name is not plain");
                };
                let words = it.words.as_ref().map(|words| self.words(words)).transpose()?;
                Ok(Node::For(name.as_str().to_owned(), Pick::Each, words, self.seq(&it.body)?))
            }
            C::Select(it) => {
                self.leaf(it.variable_span)?;
                let words = Some(self.words(&it.words)?);
                Ok(Node::For(it.variable.as_str().to_owned(), Pick::Person, words, self.seq(&it.body)?))
            }
            C::Repeat(it) => self.refuse(it.span, "`repeat` of zsh"),
            C::Foreach(it) => self.refuse(it.span, "`foreach` of zsh"),
            C::Always(it) => self.refuse(it.span, "`always` of zsh"),
            C::ArithmeticFor(it) => {
                let whole = self.span(it.left_paren_span)?.start..self.span(it.right_paren_span)?.end;
                self.leaves.push(whole);
                let parts = [it.init_span, it.condition_span, it.step_span];
                let parts =
                    parts.into_iter().flatten().map(|span| self.span(span)).collect::<Result<_, _>>()?;
                Ok(Node::Count(parts, self.seq(&it.body)?))
            }
            C::While(it) => Ok(Node::While(Turn::While, self.seq(&it.condition)?, self.seq(&it.body)?)),
            C::Until(it) => Ok(Node::While(Turn::Until, self.seq(&it.condition)?, self.seq(&it.body)?)),
            C::Case(it) => {
                let word = self.leaf(it.word.span)?;
                let mut arms = Vec::new();
                for item in &it.cases {
                    if item.terminator == ast::CaseTerminator::ContinueMatching {
                        return self.refuse(it.span, "`;|` of zsh");
                    }
                    let patterns = item
                        .patterns
                        .iter()
                        .map(|pattern| self.leaf(pattern.span))
                        .collect::<Result<_, _>>()?;
                    arms.push((patterns, self.seq(&item.body)?));
                }
                Ok(Node::Case(word, arms))
            }
            C::Subshell(seq) | C::BraceGroup(seq) if seq.stmts.is_empty() => {
                self.refuse(seq.span, "an empty group")
            }
            C::Subshell(seq) => Ok(Node::Subshell(self.seq(seq)?)),
            C::BraceGroup(seq) => Ok(Node::Group(self.seq(seq)?)),
            C::Arithmetic(it) => {
                let whole = self.leaf(it.span)?;
                Ok(Node::Arithmetic(it.expr_span.map_or(Ok(whole.end..whole.end), |span| self.span(span))?))
            }
            C::Time(it) => {
                // `time -p` leaves its option uncovered, which is refused later.
                Ok(Node::Time(it.command.as_ref().map(|stmt| self.stmt(stmt)).transpose()?.map(Box::new)))
            }
            C::Conditional(it) => {
                self.leaf(it.span)?;
                let mut checks = Vec::new();
                self.check(&it.expression, &mut checks)?;
                Ok(Node::Test(checks))
            }
            C::Coproc(it) => {
                // What follows its first word may be a reserved word for bash and none for us.
                self.refuse(it.span, "a coprocess")
            }
        }
    }

    fn words(&mut self, words: &[ast::Word]) -> Result<Vec<Raw>, Fault> {
        words.iter().map(|word| Ok(Raw::Word(self.leaf(word.span)?))).collect()
    }

    fn check(&mut self, expr: &ast::ConditionalExpr, checks: &mut Vec<Check>) -> Result<(), Fault> {
        use ast::{ConditionalBinaryOp as Op, ConditionalUnaryOp as Unary};
        match expr {
            ast::ConditionalExpr::Binary(binary) => match binary.op {
                Op::ArithmeticEq
                | Op::ArithmeticNe
                | Op::ArithmeticLe
                | Op::ArithmeticGe
                | Op::ArithmeticLt
                | Op::ArithmeticGt => {
                    checks.push(Check::Number(self.span(binary.left.span())?));
                    checks.push(Check::Number(self.span(binary.right.span())?));
                }
                Op::NewerThan | Op::OlderThan | Op::SameFile => {
                    for side in [&binary.left, &binary.right] {
                        checks.push(Check::File(self.span(side.span())?, "-e"));
                    }
                }
                _ => {
                    self.check(&binary.left, checks)?;
                    self.check(&binary.right, checks)?;
                }
            },
            ast::ConditionalExpr::Unary(unary) => match unary.op {
                Unary::VariableSet | Unary::ReferenceVariable => {
                    checks.push(Check::Name(self.span(unary.expr.span())?));
                }
                Unary::Not
                | Unary::EmptyString
                | Unary::NonEmptyString
                | Unary::OptionSet
                | Unary::FdTerminal => self.check(&unary.expr, checks)?,
                op => checks.push(Check::File(self.span(unary.expr.span())?, op.as_str())),
            },
            ast::ConditionalExpr::Parenthesized(inner) => self.check(&inner.expr, checks)?,
            ast::ConditionalExpr::Word(word) | ast::ConditionalExpr::Regex(word) => {
                checks.push(Check::Text(self.span(word.span)?));
            }
            ast::ConditionalExpr::Pattern(pattern) => checks.push(Check::Text(self.span(pattern.span)?)),
            ast::ConditionalExpr::VarRef(name) => checks.push(Check::Name(self.span(name.span)?)),
        }
        Ok(())
    }

    fn assigns(&mut self, assigns: &[ast::Assignment]) -> Result<Vec<Assign>, Fault> {
        assigns.iter().map(|assign| self.assign(assign)).collect()
    }

    fn assign(&mut self, assign: &ast::Assignment) -> Result<Assign, Fault> {
        let span = self.leaf(assign.span)?;
        let name = assign.target.name.as_str().to_owned();
        let index = assign.target.subscript.as_ref().map(|index| self.span(index.span())).transpose()?;
        let equals = if assign.append { "+=" } else { "=" };
        let behind = index.as_ref().map_or(span.start + name.len(), |index| index.end + 1);
        let from = behind + equals.len();
        if self.text.get(span.start..span.start + name.len()) != Some(&name)
            || self.text.get(behind..from) != Some(equals)
        {
            return self.refuse(assign.span, "an assignment that the parser cannot place");
        }
        let value = match &assign.value {
            ast::AssignmentValue::Scalar(_) => Value::One(from..span.end),
            ast::AssignmentValue::Compound(array) => {
                let (mut words, mut keys) = (Vec::new(), Vec::new());
                for element in &array.elements {
                    match element {
                        ast::ArrayElem::Sequential(word) => words.push(self.span(word.word.span)?),
                        ast::ArrayElem::Keyed { key, value } | ast::ArrayElem::KeyedAppend { key, value } => {
                            keys.push(self.span(key.span())?);
                            words.push(self.span(value.word.span)?);
                        }
                    }
                }
                Value::Many(words, keys)
            }
        };
        Ok(Assign { span, name, index, append: assign.append, value })
    }

    fn redirect(&mut self, redirect: &ast::Redirect) -> Result<Redirect, Fault> {
        use ast::RedirectKind as R;
        let span = self.leaf(redirect.span)?;
        let kind = match &redirect.target {
            ast::RedirectTarget::Word(word) => {
                let mut target = self.leaf(word.span)?;
                if matches!(redirect.kind, R::DupOutput | R::DupInput) && target.is_empty() {
                    // `2>&1` is one token to the parser: its target is what stands behind `&`.
                    let at = self.text.get(span.clone()).and_then(|whole| whole.find('&'));
                    let Some(at) = at else {
                        return self.refuse(redirect.span, "a redirection that the parser cannot place");
                    };
                    target = span.start + at + 1..span.end;
                }
                match redirect.kind {
                    R::Output | R::Clobber | R::Append | R::OutputBoth => Kind::Write(target),
                    R::Input => Kind::Read(target),
                    R::ReadWrite => Kind::Both(target),
                    R::HereString => Kind::String(target),
                    R::DupOutput => Kind::DupOut(target),
                    R::DupInput => Kind::DupIn(target),
                    R::HereDoc | R::HereDocStrip => {
                        return self.refuse(redirect.span, "a here-document without a body");
                    }
                }
            }
            ast::RedirectTarget::Heredoc(doc) => {
                let delimiter = &doc.delimiter;
                // Whether it is quoted is read from the text: the parser mixes up several of them.
                let raw = self.leaf(delimiter.span)?;
                let raw = self.text.get(raw).unwrap_or("");
                let expands = !raw.contains(['\'', '"', '\\']);
                if raw.contains(['$', '`', '\n'])
                    || raw.replace(['\'', '"', '\\'], "") != delimiter.cooked.as_str()
                {
                    return self.refuse(redirect.span, "a here-document without a plain end marker");
                }
                let body = self.span(doc.body.span)?;
                let end = self.closes(&body, &delimiter.cooked, delimiter.strip_tabs);
                let Some(end) = end else {
                    return self.refuse(redirect.span, "a here-document without a plain end marker");
                };
                // Bash writes a substitution anew before it runs it, and may lose a `;` behind a here-document.
                let rest = self.text.get(end..self.end).unwrap_or("");
                if self.base > 0 && !rest.trim().is_empty() {
                    return self
                        .refuse(redirect.span, "a here-document in a substitution, with commands after it");
                }
                // There a line that only begins as the end does is the end, if the bracket that closes is in it.
                let ends = |line: &str| {
                    let line = line.trim_start_matches('\t').strip_prefix(delimiter.cooked.as_str());
                    line.is_some_and(|rest| rest.contains([')', '}']))
                };
                let early = |body: &str| body.lines().any(ends) || joined(body).lines().any(ends);
                if self.base > 0 && self.text.get(body.clone()).is_none_or(early) {
                    return self.refuse(redirect.span, "a here-document that ends early in a substitution");
                }
                self.leaves.push(body.start..end);
                Kind::Doc { body, expands, strips: delimiter.strip_tabs }
            }
        };
        if let Some(place) = redirect.fd_var_span {
            self.leaf(place)?;
        }
        let named = redirect.fd_var.as_ref().map(|name| name.as_str().to_owned());
        Ok(Redirect { span, fd: redirect.fd, named, kind })
    }

    /// Where the delimiter of this body ends: it must be the whole next line, and no line of the body may be it.
    fn closes(&self, body: &Range<usize>, delimiter: &str, strips: bool) -> Option<usize> {
        let plain =
            |line: &str| if strips { line.trim_start_matches('\t') == delimiter } else { line == delimiter };
        let inside = self.text.get(body.clone())?;
        if !(inside.is_empty() || inside.ends_with('\n'))
            || inside.lines().any(plain)
            || joined(inside).lines().any(plain)
            || delimiter.is_empty()
            // The line of the delimiter would go on this one.
            || inside.ends_with("\\\n")
        {
            return None;
        }
        if self.text.get(..body.start)?.bytes().last() != Some(b'\n') {
            return None;
        }
        let after = self.text.get(body.end..self.end)?;
        let line = after.split('\n').next()?;
        plain(line).then_some(body.end + line.len())
    }
}

/// A text as bash looks for the end of a here-document in it: a backslash at the end of a line goes on with the next.
fn joined(body: &str) -> Cow<'_, str> {
    if body.contains("\\\n") { Cow::Owned(body.replace("\\\n", "")) } else { Cow::Borrowed(body) }
}
