//! Whether an edit was made, according to the content of the file.

use memchr::memmem;

use super::edit_call::{Change, Replacement};
use super::patch;
use super::str_replace::LfText;

/// The number of edits of a call that are listed one by one.
const MAX_LISTED: usize = 10;

impl Change {
    /// Describes what `text` shows of this change, in words that follow the path.
    pub(super) fn describe_in(&self, text: &[u8]) -> String {
        match self {
            Self::StrReplace(one) => describe_replacement(text, one).to_owned(),
            Self::MultiStrReplace(list) => {
                let evidence_list: Vec<&str> =
                    list.edits.iter().map(|edit| describe_replacement(text, edit)).collect();
                match evidence_list.as_slice() {
                    [] => "exists".to_owned(),
                    [first, rest @ ..] if rest.iter().all(|other| other == first) => (*first).to_owned(),
                    [..] => {
                        let one_by_one = (1..).zip(&evidence_list).take(MAX_LISTED);
                        let listed: Vec<String> = one_by_one
                            .map(|(number, evidence)| format!("(edit {number}) {evidence}"))
                            .collect();
                        listed.join("; ")
                    }
                }
            }
            Self::ApplyPatch(patch) => match patch::check_fit(text, &patch.patch_content) {
                (true, false) => "is as it was before the patch, which still fits",
                (false, true) => "holds what the patch makes of it",
                (true, true) => "fits the patch and its reverse",
                (false, false) => "fits neither the patch nor its reverse",
            }
            .to_owned(),
        }
    }
}

fn describe_replacement(text: &[u8], edit: &Replacement) -> &'static str {
    let (old, new) = (edit.old_text.as_str(), edit.new_text.as_str());
    let holds = |needle: &str| {
        // Like the edit itself: line ends matter only where the call has a CR.
        if needle.contains('\r') {
            memmem::find(text, needle.as_bytes()).is_some()
        } else {
            memmem::find(&LfText::new(text).text, needle.as_bytes()).is_some()
        }
    };
    // Where one text is a part of the other, the longer one decides.
    match (holds(old), holds(new)) {
        (true, _) if new.is_empty() => "still holds the old text",
        (false, _) if new.is_empty() => "no longer holds the old text",
        (true, true) if new.contains(old) => "holds the new text",
        (true, true) if old.contains(new) => "still holds the old text",
        (true, true) => "holds both the old text and the new text",
        (true, false) => "still holds the old text and not the new text",
        (false, true) => "holds the new text and no longer the old text",
        (false, false) => "holds neither the old text nor the new text",
    }
}
