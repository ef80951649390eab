#!/bin/sh
# Finds what compiles for wasm32-unknown-unknown. Usage: wasm-toolchain.sh FOLDER
# Writes FOLDER/env, to be sourced: it exports what cargo must know and sets wasm_flags.
#
# First choice is the toolchain's own standard library, added by rustup where that can be reached.
# Where it cannot, Debian's rustc-web brings a compiler with the source of its library, from which
# cargo builds what is missing. Its packages are unpacked in FOLDER, not installed.
set -eu

target=wasm32-unknown-unknown
folder=$(mkdir -p "$1" && cd "$1" && pwd)
root=$folder/root

has_target() {
    # The name of the library's file ends in a hash.
    set -- "$(rustc --print sysroot)/lib/rustlib/$target/lib"/libstd-*.rlib
    [ -e "$1" ]
}

add_target() {
    # `timeout`, because a network that swallows packets would keep rustup waiting.
    command -v rustup >/dev/null && timeout 120 rustup target add "$target" >&2 && has_target
}

unpack_debian() {
    # An old index may know only an old compiler.
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

# The newest dependency of a package that has a name like this.
depends() {
    apt-cache depends "$1" | sed -n "s/.*Depends: \($2\)$/\1/p" | sort -V | tail -n 1
}

# Where the unpacked compiler finds its own shared libraries.
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
    # Debian's compiler calls a linker that it did not bring; the toolchain has one.
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
    # SECRETS_WASM_TOOLCHAIN=debian takes the second way where the first is open, to test it.
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
