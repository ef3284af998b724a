//! Calls on their way, from where they begin to where they end or never do.

use super::Converter;
use crate::form;
use crate::losses::LossKind;
use crate::ours::{result_of, set_result, without_result};
use crate::step::{Aside, Call, Card, Kind, Step};

/// Calls that may be open at once; a further one is lost, and said to be.
const MOST_OPEN: usize = 1024;

impl Converter {
    pub(super) fn started(&mut self, call: Call, out: &mut Vec<u8>) {
        if self.open.len() >= MOST_OPEN || self.open.contains_key(&call.id) {
            return self.lose_call(&call.card);
        }
        self.says(Aside::StartAt, call.at.is_some(), LossKind::Dropped);
        self.says(Aside::CallAnswer, call.answer.is_some(), LossKind::Dropped);
        self.open.insert(call.id.clone(), call.card.clone());
        let mut ours = form::to_ours(self.from, Kind::Call, call.card, &self.cwd.0);
        without_result(&mut ours);
        let card = form::from_ours(self.to, Kind::Call, ours, &self.base);
        if form::shares_id(self.to, &card) && std::mem::replace(&mut self.shared, true) {
            let keys = form::call_id_keys(self.from);
            keys.iter().for_each(|key| self.losses.add(self.line, key, None, LossKind::Changed));
        }
        self.encoder.step(Step::Started(Call { card, ..call }), out);
    }

    pub(super) fn ended(&mut self, call: Call, out: &mut Vec<u8>) {
        if !self.open.contains_key(&call.id) {
            self.started(call.clone(), out);
        }
        let Some(begun) = self.open.remove(&call.id) else { return };
        self.says(Aside::EndAt, call.at.is_some(), LossKind::Dropped);
        self.compare(Kind::Call, &call.card);
        let (losses, line) = (&mut self.losses, self.line);
        let tool = form::tool_of(self.from, &call.card);
        form::changes_of(self.from, &begun, &call.card, &mut |key, how| losses.add(line, key, tool, how));
        // A call ends as it began; what it gave is all that is new.
        let ended = form::to_ours(self.from, Kind::Call, call.card, &self.cwd.0);
        let mut ours = form::to_ours(self.from, Kind::Call, begun, &self.cwd.0);
        without_result(&mut ours);
        if let Some(result) = result_of(ended) {
            set_result(&mut ours, result);
        }
        let card = form::from_ours(self.to, Kind::Call, ours, &self.base);
        self.encoder.step(Step::Ended(Call { card, ..call }), out);
    }

    /// The calls that will not end now.
    pub(super) fn leave_open(&mut self) {
        for card in std::mem::take(&mut self.open).into_values() {
            let mut ours = form::to_ours(self.from, Kind::Call, card.clone(), &self.cwd.0);
            without_result(&mut ours);
            match form::says_ended_alone(self.to, &form::from_ours(self.to, Kind::Call, ours, &self.base)) {
                true => self.lose_call(&card),
                false => self.compare(Kind::Call, &card),
            }
        }
    }

    fn lose_call(&mut self, card: &Card) {
        let name = form::place(self.from, Aside::Call).unwrap_or("?");
        self.losses.add(self.line, name, form::tool_of(self.from, card), LossKind::Dropped);
    }
}
