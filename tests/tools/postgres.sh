# Finds, initializes and starts PostgreSQL. Sourced by need.sh, and part of the script of server.sh.

# Sets `postgres_bin` to the folder of the server programs, or to an empty string. Debian keeps them
# outside of PATH, in a folder for each version; the cluster that its package creates is not used.
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
    # Does not sync to disk, because the data is needed for one run only.
    "$postgres_bin/initdb" --pgdata=data --username=postgres --pwfile=password \
        --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync
    # Clients may connect with and without TLS, from any address that the server listens on.
    echo 'host all all 127.0.0.0/8 scram-sha-256' >data/pg_hba.conf
    # The service's own server receives the administrator's password in clear text, and checks it with
    # an MD5 hash. With SCRAM, client and server would compute thousands of hashes for each connection,
    # more than half of the CPU time of a test.
    [ -n "$target" ] || {
        sed -i '1i host all postgres 127.0.0.0/8 password' data/pg_hba.conf
        echo "SET password_encryption = md5; ALTER ROLE postgres PASSWORD '$password'" |
            "$postgres_bin/postgres" --single -F -D data -j postgres
    }
}

# Keeps the write-ahead log, because it is searched for values at the end. Does not wait for the disk,
# because no test checks the behaviour after a power failure.
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
