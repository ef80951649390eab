# Checks built packages: their metadata, contents and types. Sourced by suites and by release/build.

# Checks source distributions and wheels. Runs in a subshell, so that its variables are local.
check_python_packages() (
    requirements=tests/packaging/requirements.txt venv=$SECRETS_TEST_TOOLS/packaging
    . tests/tools/venv.sh
    "$venv/bin/twine" --no-color check --strict "$@"
    for file in "$@"; do
        case $file in *.whl) ;; *) continue ;; esac
        "$venv/bin/check-wheel-contents" "$file"
        check_platform "$file"
    done
)

# Checks that a wheel needs no newer system than the platform tag in its name.
check_platform() {
    declared=$(basename "$1" .whl)
    declared=${declared##*-}
    # The tag `linux` promises no other system than the system of the build.
    case $declared in
        linux_*) return ;;
        musllinux_*)
            check_musl "$1"
            return
            ;;
    esac
    found=$("$venv/bin/auditwheel" show "$1" | tr '\n' ' ' |
        sed -n 's/.*is consistent with the following platform tag: "\([a-z0-9_]*\)".*/\1/p')
    # For tags such as manylinux_2_28_x86_64, the older platform is the first in version order.
    oldest=$(printf '%s\n' "$found" "$declared" | sort -V | head -n 1)
    [ -n "$found" ] && [ "${found%%_*}" = "${declared%%_*}" ] && [ "$oldest" = "$found" ] || {
        echo "$1: the contents need $found"
        return 1
    }
    echo "$1: the contents run on $found"
}

# Checks that the native modules of a wheel need no library other than musl. auditwheel would look for
# the libraries of musl among the libraries of this system.
check_musl() {
    "$venv/bin/python" - "$1" <<'PYTHON'
import io, sys, zipfile
from elftools.elf.elffile import ELFFile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = [name for name in wheel.namelist() if name.endswith(".so")]
    files = [ELFFile(io.BytesIO(wheel.read(name))) for name in names]
needed = {tag.needed for file in files for tag in file.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
if not files or needed - {"libc.so"}:
    sys.exit(f"{sys.argv[1]}: the contents need {sorted(needed)}")
print(f"{sys.argv[1]}: the contents need only musl")
PYTHON
}

# Checks a packed npm package. It has several entries, all of them ES modules, so its types need not
# resolve for CommonJS and for Node.js 10.
check_npm_package() (
    npm_ci packaging
    tests/packaging/node_modules/.bin/publint run --strict "$1"
    tests/packaging/node_modules/.bin/attw --no-color --no-emoji --format table-flipped --profile esm-only "$1"
)
