# Servers for the tests of one run: the service's own PostgreSQL, and the rotation targets. Sourced by
# tests/run, and by the suites that use the servers.
# They listen only on loopback addresses and not on Unix sockets, whose path could be too long.

# Servers, each with the variable for its address.
servers='postgres:SECRETS_TEST_POSTGRES_URL
target-postgres:SECRETS_TEST_TARGET_POSTGRES_URL
target-mariadb:SECRETS_TEST_TARGET_MARIADB_URL
target-mysql:SECRETS_TEST_TARGET_MYSQL_URL'

# Starts all servers in the background, in a new folder inside the given folder.
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

# Servers refuse to run as root, so they run as the user `nobody`. If `nobody` cannot reach the target
# folder, /tmp is used.
become_nobody() {
    as_server="--reuid=nobody --regid=$(id -g nobody) --clear-groups"
    chmod 711 "$SECRETS_TEST_SERVERS"
    setpriv $as_server test -x "$SECRETS_TEST_SERVERS/" || {
        rmdir "$SECRETS_TEST_SERVERS"
        SECRETS_TEST_SERVERS=$(mktemp -d /tmp/secrets-servers-XXXXXX)
    }
}

# Creates a certificate for the targets, and the certificate authority that signs it.
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
    mkdir "$folder" "$folder/tmp"
    log=$SECRETS_TEST_LOGS/$1.log
    : >"$log"
    cp "$SECRETS_TEST_SERVERS/ca.pem" "$SECRETS_TEST_SERVERS/certificate.pem" \
        "$SECRETS_TEST_SERVERS/key.pem" "$folder"
    # The log file gets the same owner, because a server may open its log file again by name.
    [ -z "$as_server" ] || chown -R nobody "$folder" "$log"
    # Passes the script as text, because the user `nobody` may be unable to read our files.
    program=$(cd tests/tools && cat postgres.sh mysql.sh mariadb.sh server.sh)
    TMPDIR=$folder/tmp setpriv --pdeathsig TERM $as_server sh -c "$program" server.sh "$1" "$folder" $$ >>"$log" 2>&1 &
    server_pids="$server_pids $!"
}

# Fetches MySQL, which is optional: if it is not available, the tests run without it. Runs in a separate
# shell, which ends when this process dies.
fetch_mysql() {
    root=$SECRETS_TEST_TOOLS/mysql/root
    folder=$SECRETS_TEST_SERVERS/target-mysql
    log=$SECRETS_TEST_LOGS/target-mysql.log
    setpriv --pdeathsig TERM timeout 300 tests/tools/fetch-mysql.sh "${root%/root}" >>"$log" 2>&1 || {
        : >"$folder/absent"
        return
    }
    # If the user `nobody` cannot reach the server, makes hard links, or a copy on another disk.
    [ -z "$as_server" ] || setpriv $as_server test -x "$root/usr/sbin/mysqld" || {
        copy=$SECRETS_TEST_SERVERS/mysql
        cp -rl "$root" "$copy" 2>/dev/null || { rm -rf "$copy" && cp -r "$root" "$copy"; }
        root=$copy
    }
    ln -s "$root" "$folder/mysql"
}

# Waits until the servers answer, and exports their addresses.
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

# Prints the names of optional servers that were missing.
print_absent() {
    [ ! -e "${SECRETS_TEST_SERVERS-}/without-mysql" ] ||
        echo "MySQL is not available (see $SECRETS_TEST_LOGS/target-mysql.log): rotation was tested without it"
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

# Removes the folders of earlier runs that have ended.
remove_old_servers() {
    for folder in "$1"/servers-* /tmp/secrets-servers-*; do
        [ -O "$folder" ] || continue
        read -r pid 2>/dev/null <"$folder/pid" && kill -0 "$pid" 2>/dev/null && continue
        # If a server is still ending, the next run removes its folder.
        rm -rf "$folder" 2>/dev/null || true
    done
}
