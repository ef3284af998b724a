//! Families of models: the newest one, and the row that a model of a later version is assumed to have.

use super::row::KnownModel;
use super::{blocks, models_of};
use crate::model_name::ModelName;

/// Returns the newest model of a family that does not retire up to `today` and that has no successor.
pub(super) fn newest_of(provider: &str, family: &str, today: &str) -> Option<KnownModel> {
    let current = models_of(provider).filter(|model| model.retires.is_none_or(|day| day > today));
    let named = current.map(|model| (ModelName::new(model.id), model));
    // Of two ids of one version, the one of a profile for all regions can always be used, and the shorter one has no date.
    let rank = |id: &str| (id.starts_with("global."), std::cmp::Reverse(id.len()));
    let of_family = named
        .filter(|(name, model)| name.family == family && name.version > (0, 0) && model.successor.is_none());
    of_family
        .max_by(|(a, a_model), (b, b_model)| {
            a.version.cmp(&b.version).then_with(|| rank(a_model.id).cmp(&rank(b_model.id)))
        })
        .map(|(_, model)| model)
}

/// Returns the row for a model that the table of its maker does not have: the newest row of its family up to its version.
///
/// Without a row of the family, the last words of the name are left out one by one. If only the first word is left, any
/// model of the maker up to the version counts, and no price is assumed.
pub(super) fn newest_like(maker: &str, bare: &str) -> Option<KnownModel> {
    newest_relative(maker, bare).map(|(model, is_of_family)| model.assumed(is_of_family))
}

/// Returns the row that [`newest_like`] uses, unchanged, and whether it is of the family of the name.
pub(super) fn newest_relative(maker: &str, bare: &str) -> Option<(KnownModel, bool)> {
    let wanted = ModelName::new(bare);
    // Every family that counts begins with this word. Names are split only where it occurs: that takes time.
    let word = wanted.maker_word();
    let has_word =
        |id: &str| id.contains(word) || id.bytes().any(|byte| byte.is_ascii_uppercase()) || !id.is_ascii();
    let ids = blocks::current_lines(maker)
        .filter_map(|(provider, line)| Some((line.split('\t').next()?, provider, line)));
    let names: Vec<(ModelName, &'static str, &'static str)> = ids
        .filter(|(id, ..)| has_word(id))
        .map(|(id, provider, line)| (ModelName::new(id), provider, line))
        .collect();
    let newest = |is_like: &dyn Fn(&ModelName) -> bool| {
        // An alias without a version stands for the newest model, so it says nothing about one with a version.
        let is_earlier = |name: &ModelName| {
            wanted.version == (0, 0) || name.version > (0, 0) && name.version <= wanted.version
        };
        let like = || names.iter().filter(|(name, ..)| is_like(name) && is_earlier(name));
        let rows = || {
            like()
                .filter_map(|(name, provider, line)| Some((name.version, KnownModel::parse(provider, line)?)))
        };
        // A model with a successor is not the newest one, whatever its number.
        let current = rows().filter(|(_, row)| row.successor.is_none()).max_by_key(|(version, _)| *version);
        current.or_else(|| rows().max_by_key(|(version, _)| *version)).map(|(_, row)| row)
    };
    let mut family = wanted.family.as_str();
    // A preview is of the line of its name.
    let is_of_line = |name: &ModelName, line: &str| {
        name.family.strip_prefix(line).is_some_and(|rest| rest.is_empty() || rest == "-preview")
    };
    while let Some((shorter, _)) = family.rsplit_once('-') {
        if let Some(model) = newest(&|name| is_of_line(name, family)) {
            return Some((model, family == wanted.family));
        }
        family = shorter;
    }
    let has_version = wanted.version > (0, 0);
    if family == wanted.family
        && let Some(model) = newest(&|name| is_of_line(name, family))
    {
        return Some((model, true));
    }
    newest(&|name| has_version && name.maker_word() == family).map(|model| (model, false))
}
