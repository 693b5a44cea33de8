#!/bin/sh
# build.sh DIRECTORY
#
# Makes the C++ runtime for musl that .NET needs, libstdc++.so.6 and libgcc_s.so.1, on a Debian that has packages of musl but not of these.
# With CLRPROF_TEST_MUSL=DIRECTORY the tests then run a .NET for musl. On Alpine none of this is needed. It takes ten minutes of a processor, and
#   apt-get install gcc g++ musl-tools gcc-12-source
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# libstdc++: GCC's own build of it, with musl's headers. Without gthr-default.h beside it there would be no std::thread.
tar xJf /usr/src/gcc-12/gcc-12*.tar.xz --strip-components=1
mkdir -p build libgcc
ln -sf gthr-posix.h libgcc/gthr-default.h
cd build
CC=musl-gcc CXX='g++ -specs /usr/lib/x86_64-linux-musl/musl-gcc.specs -nostdinc++' CFLAGS=-O1 CXXFLAGS=-O1 ../libstdc++-v3/configure \
  --host=x86_64-linux-musl --enable-clocale=generic --disable-symvers --disable-libstdcxx-pch --disable-nls --disable-multilib
make
cp -L src/.libs/libstdc++.so.6 "$out"

# libgcc_s: the compiler's static libraries, whose functions are hidden, behind jumps that are not.
cd "$work"
mkdir gcc_s
cd gcc_s
cp "$(gcc -print-file-name=libgcc_eh.a)" "$(gcc -print-file-name=libgcc.a)" .
nm --defined-only libgcc_eh.a libgcc.a 2>/dev/null | awk '$2 == "T" { print $3 }' |
  grep -vE '^__(cpu_|morestack|generic_|x86|splitstack)' | sort -u >names
sed 's/.*/& hidden_&/' names >renamed
{
  echo .text
  sed 's/.*/.globl &\n.type &,@function\n&: jmp hidden_&/' names
  echo '.section .note.GNU-stack,"",@progbits'
} >jumps.s
objcopy --redefine-syms=renamed libgcc_eh.a
objcopy --redefine-syms=renamed libgcc.a
musl-gcc -O1 -fPIC -shared -o "$out/libgcc_s.so.1" jumps.s "$here/find_object.c" -Wl,-soname,libgcc_s.so.1 \
  -Wl,--whole-archive libgcc_eh.a -Wl,--no-whole-archive libgcc.a -Wl,-Bsymbolic
