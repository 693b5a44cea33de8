/* What the agent does itself is taken out of the interval that the thread is in. Not all of it happens in calls: threads, marks and
 * requests need it, too, so it lies below them. */
#include "core/recording.h"
#include "os/own_time.h"
#include "os/timer.h"

void time_own_calls(void)
{
    struct timer *t = current_timer;
    if (counters_used != 0 && t != NULL && t->clock != NULL)
        counters_begin_own_calls(t);
}

void time_leave_out_calls(void)
{
    struct timer *t = current_timer;
    if (counters_used != 0 && t != NULL && t->clock != NULL)
        counters_end_own_calls(t);
}

uint64_t time_own_begins(void)
{
    struct timer *t = current_timer;
    if (t != NULL && t->clock != NULL) {
        t->leaving_out++;
        if (counters_used != 0)
            counters_begin_own(t);
    }
    return os_clock();
}

void time_leave_out(uint64_t since)
{
    struct timer *t = current_timer;
    if (t != NULL && t->clock != NULL) {
        t->leaving_out -= t->leaving_out != 0; /* it can have begun where the thread was not recorded yet */
        if (counters_used != 0)
            counters_end_own(t);
    }
    uint64_t now = os_clock();
    if (t == NULL || t->clock == NULL || recording_is_over() || now <= since)
        return;
    t->clock->last += now - since;
    t->clock->own += now - since;
}
