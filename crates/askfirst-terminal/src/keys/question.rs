//! Keys on the question: choices, numbers of a group, the word to type, and the scope of a yes.

use std::time::Duration;

use askfirst_display::Lifetime;

use super::{Act, Effect, Keys, Notice, REST_KEY, Reach, Screen};

impl Keys {
    pub(super) fn question_key(&mut self, c: char, now: Duration) -> Vec<Effect> {
        let word = self.word().filter(|_| self.unseen().is_none()).map(str::to_owned);
        let is_typing = !self.typed.is_empty() || self.words_done > 0;
        if let Some(word) = word {
            if word.chars().nth(self.typed.chars().count()) == Some(c) {
                return self.type_word(c, &word, now);
            }
            if is_typing {
                return self.say(Notice::NotTheWord, now);
            }
        } else if self.begins_word(c) && !self.has_key(c) {
            let notice = self.unseen().unwrap_or(Notice::SeeAll);
            return self.say(notice, now);
        }
        if let Some(digit) = c.to_digit(10).filter(|_| self.kept.len() > 1) {
            return self.digit(digit, now);
        }
        match self.offers.list.iter().find(|offer| offer.choice.key() == c) {
            Some(offer) => {
                let act = Act::Choose(offer.choice);
                self.wait(act, now)
            }
            None => self.disarm(now),
        }
    }

    /// The key that leaves the rest unseen. Keys that refuse or show something keep their meaning.
    pub(super) fn rest_key(&mut self, c: char, now: Duration) -> Vec<Effect> {
        match self.offers.list.iter().find(|offer| offer.choice.key() == c) {
            _ if c == REST_KEY => self.wait(Act::Rest, now),
            Some(offer) if !offer.choice.approves() => {
                let act = Act::Choose(offer.choice);
                self.wait(act, now)
            }
            Some(_) | None => self.disarm(now),
        }
    }

    fn has_key(&self, c: char) -> bool {
        self.offers.list.iter().any(|offer| offer.choice.key() == c)
    }

    fn begins_word(&self, c: char) -> bool {
        self.word().is_some_and(|word| word.starts_with(c))
    }

    /// The word that the person must type next.
    fn word(&self) -> Option<&str> {
        let words = self.offers.words.iter().zip(&self.kept);
        let mut wanted = words.filter(|(_, kept)| **kept).filter_map(|(word, _)| word.as_deref());
        wanted.nth(self.words_done)
    }

    fn type_word(&mut self, c: char, word: &str, now: Duration) -> Vec<Effect> {
        self.typed.push(c);
        let mut effects = vec![Effect::Echo(c.to_string())];
        if self.typed == word {
            self.words_done += 1;
            self.typed.clear();
            match self.word() {
                Some(_) => effects.push(Effect::Echo(" ".to_owned())),
                None => effects.extend(self.wait(Act::Word, now)),
            }
        }
        effects
    }

    fn digit(&mut self, digit: u32, now: Duration) -> Vec<Effect> {
        self.number = self.number * 10 + usize::try_from(digit).unwrap_or(0);
        if self.number == 0 || self.number > self.kept.len() {
            return self.say(Notice::NoSuchNumber, now);
        }
        // If another digit could follow, the number waits for it or for Enter.
        if self.number * 10 > self.kept.len() {
            self.toggle(now)
        } else {
            vec![Effect::Echo(digit.to_string())]
        }
    }

    pub(super) fn toggle(&mut self, now: Duration) -> Vec<Effect> {
        let at = self.number.saturating_sub(1);
        let Some(kept) = self.kept.get_mut(at) else { return self.say(Notice::NoSuchNumber, now) };
        *kept = !*kept;
        let kept = *kept;
        self.forget_typed();
        self.mark_painted(now);
        vec![Effect::Member { at, kept }]
    }

    /// A digit chooses a scope, and the key that opened the screen approves with it.
    pub(super) fn scope_key(
        &mut self,
        c: char,
        lifetime: Lifetime,
        marked: Option<usize>,
        now: Duration,
    ) -> Vec<Effect> {
        let digit =
            c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).and_then(|n| n.checked_sub(1));
        let approves = c == lifetime.choice().key();
        match (digit, marked) {
            (_, Some(_)) if approves && self.scope == Reach::Part => self.say(Notice::SeeScope, now),
            (_, Some(at)) if approves => self.wait(Act::Scope(lifetime, at), now),
            (_, None) if approves => self.say(Notice::ChooseFirst, now),
            (Some(at), _) if at <= self.offers.patterns.len() => {
                self.screen = Screen::Scope(lifetime, Some(at));
                self.mark_painted(now);
                vec![Effect::ScopeChosen(lifetime, at)]
            }
            (_, _) => self.disarm(now),
        }
    }
}
