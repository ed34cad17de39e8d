#!/usr/bin/env bash
# Installs what stepc is built with and is not there yet: Debian packages, and under ${STEPC_DEPS_DIR:-~/.cache/stepc/deps}
# the libraries that Debian lacks, built once from pinned source packages. Silent and fast when nothing is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { echo "deps: $*"; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Runs a command with its output in a log, shown only when the command fails.
logged() {
  local log=$1
  shift
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    say "failed: $* (whole log: $log)" >&2
    return 1
  fi
}

install_debian_packages() {
  local missing=() package
  while read -r package; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done <"$here/apt-packages.txt"
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  logged "$log" as_root apt-get -qq -o DPkg::Lock::Timeout=600 update
  logged "$log" as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 \
    install --no-install-recommends "${missing[@]}"
  rm -f "$log"
}

# A venv is made where it stays (its scripts hold their own path); the stamp says that it is complete.
install_build_tools() {
  [ -f "$tools_prefix/.complete" ] && return 0
  say "installing build tools (pinned CMake) in $tools_prefix"
  rm -rf "$tools_prefix"
  # Not an interpreter of some version manager or active venv: Debian's own, for which python3-venv was installed.
  logged "$tools_prefix.log" /usr/bin/python3 -m venv "$tools_prefix"
  logged "$tools_prefix.log" "$tools_prefix/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --requirement "$here/build-tools.lock"
  touch "$tools_prefix/.complete"
}

install_onnx() {
  [ -d "$onnx_prefix" ] && return 0
  install_build_tools
  say "building ONNX in $onnx_prefix (some minutes, once)"
  logged "$onnx_prefix.log" env STEPC_JOBS="${STEPC_JOBS:-$(nproc)}" "$here/onnx.sh" "$tools_prefix/bin/python" "$here/onnx.lock" "$onnx_prefix"
  say "ONNX is built"
}

# A toolkit brings it, PyPI has it for x86-64.
needs_nvrtc() {
  local home
  [ "$(uname -m)" = x86_64 ] && [ ! -d "$nvrtc_prefix" ] || return 1
  for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
    compgen -G "$home/lib64/libnvrtc.so*" >/dev/null && return 1
  done
  return 0
}

# Tests alone want it, and say so where it is missing: a machine that cannot load it builds and runs the others.
install_nvrtc() {
  needs_nvrtc || return 0
  install_build_tools
  say "installing NVRTC (90 MB) in $nvrtc_prefix"
  rm -rf "$nvrtc_prefix.part"
  if logged "$nvrtc_prefix.log" "$tools_prefix/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --target "$nvrtc_prefix.part" --requirement "$here/nvrtc.lock"; then
    mv "$nvrtc_prefix.part" "$nvrtc_prefix"
  else
    say "NVRTC is missing: tests that compile CUDA kernels will be skipped"
  fi
}

install_debian_packages
# After the packages: the prefix of ONNX depends on the version of protoc.
. "$here/paths.sh"
[ -d "$onnx_prefix" ] && ! needs_nvrtc && exit 0
mkdir -p "$deps_dir"
# Two builds started at the same time share the work: the second waits and finds it done.
exec 9>"$deps_dir/.lock"
flock 9
install_onnx
install_nvrtc
