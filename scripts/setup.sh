#!/bin/sh
# Installs what is missing, and nothing when nothing is. Runs before start, test and check; with --tests also what only
# tests need.
set -eu
cd "$(dirname "$0")/.."

stamp=node_modules/.llmc-installed
if [ ! -x node_modules/node/bin/node ] || [ ! -f "$stamp" ] || ! cmp -s package-lock.json "$stamp"; then
  echo "llmc: installing dependencies" >&2
  fresh=yes
  # `npm ci` insists that the lock file names the binaries of every platform, which not every registry offers.
  npm ci --no-audit --no-fund --loglevel=silent >&2 || npm install --no-save --no-audit --no-fund --loglevel=error >&2
  # Older npm versions skip unapproved install scripts; Node 24 itself arrives through one.
  [ -x node_modules/node/bin/node ] || npm rebuild node --loglevel=error >&2
  cp package-lock.json "$stamp"
fi

if [ ! -x node_modules/node/bin/node ]; then
  echo "llmc: Node 24 could not be installed (npm package 'node')." >&2
  echo "      Run: npm install-scripts approve node && npm rebuild node" >&2
  exit 1
fi

# Installs a package of the system where that needs no password; fails otherwise.
system_package() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
  echo "llmc: installing $1" >&2
  install="apt-get install -y -qq --no-install-recommends $1"
  { $install || { apt-get update -qq && $install; }; } >/dev/null 2>&1
}

# Commands run in a bubblewrap sandbox where there is one. Without it llmc still works, on a weaker tier, and says so.
if [ "$(uname)" = Linux ] && ! command -v bwrap >/dev/null 2>&1; then
  system_package bubblewrap ||
    echo "llmc: bubblewrap is not installed; commands will run on a weaker tier (see 'llmc doctor'). To install it: sudo apt-get install bubblewrap" >&2
fi

# The page at /docs is tested in a real browser.
if [ "${1:-}" = --tests ] && [ "$(uname)" = Linux ] &&
  ! command -v chromium >/dev/null 2>&1 && ! command -v chromium-browser >/dev/null 2>&1 && ! command -v google-chrome >/dev/null 2>&1; then
  system_package chromium || echo "llmc: without a browser, the tests of the page at /docs are skipped." >&2
fi

# Servers that share knowledge bases are tested over a real PostgreSQL, which the tests start themselves.
if [ "${1:-}" = --tests ] && [ "$(uname)" = Linux ] && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
  system_package postgresql ||
    echo "llmc: without PostgreSQL, the tests of several processes that share a store are skipped." >&2
fi

if [ -n "${fresh:-}" ]; then
  echo "llmc: ready. Next, in your project's folder: $PWD/bin/llmc connect CLIENT (claude-code, codex, cursor …); $PWD/bin/llmc doctor shows what works here." >&2
fi
