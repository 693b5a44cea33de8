/* When the program begins to end: ending.c. */
#ifndef CLRPROF_ENDING_H
#define CLRPROF_ENDING_H

#include "core/agent.h"

void ending_watch(void); /* for the signs; before framework_calls_watch */
void ending_note_class(uintptr_t class_id, uint32_t type);

/* While all threads are stopped: */
void ending_begin(uint32_t gc, uint32_t sign); /* what was alive after this collection is what is alive at the end */
void ending_check(uint64_t now); /* if the program was not about to end, what died since counts as dead */
void ending_count_age(uint32_t site, uint32_t by_collections, uint32_t by_time); /* of an object that ending_count_freed counts */
void ending_take_back(void);     /* the same at once */
void ending_count_freed(uint32_t site, uint32_t generation, uint64_t objects, uint64_t bytes);
void ending_report(void); /* what was freed in the collection that ended, before its record */
void ending_give_back(void);

#endif
