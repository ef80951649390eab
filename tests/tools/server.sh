# Runs one server: creates its data, starts it, prints its address, and stops it on TERM.
# Usage: server.sh NAME FOLDER STARTER. NAME is a kind of server, with the prefix "target-" for a
# rotation target, which uses TLS and logs every statement.
# This is a separate program, so that it ends with its parent process STARTER. It runs as an ordinary
# user, who may be unable to read this file: see servers.sh.
set -eu
umask 077

main() {
    name=$1 folder=$2 pid=
    # A signal reports the end of the parent, unless it has ended before the signal was set up.
    [ "$PPID" = "$3" ] || exit 1
    cd "$folder"
    trap 'stop; : >over' EXIT
    trap 'exit 0' TERM
    target='' addresses=127.0.0.1
    case $name in
        # The certificate covers all of these addresses except the last.
        target-*) target=yes addresses=127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4 ;;
    esac
    kind=${name#target-}
    # The password begins like all secret values in tests, so that the search of logs and files at
    # the end finds it.
    password=kvc_$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
    "${kind}_make"
    # Tries another port if another process has taken the free port.
    for attempt in 1 2 3; do
        port=$(free_port)
        "${kind}_run" &
        pid=$!
        if await; then
            "${kind}_url" >url.unfinished
            mv url.unfinished url
            wait "$pid" || true
            echo "$name has ended"
            exit 1
        fi
        stop
    done
    echo "$name does not start ($attempt attempts)"
    exit 1
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
}

await() {
    tries=0
    while [ $tries -lt 150 ]; do
        kill -0 "$pid" 2>/dev/null || return 1
        "${kind}_answers" && return
        tries=$((tries + 1))
        sleep 0.2
    done
    return 1
}

stop() {
    [ -n "$pid" ] || return 0
    kill "-$stop_signal" "$pid" 2>/dev/null || true
    wait "$pid" || true
    pid=
}

main "$@"
