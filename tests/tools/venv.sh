# Sets `venv` to a Python environment with the packages of `requirements`, by default the packages
# of tests/requirements.txt. Sourced by suites and other scripts.

requirements=${requirements:-tests/requirements.txt}
venv=${venv:-$SECRETS_TEST_TOOLS/venv}

# Processes that install the same packages wait for each other.
(
    flock 9
    if ! cmp -s "$requirements" "$venv/requirements.txt" || ! "$venv/bin/python" -c ''; then
        python3 -m venv --clear "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
        cp "$requirements" "$venv/requirements.txt"
    fi
) 9>"$venv.venv-installing"
