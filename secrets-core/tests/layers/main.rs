//! Tests that modules import only modules of the same or a lower layer, as drawn in
//! ARCHITECTURE.md, and that the imports have no cycle.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use imports::{Import, circles, imports, module};

/// Layers in the drawing of ARCHITECTURE.md, from the highest to the lowest. Each layer is the list
/// of its modules.
struct Layers(Vec<Vec<String>>);

#[test]
fn imports_go_down_the_layers() {
    let upward = layers().upward(&imports(&sources()));

    assert_eq!(upward, Vec::<String>::new());
}

#[test]
fn modules_do_not_import_each_other_in_a_circle() {
    assert_eq!(circles(&imports(&sources())), Vec::<BTreeSet<String>>::new());
}

#[test]
fn each_module_is_in_one_layer() {
    let mut drawn: Vec<_> = layers().0.concat();
    drawn.sort();
    let modules: BTreeSet<_> =
        sources().keys().map(|file| module(file)).filter(|module| module != "lib").collect();

    assert_eq!(drawn, modules.into_iter().collect::<Vec<_>>());
}

#[test]
fn an_upward_import_is_found() {
    let sources = sources_of(&[
        ("model/ids.rs", "use std::fmt;\n\nuse crate::{engine::Engine, store};\n"),
        ("engine/mod.rs", "use crate::model::ids; // crate::service\n"),
    ]);

    let imports = imports(&sources);

    assert_eq!(
        three_layers().upward(&imports),
        ["model/ids.rs:3: model imports engine", "model/ids.rs:3: model imports store"]
    );
    assert_eq!(circles(&imports), [BTreeSet::from(["engine".to_owned(), "model".to_owned()])]);
}

#[test]
fn every_form_of_an_upward_import_is_found() {
    let forms = [
        "use crate::engine::Engine;",
        "use crate::{\n    engine::{self, Engine},\n};",
        "fn start() { crate::engine::start() }",
        "use super::super::engine::Engine;",
        "use super::super::{engine, model};",
        "fn start() { super::super::engine::start() }",
        "mod inner {\n    use super::super::super::engine::Engine;\n}",
        "pub use super::super::engine::Engine;",
        // Names that the root re-exports from `engine`.
        "use crate::Engine;",
        "use super::super::Motor;",
        "use crate::motors::Engine;",
        // A name that `store` re-exports from `engine`.
        "use crate::store::Engine;",
        "use crate::store::parts::Engine;",
    ];
    for form in forms {
        let sources = sources_of(&[
            (
                "lib.rs",
                "pub use engine::{\n    Engine, Engine as Motor,\n};\nuse engine as motors;\n",
            ),
            ("engine/mod.rs", "pub struct Engine;\n"),
            (
                "store/mod.rs",
                "pub(crate) use super::engine::Engine;\npub use crate::engine as parts;\n",
            ),
            ("model/ids.rs", form),
        ]);

        let upward = three_layers().upward(&imports(&sources));

        let line = 1 + form[..form.find("::").unwrap()].matches('\n').count();
        let found = format!("model/ids.rs:{line}: model imports engine");
        assert!(upward.contains(&found), "{form}: {upward:?}");
    }
}

#[test]
fn a_path_that_stays_in_its_module_is_no_import() {
    let sources = sources_of(&[
        ("model/error/text.rs", "use super::super::ids;\nuse super::Error;\nuse self::super::x;\n"),
        ("model/ids.rs", "mod inner {\n    use super::super::error;\n}\n"),
    ]);

    assert_eq!(imports(&sources), []);
}

#[test]
fn a_context_and_an_engine_have_their_methods_in_few_files() {
    let sources = sources();
    let methods = |of: &str| -> BTreeMap<String, usize> {
        let blocks = |source: &String| inherent_methods(source, of);
        let counted = sources.iter().map(|(file, source)| (file.clone(), blocks(source)));
        counted.filter(|(_, methods)| *methods > 0).collect()
    };

    let context = methods("Context");
    let files = ["access/context.rs", "engine/context.rs"];
    assert_eq!(context.keys().collect::<Vec<_>>(), files);
    assert!(context.values().sum::<usize>() <= 45, "{context:?}");
    let engine = methods("Engine");
    assert_eq!(engine.keys().collect::<Vec<_>>(), ["engine/mod.rs", "engine/offload.rs"]);
}

#[test]
fn every_form_of_an_inherent_impl_is_found() {
    let heads = [
        ("impl Context<'_, Read> {", 1),
        ("impl<A: Access> Context<'_, A> {", 1),
        ("impl engine::Context<'_, Read> {", 1),
        (
            "impl<A> crate::engine::Context<'_, A>\nwhere\n    A: Access<Session = Box<dyn Reads>>,\n{",
            1,
        ),
        ("impl Drop for Context<'_, Read> {", 0),
        ("impl<A: Access> AuditContext {", 0),
        ("impl ContextOf<Context> {", 0),
    ];
    for (head, expected) in heads {
        let source = format!(
            "{head}\n    async fn team(\n        &self,\n    ) {{\n    }}\n}}\n\nfn free() {{}}\n"
        );

        assert_eq!(inherent_methods(&source, "Context"), expected, "{head}");
    }
}

/// Checks that operations lock rows only through `Context`. `Context` locks rows in the order that
/// prevents deadlocks, and reads the clock again after each lock. Two exceptions call the locks of
/// the store directly: workers, which lock rows of environments, keys and rotations, and the
/// operator's command that appoints an owner, which locks a team.
#[test]
fn operations_lock_rows_through_the_context() {
    let locks = [
        "lock_user",
        "lock_team",
        "lock_team_size",
        "lock_project",
        "lock_environment",
        "touch_environment",
        "lock_rotation",
    ];
    let allowed = [
        "store/",
        "engine/context.rs",
        "engine/refusals.rs",
        "keys/rotate_data.rs",
        "rotations/machine/",
        "rotations/webhooks/deliver.rs",
        "members/appoint.rs",
        "service/manifests.rs",
    ];
    let locking = sources().into_iter().filter(|(file, source)| {
        let is_allowed = allowed.iter().any(|place| file.starts_with(place));
        !is_allowed && locks.iter().any(|lock| source.contains(&format!(".{lock}(")))
    });

    assert_eq!(locking.map(|(file, _)| file).collect::<Vec<_>>(), Vec::<String>::new());
}

impl Layers {
    fn of(&self, module: &str) -> Option<usize> {
        self.0.iter().position(|layer| layer.iter().any(|name| name == module))
    }

    /// Returns the imports that lead to a module in a higher layer, or to a module that the drawing
    /// does not contain, as `FILE:LINE: MODULE imports MODULE`.
    fn upward(&self, imports: &[Import]) -> Vec<String> {
        let is_upward = |import: &&Import| match (self.of(&import.from), self.of(&import.to)) {
            (Some(from), Some(to)) => from > to,
            // The root may import every module; no module may import what is not drawn.
            (None, _) => false,
            (Some(_), None) => true,
        };
        let described =
            |import: &Import| format!("{}: {} imports {}", import.place, import.from, import.to);
        imports.iter().filter(is_upward).map(described).collect()
    }
}

fn three_layers() -> Layers {
    Layers(vec![vec!["engine".into()], vec!["store".into()], vec!["model".into()]])
}

fn sources_of(sources: &[(&str, &str)]) -> BTreeMap<String, String> {
    sources.iter().map(|(file, source)| ((*file).to_owned(), without_tests(source))).collect()
}

fn layers() -> Layers {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, drawing) = page.split_once("```layers\n").unwrap();
    let (drawing, _) = drawing.split_once("```").unwrap();
    let modules = |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect();
    Layers(drawing.lines().filter(|line| !line.trim().is_empty()).map(modules).collect())
}

/// Reads the source files of the crate. Returns their contents without tests and comments, by the
/// path relative to `src`.
fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut sources, mut folders) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            let is_test =
                name == "testing" || name.ends_with("tests") || name.ends_with("tests.rs");
            if is_test {
            } else if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.insert(name, without_tests(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    sources
}

/// Returns the content of a source file without its test module and everything after it, and
/// without comments. Lines with comments stay as empty lines, so that line numbers do not change.
fn without_tests(source: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in source.lines() {
        if line.starts_with("mod ")
            && line.ends_with('{')
            && lines.last().is_some_and(|last| last.starts_with("#[cfg(") && last.contains("test"))
        {
            break;
        }
        lines.push(line.split_once("//").map_or(line, |(code, _)| code));
    }
    lines.join("\n")
}

/// Returns the number of methods in the inherent `impl` blocks of the type `of` in a source file.
fn inherent_methods(source: &str, of: &str) -> usize {
    let (mut methods, mut head, mut is_inside) = (0, None, false);
    for line in source.lines() {
        if line.starts_with("impl") {
            head = Some(String::new());
        }
        if let Some(text) = &mut head {
            text.extend([line.trim(), " "]);
            if line.ends_with(['{', '}']) {
                is_inside = line.ends_with('{') && is_inherent(text, of);
                head = None;
            }
        } else if line.starts_with('}') {
            is_inside = false;
        } else if is_inside && line.starts_with("    ") && !line.starts_with("     ") {
            methods += usize::from(line.contains("fn "));
        }
    }
    methods
}

/// True if the text before the body of an `impl` block is that of an inherent one of the type `of`.
fn is_inherent(head: &str, of: &str) -> bool {
    let rest = head.strip_prefix("impl").unwrap();
    let mut depth = 0;
    // Skip the generic parameters.
    let start = rest.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0 && c != '>'
    });
    let rest = rest[start.unwrap()..].trim_start();
    let path = rest.split(['<', ' ', '{']).next().unwrap();
    !rest.contains(" for ") && path.rsplit("::").next() == Some(of)
}
