# Installs the npm packages of folders in tests/. Sourced by suites.

# Runs in a subshell, so that its variables are local.
npm_ci() (
    for folder in "$@"; do
        lock=tests/$folder/package-lock.json
        installed=$SECRETS_TEST_TOOLS/$folder.lock
        [ -d "tests/$folder/node_modules" ] && cmp -s "$lock" "$installed" || {
            # Without the audit, which asks the registry once more. Errors are shown.
            npm ci --no-audit --no-fund --loglevel error --prefix "tests/$folder"
            cp "$lock" "$installed"
        }
    done
)
