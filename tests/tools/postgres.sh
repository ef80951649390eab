# How PostgreSQL is found, made and started. Sourced by need.sh, and part of what server.sh runs.

# Sets `postgres_bin` to the folder of the server's programs, or to nothing. Debian keeps them out
# of PATH, by version; the cluster that its package makes is left alone.
find_postgres() {
    postgres_bin=
    on_path=$(command -v initdb 2>/dev/null) || true
    for bin in "${on_path%/*}" /usr/lib/postgresql/*/bin; do
        if [ -x "$bin/initdb" ] && [ -x "$bin/postgres" ] && [ -x "$bin/pg_isready" ]; then
            postgres_bin=$bin
        fi
    done
}

postgres_make() {
    find_postgres
    stop_signal=INT
    echo "$password" >password
    # Not synced: it is needed for one run.
    "$postgres_bin/initdb" --pgdata=data --username=postgres --pwfile=password \
        --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync
    # With and without TLS; a client may come from any address that the server listens on.
    echo 'host all all 127.0.0.0/8 scram-sha-256' >data/pg_hba.conf
}

# What it writes ahead is kept: at the end values are looked for in that too. It does not wait for
# the disk: nothing here proves anything about a server that loses power.
postgres_run() {
    [ -z "$target" ] || set -- -c ssl=on -c "ssl_cert_file=$folder/certificate.pem" \
        -c "ssl_key_file=$folder/key.pem" -c log_statement=all -c log_connections=on
    exec setpriv --pdeathsig INT "$postgres_bin/postgres" -D data -p "$port" \
        -c "listen_addresses=$addresses" -c unix_socket_directories= -c max_connections=300 \
        -c fsync=off -c full_page_writes=off \
        -c checkpoint_timeout=1d -c max_wal_size=1GB -c wal_keep_size=1GB "$@"
}

postgres_answers() {
    "$postgres_bin/pg_isready" -q -h 127.0.0.1 -p "$port"
}

postgres_url() {
    echo "postgres://postgres:$password@127.0.0.1:$port/postgres"
}
