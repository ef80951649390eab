//! Scripts and styles of the dashboard. They are compressed once, and a hash of all files is part
//! of their paths.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use bytes::Bytes;
use flate2::Compression;
use secrets_core::model::lock::lock;
use sha2::{Digest as _, Sha256};

use crate::serve::compression::gzip;

/// Source folder of the dashboard's files.
#[cfg(any(debug_assertions, test))]
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/dashboard/");

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Names of all dashboard files, and their content, which is included at compile time.
        #[cfg(not(debug_assertions))]
        const FILES: &[(&str, &[u8])] =
            &[$(($name, include_bytes!(concat!("../../../dashboard/", $name)))),*];
        /// Names of all dashboard files. In debug builds, their content is read from the source
        /// folder.
        #[cfg(debug_assertions)]
        const FILES: &[(&str, &[u8])] = &[$(($name, &[])),*];
    };
}

files![
    "index.html",
    "api.js",
    "grid.css",
    "grid/cells.js",
    "grid/controls.js",
    "grid/editing.js",
    "grid/grid.js",
    "grid/project.js",
    "grid/rows.js",
    "grid/staged.js",
    "grid/state.js",
    "grid/values.js",
    "icon.svg",
    "live.js",
    "main.js",
    "parts/bar.js",
    "parts/browser.js",
    "parts/html.js",
    "parts/messages.js",
    "routes.js",
    "sections/access.js",
    "sections/account.js",
    "sections/api.js",
    "sections/audit.js",
    "sections/chain.js",
    "sections/chart.js",
    "sections/environments.js",
    "sections/form.js",
    "sections/members.js",
    "sections/new-project.js",
    "sections/new-rotation.js",
    "sections/new-token.js",
    "sections/parts.js",
    "sections/projects.js",
    "sections/rotations.js",
    "sections/scans.js",
    "sections/sections.css",
    "sections/settings.js",
    "sections/tokens.js",
    "sections/usage.js",
    "sections/webhooks.js",
    "sections/words-rotations.js",
    "sections/words-scans.js",
    "sections/words.js",
    "style.css",
    "vendor/hooks.mjs",
    "vendor/htm.LICENSE.txt",
    "vendor/htm.mjs",
    "vendor/preact.LICENSE.txt",
    "vendor/preact.mjs",
    "vendor/signals-core.LICENSE.txt",
    "vendor/signals-core.mjs",
    "vendor/signals.LICENSE.txt",
    "vendor/signals.mjs",
    "windows/all.js",
    "windows/column.js",
    "windows/compare.js",
    "windows/dialogs.css",
    "windows/differences.js",
    "windows/dotenv.js",
    "windows/edit.js",
    "windows/history.js",
    "windows/legend.js",
    "windows/matching.js",
    "windows/palette.js",
    "windows/paste.js",
    "windows/plan.js",
    "windows/review.js",
    "windows/save.js",
    "windows/selected.js",
    "windows/words.js",
    "words.js",
];

/// File name of the dashboard's page. It is a template and not an asset.
const PAGE: &str = "index.html";

/// Folders of scripts that are not preloaded, because they are needed only after the first screen.
const LATE: [&str; 2] = ["sections/", "windows/"];

/// All assets of one version, and the page that loads them.
pub(super) struct Assets {
    build: String,
    page: String,
    by_name: BTreeMap<&'static str, Asset>,
}

/// Content of one asset.
pub(super) struct Asset {
    /// Media type of the content.
    pub(super) kind: &'static str,
    pub(super) content: Bytes,
    /// Content compressed with gzip.
    pub(super) compressed: Bytes,
}

impl Assets {
    /// Returns the current assets. In debug builds, they are read from the source folder.
    pub(super) fn current() -> Arc<Self> {
        static CURRENT: LazyLock<Mutex<Arc<Assets>>> =
            LazyLock::new(|| Mutex::new(Arc::new(Assets::new(&read()))));
        let mut current = lock(&CURRENT);
        if cfg!(debug_assertions) {
            let files = read();
            if build(&files) != current.build {
                *current = Arc::new(Self::new(&files));
            }
        }
        Arc::clone(&current)
    }

    fn new(files: &[(&'static str, Bytes)]) -> Self {
        let page = files.iter().find(|(name, _)| *name == PAGE).map(|(_, content)| content);
        let page = page.map(|content| String::from_utf8_lossy(content).into_owned());
        let assets = files.iter().filter(|(name, _)| *name != PAGE);
        let assets = assets.map(|(name, content)| (*name, Asset::new(name, content))).collect();
        Self { build: build(files), page: page.unwrap_or_default(), by_name: assets }
    }

    /// Returns the hash of all files, which is part of the path of each asset.
    pub(super) fn build(&self) -> &str {
        &self.build
    }

    /// Returns the template of the page.
    pub(super) fn page(&self) -> &str {
        &self.page
    }

    /// Returns the asset with this name.
    pub(super) fn get(&self, name: &str) -> Option<&Asset> {
        self.by_name.get(name)
    }

    /// Returns the names of the scripts that the page loads immediately. Scripts of sections and
    /// windows are loaded when they are needed.
    pub(super) fn preloads(&self) -> impl Iterator<Item = &'static str> {
        let scripts = self.by_name.iter().filter(|(_, asset)| asset.kind == SCRIPT);
        scripts
            .map(|(name, _)| *name)
            .filter(|name| !LATE.iter().any(|late| name.starts_with(late)))
    }
}

/// Media type of scripts.
const SCRIPT: &str = "text/javascript";

impl Asset {
    fn new(name: &str, content: &Bytes) -> Self {
        let kind = match name.rsplit_once('.') {
            Some((_, "css")) => "text/css",
            Some((_, "svg")) => "image/svg+xml",
            Some((_, "js" | "mjs")) => SCRIPT,
            _ => "text/plain; charset=utf-8",
        };
        Self { kind, content: content.clone(), compressed: gzip(content, Compression::best()) }
    }
}

/// Returns the first 16 hexadecimal digits of a hash of the files.
fn build(files: &[(&'static str, Bytes)]) -> String {
    let mut hash = Sha256::new();
    for (name, content) in files {
        hash.update(name);
        hash.update(Sha256::digest(content));
    }
    let bytes = hash.finalize();
    let first = bytes.first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(first))
}

#[cfg(not(debug_assertions))]
fn read() -> Vec<(&'static str, Bytes)> {
    FILES.iter().map(|(name, content)| (*name, Bytes::from_static(content))).collect()
}

#[cfg(debug_assertions)]
fn read() -> Vec<(&'static str, Bytes)> {
    let content = |name: &str| std::fs::read(format!("{FOLDER}{name}")).unwrap_or_default();
    FILES.iter().map(|(name, _)| (*name, content(name).into())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn names(folder: &Path, prefix: &str) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                found.extend(names(&path, &format!("{prefix}{name}/")));
            } else {
                found.push(format!("{prefix}{name}"));
            }
        }
        found
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let mut found = names(Path::new(FOLDER), "");
        // Declarations for the type checker.
        found.retain(|name| !name.ends_with(".d.ts"));
        found.sort();

        let mut served: Vec<_> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        served.sort();
        assert_eq!(served, found);
    }

    #[test]
    fn the_hash_depends_on_names_and_contents() {
        let one = build(&[("a.js", Bytes::from_static(b"1"))]);

        assert_eq!(one.len(), 16);
        assert_ne!(one, build(&[("a.js", Bytes::from_static(b"2"))]));
        assert_ne!(one, build(&[("b.js", Bytes::from_static(b"1"))]));
    }
}
