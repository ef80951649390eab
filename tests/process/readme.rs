//! The commands of the README, run unchanged.

use std::fs;
use std::path::Path;
use std::process::Command;

use secrets_tests::targets::Target;

use crate::program::{Program, folder};

/// Returns the blocks of shell commands, in order.
fn blocks() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = fs::read_to_string(path).unwrap();
    let blocks =
        text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap().to_owned());
    blocks.collect()
}

/// Runs a script, which must succeed, and returns its output.
fn done(script: &str, folder: &Path) -> String {
    let output = Command::new("sh").arg("-c").arg(script).current_dir(folder).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout
}

#[test]
fn the_walk_through_works_as_it_stands() {
    let blocks = blocks();
    let (run, walk) = blocks.split_first().unwrap();
    let (test, walk) = walk.split_last().unwrap();
    assert_eq!(run.trim(), "cargo run --release -- dev");
    assert_eq!(test.trim(), "./tests/run");
    let folder = folder("readme");
    let data = folder.join("data");
    // The same program, built by the test suite, on a free port.
    let arguments = ["dev", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
    let program = Program::new("readme", &arguments).start();
    let email =
        ["dev", "token", "--email", "dev@example.com", "--data-dir", data.to_str().unwrap()];
    let token = Program::new("readme", &email).run().stdout;
    let server = Target::postgres();
    let script = format!(
        "set -eu\nexport SECRETS_URL=http://{}\nexport SECRETS_TOKEN={}\n\
         PGHOST={} PGPORT={} PGUSER={} PGPASSWORD={}\n{}",
        program.address,
        token.trim(),
        server.host,
        server.port,
        server.user,
        server.password,
        walk.concat()
    );

    let stdout = done(&script, &folder);
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!(lines.len(), 15, "{stdout}");
    assert!(lines[0].contains(r#""slug":"web-api""#), "{stdout}");
    assert_eq!(lines[1], r#"{"created":3,"updated":0,"skipped":0}"#);
    assert!(lines[3].contains(r#""key":"LOG_LEVEL""#), "{stdout}");
    assert!(lines[4].contains(r#""hidden":true"#), "{stdout}");
    assert!(lines[5].contains("kvc_debug") && !lines[5].contains("API_KEY"), "{stdout}");
    assert_eq!(
        lines[6],
        r#"{"secrets":{"DATABASE_URL":"postgres://app:kvc_s3cr3t@db.internal/app","LOG_LEVEL":"kvc_debug"}}"#
    );
    assert_eq!(lines[7], r#"{"value":"postgres://app:kvc_s3cr3t@db.internal/app"}"#);
    assert!(lines[8].contains(r#""action":"eso.secret_read""#), "{stdout}");
    assert!(lines[9].contains(r#""status":"active""#), "{stdout}");
    for entry in [lines[10], lines[12]] {
        assert!(entry.contains(r#""status":"success""#), "{stdout}");
    }
    for line in [lines[11], lines[13]] {
        assert!(line.contains(r#""value":"postgres://kv_"#), "{stdout}");
    }
    assert_ne!(lines[11], lines[13]);
    assert!(lines[14].starts_with('['), "{stdout}");
    // The imported file belongs to the reader of the README, and may contain values.
    fs::remove_file(folder.join("example.env")).unwrap();
}
