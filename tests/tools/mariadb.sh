# How MariaDB is found, made and started. Sourced by need.sh, and part of what server.sh runs.
# Debian's mariadb-server-core has the programs alone: no service that would start by itself.

# Sets `mariadb` to the server's program, which may be out of PATH, or to nothing.
find_mariadb() {
    mariadb=$(PATH=$PATH:/usr/sbin command -v mariadbd) || mariadb=
    # The first runs the second.
    command -v mariadb-install-db >/dev/null && command -v my_print_defaults >/dev/null || mariadb=
}

mariadb_make() {
    find_mariadb
    stop_signal=TERM
    # One user, with a password from the beginning: nothing is logged yet.
    cat >users.sql <<SQL
DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';
FLUSH PRIVILEGES;
CREATE USER root@'%' IDENTIFIED BY '$password';
GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
SQL
    mariadb-install-db --no-defaults --datadir="$folder/data" --cross-bootstrap --skip-test-db \
        --auth-root-authentication-method=normal --extra-file=users.sql
}

mariadb_run() {
    exec setpriv --pdeathsig TERM "$mariadb" --no-defaults --datadir="$folder/data" --socket= \
        --pid-file="$folder/pid" --port="$port" --bind-address="$addresses" --skip-name-resolve \
        --ssl-ca="$folder/ca.pem" --ssl-cert="$folder/certificate.pem" --ssl-key="$folder/key.pem" \
        --general-log --general-log-file=/dev/stdout --max-connections=300 \
        --innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=0
}

mariadb_answers() {
    greets
}

mariadb_url() {
    echo "mysql://root:$password@127.0.0.1:$port/mysql"
}
