#!/bin/sh
# Runs the stepc beside it with the libraries beside it. The machine's own C library is used where it is new enough, because kernels that
# its compiler makes for the CPU need it; else the one that came along. Nothing is put into the environment, where
# compilers that stepc starts would find it.
root=$(dirname "$(readlink -f "$0")")/..
libraries=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
loader=/lib64/ld-linux-x86-64.so.2
if ! "$loader" --library-path "$libraries" "$root/lib/stepc" --version >/dev/null 2>&1; then
  loader=$root/lib/glibc/ld-linux-x86-64.so.2
  libraries=$root/lib/glibc:$libraries
fi
exec "$loader" --library-path "$libraries" "$root/lib/stepc" "$@"
