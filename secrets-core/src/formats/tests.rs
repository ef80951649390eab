use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;
use crate::model::EnvironmentName;

type Secrets = Vec<(SecretKey, Plaintext)>;

/// Strings that parsers may misread: quotes, expansions, comments, line breaks, surrounding spaces,
/// non-ASCII and invisible characters, and reserved words of YAML and JSON.
const TRICKY_TEXTS: [&str; 60] = [
    "'",
    "\"",
    "`",
    "$",
    "${A}",
    "$(id)",
    "`id`",
    "\\",
    "\\\\",
    "\\n",
    "\\'",
    "\\\"",
    "#",
    " #",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\t",
    " ",
    "=",
    "A=",
    "export ",
    ":",
    ": ",
    "- ",
    "? ",
    "&a",
    "*a",
    "!",
    "%",
    "@",
    "|",
    ">",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    "~",
    "no",
    "null",
    "true",
    "1e3",
    "0x1",
    "012",
    ".5",
    "1:30",
    "2001-01-01",
    "---",
    "...",
    "<<",
    "é",
    "日本",
    "😀",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{7f}",
];

fn value() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        3 => prop::sample::select(TRICKY_TEXTS.as_slice()).prop_map(str::to_owned),
        2 => "[a-z0-9_/+=.-]{0,6}",
        1 => any::<char>().prop_filter("no value has it", |c| *c != '\0').prop_map(String::from),
    ];
    vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

/// Secret keys that are reserved words in at least one format.
const WORDS: [&str; 11] =
    ["NO", "y", "null", "TRUE", "_", "a.b", "a-b", "export_", "PATH2", "Key", "KEY"];

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(WORDS.as_slice()).prop_map(str::to_owned),
        "[A-Za-z_][A-Za-z0-9_]{0,12}"
    ]
}

fn secrets() -> impl Strategy<Value = Secrets> {
    btree_map(key(), value(), 0..5).prop_map(|map| {
        let fits = |(key, value): (String, String)| {
            Some((key.parse().ok()?, Plaintext::new(value).unwrap()))
        };
        map.into_iter().filter_map(fits).collect()
    })
}

fn name() -> ObjectName {
    (&"staging".parse::<EnvironmentName>().unwrap()).into()
}

fn given(secrets: &Secrets) -> Vec<(String, String)> {
    secrets.iter().map(|(key, value)| (key.to_string(), value.reveal().to_owned())).collect()
}

/// Asserts that all secrets that the format can represent are unchanged after they are written and
/// read back with `read`. If there are other secrets, also asserts that the error names exactly
/// those.
fn holds(
    format: Format,
    secrets: &Secrets,
    read: impl Fn(&str) -> Vec<(String, String)>,
) -> Result<(), TestCaseError> {
    let fits = |secret: &&(SecretKey, Plaintext)| {
        format.write(std::slice::from_ref(*secret), &name()).is_ok()
    };
    let (good, bad): (Vec<_>, Vec<_>) = secrets.iter().partition(fits);
    if let Err(unfit) = format.write(secrets, &name()) {
        let reported: Vec<_> = unfit.into_iter().filter_map(|unfit| unfit.key).collect();
        let keys: Vec<_> = bad.iter().map(|(key, _)| key.clone()).collect();
        prop_assert_eq!(reported, keys);
    } else {
        prop_assert!(bad.is_empty());
    }
    let good: Secrets = good.into_iter().cloned().collect();

    let text = format.write(&good, &name()).unwrap();

    prop_assert_eq!(read(&text), given(&good), "{}", *text);
    Ok(())
}

/// Reads a file as Docker does: splits the text into lines, and each line at the first `=`.
fn docker_reads(text: &str) -> Vec<(String, String)> {
    let lines = text.split('\n').filter(|line| !line.is_empty());
    lines.map(|line| line.strip_suffix('\r').unwrap_or(line)).map(pair).collect()
}

fn pair(text: &str) -> (String, String) {
    let (key, value) = text.split_once('=').unwrap();
    (key.to_owned(), value.to_owned())
}

fn shell_reads(text: &str) -> Vec<(String, String)> {
    let words = shlex::split(text).unwrap();
    words.chunks(2).map(|words| pair(&words[1])).collect()
}

fn csv_reads(text: &str) -> Vec<(String, String)> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.headers().unwrap(), &["key", "value"][..]);
    reader
        .records()
        .map(|row| row.unwrap())
        .map(|row| (row[0].to_owned(), row[1].to_owned()))
        .collect()
}

fn kubernetes_reads(text: &str) -> Vec<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        kind: String,
        data: std::collections::BTreeMap<String, String>,
    }
    let manifest: Manifest = yaml_serde::from_str(text).unwrap();
    assert_eq!(manifest.kind, "Secret");
    let decode = |value: String| String::from_utf8(STANDARD.decode(value).unwrap()).unwrap();
    manifest.data.into_iter().map(|(key, value)| (key, decode(value))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dotenv_is_read_as_it_was_written(secrets in secrets()) {
        holds(Format::Dotenv, &secrets, |text| given(&dotenv::parse(text).unwrap()))?;
    }

    #[test]
    fn docker_is_read_as_it_was_written(secrets in secrets()) {
        holds(Format::Docker, &secrets, docker_reads)?;
    }

    #[test]
    fn shell_is_read_as_it_was_written(secrets in secrets()) {
        holds(Format::Shell, &secrets, shell_reads)?;
    }

    #[test]
    fn json_is_read_as_it_was_written(secrets in secrets()) {
        holds(Format::Json, &secrets, |text| given(&parse_json(text).unwrap()))?;
    }

    #[test]
    fn yaml_is_read_as_it_was_written(secrets in secrets()) {
        holds(Format::Yaml, &secrets, |text| given(&parse_yaml(text).unwrap()))?;
    }

    #[test]
    fn csv_is_read_as_it_was_written(secrets in secrets()) {
        holds(Format::Csv, &secrets, csv_reads)?;
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written(secrets in secrets()) {
        holds(Format::Kubernetes, &secrets, kubernetes_reads)?;
    }

    #[test]
    fn a_document_of_anything_is_read_or_refused_and_never_shown(text in ".{0,60}") {
        for refusal in [parse_json(&text).err(), parse_yaml(&text).err()].into_iter().flatten() {
            prop_assert!(!refusal.to_string().contains("kvc_"));
        }
        let _ = dotenv::parse(&text);
    }
}

#[test]
fn json_yaml_csv_and_manifests_carry_every_value() {
    for hostile in TRICKY_TEXTS {
        for format in [Format::Json, Format::Yaml, Format::Csv, Format::Kubernetes] {
            let secrets = [("a.b-c".parse().unwrap(), Plaintext::new(hostile.to_owned()).unwrap())];
            assert!(format.write(&secrets, &name()).is_ok(), "{format} {hostile:?}");
        }
    }
}

#[test]
fn the_buffer_of_an_output_does_not_grow() {
    let plain = ["a", "ä", "\n", "\u{1}", "\u{7f}", "\u{85}", "\u{1f511}", "\u{feff}"];
    let quoted = ["'", "\"", "\\", "^", "\\$", "\\!", "\\`", "^\\", "'\""];
    for text in plain.into_iter().chain(quoted) {
        let value = Plaintext::new(text.repeat(10_000)).unwrap();
        let secrets = vec![("KEY".parse().unwrap(), value)];
        for format in Format::ALL {
            // Formats that cannot represent the value are left out.
            let Ok(output) = format.write(&secrets, &name()) else { continue };
            let has_not_grown = output.capacity() <= room(&secrets) + 512;
            assert!(has_not_grown, "{format:?}: {text:?}: {} bytes", output.capacity());
        }
    }
}

#[test]
fn an_unrepresentable_secret_is_named_without_its_value() {
    for (format, key, value) in [
        (Format::Dotenv, "a.b", "kvc_x"),
        (Format::Dotenv, "A", "kvc_\r"),
        (Format::Dotenv, "A", "kvc_${X}"),
        (Format::Dotenv, "A", "kvc_'$"),
        (Format::Dotenv, "A", "kvc_\\"),
        (Format::Dotenv, "A", "kvc_\\\\x"),
        (Format::Dotenv, "A", "kvc_\\\nx"),
        (Format::Docker, "A", "kvc_\nx"),
        (Format::Docker, "A", "kvc_\r"),
        (Format::Shell, "a-b", "kvc_x"),
        (Format::Shell, "UID", "kvc_x"),
        (Format::Dotenv, "_", "kvc_x"),
    ] {
        let secrets = [(key.parse().unwrap(), Plaintext::new(value.to_owned()).unwrap())];

        let unfit = format.write(&secrets, &name()).unwrap_err();

        assert_eq!(unfit.len(), 1);
        assert_eq!(unfit[0].key.as_ref().map(SecretKey::as_str), Some(key), "{format} {value:?}");
        assert!(!unfit[0].rule.contains("kvc_"));
    }
}

#[test]
fn a_line_that_docker_cannot_read_is_refused() {
    let value = |length| Plaintext::new("x".repeat(length)).unwrap();
    let write = |length| Format::Docker.write(&[("KEY".parse().unwrap(), value(length))], &name());

    assert!(write(65_531).is_ok());
    assert!(write(65_532).is_err());
}

#[test]
fn a_manifest_holds_a_mebibyte() {
    let value = || Plaintext::new("x".repeat(65_536)).unwrap();
    let secrets: Secrets = (0..17).map(|n| (format!("K{n}").parse().unwrap(), value())).collect();

    assert!(Format::Kubernetes.write(&secrets[..16], &name()).is_ok());
    let unfit = Format::Kubernetes.write(&secrets, &name()).unwrap_err();
    assert_eq!((unfit.len(), &unfit[0].key), (1, &None));
    let long = format!("K{}", "x".repeat(253)).parse().unwrap();
    assert!(Format::Kubernetes.write(&[(long, value())], &name()).is_err());
}

#[test]
fn a_format_is_known_by_its_name() {
    for format in Format::ALL {
        assert_eq!(format.as_str().parse(), Ok(format));
    }
    assert!("JSON".parse::<Format>().is_err());
}

#[test]
fn a_yaml_document_of_many_texts_is_read() {
    let value = "[{".repeat(127);
    let mut text = String::new();
    for number in 0..10_000 {
        writeln!(text, "K{number}: text").unwrap();
    }

    assert_eq!(parse_yaml(&format!("{text}A: '{value}'\n")).unwrap().len(), 10_001);
    assert_eq!(parse_yaml(&format!("{text}A: '{value}[{{['")), Err(BadDocument::TooMuch));
    assert_eq!(parse_yaml(&format!("A: '{}'", "x".repeat(1024 * 1024))), Err(BadDocument::TooMuch));
}

#[test]
fn a_yaml_bomb_does_not_go_off() {
    let mut text = "a0: &a0 [x, x]\n".to_owned();
    for level in 1..40 {
        let before = level - 1;
        writeln!(text, "a{level}: &a{level} [*a{before}, *a{before}]").unwrap();
    }

    assert!(parse_yaml(&text).is_err());
    assert_eq!(parse_yaml(&format!("A: {}", "[".repeat(100_000))), Err(BadDocument::TooMuch));
    assert!(parse_json(&format!("{{\"A\":{}", "[".repeat(100_000))).is_err());
}

#[test]
fn aliases_of_long_texts_and_lists_are_not_followed_without_end() {
    let text = format!("a: &a {}\n", "x".repeat(500_000));
    let list = format!("a: &a [{}1]\n", "1,".repeat(250_000));
    let aliases = |key| (0..60_000).fold(String::new(), |text, _| text + key + ": *a\n");

    for (document, expected) in [
        (text.clone() + &aliases("b"), BadDocument::TooMuch),
        (text + &aliases("*a "), BadDocument::TooMuch),
    ] {
        assert_eq!(parse_yaml(&document), Err(expected));
    }
    let refused = parse_yaml(&(list + &aliases("b"))).unwrap_err();
    assert!(matches!(refused, BadDocument::Entry { index: 0, is_key: false, .. }));
    let twice = parse_yaml("a: &a text\nb: *a\n").unwrap();
    assert_eq!(
        given(&twice),
        [("a".to_owned(), "text".to_owned()), ("b".to_owned(), "text".to_owned())]
    );
}

#[test]
fn a_byte_order_mark_before_a_text_is_ignored() {
    for (form, text) in [
        (Form::Dotenv, "A='x'\nB='y'\n"),
        (Form::Json, r#"{"A":"x","B":"y"}"#),
        (Form::Yaml, "A: 'x'\nB: 'y'\n"),
    ] {
        let marked = format!("\u{feff}{text}");

        let secrets = form.read(&marked, "text").unwrap();

        let expected = [("A".to_owned(), "x".to_owned()), ("B".to_owned(), "y".to_owned())];
        assert_eq!(given(&secrets), expected, "{form:?}");
    }
}

#[test]
fn only_the_first_secrets_of_a_text_are_kept() {
    let cases = [
        (Form::Dotenv, "A=1\nB=2\nC=3\n", "A=1\nB=2\nno assignment\n"),
        (Form::Json, r#"{"A":"1","B":"2","C":3}"#, r#"{"A":"1","B":"2","C":}"#),
        (Form::Yaml, "A: '1'\nB: '2'\nC: 3\n", "A: '1'\nB: '2'\nC: '3\n"),
    ];
    for (form, text, invalid_rest) in cases {
        let first = form.read_at_most(text, "text", 2).unwrap();
        assert_eq!(
            given(&first),
            [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "2".to_owned())]
        );
        // The rest of a `.env` file is not read; the rest of a JSON or YAML document must be valid.
        let is_read = form.read_at_most(invalid_rest, "text", 2).is_ok();
        assert_eq!(is_read, form == Form::Dotenv, "{form:?}");
    }
}
