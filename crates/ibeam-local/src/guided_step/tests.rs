use std::collections::BTreeMap;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::allowed_actions::AvailableTools;
use crate::conversation::TaskStep;
use crate::tiny_model::RandomLogits;

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
const ALL_TOOLS: AvailableTools = AvailableTools { read: true, write: true, shell: true };

/// Plays a complete run with random logits and returns its steps. Panics if the run does not end.
fn play(prompt: &str, seed: u64, tools: AvailableTools, workspace: &Memory) -> Vec<Action> {
    let mut conversation = Conversation { task: prompt.to_owned(), ..Conversation::default() };
    for round in 0..20 {
        let task = Task::parse(prompt, workspace, &conversation.written_files());
        let mut allowed = AllowedActions::after_steps(&task, &conversation, workspace, tools);
        let mut streamed = String::new();
        let mut model = RandomLogits::new(seed.wrapping_add(round));
        let step = |model: &mut RandomLogits, allowed: &AllowedActions, streamed: &mut String| {
            decode_step(model, allowed, &conversation, &task, workspace, &|| true, &mut |text| {
                streamed.push_str(text)
            })
            .unwrap()
            .0
        };
        let mut next = step(&mut model, &allowed, &mut streamed);
        if next == StepResult::RepeatedCommand {
            allowed = AllowedActions::after_steps(
                &task,
                &conversation,
                workspace,
                AvailableTools { shell: false, ..tools },
            );
            next = step(&mut model, &allowed, &mut streamed);
        }
        match next {
            StepResult::Action(action) => {
                check_allowed(&action, &allowed, workspace);
                let (result, failed) = execute(&action, workspace, seed ^ round);
                conversation.steps.push(TaskStep { action, result, failed });
            }
            StepResult::Answer(text) => {
                assert!(allowed.answer);
                assert_eq!(text, streamed, "the answer equals the streamed text");
                return conversation.steps.into_iter().map(|step| step.action).collect();
            }
            StepResult::TooLong(_) => {
                return conversation.steps.into_iter().map(|step| step.action).collect();
            }
            StepResult::RepeatedCommand => panic!("repeated without an earlier command"),
        }
    }
    panic!("the run does not end");
}

fn check_allowed(action: &Action, allowed: &AllowedActions, workspace: &Memory) {
    match action {
        Action::Read { path } => assert!(allowed.read.contains(path)),
        Action::Write { path, text } => {
            assert!(allowed.write.contains(path) || (allowed.write_new && !workspace.exists(path)), "{path}");
            assert!(is_within_workspace(path), "{path}");
            assert!(text.is_empty() || text.ends_with('\n'));
        }
        Action::Shell { command } => {
            assert!(allowed.shell);
            assert!(!command.contains('\n') && !command.is_empty(), "{command:?}");
        }
    }
}

fn execute(action: &Action, workspace: &Memory, luck: u64) -> (String, bool) {
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
    fn no_model_overwrites_files_that_the_task_does_not_name(
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
        play(prompt, seed, AvailableTools { shell, ..ALL_TOOLS }, &workspace);
        let files = workspace.0.lock().unwrap();
        for (name, text) in FILES.iter().filter(|(name, _)| !may_change.contains(name)) {
            prop_assert_eq!(files.get(*name).map(String::as_str), Some(*text), "{} after {}", name, prompt);
        }
    }

    #[test]
    fn without_tools_there_is_always_an_answer(seed in any::<u64>(), prompt in "\\PC{0,60}") {
        let workspace = Memory::with(FILES);
        prop_assert!(play(&prompt, seed, AvailableTools::default(), &workspace).is_empty());
    }
}

#[test]
fn a_file_name_that_is_a_prefix_of_another_can_be_chosen() {
    let workspace = Memory::with(FILES);
    let conversation = Conversation::default();
    let allowed =
        AllowedActions { read: vec!["a.txt".into(), "a.txt.bak".into()], ..AllowedActions::default() };
    let mut chosen: Vec<StepResult> = (0..40)
        .map(|seed| {
            let task = Task::default();
            decode_step(
                &mut RandomLogits::new(seed),
                &allowed,
                &conversation,
                &task,
                &workspace,
                &|| true,
                &mut |_| (),
            )
            .unwrap()
            .0
        })
        .collect();
    chosen.dedup();
    let read = |path: &str| StepResult::Action(Action::Read { path: path.into() });
    assert!(chosen.contains(&read("a.txt")) && chosen.contains(&read("a.txt.bak")));
}

#[test]
fn decoding_stops_at_the_next_token_after_cancellation() {
    let workspace = Memory::with(FILES);
    let allowed = AllowedActions { answer: true, ..AllowedActions::default() };
    let (conversation, task) = (Conversation::default(), Task::default());
    let mut model = RandomLogits::new(3);
    model.endless = true;
    let calls = std::cell::Cell::new(0);
    let should_continue = || calls.replace(calls.get() + 1) < 30;
    let outcome =
        decode_step(&mut model, &allowed, &conversation, &task, &workspace, &should_continue, &mut |_| ());
    assert!(matches!(outcome, Err(DecodeError::Cancelled)), "{outcome:?}");
    assert_eq!(calls.get(), 31);
}
