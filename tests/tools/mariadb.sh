# Finds, initializes and starts MariaDB. Sourced by need.sh, and part of the script of server.sh.
# Debian's mariadb-server-core has only the programs, no service that starts by itself.

# Sets `mariadb` to the server program, which may be outside of PATH, or to an empty string.
find_mariadb() {
    mariadb=$(PATH=$PATH:/usr/sbin command -v mariadbd) || mariadb=
    # mariadb-install-db runs my_print_defaults.
    command -v mariadb-install-db >/dev/null && command -v my_print_defaults >/dev/null || mariadb=
}

mariadb_make() {
    find_mariadb
    stop_signal=TERM
    # Creates one user, whose password is set before statements are logged.
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
    mysql_options
    exec setpriv --pdeathsig TERM "$mariadb" --defaults-file="$folder/options" --port="$port"
}

mariadb_answers() {
    mysql_answers
}

mariadb_url() {
    mysql_url
}
