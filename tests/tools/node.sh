# Runs tests with Node.js and counts them. Sourced by suites, which set `report` to a file for the
# output.

# Runs test files, two at the same time, and prints their output and the last line of the suite. The
# files with the names ALONE, separated by spaces, run alone afterwards.
# Usage: run_node_tests SUITE ALONE FILE...
run_node_tests() {
    suite=$1 alone=$2 status=0 together=
    shift 2
    : >"$report"
    for file in "$@"; do
        # A pattern without files is passed on, so that Node.js reports it.
        name=${file##*/}
        case " $alone " in
            *" ${name%.test.mjs} "*) ;;
            *) together="$together $file" ;;
        esac
    done
    # shellcheck disable=SC2086
    run_files 2 $together
    for name in $alone; do
        for file in "$@"; do
            [ "${file##*/}" != "$name.test.mjs" ] || run_files 1 "$file"
        done
    done
    cat "$report"
    passed=$(sum pass) failed=$(($(sum fail) + $(sum cancelled) + $(sum skipped)))
    # A process that fails after its last test has failed too.
    [ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
    echo "$suite: $passed passed, $failed failed"
}

run_files() {
    concurrency=$1
    shift
    node --test --test-concurrency="$concurrency" --test-reporter=tap "$@" >>"$report" 2>&1 || status=$?
}

# Prints the sum of a number, such as `pass`, of all runs.
sum() {
    awk -v name="$1" '$1 == "#" && $2 == name { sum += $3 } END { print sum + 0 }' "$report"
}
