# Tools that the suites need and that cargo, pip and npm do not install. Sourced by tests/run. A
# check runs only the program that it looks for, so that the check works with an empty PATH.

# Prints the missing tools, and fails if there are any.
check_tools() {
    find_missing
    [ -n "$missing" ] || {
        echo "all tools are installed"
        return
    }
    tell_missing
    exit 69
}

# Installs missing tools if possible, and fails if any are still missing.
ensure_tools() {
    find_missing
    if [ -n "$packages" ] && can_install; then
        echo "installing$packages"
        as_root apt-get update -q >/dev/null
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages >/dev/null
        find_missing
    fi
    [ -z "$missing" ] || {
        tell_missing
        exit 69
    }
}

# Sets `missing` to the missing tools, and `packages` to the Debian packages that contain them.
find_missing() {
    missing='' packages=''
    # The folder of rustup, which is not yet in the PATH of a shell opened before the installation.
    has cargo || [ ! -x "${HOME-}/.cargo/bin/cargo" ] || PATH=$HOME/.cargo/bin:$PATH
    need 'coreutils, grep and sed' 'coreutils grep sed findutils' has_basics
    need 'a C compiler (cc)' 'gcc libc6-dev' has_compiler
    need 'cargo, with clippy and rustfmt' '' has_cargo
    need curl 'curl ca-certificates' has curl
    need git git has git
    need 'Node.js 20 or later (node)' nodejs has_node
    need npm npm has npm
    need 'Python 3.11 or later with venv (python3)' python3-venv has_python
    need 'the PostgreSQL server (initdb, postgres)' postgresql has_postgres
    need 'the MariaDB server (mariadbd, mariadb-install-db)' 'mariadb-server-core mariadb-client-core' has_mariadb
    need 'promtool, of Prometheus' prometheus has promtool
    need 'PgBouncer (/usr/sbin/pgbouncer)' pgbouncer has_pgbouncer
    need 'the Redis server (redis-server)' redis-server has redis-server
    need 'Chromium and its driver (chromium, chromedriver)' 'chromium chromium-driver chromium-headless-shell' has_chromium
    need openssl openssl has openssl
    need 'systemd-analyze, of systemd' systemd has systemd-analyze
    need 'dash, bash, zsh, ksh and fish' 'dash bash zsh ksh fish' has_shells
    need 'tmux, vim and less' 'tmux vim less' has_terminal_programs
    need 'the GNOME keyring (gnome-keyring-daemon, dbus-run-session)' 'gnome-keyring dbus' has_keyring
    need 'setpriv and timeout' 'util-linux coreutils' has_basics_of_linux
}

need() {
    what=$1 bring=$2
    shift 2
    "$@" || {
        missing="$missing
  $what"
        packages="$packages${bring:+ $bring}"
    }
}

has() {
    command -v "$1" >/dev/null 2>&1
}

has_basics() {
    has cat && has cp && has date && has find && has grep && has mktemp && has sed && has sort
}

has_basics_of_linux() {
    has setpriv && has timeout
}

has_shells() {
    has dash && has bash && has zsh && has ksh && has fish
}

has_terminal_programs() {
    has tmux && has vim && has less
}

has_keyring() {
    has gnome-keyring-daemon && has dbus-run-session
}

# CHROMIUM and CHROMEDRIVER name the programs on systems other than Debian. The headless shell is optional.
has_chromium() {
    has "${CHROMIUM:-chromium}" && has "${CHROMEDRIVER:-chromedriver}"
}

# The compiler needs the headers of the C library.
has_compiler() {
    has cc && echo '#include <stdio.h>' | cc -E -x c - >/dev/null 2>&1
}

has_cargo() {
    has cargo && cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1
}

has_node() {
    has node && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' >/dev/null 2>&1
}

has_python() {
    has python3 && python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

has_postgres() {
    find_postgres
    [ -n "$postgres_bin" ]
}

has_mariadb() {
    find_mariadb
    [ -n "$mariadb" ]
}

# Debian installs pgbouncer outside of the PATH of ordinary users.
has_pgbouncer() {
    [ -x /usr/sbin/pgbouncer ]
}

can_install() {
    has apt-get && has id && { [ "$(id -u)" = 0 ] || { has sudo && sudo -n true 2>/dev/null; }; }
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

tell_missing() {
    echo "missing:$missing"
    [ -z "$packages" ] || echo "on Debian: sudo apt-get install --no-install-recommends$packages"
    has_cargo || echo "Rust: rustup from https://www.rust-lang.org/tools/install, or 'rustup component add clippy rustfmt'"
} >&2
