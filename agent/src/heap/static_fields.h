/* Which static fields hold objects: static_fields.c. */
#ifndef CLRPROF_STATICS_H
#define CLRPROF_STATICS_H

#include "core/agent.h"

void statics_init(void *info);
void statics_install(void **callbacks);
void statics_report(void); /* into the snapshot that is written; while all threads are stopped */
void statics_forget_module(uintptr_t module); /* it is being unloaded */
void statics_forget_thread(uintptr_t thread);   /* it ends */
void statics_give_back(void);

#endif
