#!/usr/bin/env bash
# onnx.sh PYTHON SOURCE_LOCK PREFIX: fetches the pinned ONNX source package and installs its C++ library, static, at PREFIX.
# PYTHON belongs to the venv of build-tools.lock, which has the CMake that ONNX asks for and Debian 12 lacks.
set -euo pipefail
python=$1 lock=$2 prefix=$3
work=$(mktemp -d "$prefix.tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary onnx --no-build-isolation \
  --require-hashes --requirement "$lock" --dest "$work"
tar -xzf "$work"/onnx-*.tar.gz -C "$work"

# Shared protobuf: Debian has no protobuf-config.cmake, which ONNX's package file asks for otherwise.
cmake=$(dirname "$python")/cmake
"$cmake" -G Ninja -S "$work"/onnx-*/ -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$work/installed" \
  -DCMAKE_INSTALL_LIBDIR=lib -DPython3_EXECUTABLE="$(dirname "$python")/python3" \
  -DBUILD_SHARED_LIBS=OFF -DONNX_ML=1 -DONNX_USE_LITE_PROTO=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=ON \
  -DONNX_BUILD_PYTHON=OFF -DONNX_BUILD_TESTS=OFF -DONNX_GEN_PB_TYPE_STUBS=OFF
"$cmake" --build "$work/build" -j"${STEPC_JOBS:-2}"
"$cmake" --install "$work/build"

rm -rf "$prefix"
mv "$work/installed" "$prefix"
