//! Tests of the command `secrets man`, of the pages `docs/cli.md` and `docs/cli-comparison.md`, and
//! of the libraries that the program links.

use std::path::Path;

use crate::home::Home;

/// Returns the top folder of the repository.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn the_reference_is_that_of_the_program() {
    let written = std::fs::read_to_string(repository().join("docs/cli.md")).unwrap();

    assert!(
        written == Home::new().ok(&["man", "--markdown"]),
        "docs/cli.md is old: write it with `secrets man --markdown > docs/cli.md`"
    );
}

#[test]
fn each_command_has_a_page() {
    let home = Home::new();

    assert!(home.ok(&["man"]).contains(".TH secrets 1"));
    let page = home.ok(&["man", "login"]);
    assert!(page.contains(".TH secrets-login 1") && page.contains("token\\-stdin"), "{page}");
    home.run(&["man", "unknown"]).fails(64, "unknown command");
    home.ok(&["man", "--all", "pages"]);
    assert!(home.path("pages/secrets.1").exists() && home.path("pages/secrets-login.1").exists());
}

#[test]
fn each_feature_of_the_comparison_names_its_tests() {
    let page = std::fs::read_to_string(repository().join("docs/cli-comparison.md")).unwrap();
    let (features, tests) = page.split_once("## Tests").unwrap();

    let ours = features.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | Y"));
    for (feature, _) in ours {
        let start = format!("| {feature} | ");
        let row = tests.lines().find_map(|line| line.strip_prefix(&start));
        let (mut file, mut has_tests) = ("", false);
        let names = row.unwrap_or_else(|| panic!("{feature} has no tests")).split('`');
        for name in names.skip(1).step_by(2) {
            if Path::new(name).extension().is_some() {
                file = name;
            } else {
                assert!(has_test(file, name), "{feature}: {file}: {name}");
                has_tests = true;
            }
        }
        assert!(has_tests, "{feature} has no tests");
    }
}

/// True if a file of `secrets-http/tests/cli/` or `tests/http/` contains a test with this name.
fn has_test(file: &str, name: &str) -> bool {
    let is_http = file.starts_with("tests/http/");
    let folder = if is_http { repository() } else { &repository().join("secrets-http/tests/cli") };
    let source = std::fs::read_to_string(folder.join(file)).unwrap();
    if is_http {
        // A macro such as `on_every_store` makes a test of each function in its list.
        let is_listed = source.contains(&format!("\n    {name},\n"));
        return is_listed && source.contains(&format!("\nasync fn {name}("));
    }
    source.contains(&format!("#[test]\nfn {name}()"))
}

#[cfg(target_os = "linux")]
#[test]
fn the_program_links_the_c_library_only() {
    let home = Home::new();
    let output = home.program("ldd", [env!("CARGO_BIN_EXE_secrets")]).output().unwrap();

    let libraries = String::from_utf8(output.stdout).unwrap();
    for line in libraries.lines() {
        let known = ["linux-vdso", "libc.so", "libm.so", "libgcc_s.so", "/ld-"];
        assert!(known.iter().any(|name| line.contains(name)), "{line}");
    }
    assert!(libraries.contains("libc.so"), "{libraries}");
}
