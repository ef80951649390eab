//! Report of the benchmark: a table of results compared with the minimal servers, and all results
//! as JSON.

use std::fmt::Write as _;

use serde_json::json;

use crate::Failure;
use crate::cases::{Figures, LIMIT, LIST_LIMIT};
use crate::growth::Curve;
use crate::inserts;

/// Formats the table of results. The ratios compare each case with the limit (the minimal server)
/// for the same kind of work: the limit of lists for lists, inserts into the same database for writes,
/// and the limit of one secret for all other cases.
pub(crate) fn table(figures: &[Figures]) -> String {
    let mut table = format!(
        "{:<12} {:<34} {:>10} {:>9} {:>9} {:>9} {:>10} {:>9}\n",
        "server", "case", "per second", "CPU µs", "p50 µs", "p99 µs", "of limit", "CPU x"
    );
    for figure in figures {
        let sample = &figure.sample;
        let (rate, cpu) = ratios(figures, figure);
        let show =
            |ratio: Option<f64>| ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default();
        let _ = writeln!(
            table,
            "{:<12} {:<34} {:>10.0} {:>9.1} {:>9.0} {:>9.0} {:>10} {:>9}",
            figure.server,
            figure.case,
            sample.rate,
            sample.cpu,
            sample.p50,
            sample.p99,
            show(rate),
            show(cpu)
        );
    }
    table
}

/// Returns the request rate and the CPU time of a case as multiples of those of the minimal server
/// that it is compared to; `None` if there is none, or the CPU time is unknown.
fn ratios(figures: &[Figures], figure: &Figures) -> (Option<f64>, Option<f64>) {
    let is_insert = |case: &str| case.contains("insert of");
    // The limit of lists has ten times the items of a list of 1,000.
    let (limit, items) = match figure.case.as_str() {
        case if is_insert(case) => return (None, None),
        "create" | "update" => (inserts::name(&figure.server, 1), 1.0),
        "import of 100" => (inserts::name(&figure.server, 100), 1.0),
        case if case.starts_with("list of 10,000") => (LIST_LIMIT.into(), 1.0),
        case if case.contains("1,000") => (LIST_LIMIT.into(), 10.0),
        _ => (LIMIT.into(), 1.0),
    };
    let Some(limit) = figures.iter().find(|figure| figure.case == limit) else {
        return (None, None);
    };
    let (sample, limit) = (&figure.sample, &limit.sample);
    let rate = sample.rate / (limit.rate * items);
    let has_cpu = sample.cpu > 0.0 && limit.cpu > 0.0;
    (Some(rate), has_cpu.then(|| sample.cpu * items / limit.cpu))
}

/// Formats the growth curves. Each point has its value, and this value as a multiple of that of the
/// first point.
pub(crate) fn curves(curves: &[Curve]) -> String {
    let mut text = String::new();
    for curve in curves {
        let _ = write!(text, "\n{} ({})\n ", curve.name, curve.measure);
        let first = curve.points.first().map_or(1.0, |point| point.1);
        for (size, value) in &curve.points {
            let _ = write!(text, " {size} {}: {value:.1} ({:.2});", curve.unit, value / first);
        }
        text.push('\n');
    }
    text
}

/// Formats all results and growth curves as JSON.
pub(crate) fn json(figures: &[Figures], curves: &[Curve]) -> Result<String, Failure> {
    let cases: Vec<_> = figures
        .iter()
        .map(|figure| {
            let sample = &figure.sample;
            json!({
                "server": figure.server, "case": figure.case, "per_second": sample.rate,
                "cpu_us": sample.cpu, "p50_us": sample.p50, "p99_us": sample.p99,
                "resident_bytes": figure.memory,
                "of_limit": ratios(figures, figure).0,
            })
        })
        .collect();
    let curves: Vec<_> = curves
        .iter()
        .map(|curve| json!({ "name": curve.name, "unit": curve.unit, "measure": curve.measure, "points": curve.points }))
        .collect();
    Ok(serde_json::to_string_pretty(&json!({ "cases": cases, "curves": curves }))?)
}
