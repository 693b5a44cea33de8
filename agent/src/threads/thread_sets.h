/* Many short threads share ids: thread_sets.c. */
#ifndef CLRPROF_THREAD_SETS_H
#define CLRPROF_THREAD_SETS_H

#include "core/agent.h"

struct thread;
struct timer;

struct thread_set {
    struct wire_thread_set *row;
    struct thread *thread; /* the state that the next thread of the set goes on with; NULL: none yet, or in use */
    struct timer *timer;   /* the same with time */
    struct thread_set *next; /* that no thread has, of the same name */
    uint32_t name;
};

bool thread_sets_init(void);
void thread_sets_close(void);
/* The rest with the lock held. */
bool threads_fold(void);                /* do threads that begin now share ids? If so, all later ones do */
void thread_own(uintptr_t managed);     /* it has an id of its own */
bool thread_is_own(uintptr_t managed);
void thread_forget(uintptr_t managed);  /* it has ended */
uint64_t thread_name_hash(const utf16 *name, uint32_t length);
bool thread_name_needed(uintptr_t managed, uint64_t hash); /* is a record of this name to be written? */
void thread_name_reported(uintptr_t managed, uint64_t hash, uint64_t at); /* at: of the record, as in the row; 0: none */
/* A set that no thread has, for threads of this one's name; a new one gets the id. NULL: no room. */
struct thread_set *thread_set_join(uintptr_t managed, uint32_t id, uint32_t os_id);
void thread_set_leave(struct thread_set *s);

#endif
