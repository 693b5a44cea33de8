/* The state of the recording that every part asks for. It lies below all of them, so that none has to know who ends a recording:
 * collector_watch.c, when the collector is gone, or dormant.c. */
#include "core/recording.h"

uint32_t code_epoch;

static bool over;
static void (*over_asked)(void);

bool recording_is_over(void)
{
    bool is_over = __atomic_load_n(&over, __ATOMIC_ACQUIRE);
    if (UNLIKELY(is_over && over_asked != NULL))
        over_asked();
    return is_over;
}

bool recording_end(void (*asked)(void))
{
    if (asked != NULL)
        over_asked = asked;
    return !__atomic_exchange_n(&over, true, __ATOMIC_SEQ_CST);
}

KEPT bool dormant_on;
static KEPT uint32_t open_to_visits, visits;

bool visit_begin_slowly(void)
{
    __atomic_fetch_add(&visits, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&open_to_visits, __ATOMIC_SEQ_CST) != 0)
        return true;
    visit_end_slowly();
    return false;
}

void visit_end_slowly(void)
{
    __atomic_fetch_sub(&visits, 1, __ATOMIC_SEQ_CST);
}

void visits_open(void)
{
    __atomic_store_n(&open_to_visits, 1, __ATOMIC_SEQ_CST);
}

void visits_close(void)
{
    __atomic_store_n(&open_to_visits, 0, __ATOMIC_SEQ_CST);
}

bool visits_are_open(void)
{
    return __atomic_load_n(&open_to_visits, __ATOMIC_SEQ_CST) != 0;
}

bool visits_are_over(void)
{
    return __atomic_load_n(&visits, __ATOMIC_SEQ_CST) == 0;
}
