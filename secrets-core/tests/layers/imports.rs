//! Imports between the top-level modules of a crate, found in the source files.

use std::collections::{BTreeMap, BTreeSet};

/// Import of the module `to` by the module `from`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    /// Importing module.
    pub(crate) from: String,
    /// Imported module.
    pub(crate) to: String,
    /// Source line of the import, as `FILE:LINE`.
    pub(crate) place: String,
}

/// Returns the name of the top-level module that contains a file: `a` for `a/b.rs` and for `a.rs`.
pub(crate) fn module(file: &str) -> String {
    file.split('/').next().unwrap().trim_end_matches(".rs").to_owned()
}

/// Finds the imports between top-level modules: every Rust path in the sources that leads to
/// another module. If the path names an item that a module re-exports, the module that declares the
/// item counts too.
pub(crate) fn imports(sources: &BTreeMap<String, String>) -> Vec<Import> {
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

/// Finds the Rust paths in a source file that begin with `crate`, `self` or `super`. Returns each
/// path, relative to the crate root, with its line number.
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

/// Returns the top-level modules on which a Rust path depends: the module in its first segment and,
/// if a part of the path is an imported name, the top-level modules of the path that the import
/// names.
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

/// Converts a Rust path that is used in `module` to a path relative to the crate root.
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

/// Parses the rest of a use group such as `{b, c::d}`, after its opening brace. Returns the paths
/// in the group, each with the name that it introduces.
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
pub(crate) fn circles(imports: &[Import]) -> Vec<BTreeSet<String>> {
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
