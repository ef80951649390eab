//! Test that the program `secrets` prints the session that is shown in `docs/cli-walk.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::home::Home;
use crate::script::Script;
use crate::server::Server;

/// Documentation page that shows the session.
const PAGE: &str = "docs/cli-walk.md";

/// Commands of the recorded session, each with the paragraph that [`PAGE`] contains after the
/// command, if any. [`files`] writes the files that the commands use.
const COMMANDS: [(&str, &str); 14] = [
    ("secrets login http://127.0.0.1:8080", ""),
    ("secrets project create Shop", ""),
    ("secrets init --project shop --environment development --yes", ""),
    ("cat .env", ""),
    ("secrets import .env --dry-run", ""),
    ("secrets import .env", ""),
    ("secrets list", ""),
    ("secrets run -- sh -c 'echo \"log level: $LOG_LEVEL\"'", ""),
    ("secrets set LOG_LEVEL=info -e staging", ""),
    ("secrets diff development staging", ""),
    ("secrets edit --yes", "    # in the editor: LOG_LEVEL is changed, FEATURE_X is added"),
    ("secrets history LOG_LEVEL", ""),
    ("secrets scan", ""),
    ("secrets logout", ""),
];

/// Shell script of the editor, which changes the document in the way that the page describes.
const EDITOR: &str =
    "sed -i \"s/^LOG_LEVEL=.*/LOG_LEVEL='trace'/\" \"$1\"; echo FEATURE_X=on >> \"$1\"";

#[test]
fn the_recorded_session_is_what_the_program_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
    let page = fs::read_to_string(path).unwrap();
    let recorded = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();

    let session = record();

    let (recorded, session) = (normal(recorded), normal(&session));
    assert!(recorded == session, "{PAGE} must show this session:\n\n{session}");
}

/// Runs the commands on terminals, and returns everything that the terminals have shown.
fn record() -> String {
    let server = Server::start();
    let home = Home::new().with("NO_COLOR", "1").with("LANG", "C.UTF-8");
    files(&home);
    let approver = Home::new()
        .with("SECRETS_URL", &server.url)
        .with("SECRETS_TOKEN", &server.token_of("ann@example.com"));
    approver.api("POST", "/auth/sync", &json!({}));
    let editor = format!("sh {}", home.folder().join("editor.sh").display());
    let home = home.with("SECRETS_EDITOR", &editor);
    let mut text = String::new();
    for (command, remark) in COMMANDS {
        let actual = command.replace("http://127.0.0.1:8080", &server.url);
        let mut terminal = Script::shell(&home, &actual);
        if command.contains(" login ") {
            let shown = terminal.expect("Ctrl-C").text();
            let code = shown.lines().find_map(|line| line.strip_prefix("    ")).unwrap().trim();
            approver.api("POST", "/auth/cli/approve", &json!({ "user_code": code }));
        }
        let (code, shown) = terminal.end();
        let code = code.filter(|code| *code != 0).map(|code| format!("(exit code {code})\n"));
        let code = code.unwrap_or_default();
        write!(text, "$ {command}{remark}\n{shown}{code}\n").unwrap();
    }
    let text = text.replace("\r\n", "\n").replace(&server.url, "http://127.0.0.1:8080");
    text.replace(&home.folder().display().to_string(), "/home/ann").trim_end().to_owned() + "\n"
}

/// Writes the files that the session needs. The credentials in the script are not valid. They are
/// built from parts, so that a scan of this source file does not find them.
fn files(home: &Home) {
    home.write(
        ".env",
        "DATABASE_URL=postgres://app:kvc_s3cr3t@db.internal/shop\nLOG_LEVEL=debug\n",
    );
    let keys = ["J7QXW4NPKT5RZMPL", "H3VYB6KDTQ2XFNPD"].map(|key| format!("{}{key}", "AKIA"));
    home.write("deploy.sh", &format!("export {0}=1\nexport {1}=2\n", keys[0], keys[1]));
    fs::write(home.folder().join("editor.sh"), EDITOR).unwrap();
}

/// Replaces the parts that are different in every session (times, IDs and codes) by fixed names.
fn normal(text: &str) -> String {
    let (mut normal, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let (length, name) = changing(rest).unwrap_or((first.len_utf8(), ""));
        normal.push_str(if name.is_empty() { &rest[..length] } else { name });
        rest = &rest[length..];
    }
    normal
}

/// If `text` begins with a time, an ID or a code, returns the length of that part and the name that
/// replaces it.
fn changing(text: &str) -> Option<(usize, &'static str)> {
    const FORMS: [(&str, &str); 3] = [
        ("dddd-dd-dd dd:dd UTC", "TIME"),
        ("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "ID"),
        ("UUUU-UUUU\n", "CODE\n"),
    ];
    let is_like = |form: char, c: char| match form {
        'd' => c.is_ascii_digit(),
        'x' => c.is_ascii_hexdigit(),
        // The letters of `UTC` match `U` as well.
        'U' => c.is_ascii_uppercase(),
        other => c == other,
    };
    let matches = |form: &str| {
        let mut chars = text.chars();
        form.chars().all(|form| chars.next().is_some_and(|c| is_like(form, c)))
    };
    FORMS.into_iter().find(|(form, _)| matches(form)).map(|(form, name)| (form.len(), name))
}

#[test]
fn times_ids_and_codes_are_replaced_and_nothing_else() {
    let text = "\n    FFSG-KJJR\n01a20a6c-2992-7c3b-b017-952c657eab40  2026-11-23 21:59 UTC v1\n";

    assert_eq!(normal(text), "\n    CODE\nID  TIME v1\n");
}
