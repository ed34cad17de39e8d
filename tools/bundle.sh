#!/usr/bin/env bash
# bundle.sh [FILE.tar.gz]: one archive that runs stepc and tools/gpu_check on another x86-64 Linux machine, which needs none of our
# dependencies (docs/gpu_check.md). Default: out/stepc-bundle.tar.gz. At most 24 MiB, or it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
archive=$(realpath -m "${1:-out/stepc-bundle.tar.gz}")
limit=$((24 * 1024 * 1024))
# One export of every family, with its goldens.
models='^(bert_legacy_op11|gpt2_dynamo|llama_dynamo|mixtral_dynamo|vit_legacy)\.onnx$|^(bert|gpt2|llama|mixtral|vit)_golden\.npz$|^llama_trajectory\.npz$|^param_map\.json$'

tools/build.sh bundle stepc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/stepc-bundle
mkdir -p "$root"/{bin,lib/glibc,docs,tests/golden,tests/data/models,tools}

program=build/bundle/bin/stepc
strip -o "$root/lib/stepc" "$program"
# What ldd names, and the parts of older C libraries that a driver or NVRTC may ask for. The C library's own go to a folder that only
# its loader uses: another loader must not meet them.
c_library='^(ld-linux.*|lib(c|m|dl|rt|pthread)\.so.*)$'
copy() {
  local name=${1##*/}
  if [[ $name =~ $c_library ]]; then cp -L "$1" "$root/lib/glibc/$name"; else cp -L "$1" "$root/lib/$name"; fi
}
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do copy "$library"; done
folder=$(dirname "$(ldd "$program" | grep -o '/[^ ]*/libc\.so\.6')")
for name in libdl.so.2 librt.so.1 libpthread.so.0; do copy "$folder/$name"; done

install -m 755 tools/bundle_launcher.sh "$root/bin/stepc"
cp docs/gpu_check.md "$root/docs/"
cp LICENSE "$root/"
cp -r tools/gpu_check "$root/tools/"
rm -rf "$root/tools/gpu_check/__pycache__"
cp tests/golden/check_folder.py "$root/tests/golden/"
ls tests/data/models | grep -E "$models" | while read -r name; do cp "tests/data/models/$name" "$root/tests/data/models/"; done
[ "$("$root/bin/stepc" --version)" = "$("$program" --version)" ]

mkdir -p "$(dirname "$archive")"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - stepc-bundle | gzip -9n >"$archive"
bytes=$(stat -c %s "$archive")
echo "bundle: $archive, $bytes bytes"
if [ "$bytes" -gt "$limit" ]; then
  echo "bundle: more than $limit bytes" >&2
  exit 1
fi
