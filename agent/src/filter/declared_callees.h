/* What the calls in a method's IL are of: declared_callees.c. */
#ifndef CLRPROF_CALLEES_H
#define CLRPROF_CALLEES_H

#include "core/agent.h"

struct callees { /* of the methods of a module, while one of them is rewritten */
    uintptr_t module;
    uint32_t module_number;
    void *import, *assemblies; /* IMetaDataImport2, IMetaDataAssemblyImport */
    uint8_t *scratch;
    bool collectible;
};
#define CALLEES_SCRATCH (32u * 1024u)
bool callees_init(void *info);
void callees_close(void);
bool callees_begin(struct callees *c, uintptr_t module, uint8_t *scratch); /* false: nothing is known of calls */
void callees_end(struct callees *c);
uint64_t callees_site(void *callees, uint32_t offset, uint8_t opcode, uint32_t token); /* for il.h: struct method, 0: not recorded */
uint32_t callees_first(uint32_t function); /* the number that stands for a function that has several; of any function */
void callees_module_loaded(uintptr_t module);
void callees_forget_module(void); /* with the lock held: one was unloaded */

#endif
