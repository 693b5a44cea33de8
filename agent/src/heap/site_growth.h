/* What changed from one garbage collection to the next: site_growth.c. */
#ifndef CLRPROF_CHANGES_H
#define CLRPROF_CHANGES_H

#include "heap/object_tracking.h"

void changes_note(uint32_t site, uint32_t counter); /* the counter of the site may change before the next GC ends */
struct population changes_born(void); /* at all sites since the last GC, but for frozen objects */
/* Notes what there is now as born before this GC; if others_are_dead, what was born since the last one and is not noted as other died in
 * generation 0. Returns how many these are. */
struct population changes_count(bool others_are_dead);
/* At the end of a GC, or now and then, or if it must: reports what changed since the GC *from, which is the own number
 * if nothing is reported. Returns what was born since the GC before this one. */
struct population changes_report(uint32_t gc, bool must, uint32_t *from);

#endif
