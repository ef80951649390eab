//! Imports between modules go down the layers that ARCHITECTURE.md draws, and never in a circle.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Layers from the top down, each with its modules, from the drawing in ARCHITECTURE.md.
struct Layers(Vec<Vec<String>>);

/// An import of a module by another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Import {
    from: String,
    to: String,
    /// File and line.
    place: String,
}

#[test]
fn imports_go_down_the_layers() {
    let (layers, sources) = (layers(), sources());
    let names = root_names(&sources["lib.rs"]);

    let upward = layers.upward(&imports(&sources, &names));

    assert_eq!(upward, Vec::<String>::new());
}

#[test]
fn modules_do_not_import_each_other_in_a_circle() {
    let sources = sources();
    let names = root_names(&sources["lib.rs"]);

    assert_eq!(circles(&imports(&sources, &names)), Vec::<BTreeSet<String>>::new());
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
    let sources = BTreeMap::from([
        (
            "model/ids.rs".to_owned(),
            "use std::fmt;\n\nuse crate::{engine::Engine, store};\n".to_owned(),
        ),
        ("engine/mod.rs".to_owned(), without_tests("use crate::model::ids; // crate::service\n")),
    ]);
    let layers = Layers(vec![vec!["engine".into()], vec!["store".into()], vec!["model".into()]]);

    let imports = imports(&sources, &BTreeMap::new());

    assert_eq!(
        layers.upward(&imports),
        ["model/ids.rs:3: model imports engine", "model/ids.rs:3: model imports store"]
    );
    assert_eq!(circles(&imports), [BTreeSet::from(["engine".to_owned(), "model".to_owned()])]);
}

#[test]
fn a_context_and_an_engine_have_their_methods_in_few_files() {
    let sources = sources();
    let methods = |of: &str| -> BTreeMap<String, usize> {
        let blocks = |source: &String| inherent_methods(source, of);
        let counted = sources.iter().map(|(file, source)| (file.clone(), blocks(source)));
        counted.filter(|(_, methods)| *methods > 0).collect()
    };

    let context = methods(" Context<");
    let files = ["access/locked.rs", "access/scope.rs", "engine/context.rs"];
    assert_eq!(context.keys().collect::<Vec<_>>(), files);
    assert!(context.values().sum::<usize>() <= 45, "{context:?}");
    let engine = methods("Engine ");
    assert_eq!(engine.keys().collect::<Vec<_>>(), ["engine/mod.rs", "engine/offload.rs"]);
}

/// The context keeps the order of the locks and reads the clock after each. Workers lock rows of
/// rotations without a context, and the operator's command a team.
#[test]
fn operations_lock_rows_through_the_context() {
    let locks = [
        "lock_user",
        "lock_team",
        "lock_project",
        "lock_environment",
        "touch_environment",
        "lock_rotation",
    ];
    let allowed = [
        "store/",
        "engine/context.rs",
        "rotations/machine/",
        "rotations/webhooks/deliver.rs",
        "members/appoint.rs",
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

    /// Imports that do not go down, as `FILE:LINE: MODULE imports MODULE`.
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

fn layers() -> Layers {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, drawing) = page.split_once("```layers\n").unwrap();
    let (drawing, _) = drawing.split_once("```").unwrap();
    let modules = |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect();
    Layers(drawing.lines().filter(|line| !line.trim().is_empty()).map(modules).collect())
}

/// Sources by their path in `src`, without tests and comments.
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

/// A source up to its test module, its comments emptied, so that lines keep their numbers.
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

/// The top-level module of a file.
fn module(file: &str) -> String {
    file.split('/').next().unwrap().trim_end_matches(".rs").to_owned()
}

/// Modules of the names that the root re-exports, such as `Error`.
fn root_names(root: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for line in root.lines() {
        let Some(exported) = line.strip_prefix("pub use ") else { continue };
        let (module, items) = exported.trim_end_matches(';').split_once("::").unwrap();
        for item in items.trim_matches(['{', '}']).split(", ") {
            names.insert(item.to_owned(), module.to_owned());
        }
    }
    names
}

/// Every path that begins with `crate::` and leads to another module.
fn imports(
    sources: &BTreeMap<String, String>,
    root_names: &BTreeMap<String, String>,
) -> Vec<Import> {
    let mut imports = Vec::new();
    for (file, source) in sources {
        let from = module(file);
        for (place, _) in source.match_indices("crate::") {
            let is_path = !source[..place].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let line = source[..place].lines().count().max(1);
            for name in first_segments(&source[place + "crate::".len()..]) {
                let to = root_names.get(&name).cloned().unwrap_or(name);
                if is_path && to != from {
                    let place = format!("{file}:{line}");
                    imports.push(Import { from: from.clone(), to, place });
                }
            }
        }
    }
    imports
}

/// First segments of a path after `crate::`: one, or those of a group in braces.
fn first_segments(path: &str) -> Vec<String> {
    let segment = |text: &str| -> String {
        text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![segment(path)] };
    let (mut segments, mut start, mut depth) = (Vec::new(), 0, 0);
    for (place, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                segments.push(segment(&group[start..place]));
                start = place + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// Groups of modules that reach each other.
fn circles(imports: &[Import]) -> Vec<BTreeSet<String>> {
    let mut direct = BTreeMap::<&str, BTreeSet<&str>>::new();
    for import in imports {
        direct.entry(&import.from).or_default().insert(&import.to);
    }
    let reached = |from: &str| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            for to in direct.get(module).into_iter().flatten() {
                if reached.insert(*to) {
                    next.push(to);
                }
            }
        }
        reached
    };
    let all: BTreeMap<_, _> = direct.keys().map(|module| (*module, reached(module))).collect();
    let circle = |(module, reached): (&&str, &BTreeSet<&str>)| -> Option<BTreeSet<String>> {
        let returns = |other: &&&str| all.get(**other).is_some_and(|back| back.contains(*module));
        reached
            .contains(*module)
            .then(|| reached.iter().filter(returns).map(|m| (*m).to_owned()).collect())
    };
    let distinct: BTreeSet<_> = all.iter().filter_map(circle).collect();
    distinct.into_iter().collect()
}

/// Number of methods in the inherent `impl` blocks of a type.
fn inherent_methods(source: &str, of: &str) -> usize {
    let (mut methods, mut is_inside) = (0, false);
    for line in source.lines() {
        if line.starts_with("impl") && line.ends_with('{') {
            is_inside = !line.contains(" for ") && line.contains(of);
        } else if line.starts_with('}') {
            is_inside = false;
        } else if is_inside && line.starts_with("    ") && !line.starts_with("     ") {
            methods += usize::from(line.contains("fn "));
        }
    }
    methods
}
