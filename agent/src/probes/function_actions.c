/* What is done at functions, besides recording their calls: marks (--mark-at), and changes of a level's counters (--start-at,
 * --stop-at, --pause-at, --resume-at), which are those that the program could make itself in the same place. */
#include "probes/function_actions.h"
#include "core/arena.h"
#include "core/recording.h"
#include "control/recording_state.h"
#include "threads/threads.h"

#include <errno.h>

_Static_assert(WIRE_ACTION_CONTROL % WIRE_POINTS == 0 && WIRE_ACTION_MARK % WIRE_POINTS == 0 && WIRE_POINTS == 4, "ACTIONS_AT_BEFORE");

#define LEVELS (WIRE_LEVEL_THREAD - WIRE_LEVEL_GLOBAL + 1u)

static bool has(uint64_t actions, uint32_t point, uint32_t level, uint32_t op)
{
    return (actions >> (WIRE_ACTION_CONTROL + (LEVELS * (op - WIRE_CONTROL_START) + level - WIRE_LEVEL_GLOBAL) * WIRE_POINTS + point) & 1) != 0;
}

/* In the order in which the switch of starts and stops and the counter of suspensions do not hide what another one did. */
static const uint32_t order[] = {WIRE_CONTROL_SUSPEND, WIRE_CONTROL_START, WIRE_CONTROL_STOP, WIRE_CONTROL_RESUME};

static void change_levels(uint64_t actions, uint32_t point)
{
    uint32_t thread = thread_number();
    uint64_t since = control_changes_begin();
    for (uint32_t i = 0; i < sizeof order / sizeof *order; i++)
        for (uint32_t level = WIRE_LEVEL_GLOBAL; level <= WIRE_LEVEL_THREAD; level++)
            if (has(actions, point, level, order[i]))
                control_change(level, order[i], thread); /* else the caller learns that there was no room */
    control_changes_end(since);
}

/* A mark is made where it is recorded: before the changes, or, if nothing is recorded then, after them. */
void actions_do(uint64_t actions, uint32_t point, uint32_t function)
{
    int saved_errno = errno;
    bool marks = (actions >> (WIRE_ACTION_MARK + point) & 1) != 0, marked = marks && control_mark_function(function, point);
    if ((actions & ACTIONS_AT_BEFORE << point) >> WIRE_ACTION_CONTROL != 0 && !recording_is_over() && arena_is_ours())
        change_levels(actions, point);
    if (marks && !marked)
        control_mark_function(function, point);
    errno = saved_errno;
}
