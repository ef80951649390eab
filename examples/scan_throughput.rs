//! Benchmark of scanning text for credentials, compared with counting the lines of the text in the
//! same run. The ratio of the two times can be compared between machines.
//!
//! `cargo run --release -p secrets-examples --example scan_throughput`. Each text is scanned five
//! times, and the medians are printed.

use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use secrets_core::scanner::{Rules, scan};

const MIB: usize = 1024 * 1024;
const ROUNDS: usize = 5;

/// Texts to scan, each given as its name and the line that is repeated to make 1 MiB: code without
/// keywords, code with many keywords, and text without line breaks.
const TEXTS: [(&str, &str); 3] = [
    ("code", "let total = items.iter().map(|item| item.price * item.count).sum();\n"),
    ("keywords", "let api_key_name = config.token.secret(password, \"auth\"); // key\n"),
    ("one line", "{\"token\":\"a\",\"key\":[1,2,3],\"https\":\"://host/path\"},"),
];

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    let began = Instant::now();
    let rules = Rules::built_in();
    let count = rules.iter().count();
    writeln!(out, "{count} rules compiled in {:?}", began.elapsed())?;
    for (name, line) in TEXTS {
        let text = line.repeat(MIB / line.len());
        let plain = median(|| text.bytes().filter(|byte| *byte == b'\n').count());
        let scanned = median(|| scan(&text, "", rules).len());
        let ratio = scanned.as_secs_f64() / plain.as_secs_f64();
        let speed = 1.0 / scanned.as_secs_f64();
        writeln!(out, "{name}: {speed:.1} MiB/s, {ratio:.0} times the plain pass")?;
    }
    Ok(())
}

fn median<T>(work: impl Fn() -> T) -> Duration {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            black_box(work());
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}
