use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use proptest::prelude::*;

use super::*;
use crate::conversation::Step;
use crate::offer::Tools;
use crate::tiny::{self, Numbers};
use crate::{LocalError, Vocabulary};

/// A model whose every wish is noise.
struct Noise {
    numbers: Numbers,
    tokens: Vec<u32>,
    logits: Vec<f32>,
    /// Never wishes to end a message.
    endless: bool,
}

fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: OnceLock<Vocabulary> = OnceLock::new();
    VOCABULARY.get_or_init(tiny::vocabulary)
}

impl Noise {
    fn new(seed: u64) -> Self {
        let mut noise =
            Self { numbers: Numbers(seed), tokens: Vec::new(), logits: Vec::new(), endless: false };
        noise.append(&[0]).unwrap();
        noise
    }
}

impl LanguageModel for Noise {
    fn vocabulary(&self) -> &Vocabulary {
        vocabulary()
    }

    fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    fn append(&mut self, tokens: &[u32]) -> Result<(), LocalError> {
        self.tokens.extend_from_slice(tokens);
        self.logits = (0..vocabulary().len()).map(|_| self.numbers.next()).collect();
        // Not all that comes out of a network is a number.
        if self.tokens.len().is_multiple_of(11) {
            self.logits.iter_mut().step_by(3).for_each(|logit| *logit = f32::NAN);
        }
        if self.endless {
            self.logits[vocabulary().message_end as usize] = f32::NEG_INFINITY;
        }
        Ok(())
    }

    fn logits(&self) -> &[f32] {
        &self.logits
    }
}

/// Files in memory.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, String>>);

impl Memory {
    fn with(files: &[(&str, &str)]) -> Self {
        Self(Mutex::new(files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()))
    }
}

impl WorkspaceFiles for Memory {
    fn files(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    fn exists(&self, path: &str) -> bool {
        self.0.lock().unwrap().contains_key(path)
    }
}

const FILES: &[(&str, &str)] = &[
    ("README.md", "# Tool\nIt counts.\n"),
    ("a.txt", "one\ntwo\n"),
    ("src/main.py", "print(1)\n"),
    ("a.txt.bak", "x\n"),
];
const ALL_TOOLS: Tools = Tools { read: true, write: true, shell: true };

/// Plays a whole run against noise and returns its steps; panics if it does not end.
fn play(prompt: &str, seed: u64, tools: Tools, workspace: &Memory) -> Vec<Action> {
    let mut so_far = Conversation { task: prompt.to_owned(), ..Conversation::default() };
    for round in 0..20 {
        let task = Task::read(prompt, workspace, &so_far.written());
        let mut offer = Offer::next(&task, &so_far, workspace, tools);
        let mut told = String::new();
        let mut model = Noise::new(seed.wrapping_add(round));
        let step = |model: &mut Noise, offer: &Offer, told: &mut String| {
            step(model, offer, &so_far, &task, workspace, &|| true, &mut |text| told.push_str(text))
                .unwrap()
                .0
        };
        let mut next = step(&mut model, &offer, &mut told);
        if next == Next::Repeated {
            offer = Offer::next(&task, &so_far, workspace, Tools { shell: false, ..tools });
            next = step(&mut model, &offer, &mut told);
        }
        match next {
            Next::Act(action) => {
                check_allowed(&action, &offer, workspace);
                let (result, failed) = carry_out(&action, workspace, seed ^ round);
                so_far.steps.push(Step { action, result, failed });
            }
            Next::Answer(text) => {
                assert!(offer.answer);
                assert_eq!(text, told, "the answer is what was told of it");
                return so_far.steps.into_iter().map(|step| step.action).collect();
            }
            Next::TooLong(_) => return so_far.steps.into_iter().map(|step| step.action).collect(),
            Next::Repeated => panic!("repeated with nothing to repeat"),
        }
    }
    panic!("the run does not end");
}

fn check_allowed(action: &Action, offer: &Offer, workspace: &Memory) {
    match action {
        Action::Read { path } => assert!(offer.read.contains(path)),
        Action::Write { path, text } => {
            assert!(offer.write.contains(path) || (offer.write_new && !workspace.exists(path)), "{path}");
            assert!(is_inside(path), "{path}");
            assert!(text.is_empty() || text.ends_with('\n'));
        }
        Action::Shell { command } => {
            assert!(offer.shell);
            assert!(!command.contains('\n') && !command.is_empty(), "{command:?}");
        }
    }
}

fn carry_out(action: &Action, workspace: &Memory, luck: u64) -> (String, bool) {
    let mut files = workspace.0.lock().unwrap();
    match action {
        Action::Read { path } => files.get(path).map_or((String::new(), true), |text| (text.clone(), false)),
        Action::Write { path, text } => {
            files.insert(path.clone(), text.clone());
            (String::new(), false)
        }
        Action::Shell { .. } => ("out".to_owned(), luck.is_multiple_of(3)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_the_model_wishes_only_asked_for_files_are_overwritten(
        seed in any::<u64>(),
        (prompt, may_change) in prop::sample::select(vec![
            ("Read README.md and write a summary to summary.txt", &[][..]),
            ("What is in a.txt?", &[]),
            ("Replace one with two in a.txt", &["a.txt"]),
            ("Create main.py with a greeting", &[]),
            ("Write a poem", &[]),
            ("Save the contents of README.md to a.txt", &["a.txt"]),
            ("Run src/main.py and save the output to out.txt", &[]),
            ("Rename a.txt to b.txt", &[]),
            ("What is this project about?", &[]),
            ("a.txtのoneをtwoに置き換えてください", &["a.txt"]),
            ("Lis a.txt et écris un résumé dans r.txt", &[]),
            ("hello", &[]),
        ]),
        shell in any::<bool>(),
    ) {
        let workspace = Memory::with(FILES);
        play(prompt, seed, Tools { shell, ..ALL_TOOLS }, &workspace);
        let files = workspace.0.lock().unwrap();
        for (name, text) in FILES.iter().filter(|(name, _)| !may_change.contains(name)) {
            prop_assert_eq!(files.get(*name).map(String::as_str), Some(*text), "{} after {}", name, prompt);
        }
    }

    #[test]
    fn without_tools_there_is_always_an_answer(seed in any::<u64>(), prompt in "\\PC{0,60}") {
        let workspace = Memory::with(FILES);
        prop_assert!(play(&prompt, seed, Tools::default(), &workspace).is_empty());
    }
}

#[test]
fn a_file_that_is_the_beginning_of_another_can_be_chosen() {
    let workspace = Memory::with(FILES);
    let so_far = Conversation::default();
    let offer = Offer { read: vec!["a.txt".into(), "a.txt.bak".into()], ..Offer::default() };
    let mut chosen: Vec<Next> = (0..40)
        .map(|seed| {
            let task = Task::default();
            step(&mut Noise::new(seed), &offer, &so_far, &task, &workspace, &|| true, &mut |_| ()).unwrap().0
        })
        .collect();
    chosen.dedup();
    let read = |path: &str| Next::Act(Action::Read { path: path.into() });
    assert!(chosen.contains(&read("a.txt")) && chosen.contains(&read("a.txt.bak")));
}

#[test]
fn decoding_stops_at_the_next_token_when_nobody_waits() {
    let workspace = Memory::with(FILES);
    let offer = Offer { answer: true, ..Offer::default() };
    let (so_far, task) = (Conversation::default(), Task::default());
    let mut model = Noise { endless: true, ..Noise::new(3) };
    let asked = std::cell::Cell::new(0);
    let proceed = || asked.replace(asked.get() + 1) < 30;
    let outcome = step(&mut model, &offer, &so_far, &task, &workspace, &proceed, &mut |_| ());
    assert!(matches!(outcome, Err(Halt::Cancelled)), "{outcome:?}");
    assert_eq!(asked.get(), 31);
}
