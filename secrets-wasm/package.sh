#!/bin/sh
# Builds the npm package in FOLDER/package, packs it as FOLDER/secrets-service-VERSION.tgz, and builds
# FOLDER/script, the small module as a classic script for pages that cannot load modules.
#
#     package.sh FOLDER
#
# Needs CARGO_TARGET_DIR and SECRETS_TEST_TOOLS.
set -eu

cd "$(dirname "$0")/.."
. tests/tools/build.sh
folder=$1
target=wasm32-unknown-unknown
built=$folder/$target/wasm/secrets_wasm.wasm
generator=$CARGO_TARGET_DIR/debug/examples/bindings
package=$folder/package

# Compiles with a separate target folder, since the compiler may be another one.
compile() (
    . "$SECRETS_TEST_TOOLS/wasm/env"
    cargo build -p secrets-wasm --profile wasm --target $target --target-dir "$folder" $wasm_flags "$@"
)

# Compiles a module and generates its bindings: module FOLDER [--script] -- CARGO FLAGS
module() {
    into=$1 how=
    shift
    [ "$1" = -- ] || { how=$1 && shift; }
    shift
    compile "$@"
    "$generator" "$built" "$into" $how
}

tests/tools/wasm-toolchain.sh "$SECRETS_TEST_TOOLS/wasm"
build_workspace
rm -rf "$package" "$folder/script" "$folder"/*.tgz
mkdir -p "$package"
module "$package/full" -- --features full
module "$package/bundle" -- --no-default-features
module "$folder/script" --script -- --no-default-features --features formats
cp secrets-wasm/js/* secrets-wasm/README.md LICENSE-APACHE LICENSE-MIT "$package"
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
sed "s/\"0\.0\.0\"/\"$version\"/" secrets-wasm/js/package.json >"$package/package.json"
npm pack --silent --pack-destination "$folder" "$package"
for module in "$package/full" "$package/bundle"; do
    echo "$module: $(gzip -9 -c "$module/secrets_bg.wasm" | wc -c) bytes with gzip"
done
