#!/usr/bin/env bash
# Where the libraries that are built from source live. `paths.sh onnx` prints the prefix of ONNX; sourced, it defines the
# variables. A prefix carries a hash of its recipe and of what it is built against, so a changed recipe builds beside the old one.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
deps_dir=${STEPC_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/stepc/deps}

recipe_hash() { cat "$@" | sha256sum | cut -c1-12; }

tools_prefix="$deps_dir/build-tools-$(recipe_hash "$here/build-tools.lock")"
nvrtc_prefix="$deps_dir/nvrtc-$(recipe_hash "$here/nvrtc.lock")"
onnx_prefix="$deps_dir/onnx-1.23.2-$(recipe_hash "$here/onnx.lock" "$here/onnx.sh" \
  <(protoc --version 2>/dev/null || echo 'no protoc') <(uname -m))"

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  case ${1:-} in
    nvrtc) echo "$nvrtc_prefix" ;;
    onnx) echo "$onnx_prefix" ;;
    tools) echo "$tools_prefix" ;;
    *) echo "usage: paths.sh nvrtc|onnx|tools" >&2; exit 2 ;;
  esac
fi
