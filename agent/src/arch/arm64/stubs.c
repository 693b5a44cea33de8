/* arm64: the stubs that compiled code calls.
 *
 * Registers of the hooks (linux-arm64; jit/targetarm64.h, vm/arm64/asmhelpers.S of the runtime): the client's id is in x10 and the
 * caller's stack pointer in x11. x0 to x8 and q0 to q7 must be kept; x9, x12 to x17 and q16 to q31 are free. The frame
 * pointer is the function's own, and its pair has the return address: the hooks get the end of this pair instead of x11, as the probes do. */
#include "arch/arch.h"
#include "arch/entry.h"

#define STUB(name, body) ".pushsection .text\n.balign 32\n.hidden " #name "\n.globl " #name "\n.type " #name ",%function\n" #name ":\n.cfi_startproc\n" body \
                         ".cfi_endproc\n.size " #name ",.-" #name "\n.popsection\n"
#define PUSH_FRAME(bytes) "stp x29, x30, [sp, #-" #bytes "]!\n.cfi_def_cfa_offset " #bytes "\n.cfi_offset 29, -" #bytes "\n.cfi_offset 30, 8-" #bytes "\n"
#define POP_FRAME(bytes) "ldp x29, x30, [sp], #" #bytes "\n.cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0\n"

/* A stub that compiled code calls, and keeps all that it must: the function gets the client's id and the end of the pair. */
#define HOOK_STUB(name, function) \
    STUB(name, PUSH_FRAME(224) "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\nstr x8, [sp, #80]\n" \
         "stp q0, q1, [sp, #96]\nstp q2, q3, [sp, #128]\nstp q4, q5, [sp, #160]\nstp q6, q7, [sp, #192]\n" \
         "mov x0, x10\nadd x1, x29, #16\nmov x29, sp\nbl " #function "\n" \
         "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\nldr x8, [sp, #80]\n" \
         "ldp q0, q1, [sp, #96]\nldp q2, q3, [sp, #128]\nldp q4, q5, [sp, #160]\nldp q6, q7, [sp, #192]\n" POP_FRAME(224) "ret\n")
#define HOOK_STUBS(name, enter, leave, jump) HOOK_STUB(name##_enter, enter) HOOK_STUB(name##_leave, leave) HOOK_STUB(name##_tailcall, jump)

/* A function without code as the JIT makes it: x0 is the method. machine_bare is the same without probes. */
#define CALL(function) "adrp x9, " #function "\nadd x9, x9, :lo12:" #function "\nblr x9\n"
#define PROBED_STUBS(name, enter, leave) \
    STUB(name, PUSH_FRAME(32) "mov x29, sp\nstr x19, [sp, #16]\nmov x19, x0\nmov x10, x19\nadd x11, sp, #32\n" CALL(enter) \
         "mov x10, x19\nadd x11, sp, #32\n" CALL(leave) "ldr x19, [sp, #16]\n" POP_FRAME(32) "ret\n")
/* The same with probes in its IL. */
#define PROBED_IL_STUBS(name, enter, leave) \
    STUB(name, PUSH_FRAME(32) "mov x29, sp\nstr x19, [sp, #16]\nmov x19, x0\n" CALL(enter) "mov x0, x19\n" CALL(leave) \
         "ldr x19, [sp, #16]\n" POP_FRAME(32) "ret\n")
#define BARE_STUB(name) STUB(name, PUSH_FRAME(32) "mov x29, sp\nstr x19, [sp, #16]\nldr x19, [sp, #16]\n" POP_FRAME(32) "ret\n")

#ifdef CLRPROF_ORACLE /* the same around functions that do less: what the product is measured by */
__asm__(HOOK_STUBS(oracle_empty, oracle_empty_hook, oracle_empty_hook, oracle_empty_hook) HOOK_STUBS(oracle_clock, oracle_clock_hook, oracle_clock_hook, oracle_clock_hook));
#endif

__asm__(HOOK_STUBS(clrprof, time_enter_hook, time_leave_hook, time_jump_hook)
        HOOK_STUBS(clrprof_traced, time_enter_traced, time_leave_traced, time_jump_traced)
        /* The stubs of hooks keep vector registers already. */
        STUB(time_enter_slow, "b time_enter_cold\n") STUB(time_leave_slow, "b time_leave_cold\n")
        PROBED_STUBS(machine_probed, clrprof_enter, clrprof_leave) PROBED_STUBS(machine_probed_traced, clrprof_traced_enter, clrprof_traced_leave)
        PROBED_IL_STUBS(machine_probed_il, clrprof_probe_enter, clrprof_probe_leave)
        PROBED_IL_STUBS(machine_probed_il_traced, clrprof_traced_probe_enter, clrprof_traced_probe_leave)
        PROBED_IL_STUBS(machine_probed_il_numbered, clrprof_numbered_probe_enter, clrprof_numbered_probe_leave)
        BARE_STUB(machine_bare_il) BARE_STUB(machine_bare));

/* The probes in IL, which are called as functions of C and may change what those may: the argument is in x0. Around a call the
 * stack pointer is that of the caller for what it calls, and below it the probe puts a pair with a return address in the caller. */
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define ARGUMENTS "mov x2, x30\nadd x1, x29, #16\nmov x3, sp\n"
#define AT_SITE(function) PUSH_FRAME(16) "mov x29, sp\nadd x1, sp, #16+" TEXT(SITE_MARK) "\nbl " #function "\n" POP_FRAME(16) "ret\n"
#define AT_JUMP "add x1, x29, #16+" TEXT(SITE_MARK) "\nb time_site_jump\n"
/* What the argument's upper bits say is not the recording of now: the probe does nothing. Else they are taken away. */
#define NUMBERED "lsr x9, x0, #" TEXT(PROBE_NUMBER_SHIFT) "\nadrp x10, probes_recording\nldrh w10, [x10, :lo12:probes_recording]\n" \
                 "cmp w9, w10\nb.ne 1f\nubfx x0, x0, #0, #" TEXT(PROBE_NUMBER_SHIFT) "\n"
__asm__(STUB(clrprof_probe_enter, ARGUMENTS "b probes_enter\n") STUB(clrprof_probe_leave, ARGUMENTS "b probes_leave\n")
        STUB(clrprof_traced_probe_enter, ARGUMENTS "b probes_enter_traced\n") STUB(clrprof_traced_probe_leave, ARGUMENTS "b probes_leave_traced\n")
        STUB(clrprof_probe_tail, ARGUMENTS "b probes_tail\n")
        STUB(clrprof_marked_enter, ARGUMENTS "b probes_enter_marked\n") STUB(clrprof_marked_leave, ARGUMENTS "b probes_leave_marked\n")
        STUB(clrprof_marked_tail, ARGUMENTS "b probes_tail_marked\n")
        STUB(clrprof_interaction_text, "add x3, x29, #16\nmov x4, x30\nmov x5, sp\nb interactions_text\n")
        STUB(clrprof_interaction_waits, "add x2, x29, #16\nb interactions_waits\n")
        STUB(clrprof_interaction_done, "add x2, x29, #16\nb interactions_done\n")
        STUB(clrprof_site_enter, AT_SITE(time_enter_hook)) STUB(clrprof_site_leave, AT_SITE(time_leave_hook))
        STUB(clrprof_traced_site_enter, AT_SITE(time_enter_traced)) STUB(clrprof_traced_site_leave, AT_SITE(time_leave_traced))
        STUB(clrprof_site_jump, AT_JUMP)
        STUB(clrprof_numbered_probe_enter, NUMBERED ARGUMENTS "b probes_enter\n1:\nret\n")
        STUB(clrprof_numbered_probe_leave, NUMBERED ARGUMENTS "b probes_leave\n1:\nret\n")
        STUB(clrprof_numbered_probe_tail, NUMBERED ARGUMENTS "b probes_tail\n1:\nmov w0, #1\nret\n")
        STUB(clrprof_numbered_site_enter, NUMBERED AT_SITE(time_enter_hook) "1:\nret\n")
        STUB(clrprof_numbered_site_leave, NUMBERED AT_SITE(time_leave_hook) "1:\nret\n")
        STUB(clrprof_numbered_site_jump, NUMBERED AT_JUMP "1:\nret\n"));
