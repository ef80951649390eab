//! Sets the build time that the programs report: `SOURCE_DATE_EPOCH`, or else the time of the last
//! commit.

use std::process::Command;

fn main() {
    #[cfg(feature = "server")]
    // Tells utoipa's `ToSchema` derive the type behind the alias `Time`.
    utoipa_config::Config::new().alias_for("Time", "chrono::DateTime<chrono::Utc>").write_to_file();
    println!("cargo:rerun-if-env-changed=SOURCE_DATE_EPOCH");
    println!("cargo:rerun-if-changed=../.git/HEAD");
    println!("cargo:rustc-env=SERVICE_BUILD_TIME={}", build_time());
}

#[expect(
    clippy::disallowed_methods,
    reason = "build scripts are configured by environment variables"
)]
fn build_time() -> String {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    given.or_else(commit_time).map_or_else(|| "unknown".to_owned(), rfc3339)
}

fn commit_time() -> Option<i64> {
    let output = Command::new("git").args(["log", "-1", "--format=%ct"]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn rfc3339(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0).unwrap_or_default().to_rfc3339()
}
