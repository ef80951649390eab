# Installs what folders of tests/ have from npm. Sourced by suites.

# In a shell of its own: its variables are nobody else's.
npm_ci() (
    for folder in "$@"; do
        lock=tests/$folder/package-lock.json
        installed=$SECRETS_TEST_TOOLS/$folder.lock
        [ -d "tests/$folder/node_modules" ] && cmp -s "$lock" "$installed" || {
            npm ci --silent --prefix "tests/$folder"
            cp "$lock" "$installed"
        }
    done
)
