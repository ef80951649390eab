# A PostgreSQL server of our own, for one run. Sourced by tests/run.
# Sets SECRETS_TEST_POSTGRES_URL. It listens on the loopback address alone and on no Unix socket,
# whose path could be too long.

# Sets `postgres_bin` to the folder of the server's programs, or to nothing. Debian keeps them out
# of PATH, by version; the cluster that its package makes is left alone.
find_postgres() {
    postgres_bin=
    on_path=$(command -v initdb 2>/dev/null) || true
    for folder in "${on_path%/*}" /usr/lib/postgresql/*/bin; do
        if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ] && [ -x "$folder/pg_isready" ]; then
            postgres_bin=$folder
        fi
    done
}

# Makes the data folder in the background.
prepare_postgres() {
    find_postgres
    postgres_data=$(mktemp -d "$target/test/postgres-XXXXXX")
    if [ "$(id -u)" = 0 ]; then
        give_to_nobody
    fi
    export SECRETS_TEST_POSTGRES_DATA="$postgres_data/cluster"
    postgres_password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
    (
        umask 077
        echo "$postgres_password" >"$postgres_data/password"
        own "$postgres_data/password"
        # Not synced: it is needed for one run.
        as_server "$postgres_bin/initdb" --pgdata="$postgres_data/cluster" --username=postgres \
            --auth=scram-sha-256 --pwfile="$postgres_data/password" --encoding=UTF8 --locale=C --no-sync
    ) >"$target/test/output/initdb.log" 2>&1 &
    preparing=$!
}

# The server refuses to run as root. Where nobody cannot reach the target folder, /tmp must do.
give_to_nobody() {
    own "$postgres_data"
    as_server test -w "$postgres_data" || {
        rmdir "$postgres_data"
        postgres_data=$(mktemp -d /tmp/secrets-postgres-XXXXXX)
        own "$postgres_data"
    }
}

own() {
    [ "$(id -u)" != 0 ] || chown nobody "$1"
}

as_server() {
    if [ "$(id -u)" = 0 ]; then
        # In a folder that it may enter, whatever ours is.
        (cd / && exec setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups "$@")
    else
        "$@"
    fi
}

# Starts the server; again on another port if somebody took the one that was free.
start_postgres() {
    wait "$preparing" || {
        cat "$target/test/output/initdb.log"
        exit 1
    }
    for attempt in 1 2 3; do
        port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        run_postgres &
        postgres=$!
        if await_postgres; then
            export SECRETS_TEST_POSTGRES_URL="postgres://postgres:$postgres_password@127.0.0.1:$port/postgres"
            return
        fi
        postgres=
    done
    echo "PostgreSQL does not start ($attempt attempts):"
    cat "$SECRETS_TEST_LOGS/postgres.log"
    exit 1
}

# Replaces the shell it is called in, so that its id is the server's. The server stops when we die,
# however we die. What it writes ahead is kept: at the end values are looked for in that too. It does
# not wait for the disk: nothing here proves anything about a server that loses power.
run_postgres() {
    if [ "$(id -u)" = 0 ]; then
        user="--reuid=nobody --regid=$(id -g nobody) --clear-groups"
    else
        user=
    fi
    cd /
    exec setpriv --pdeathsig INT $user "$postgres_bin/postgres" -D "$postgres_data/cluster" -p "$port" \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 \
        -c fsync=off -c full_page_writes=off \
        -c checkpoint_timeout=1d -c max_wal_size=1GB -c wal_keep_size=1GB \
        >>"$SECRETS_TEST_LOGS/postgres.log" 2>&1
}

await_postgres() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        "$postgres_bin/pg_isready" -q -h 127.0.0.1 -p "$port" && kill -0 "$postgres" 2>/dev/null && return
        kill -0 "$postgres" 2>/dev/null || return 1
        sleep 0.5
    done
    stop_postgres
    return 1
}

# Stops the server that was started, if one was.
stop_postgres() {
    [ -n "${postgres-}" ] || return 0
    kill -INT "$postgres" 2>/dev/null || true
    wait "$postgres" || true
    postgres=
}

remove_postgres() {
    [ -z "${postgres_data-}" ] || rm -rf "$postgres_data"
}

# What earlier runs left, except where a server still runs.
remove_old_postgres() {
    for folder in "$target"/test/postgres-*; do
        read -r pid 2>/dev/null <"$folder/cluster/postmaster.pid" && kill -0 "$pid" 2>/dev/null || rm -rf "$folder"
    done
}
