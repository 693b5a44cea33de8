/* The usual case of the hooks, which call_stack.c includes twice: as it is, and with a call trace. So what records without a trace has
 * nothing of it, not even a question. HOOK(name) is the function's name, TRACED 0 or 1. */
HOT void HOOK(enter)(const struct method *m, uintptr_t sp)
{
    struct timer *t = current_timer;
    if (UNLIKELY(t == NULL)) {
        time_enter_slow(m, sp);
        return;
    }
    struct wire_activation *top = t->top;
    struct wire_clock *c = t->clock;
    if (UNLIKELY(sp >= top->caller_sp)) {
        time_enter_slow(m, sp);
        return;
    }
    if (!is_recorded(top, m)) {
        if (UNLIKELY((top->flags & (WIRE_ACTIVATION_TRUNCATED | WIRE_ACTIVATION_DISPATCHING | WIRE_ACTIVATION_JUMPED)) != 0 || m->function == 0 ||
                     ((top->flags & WIRE_ACTIVATION_PAUSED) != 0 && !is_passed_over(t, sp))))
            time_enter_slow(m, sp);
        return;
    }
    if (UNLIKELY(t->control != control_now())) {
        if (!is_passed_over(t, sp))
            time_enter_slow(m, sp);
        return;
    }
    uint64_t word, now;
    do {
        word = *t->word;
        now = machine_ticks();
    } while (UNLIKELY(*t->word != word));
    uint64_t interval = now - c->last;
    uint32_t number = 0, flags = m->boundary ? WIRE_ACTIVATION_BOUNDARY : 0, lead = 0;
    if (UNLIKELY(top->timing == 0)) /* the root of folded calls has function 0 */
        number = lead = m->function == 0 ? 0 : find_timing(t, 0, m->function, 0);
    else if (LIKELY((top->flags & WIRE_ACTIVATION_FOLDED) == 0))
        number = lead = called_next(t, top->timing, m->function, return_address_of(top, sp));
    if (UNLIKELY(number == 0 && t->truncated != 0 && top->timing != 0 && m->function != 0))
        number = fold_find(t, m->first);
    if (UNLIKELY(word != t->expect || interval > t->gap || number == 0 || top == t->limit || !is_quick) ||
        (TRACED && UNLIKELY(trace_needs_room(t)))) {
        time_enter_slow(m, sp);
        return;
    }
    if (LIKELY(top->timing != 0)) {
        c->elapsed += interval;
        if (LIKELY(lead != 0)) {
            timing_at(lead)->lead_elapsed += interval;
        } else {
            timing_at(top->timing)->tail_elapsed += interval;
            timing_at(top->timing)->folded++;
        }
    }
    c->last = now;
    if (UNLIKELY(lead == 0 && top->timing != 0)) {
        fold_begin(number);
        flags |= WIRE_ACTIVATION_FOLDED;
    }
    begin_call(t, top, number, flags, sp, now);
    if (TRACED)
        trace_call(t, top + 1, WIRE_TRACE_ENTER, m->function, now);
}

HOT void HOOK(leave)(const struct method *m, uintptr_t sp)
{
    struct timer *t = current_timer;
    if (UNLIKELY(t == NULL))
        return;
    struct wire_activation *a = t->top;
    struct wire_clock *c = t->clock;
    if (a->caller_sp != sp) {
        if (UNLIKELY(sp > a->caller_sp || !m->boundary) && !(sp < t->off_sp && is_passed_over(t, sp)))
            time_leave_slow(m, sp);
        return; /* not recorded */
    }
    uint64_t word, now;
    do {
        word = *t->word;
        now = machine_ticks();
    } while (UNLIKELY(*t->word != word));
    uint64_t interval = now - c->last;
    if (UNLIKELY(word != t->expect || interval > t->gap || !is_quick || a->timing == 0 || c->acted != a->acted ||
                 t->control != control_now() || (a->flags & WIRE_ACTIVATION_JUMPED) != 0) ||
        (TRACED && UNLIKELY(trace_needs_room(t)))) {
        time_leave_slow(m, sp);
        return;
    }
    c->elapsed += interval;
    timing_at(a->timing)->tail_elapsed += interval;
    c->last = now;
    if (TRACED)
        trace_call(t, a, WIRE_TRACE_EXIT, timing_at(a->timing)->function, now);
    end_call_as(t, a, false);
}

/* The caller is gone with the jump, and what it jumped to may not be recorded: then nothing shows when that ends, and whether the
 * next call comes from it or from the caller's caller. So the call ends here, and is counted. */
HOT void HOOK(jump)(const struct method *m, uintptr_t sp)
{
    struct timer *t = current_timer;
    if (t != NULL && t->top->caller_sp == sp && t->top->timing != 0)
        t->clock->jumps++;
    HOOK(leave)(m, sp);
}
