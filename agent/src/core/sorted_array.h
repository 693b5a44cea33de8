/* Arrays that grow: sorted_array.c. */
#ifndef CLRPROF_LIST_H
#define CLRPROF_LIST_H

#include "core/agent.h"

struct list { /* its memory is private and counted */
    void *items;
    uint64_t n, capacity, size;
};

bool list_reserve(struct list *l, uint64_t n);
bool list_sort(struct list *l); /* by the word with which each item begins; false: no memory */
void list_give_back(struct list *l); /* it is empty then */

#endif
