//! Tests of a database that was replaced by a backup, with the copy of its epoch in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrets_tests::paths;
use serde_json::json;

use crate::program::{Ended, Program, folder, jwt, root_key};

const NAME: &str = "epoch";

/// Paths of the database, of its backup and of the copy of its epoch.
struct Files {
    database: PathBuf,
    backup: PathBuf,
    epoch: PathBuf,
}

impl Files {
    fn create() -> Self {
        let folder = folder(NAME);
        let other = folder.join("other volume");
        fs::create_dir(&other).unwrap();
        Self {
            database: folder.join("secrets.db"),
            backup: folder.join("backup.db"),
            epoch: other.join("epoch"),
        }
    }

    fn configured(&self, program: Program) -> Program {
        program.with("SECRETS_EPOCH_PATH", self.epoch.to_str().unwrap())
    }

    fn serve(&self) -> Program {
        self.configured(Program::serve(NAME, &self.database))
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let program = Program::new(NAME, arguments)
            .with("SECRETS_DATABASE_URL", &format!("sqlite://{}", self.database.display()))
            .with("SECRETS_ROOT_KEY", &root_key(7));
        self.configured(program).run()
    }

    /// Asserts that neither `serve` nor `check` accepts the database.
    fn assert_refused(&self, code: i32, message: &str) {
        let check = self.configured(Program::configured(NAME, "check", &self.database)).run();
        for ended in [self.serve().run(), check] {
            assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains(message), "{}", ended.stderr);
        }
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_is_served_only_after_it_was_accepted() {
    let files = Files::create();
    let mut program = files.serve().start();
    let alice = program.person("alice").await;
    let project = alice.project("Epoch").await;
    alice.secret(&project, "development", "KEY", "kvc_0").await;
    let token = alice.token(&json!({ "all_projects": true })).await;
    let copied = files.run(&["backup", path(&files.backup)]);
    assert_eq!(copied.code, Some(0), "{}", copied.stderr);
    let busy = files.run(&["accept-restore"]);
    assert_eq!(busy.code, Some(69), "{}", busy.stderr);
    program.terminate(Duration::from_secs(10));
    // A start after the backup: the epoch of the backup is lower.
    let program = files.serve().start();
    let alice = program.bearer(&jwt("alice"));
    let secret = paths::secret(&project, "development", "KEY");
    alice.put(&secret, &json!({ "value": "kvc_1" })).await.is(200);
    program.kill();

    let restored = files.run(&["restore", path(&files.backup)]);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert!(restored.stdout.contains("run `accept-restore`"), "{}", restored.stdout);
    files.assert_refused(67, "replaced by an earlier state");

    let accepted = files.run(&["accept-restore"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    assert!(accepted.stdout.contains("rotate the tokens"), "{}", accepted.stdout);
    let mut program = files.serve().start();
    let read = program.bearer(&jwt("alice")).get(&secret).await.is(200).json();
    assert_eq!(read["secret"]["value"], "kvc_0");
    program.bearer(&token).get(&paths::eso_secrets(&project, "development")).await.is(401);
    program.terminate(Duration::from_secs(10));

    fs::write(&files.epoch, "not an epoch").unwrap();
    files.assert_refused(78, "not a copy of an epoch");
    fs::write(&files.epoch, "00000000-0000-4000-8000-000000000001 1\n").unwrap();
    files.assert_refused(67, "belongs to the instance 00000000-0000-4000-8000-000000000001");
}
