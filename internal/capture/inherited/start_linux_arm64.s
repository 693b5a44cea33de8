#include "textflag.h"

// Numbers of system calls, and of what they are asked (Linux, arm64).
#define SYS_fcntl 25
#define SYS_write 64
#define SYS_exit_group 94
#define SYS_rt_sigaction 134
#define SYS_rt_sigprocmask 135
#define SYS_execve 221
#define SIG_SETMASK 2
#define SIG_IGN 1
#define F_SETFD 2
#define FD_CLOEXEC 1
#define SIGNALS 64
#define SET_BYTES 8

// The name by which the program starts another: see trampoline in start.go.
#define TRAMPOLINE $0x6769733a70726c63 // "clrp:sig"

// clrprof_start does what start_linux_amd64.s describes. The C library's struct sigaction is not the kernel's: that has
// handler, flags, restorer and mask.
TEXT clrprof_start(SB), NOSPLIT|NOFRAME, $0
	MOVD 0(RSP), R19 // arguments
	CMP  $4, R19
	BLT  note
	MOVD 8(RSP), R20
	MOVD (R20), R21
	MOVD TRAMPOLINE, R22
	CMP  R21, R22
	BEQ  become

note:
	SUB  $48, RSP // a struct sigaction, and a set of signals
	MOVD $0, R21
	MOVD $1, R19

each:
	MOVD R19, R0
	MOVD $0, R1
	MOVD RSP, R2
	MOVD $SET_BYTES, R3
	MOVD $SYS_rt_sigaction, R8
	SVC
	CBNZ R0, next
	MOVD 0(RSP), R4
	CMP  $SIG_IGN, R4
	BNE  next
	SUB  $1, R19, R5
	MOVD $1, R6
	LSL  R5, R6, R6
	ORR  R6, R21, R21

next:
	ADD  $1, R19, R19
	CMP  $SIGNALS, R19
	BLE  each
	MOVD R21, ·ignored(SB)
	MOVD $0, R0
	MOVD $0, R1
	ADD  $32, RSP, R2
	MOVD $SET_BYTES, R3
	MOVD $SYS_rt_sigprocmask, R8
	SVC
	CBNZ R0, go
	MOVD 32(RSP), R4
	MOVD R4, ·blocked(SB)
	MOVD $1, R4
	MOVB R4, ·noted(SB)

go:
	ADD $48, RSP
	B   _rt0_arm64_linux(SB)

become:
	ADD  $8, RSP, R20 // arguments
	SUB  $48, RSP
	MOVD $0, R21      // blocked signals
	MOVD 8(R20), R22  // of each signal '0', or more: 1 ignored, 2 blocked
	MOVD ZR, 8(RSP)
	MOVD ZR, 16(RSP)
	MOVD ZR, 24(RSP)
	MOVD $1, R23

set:
	SUB   $1, R23, R5
	MOVBU (R22)(R5), R24
	TBZ   $1, R24, action
	MOVD  $1, R6
	LSL   R5, R6, R6
	ORR   R6, R21, R21

action:
	AND  $1, R24, R24
	MOVD R24, 0(RSP) // SIG_IGN, or 0: as it was before the first start
	MOVD R23, R0
	MOVD RSP, R1
	MOVD $0, R2
	MOVD $SET_BYTES, R3
	MOVD $SYS_rt_sigaction, R8
	SVC
	ADD  $1, R23, R23
	CMP  $SIGNALS, R23
	BLE  set
	MOVD R21, 32(RSP)
	MOVD $SIG_SETMASK, R0
	ADD  $32, RSP, R1
	MOVD $0, R2
	MOVD $SET_BYTES, R3
	MOVD $SYS_rt_sigprocmask, R8
	SVC
	MOVD $3, R0
	MOVD $F_SETFD, R1
	MOVD $FD_CLOEXEC, R2
	MOVD $SYS_fcntl, R8
	SVC
	MOVD 16(R20), R0       // path
	ADD  $24, R20, R1      // its arguments
	ADD  $8, R20, R2       // and the environment
	ADD  R19<<3, R2, R2
	MOVD $SYS_execve, R8
	SVC
	NEG  R0, R0            // why not
	MOVD R0, 32(RSP)
	MOVD $3, R0
	ADD  $32, RSP, R1
	MOVD $8, R2
	MOVD $SYS_write, R8
	SVC
	MOVD $127, R0
	MOVD $SYS_exit_group, R8
	SVC
	BRK
