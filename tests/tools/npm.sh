# Installs the npm packages of folders in tests/. Sourced by suites, and by tests/run.

# Runs in a subshell, so that its variables are local. Processes that install the same folder wait for each other.
npm_ci() (
    for folder in "$@"; do
        lock=tests/$folder/package-lock.json
        installed=$SECRETS_TEST_TOOLS/$folder.lock
        (
            flock 9
            [ -d "tests/$folder/node_modules" ] && cmp -s "$lock" "$installed" || {
                # Without the audit, which asks the registry once more. Errors are shown.
                npm ci --no-audit --no-fund --loglevel error --prefix "tests/$folder"
                cp "$lock" "$installed"
            }
        ) 9>"$SECRETS_TEST_TOOLS/$folder.installing"
    done
)
