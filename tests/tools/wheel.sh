# Builds the Python package. Sourced by the suite python, and by tests/run. Needs venv.sh.

wheels=$CARGO_TARGET_DIR/test/wheels

build_wheel() {
    rm -rf "$wheels"
    "$venv/bin/maturin" build --manifest-path secrets-py/Cargo.toml --profile dev \
        --interpreter "$venv/bin/python" --out "$wheels"
}
