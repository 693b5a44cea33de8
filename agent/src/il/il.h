/* Probes in IL: the body of a method, with calls of probes inserted (ECMA-335 II.25.4, III).
 *
 * Pure: no state, no memory but the caller's, no functions of the runtime. A body is planned, which checks all of it and
 * gives the size of the new one, and then written into a buffer of that size. What is not understood is refused as a
 * whole, with a reason. The new body does what the old one did, and calls besides
 *
 *   enter(method)            before its first instruction,
 *   leave(method)            before each return,
 *   tail(method)             before each call with the prefix tail., its arguments being computed: does it jump?
 *   site_enter(argument)     before each call that the caller of this wants seen, its arguments being computed,
 *   site_leave(argument)     when it has returned,
 *   site_jump(argument)      in the place of these two before one that jumps.
 *
 * An address of 0 is not called. A call with tail. is there twice, the first time without the prefix, for when tail says 0:
 *
 *   tail(method); brtrue jump; site_enter; call; site_leave; leave(method); ret; jump: site_jump; tail. call; ret
 *
 * If the result of a call is stored or dropped at once, site_leave comes after that. References that are on the stack at a
 * probe are in variables that are added: il_keep.c.
 *
 * A frame that an exception leaves calls nothing. Between leave and the return is a nop: without one the JIT makes a
 * jump of the call, and the probe would see its caller's frame. */
#ifndef CLRPROF_IL_H
#define CLRPROF_IL_H

#include <stdbool.h>
#include <stdint.h>

#define IL_MAX_CODE (1u << 18) /* bytes; the largest of the frameworks has 200 KB */
#define IL_CONSTRAINED 0x16u /* in the place of an opcode: callvirt with the prefix constrained. */
#define IL_MAX_BODY (1u << 20) /* with its clauses */
#define IL_MAX_KEPT 16u        /* references on the stack that are kept: code that people write has no more arguments */

enum il_result {
    IL_DONE,
    IL_MALFORMED,  /* what no compiler writes, and the runtime might refuse */
    IL_UNKNOWN,    /* an instruction, a clause or a section that is not in the standard */
    IL_TOO_LARGE,
    IL_JUMP,       /* jmp: its arguments are where no probe may be */
    IL_VARARGS,    /* arglist */
    IL_TAIL,       /* tail. before something other than a call and a return */
    IL_RESULTS
};

struct il_effect { /* of an instruction on the stack */
    uint32_t pops, pushes;
    bool reference; /* what is pushed is an object, or null */
};

struct il_probes {
    uint32_t signature; /* token of a StandAloneSig: static void (native int) */
    uint32_t tail_signature; /* of tail, which returns an int32 */
    uint64_t enter, leave, tail, site_enter, site_leave, site_jump; /* functions */
    uint64_t method;                                                /* the first three's argument */
    /* That of the probes around a call (call, callvirt, newobj, calli, or IL_CONSTRAINED) with this token; 0: none. NULL: none at all. */
    uint64_t (*site)(void *context, uint32_t offset, uint8_t opcode, uint32_t token);
    /* What call, callvirt, newobj, calli, ldfld and ldsfld with this token do. False: it is not known. NULL: nothing is kept. */
    bool (*effect)(void *context, uint32_t op, uint32_t token, struct il_effect *e);
    /* The token of the signature of a method's variables with so many more of type object, and the number of the first one; 0: there is none. */
    uint32_t (*locals)(void *context, uint32_t token, uint32_t more, uint32_t *first);
    void *context;
    /* Code that comes behind enter, and before each leave, with nothing and with the result on the stack, and leaves that as it was. */
    const uint8_t *begin, *end;
    uint32_t begin_bytes, end_bytes;
    uint32_t caught; /* token of a class: what the code at the end throws of it is dropped. 0: nothing is. Only where nothing is returned. */
};

struct il_work { /* 6 MB: rewriting a method touches a part of it that is as large as the method's code */
    struct il_probes probes;
    const uint8_t *body, *code;
    uint32_t size, code_bytes, sections_at; /* 0: no sections */
    uint32_t locals, new_code_bytes, n_clauses, n_caught, n_sites; /* n_caught: clauses that are added */
    uint32_t new_locals, first_kept, n_kept; /* n_kept: variables that are added */
    uint16_t max_stack;
    bool init_locals;
    uint32_t at[IL_MAX_CODE + 1];         /* new offsets of instructions, by old ones */
    uint8_t marks[IL_MAX_CODE + 1];       /* IL_… below, by old offset */
    uint8_t keeps[IL_MAX_CODE + 1];       /* by old offset: what it gives is kept in this variable, from 1 on; 0: it is not */
    uint16_t clears[IL_MAX_CODE + 1];     /* by old offset: the variables that become null before it */
    uint16_t entries[IL_MAX_CODE + 1];    /* il_keep.c: the stack's depth and 1 at what is branched to; 0: it is not known */
    uint16_t left_set[IL_MAX_CODE + 1];   /* il_keep.c: variables that may not be null there */
    uint64_t sites[IL_MAX_CODE / 5 + 1];  /* arguments, in the order of the calls */
};

/* new_size: of the whole body, which is to be at an address divisible by 4. */
enum il_result il_plan(struct il_work *w, const uint8_t *body, uint32_t size, const struct il_probes *probes, uint32_t *new_size);
void il_write(const struct il_work *w, uint8_t *body);

/* Where the new code is from. A run begins at each instruction that has become longer, and after it. */
struct il_run {
    uint32_t old_at, new_at;
};
/* How many there are, of which as many are written as there is room for. The last one is the end. */
uint32_t il_runs(const struct il_work *w, struct il_run *runs, uint32_t room);
/* The same for each instruction, and first the inserted begin. */
uint32_t il_starts(const struct il_work *w, struct il_run *starts, uint32_t room);
uint32_t il_old_offset(const struct il_run *runs, uint32_t n, uint32_t new_offset); /* inserted code: that of its instruction */

/* ── il_read.c ──────────────────────────────────────────────────────────────────────────────────────────────── */

enum {
    IL_STARTS = 1,     /* an instruction */
    IL_PREFIXED = 2,   /* that instruction has a prefix, and nothing may come between */
    IL_TARGET = 4,     /* of a branch */
    IL_LONG = 8,       /* a short branch that becomes a long one */
    IL_TAILS = 16,     /* a call with tail., which is there twice */
    IL_SITE = 32,      /* probes come around it */
    IL_SITE_END = 64,  /* site_leave comes after it */
    IL_AFTER_TAIL = 128 /* the return of a call with tail. */
};

#define IL_RET 0x2Au
#define IL_SWITCH 0x45u
#define IL_CATCH 0u /* kinds of clauses */
#define IL_FILTER 1u
#define IL_FINALLY 2u
#define IL_FAULT 4u

struct il_instruction {
    uint32_t at, operand, next; /* offsets */
    uint32_t op;                /* with 0xFE00 if it has two bytes */
};

struct il_clause {
    uint32_t kind, try_at, try_end, handler_at, handler_end, token; /* token: of a filter its offset */
};

struct il_section { /* of clauses, as it is read; one with size 0 is before the first */
    uint32_t at, size, n;
    bool fat, more;
};

uint32_t il_u32(const uint8_t *bytes);
struct il_instruction il_at(const struct il_work *w, uint32_t at); /* of code that was scanned */
bool il_is_call(uint32_t op);
bool il_is_short_branch(uint32_t op);
bool il_is_long_branch(uint32_t op);
uint32_t il_target(const uint8_t *code, const struct il_instruction *i, uint32_t entry); /* of a branch, or a switch's entry */
/* The header, the instructions and what refers to them; fills marks and sites. */
enum il_result il_scan(struct il_work *w, const uint8_t *body, uint32_t size);
bool il_next_section(const struct il_work *w, struct il_section *s, enum il_result *result);
struct il_clause il_read_clause(const struct il_work *w, const struct il_section *s, uint32_t n);

/* ── il_keep.c ──────────────────────────────────────────────────────────────────────────────────────────────── */

void il_keep(struct il_work *w); /* of code that was scanned: fills keeps and clears */
bool il_takes_result(const struct il_work *w, uint32_t at); /* does the instruction store or drop a value, and nothing comes between? */

#endif
