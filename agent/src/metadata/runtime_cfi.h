/* What the runtime's file says of its own frames: runtime_cfi.c. */
#ifndef CLRPROF_CFI_H
#define CLRPROF_CFI_H

#include "core/agent.h"

void cfi_find_runtime(uintptr_t address); /* one in the runtime's code */
/* The bytes between the stack pointer and the return address of a function of the runtime that goes on at `address`
 * after a call; 0: it is not known, or the frame pointer shows it. */
uint32_t cfi_frame_size(uintptr_t address);
bool cfi_is_runtime(uintptr_t address); /* is it in the runtime's code? */

#endif
