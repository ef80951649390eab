#!/bin/sh
# Finds a compiler for wasm32-unknown-unknown. Usage: wasm-toolchain.sh FOLDER
# Writes FOLDER/env, to be sourced: it exports the variables for cargo and sets wasm_flags.
#
# The first choice is the standard library of the toolchain, which rustup downloads if it can. Otherwise
# Debian's rustc-web has a compiler with the source of its standard library, from which cargo builds the
# missing parts. Its packages are unpacked in FOLDER, not installed.
set -eu

target=wasm32-unknown-unknown
folder=$(mkdir -p "$1" && cd "$1" && pwd)
root=$folder/root

has_target() {
    # The file name of the library ends with a hash.
    set -- "$(rustc --print sysroot)/lib/rustlib/$target/lib"/libstd-*.rlib
    [ -e "$1" ]
}

add_target() {
    # Uses `timeout`, because rustup would wait on a network that drops packets.
    command -v rustup >/dev/null && timeout 120 rustup target add "$target" >&2 && has_target
}

unpack_debian() {
    # An old package index may contain only an old compiler.
    [ "$(id -u)" != 0 ] || apt-get update -q >&2
    library=$(depends libstd-rust-web-dev 'libstd-rust-web-[0-9.]*')
    llvm=$(depends "$library" 'libllvm[0-9.]*')
    rm -rf "$root" "$folder/debs"
    mkdir -p "$folder/debs"
    (cd "$folder/debs" &&
        apt-get download -q rustc-web libstd-rust-web-dev "$library" rust-web-src "$llvm" libz3-4 >&2)
    for deb in "$folder"/debs/*.deb; do
        dpkg -x "$deb" "$root"
    done
    rm -r "$folder/debs"
}

# Prints the newest dependency of a package whose name matches a pattern.
depends() {
    apt-cache depends "$1" | sed -n "s/.*Depends: \($2\)$/\1/p" | sort -V | tail -n 1
}

# Prints the folder of the unpacked compiler's own shared libraries.
libraries() {
    for file in "$root"/usr/lib/*/librustc_driver-*.so; do
        dirname "$file"
        return
    done
}

debian_works() {
    [ -x "$root/usr/bin/rustc" ] && LD_LIBRARY_PATH=$(libraries) "$root/usr/bin/rustc" --version >&2
}

write_debian() {
    # Debian's compiler calls a linker that its packages do not contain; the toolchain has a linker.
    for linker in "$(rustc --print sysroot)"/lib/rustlib/*/bin/rust-lld; do
        break
    done
    [ -x "$linker" ] || fail "the Rust toolchain has no rust-lld"
    cat >"$folder/env" <<ENV
export RUSTC='$root/usr/bin/rustc'
export RUSTC_BOOTSTRAP=1
export LD_LIBRARY_PATH='$(libraries)'
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER='$linker'
wasm_flags=-Zbuild-std=std,panic_abort
ENV
}

fail() {
    echo "wasm: $1" >&2
    exit 1
}

main() {
    # SECRETS_WASM_TOOLCHAIN=debian forces the second choice, to test it.
    if [ "${SECRETS_WASM_TOOLCHAIN-}" != debian ] && { has_target || add_target; }; then
        echo 'wasm_flags=' >"$folder/env"
        return
    fi
    command -v apt-get >/dev/null ||
        fail "no standard library for $target: run 'rustup target add $target'"
    debian_works || { unpack_debian && debian_works; } ||
        fail "no standard library for $target: neither by 'rustup target add $target' nor by Debian's rustc-web"
    write_debian
}

main
