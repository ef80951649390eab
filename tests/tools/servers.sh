# The servers that tests need, for one run: the service's own PostgreSQL, and those whose passwords
# are rotated. Sourced by tests/run, and by the suite that uses them.
# They listen on loopback addresses alone and on no Unix socket, whose path could be too long.

# Each with the variable that says where it is.
servers='postgres:SECRETS_TEST_POSTGRES_URL
target-postgres:SECRETS_TEST_TARGET_POSTGRES_URL
target-mariadb:SECRETS_TEST_TARGET_MARIADB_URL
target-mysql:SECRETS_TEST_TARGET_MYSQL_URL'

# Starts them all in the background, in a new folder in the one that is given.
start_servers() {
    SECRETS_TEST_SERVERS=$(mktemp -d "$1/servers-XXXXXX")
    export SECRETS_TEST_SERVERS
    as_server=
    [ "$(id -u)" != 0 ] || become_nobody
    chmod 711 "$SECRETS_TEST_SERVERS"
    echo $$ >"$SECRETS_TEST_SERVERS/pid"
    make_authority "$SECRETS_TEST_SERVERS"
    server_pids=
    for server in $servers; do
        start_server "${server%:*}"
    done
    as_server=$as_server setpriv --pdeathsig TERM sh -eu -c '. tests/tools/servers.sh; fetch_mysql' &
    fetching=$!
}

# The servers refuse to run as root. Where nobody cannot reach the target folder, /tmp must do.
become_nobody() {
    as_server="--reuid=nobody --regid=$(id -g nobody) --clear-groups"
    chmod 711 "$SECRETS_TEST_SERVERS"
    setpriv $as_server test -x "$SECRETS_TEST_SERVERS/" || {
        rmdir "$SECRETS_TEST_SERVERS"
        SECRETS_TEST_SERVERS=$(mktemp -d /tmp/secrets-servers-XXXXXX)
    }
}

# A certificate for the targets, and the authority that signed it.
make_authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=tests' \
        -keyout "$1/ca.key" -out "$1/ca.pem" 2>"$1/openssl.log" &&
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=localhost' \
            -keyout "$1/key.pem" -out "$1/request.pem" 2>>"$1/openssl.log" &&
        cat >"$1/extensions" <<EXTENSIONS &&
subjectAltName = DNS:localhost, IP:127.0.0.1, IP:127.0.0.2, IP:127.0.0.3
basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth
EXTENSIONS
        openssl x509 -req -in "$1/request.pem" -extfile "$1/extensions" -days 2 -CA "$1/ca.pem" \
            -CAkey "$1/ca.key" -CAcreateserial -out "$1/certificate.pem" 2>>"$1/openssl.log" || {
        cat "$1/openssl.log"
        exit 1
    }
}

start_server() {
    folder=$SECRETS_TEST_SERVERS/$1
    mkdir "$folder"
    log=$SECRETS_TEST_LOGS/$1.log
    : >"$log"
    cp "$SECRETS_TEST_SERVERS/ca.pem" "$SECRETS_TEST_SERVERS/certificate.pem" \
        "$SECRETS_TEST_SERVERS/key.pem" "$folder"
    # The log too: a server may open by itself what it was given.
    [ -z "$as_server" ] || chown -R nobody "$folder" "$log"
    # Its text is given, as nobody may be unable to read our files.
    program=$(cd tests/tools && cat postgres.sh mysql.sh mariadb.sh server.sh)
    setpriv --pdeathsig TERM $as_server sh -c "$program" server.sh "$1" "$folder" $$ >>"$log" 2>&1 &
    server_pids="$server_pids $!"
}

# Nothing that a system must have: where it cannot be had, tests go on without it. Run in a shell of
# its own, which ends when we die.
fetch_mysql() {
    root=$SECRETS_TEST_TOOLS/mysql/root
    folder=$SECRETS_TEST_SERVERS/target-mysql
    log=$SECRETS_TEST_LOGS/target-mysql.log
    setpriv --pdeathsig TERM timeout 300 tests/tools/fetch-mysql.sh "${root%/root}" >>"$log" 2>&1 || {
        : >"$folder/absent"
        return
    }
    # Where nobody cannot reach it: by links, or copied to another disk.
    [ -z "$as_server" ] || setpriv $as_server test -x "$root/usr/sbin/mysqld" || {
        copy=$SECRETS_TEST_SERVERS/mysql
        cp -rl "$root" "$copy" 2>/dev/null || { rm -rf "$copy" && cp -r "$root" "$copy"; }
        root=$copy
    }
    ln -s "$root" "$folder/mysql"
}

# Waits until they answer, and exports where they are.
await_servers() {
    for server in $servers; do
        await_server "${server%:*}" || continue
        export "${server#*:}=$(cat "$SECRETS_TEST_SERVERS/${server%:*}/url")"
    done
    export SECRETS_TEST_TARGET_CA="$SECRETS_TEST_SERVERS/ca.pem"
}

await_server() {
    tries=0
    while [ ! -e "$SECRETS_TEST_SERVERS/$1/url" ]; do
        if [ -e "$SECRETS_TEST_SERVERS/$1/over" ] || [ $tries = 600 ]; then
            if [ "$1" = target-mysql ]; then
                : >"$SECRETS_TEST_SERVERS/without-mysql"
                return 1
            fi
            echo "$1 does not start:"
            cat "$SECRETS_TEST_LOGS/$1.log"
            exit 1
        fi
        tries=$((tries + 1))
        sleep 0.2
    done
}

# Says what tests had to do without.
tell_absent() {
    [ ! -e "${SECRETS_TEST_SERVERS-}/without-mysql" ] ||
        echo "no MySQL could be had (see $SECRETS_TEST_LOGS/target-mysql.log): rotation was tested without it"
}

stop_servers() {
    [ -z "${fetching-}" ] || kill "$fetching" 2>/dev/null || true
    fetching=
    for pid in ${server_pids-}; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in ${server_pids-}; do
        wait "$pid" || true
    done
    server_pids=
}

remove_servers() {
    [ -z "${SECRETS_TEST_SERVERS-}" ] || rm -rf "$SECRETS_TEST_SERVERS"
}

# What earlier runs left, except where one still runs.
remove_old_servers() {
    for folder in "$1"/servers-* /tmp/secrets-servers-*; do
        [ -O "$folder" ] || continue
        read -r pid 2>/dev/null <"$folder/pid" && kill -0 "$pid" 2>/dev/null && continue
        # A server may be ending just now; then the next run does it.
        rm -rf "$folder" 2>/dev/null || true
    done
}
