#!/bin/sh
# Unpacks a MySQL server of Debian's unstable distribution, because the stable distributions have
# none. Usage: fetch-mysql.sh FOLDER
#
# Nothing is installed: FOLDER/root gets the server with all its libraries, including the loader. Uses
# the mirror of the system. Needs Debian's package manager, but not root.
set -eu

folder=$(mkdir -p "$1" && cd "$1" && pwd)
[ ! -e "$folder/root" ] || exit 0

mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI)' |
    sed -n 's/^Debian main \(.*\/debian\/*\)$/\1/p' | head -n 1)
[ -n "$mirror" ] || {
    echo "no Debian mirror found"
    exit 1
}

work=$(mktemp -d "$folder/work-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/root"
echo "deb $mirror sid main" >"$work/sources"
# An empty status file (no installed packages), so that all dependencies are fetched.
: >"$work/status"

fetch() {
    apt-get -q -o Dir::State="$work" -o Dir::State::status="$work/status" -o Dir::Cache="$work" \
        -o Dir::Etc::sourcelist="$work/sources" -o Dir::Etc::sourceparts=- \
        -o Acquire::Languages=none -o Acquire::Retries=0 -o Acquire::http::Timeout=20 \
        -o Acquire::https::Timeout=20 -o APT::Sandbox::User=root "$@"
}

fetch update
fetch install --download-only --yes --no-install-recommends mysql-server-core
for deb in "$work"/archives/*.deb; do
    dpkg -x "$deb" "$work/root"
done
chmod -R go+rX "$work/root"
# The move fails if a concurrent run has finished first.
mv -T "$work/root" "$folder/root" || [ -e "$folder/root" ]
