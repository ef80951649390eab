# Compiles the workspace for its tests. Sourced by every suite that starts a program of the workspace, so that the suites
# share one build.

# Cargo, with Clippy as the compiler of the workspace: Clippy compiles like rustc and reports its lints besides. `cargo clippy`
# would check every dependency once more, since it reads none of the compiled ones.
linting_cargo() {
    RUSTC_WORKSPACE_WRAPPER=clippy-driver cargo "$@"
}

# Compiles all targets with all features. Prints the warnings of the compiler and of Clippy, also if nothing has changed.
build_workspace() {
    linting_cargo build --workspace --all-features --all-targets --color never
}
