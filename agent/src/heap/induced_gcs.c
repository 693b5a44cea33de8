/* Who asks for collections.
 *
 * With workstation GC the thread that asks for a collection makes it, and lets the others go on at its end. The runtime reports that on
 * this thread (RuntimeResumeFinished) while it is still in the call of GC.Collect: its stack is taken there, as that of an allocation.
 * Nothing waits for it. Collections take longer than that by far, and a stack that is known takes no memory.
 *
 * With server GC threads of the runtime's own make collections. They have no stack that says who asked, and none is reported. */
#include "heap/induced_gcs.h"
#include "heap/allocations.h"

static uint32_t asked; /* number of the collection that has just ended, 0: it was not asked for, or that is reported */

void induced_ended(uint32_t gc)
{
    __atomic_store_n(&asked, gc, __ATOMIC_RELEASE);
}

UNGUARDED static hresult resume_finished(void *self)
{
    (void)self;
    uint32_t gc = __atomic_exchange_n(&asked, 0, __ATOMIC_ACQ_REL);
    if (UNLIKELY(gc != 0))
        allocations_note_caller(gc, (uintptr_t)__builtin_frame_address(0));
    return HR_OK;
}

void induced_install(void **callbacks)
{
    callbacks[CALLBACK_RUNTIME_RESUME_FINISHED] = (void *)resume_finished;
}
