# Sets `venv` to a Python environment that has what tests/requirements.txt names. Sourced by suites.

venv=$SECRETS_TEST_TOOLS/venv

if ! cmp -s tests/requirements.txt "$venv/requirements.txt" || ! "$venv/bin/python" -c ''; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements.txt
    cp tests/requirements.txt "$venv/requirements.txt"
fi
