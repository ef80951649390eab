//! Tells the describing of types what our names for others' types stand for.

fn main() {
    #[cfg(feature = "openapi")]
    utoipa_config::Config::new().alias_for("Time", "chrono::DateTime<chrono::Utc>").write_to_file();
}
