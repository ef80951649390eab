# Installs what folders of tests/ have from npm. Sourced by suites.

npm_ci() {
    for folder in "$@"; do
        lock=tests/$folder/package-lock.json
        installed=$SECRETS_TEST_TOOLS/$folder.lock
        [ -d "tests/$folder/node_modules" ] && cmp -s "$lock" "$installed" || {
            npm ci --silent --prefix "tests/$folder"
            cp "$lock" "$installed"
        }
    done
}
