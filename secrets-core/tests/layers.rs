//! Tests that modules import only modules of the same or a lower layer, as drawn in
//! ARCHITECTURE.md, and that the imports have no cycle.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Layers of the drawing in ARCHITECTURE.md, from the highest to the lowest. Each layer is the list
/// of its modules.
struct Layers(Vec<Vec<String>>);

/// An import of the module `to` by the module `from`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Import {
    from: String,
    to: String,
    /// Place of the import, as `FILE:LINE`.
    place: String,
}

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

    let context = methods(" Context<");
    let files = ["access/context.rs", "engine/context.rs"];
    assert_eq!(context.keys().collect::<Vec<_>>(), files);
    assert!(context.values().sum::<usize>() <= 45, "{context:?}");
    let engine = methods("Engine ");
    assert_eq!(engine.keys().collect::<Vec<_>>(), ["engine/mod.rs", "engine/offload.rs"]);
}

/// Checks that operations lock rows only through `Context`. `Context` locks rows in the order that
/// prevents deadlocks, and reads the clock again after each lock. Two exceptions call the locks of
/// the store directly: workers, which lock rows of keys and rotations, and the operator's command
/// that appoints an owner, which locks a team.
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
        "keys/rotate_data.rs",
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

    /// Returns the imports of a module in a higher layer, or of a module that the drawing does not
    /// contain, as `FILE:LINE: MODULE imports MODULE`.
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

/// Reads the source files of the crate. Returns their texts without tests and comments, by the path
/// relative to `src`.
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

/// Returns a source text without its test module and everything after it, and without the texts of
/// comments. The lines of comments stay, so that line numbers do not change.
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

/// Returns the name of the top-level module that contains a file: `a` for `a/b.rs` and for `a.rs`.
fn module(file: &str) -> String {
    file.split('/').next().unwrap().trim_end_matches(".rs").to_owned()
}

/// Finds the imports between top-level modules: every path in the sources that leads to another
/// module. If the path names an item that a module re-exports, the module that declares the item
/// counts too.
fn imports(sources: &BTreeMap<String, String>) -> Vec<Import> {
    let names = imported_names(sources);
    let mut imports = Vec::new();
    for (file, source) in sources {
        let from = module(file);
        for (line, path) in paths(file, source) {
            for to in top_modules(path, &names).into_iter().filter(|to| *to != from) {
                let place = format!("{file}:{line}");
                imports.push(Import { from: from.clone(), to, place });
            }
        }
    }
    imports.dedup();
    imports
}

/// Finds the paths in a source text that begin with `crate`, `self` or `super`. Returns each path,
/// relative to the crate root, with its line number.
fn paths(file: &str, source: &str) -> Vec<(usize, Vec<String>)> {
    let (modules, mut paths) = (line_modules(file, source), Vec::new());
    for (place, _) in source.match_indices("::") {
        let start = source[..place].rfind(|c: char| !is_name(c)).map_or(0, |before| before + 1);
        let is_continued = source[..start].ends_with("::");
        if !is_continued && ["crate", "self", "super"].contains(&&source[start..place]) {
            let line = source[..start].matches('\n').count();
            for (path, _) in leaves(&mut &source[start..], &[]) {
                paths.push((line + 1, absolute(&path, &modules[line])));
            }
        }
    }
    paths
}

/// Finds the `use` declarations of all modules. Returns a map from the path of each imported name
/// to the path that the declaration names.
fn imported_names(sources: &BTreeMap<String, String>) -> BTreeMap<Vec<String>, Vec<String>> {
    let mut names = BTreeMap::new();
    for (file, source) in sources {
        let (modules, mut place) = (line_modules(file, source), 0);
        for (line, module) in source.split_inclusive('\n').zip(&modules) {
            let statement = line.trim_start();
            let is_use = statement.starts_with("use ")
                || statement.starts_with("pub") && statement.contains(" use ");
            if let Some(at) = line.find("use ").filter(|_| is_use) {
                for (path, name) in leaves(&mut &source[place + at + "use ".len()..], &[]) {
                    let name = absolute(&[name], module);
                    names.insert(name, absolute(&path, module));
                }
            }
            place += line.len();
        }
    }
    names
}

/// Returns the top-level modules that a path depends on: the module in its first segment and, if a
/// part of the path is an imported name, the top-level modules of the path that the import names.
fn top_modules(
    mut path: Vec<String>,
    names: &BTreeMap<Vec<String>, Vec<String>>,
) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    // Bounded, because names may import each other in a circle.
    for _ in 0..8 {
        let origin = (1..=path.len()).find_map(|end| Some((end, names.get(&path[..end])?.clone())));
        // A name of the root is no module.
        if !matches!(origin, Some((1, _))) {
            modules.extend(path.first().cloned());
        }
        let Some((end, origin)) = origin else { break };
        path = [&origin, &path[end..]].concat();
    }
    modules
}

/// Returns, for each line of a file, the path of the module that contains the line, relative to the
/// crate root.
fn line_modules(file: &str, source: &str) -> Vec<Vec<String>> {
    let names = file.trim_end_matches(".rs").split('/');
    let mut module: Vec<_> =
        names.filter(|name| !["lib", "mod"].contains(name)).map(str::to_owned).collect();
    let (mut modules, mut ends) = (Vec::new(), Vec::new());
    for line in source.lines() {
        let indent = line.len() - line.trim_start().len();
        modules.push(module.clone());
        if let Some((_, name)) = line.split_once("mod ").filter(|_| line.ends_with(" {")) {
            module.push(name.trim_end_matches(" {").to_owned());
            ends.push(indent);
        } else if line.trim() == "}" && ends.last() == Some(&indent) {
            ends.pop();
            module.pop();
        }
    }
    modules
}

/// Converts a path used in a module to a path relative to the crate root.
fn absolute(path: &[String], module: &[String]) -> Vec<String> {
    let is_from_root = path.first().is_some_and(|first| first == "crate");
    let mut absolute = if is_from_root { Vec::new() } else { module.to_vec() };
    for segment in path {
        match segment.as_str() {
            "crate" | "self" => {}
            "super" => drop(absolute.pop()),
            _ => absolute.push(segment.clone()),
        }
    }
    absolute
}

/// Parses a use tree such as `a::{b, c::d as e}` at the beginning of `text`. Returns each path in
/// the tree with the name that it introduces, and removes the tree from `text`.
fn leaves(text: &mut &str, prefix: &[String]) -> Vec<(Vec<String>, String)> {
    let mut path = prefix.to_vec();
    loop {
        *text = text.trim_start();
        if let Some(group) = text.strip_prefix('{') {
            *text = group;
            return group_leaves(text, &path);
        }
        let end = text.find(|c: char| !is_name(c) && c != '*').unwrap_or(text.len());
        if end > 0 {
            path.push(text[..end].to_owned());
        }
        *text = text[end..].trim_start();
        match text.strip_prefix("::") {
            Some(rest) if end > 0 => *text = rest,
            _ => break,
        }
    }
    let mut name = path.iter().rev().find(|segment| *segment != "self").cloned();
    if let Some(renamed) = text.strip_prefix("as ") {
        let end = renamed.find(|c: char| !is_name(c)).unwrap_or(renamed.len());
        name = Some(renamed[..end].to_owned());
        *text = &renamed[end..];
    }
    vec![(path, name.unwrap_or_default())]
}

/// Parses the rest of a use group, after its opening brace. Returns the paths in the group.
fn group_leaves(text: &mut &str, prefix: &[String]) -> Vec<(Vec<String>, String)> {
    let mut paths = Vec::new();
    loop {
        *text = text.trim_start();
        if text.is_empty() || text.starts_with('}') {
            *text = text.get(1..).unwrap_or_default();
            return paths;
        }
        paths.extend(leaves(text, prefix));
        *text = text.trim_start().trim_start_matches(',');
        if !text.trim_start().starts_with(|c: char| is_name(c) || "{}*".contains(c)) {
            // Not a tree, but an expression in braces.
            return paths;
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the import cycles: each set of modules that import each other, directly or through other
/// modules.
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

/// Returns the number of methods in the inherent `impl` blocks of a type.
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
