#include "textflag.h"

// Numbers of system calls, and of what they are asked (Linux, x86-64).
#define SYS_write 1
#define SYS_rt_sigaction 13
#define SYS_rt_sigprocmask 14
#define SYS_execve 59
#define SYS_exit_group 231
#define SYS_fcntl 72
#define SIG_SETMASK 2
#define SIG_IGN 1
#define F_SETFD 2
#define FD_CLOEXEC 1
#define SIGNALS 64
#define SET_BYTES 8

// The name by which the program starts another: see trampoline in start.go.
#define TRAMPOLINE $0x6769733a70726c63 // "clrp:sig"

// clrprof_start is where the kernel starts the program (-ldflags -E=clrprof_start). It notes which signals are ignored and
// which are blocked, and goes on with Go's own start. As trampoline it sets both, and becomes another program.
//
// The stack has the number of arguments, the arguments, 0, the environment, and 0.
TEXT clrprof_start(SB), NOSPLIT|NOFRAME, $0
	MOVQ 0(SP), R12 // arguments
	CMPQ R12, $4
	JLT  note
	MOVQ 8(SP), BX
	MOVQ TRAMPOLINE, CX
	CMPQ 0(BX), CX
	JEQ  become

note:
	SUBQ $48, SP // a struct sigaction, and a set of signals
	XORQ R13, R13
	MOVQ $1, R12

each:
	MOVQ R12, DI
	XORQ SI, SI
	MOVQ SP, DX
	MOVQ $SET_BYTES, R10
	MOVQ $SYS_rt_sigaction, AX
	SYSCALL
	TESTQ AX, AX
	JNE  next
	CMPQ 0(SP), $SIG_IGN
	JNE  next
	LEAQ -1(R12), AX
	BTSQ AX, R13

next:
	INCQ R12
	CMPQ R12, $SIGNALS
	JLE  each
	MOVQ R13, ·ignored(SB)
	XORQ DI, DI
	XORQ SI, SI
	LEAQ 32(SP), DX
	MOVQ $SET_BYTES, R10
	MOVQ $SYS_rt_sigprocmask, AX
	SYSCALL
	TESTQ AX, AX
	JNE  go
	MOVQ 32(SP), AX
	MOVQ AX, ·blocked(SB)
	MOVB $1, ·noted(SB)

go:
	ADDQ $48, SP
	JMP  _rt0_amd64_linux(SB)

become:
	LEAQ 8(SP), BX  // arguments
	SUBQ $48, SP
	XORQ R13, R13   // blocked signals
	MOVQ 8(BX), R14 // of each signal '0', or more: 1 ignored, 2 blocked
	MOVQ $0, 8(SP)
	MOVQ $0, 16(SP)
	MOVQ $0, 24(SP)
	MOVQ $1, R15

set:
	MOVBLZX -1(R14)(R15*1), R8
	TESTQ $2, R8
	JEQ  action
	LEAQ -1(R15), AX
	BTSQ AX, R13

action:
	ANDQ $1, R8
	MOVQ R8, 0(SP) // SIG_IGN, or 0: as it was before the first start
	MOVQ R15, DI
	MOVQ SP, SI
	XORQ DX, DX
	MOVQ $SET_BYTES, R10
	MOVQ $SYS_rt_sigaction, AX
	SYSCALL
	INCQ R15
	CMPQ R15, $SIGNALS
	JLE  set
	MOVQ R13, 32(SP)
	MOVQ $SIG_SETMASK, DI
	LEAQ 32(SP), SI
	XORQ DX, DX
	MOVQ $SET_BYTES, R10
	MOVQ $SYS_rt_sigprocmask, AX
	SYSCALL
	MOVQ $3, DI
	MOVQ $F_SETFD, SI
	MOVQ $FD_CLOEXEC, DX
	MOVQ $SYS_fcntl, AX
	SYSCALL
	MOVQ 16(BX), DI           // path
	LEAQ 24(BX), SI           // its arguments
	LEAQ 8(BX)(R12*8), DX     // and the environment
	MOVQ $SYS_execve, AX
	SYSCALL
	NEGQ AX                   // why not
	MOVQ AX, 32(SP)
	MOVQ $3, DI
	LEAQ 32(SP), SI
	MOVQ $8, DX
	MOVQ $SYS_write, AX
	SYSCALL
	MOVQ $127, DI
	MOVQ $SYS_exit_group, AX
	SYSCALL
	INT  $3
