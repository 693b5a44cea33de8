/* Whose code a module is: assembly_origin.c. */
#ifndef CLRPROF_MODULES_H
#define CLRPROF_MODULES_H

#include "core/agent.h"

bool modules_init(void *info, const char *user_folder); /* all modules of it are the user's; NULL: there is none */
void modules_close(void);
bool modules_is_framework(const utf16 *path, uint32_t length); /* by the path alone; false: perhaps. Always to be called */
uint32_t module_origin(uintptr_t module, const utf16 *path, uint32_t length, bool in_memory, bool by_pattern); /* WIRE_ORIGIN_… */

#endif
