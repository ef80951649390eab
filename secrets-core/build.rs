//! Tells utoipa's `ToSchema` derive the type behind the alias `Time`.

fn main() {
    #[cfg(feature = "openapi")]
    utoipa_config::Config::new().alias_for("Time", "chrono::DateTime<chrono::Utc>").write_to_file();
}
