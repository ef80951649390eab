# Initializes and starts MySQL: part of the script of server.sh. The server is the one that
# fetch-mysql.sh unpacks from another system, and runs with the loader and libraries of that system.

# Waits for `mysql`, a link to the folder of the server, or `absent`.
mysql_make() {
    stop_signal=TERM
    until [ -e mysql ]; do
        [ ! -e absent ] || exit 1
        sleep 0.2
    done
    # Creates one user, whose password is set before statements are logged.
    cat >users.sql <<SQL
CREATE USER root@'%' IDENTIFIED BY '$password';
GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
DROP USER root@localhost;
SQL
    (mysql_program --no-defaults --datadir="$folder/data" --initialize-insecure --init-file="$folder/users.sql")
}

mysql_run() {
    mysql_options
    mysql_program --defaults-file="$folder/options" --port="$port" --mysqlx=OFF --performance-schema=OFF
}

# The option for the defaults file must be the first.
mysql_program() {
    defaults=$1 root=$(readlink mysql)
    shift
    for loader in "$root"/usr/lib/*/ld-linux-*.so.*; do
        exec setpriv --pdeathsig TERM "$loader" --library-path "${loader%/*}" "$root/usr/sbin/mysqld" \
            "$defaults" --basedir="$root/usr" --lc-messages-dir="$root/usr/share/mysql" \
            --secure-file-priv=NULL "$@"
    done
}

# Options of both MySQL and MariaDB. The statement log goes to the standard output, like all other output.
mysql_options() {
    # Each server has its own folder for temporary tables, because a server deletes the files of
    # other servers.
    cat >options <<OPTIONS
[mysqld]
datadir=$folder/data
tmpdir=$folder/tmp
pid-file=$folder/pid
socket=
bind-address=$addresses
skip-name-resolve
skip-log-bin
ssl-ca=$folder/ca.pem
ssl-cert=$folder/certificate.pem
ssl-key=$folder/key.pem
general-log
general-log-file=/dev/stdout
max-connections=300
innodb-buffer-pool-size=32M
innodb-flush-log-at-trx-commit=0
OPTIONS
}

# Checks whether the server answers. The server speaks first.
mysql_answers() {
    python3 -c 'import socket, sys
sys.exit(not socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).recv(1))' "$port" 2>/dev/null
}

mysql_url() {
    echo "mysql://root:$password@127.0.0.1:$port/mysql"
}
