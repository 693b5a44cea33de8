#!/bin/sh
# build.sh CC OUT [FLAG...]
#
# Builds the agent and the made-up runtime for its tests into the directory OUT: agent.so and agent_test. The agent is
# the product's source, with the operating system's functions that tests let fail replaced by the made-up runtime's.
set -eu
cc=$1 out=$2
shift 2
cd "$(dirname "$0")/.."
mkdir -p "$out"
flags='-std=c11 -Isrc -O2 -g -fPIC -fno-omit-frame-pointer -pthread -Wall -Wextra -Wconversion -Werror'
replaced=
for f in open mmap mprotect madvise fallocate ftruncate link dl_iterate_phdr; do
  replaced="$replaced -D$f=fake_$f"
done
replaced="$replaced -Dpthread_getattr_np=fake_getattr_np -Dpthread_key_create=fake_key_create"
replaced="$replaced -Dclock_gettime=fake_clock_gettime -Dgetrusage=fake_getrusage -Dsyscall=fake_syscall -include test/fake_clock.h"
# shellcheck disable=SC2086 # lists of flags
"$cc" $flags $replaced -DCLRPROF_SANITIZED -DFIRST_FRAMES=8u -DCLRPROF_COUNT_STEPS -fvisibility=hidden -shared "$@" -o "$out/agent.so" src/*/*.c
# shellcheck disable=SC2086
"$cc" $flags -rdynamic "$@" -o "$out/agent_test" test/agent_test.c test/runtime_test.c test/lifetime_test.c test/time_test.c test/time_limits_test.c test/time_waits_test.c test/trace_test.c test/system_events_test.c test/cfi_test.c test/threads_test.c test/statics_test.c test/managed_events_test.c test/samples_test.c test/freestanding_test.c test/time_model.c test/model.c test/fake_runtime.c test/fake_calls.c -ldl
