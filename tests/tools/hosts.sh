#!/bin/sh
# Lists the traits of secrets-core that the host crates (secrets-http, secrets-py, secrets-wasm)
# implement, as `FILE: TRAIT for TYPE`, and their uses of limiters of secrets-core and of
# `spawn_blocking`, as `FILE: NAME`. Skips tests and imports. Does not find implementations that
# macros generate.
# Usage: tests/tools/hosts.sh [FOLDER...]
set -eu

cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- secrets-http/src secrets-py/src secrets-wasm/src

# Prints the names of the public items of secrets-core that match a pattern, on one line.
names() {
    grep -rhoE "^ *pub (unsafe )?$1" secrets-core/src --include='*.rs' | sed 's/.* //' | sort -u | tr '\n' ' '
}

traits=$(names 'trait [A-Za-z0-9_]+')
limiters=$(names 'struct ([A-Za-z0-9_]*Limiter|Permits)')

echo '# Traits and limiters of secrets-core in each host crate. Regenerate: tests/tools/hosts.sh >tests/tools/hosts.txt'
find "$@" -name tests -prune -o -name tests.rs -prune -o -name '*.rs' -print | LC_ALL=C sort |
    xargs awk -v traits="$traits" -v limiters="$limiters spawn_blocking" '
BEGIN {
    count = split(traits, list, " ")
    for (i = 1; i <= count; i++) is_trait[list[i]] = 1
    count = split(limiters, list, " ")
    for (i = 1; i <= count; i++) is_limiter[list[i]] = 1
}

# Parses an import: records aliases, and names of other crates.
function read_import(text,    is_core, count, list, i) {
    is_core = text ~ /^ *(pub[^ ]* )?use (::)?(secrets_core|crate|self|super)::/
    count = split(text, list, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++) {
        if (is_core && list[i + 1] == "as") origin[list[i + 2]] = list[i]
        else if (is_core) core[list[i]] = 1
        else if (list[i + 1] != "as") foreign[list[i]] = 1
    }
}

# Resolves an alias; returns an empty string for a name of another crate.
function name_of(word) {
    if (word in origin) return origin[word]
    return word in foreign && !(word in core) ? "" : word
}

# Parses the header of an `impl` block: trait and type.
function read_head(text,    depth, i, char, place, name, type) {
    gsub(/->/, "-", text)
    sub(/^ *(unsafe )?impl */, "", text)
    if (text ~ /^</) {
        for (i = 1; i <= length(text); i++) {
            char = substr(text, i, 1)
            depth += (char == "<") - (char == ">")
            if (depth == 0) break
        }
        text = substr(text, i + 1)
    }
    place = index(text, " for ")
    if (!place) return
    name = substr(text, 1, place - 1)
    type = substr(text, place + 5)
    sub(/<.*/, "", name)
    sub(/.*::/, "", name)
    gsub(/ /, "", name)
    sub(/ where .*/, "", type)
    sub(/ *[{].*/, "", type)
    heads[++head_count] = name
    types[head_count] = type
}

# Records the names in a line of code. `print_file` prints the names of limiters.
function read_uses(text,    rest, word) {
    rest = text
    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        called[++use_count] = match(rest, /^(::)?<[^>()]*>::[a-z_]+|^::[a-z_]+/) ? substr(rest, 1, RLENGTH) : ""
        used[use_count] = word
    }
}

# Prints the results of the current file, and clears them.
function print_file(    i, name) {
    for (i = 1; i <= head_count; i++) {
        name = name_of(heads[i])
        if (name in is_trait) print file ": " name " for " types[i]
    }
    for (i = 1; i <= use_count; i++) {
        name = name_of(used[i])
        if (name in is_limiter) print file ": " name called[i]
    }
    head_count = use_count = 0
    split("", origin)
    split("", core)
    split("", foreign)
    pending = ""
    is_test = in_test = 0
}

FNR == 1 {
    if (file != "") print_file()
    file = FILENAME
}
{ sub(/\/\/.*/, "") }
in_test {
    in_test = $0 !~ /^}/
    next
}
is_test && /^(pub.* )?mod .*[{]$/ {
    in_test = 1
    is_test = 0
    next
}
/^#\[cfg\((all\()?test/ { is_test = 1 }
!/^#/ { is_test = 0 }
# Joins the lines of an import or a header.
pending != "" {
    gsub(/^ +/, " ")
    $0 = pending " " $0
    gsub(/  +/, " ")
}
/^ *(pub[^ ]* )?use (::)?[a-z0-9_]+(::|;| as )/ {
    if (/;/) { read_import($0); pending = "" } else pending = $0
    next
}
/^ *(unsafe )?impl[ <]/ {
    if (/[{;]/) { read_head($0); pending = "" } else { pending = $0; next }
}
{ read_uses($0) }
END { print_file() }
' | LC_ALL=C sort
