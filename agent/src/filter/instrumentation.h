/* Whose calls are recorded: instrumentation.c. */
#ifndef CLRPROF_INSTRUMENT_H
#define CLRPROF_INSTRUMENT_H

#include "core/agent.h"

struct method;
struct time_options;

uint32_t instrument_init(void *info, const struct time_options *o); /* WIRE_FAILURE_…, or 0 */
bool instrument_init_origins(void *info, const char *mine, const char *mine_folder); /* whose code modules are, and nothing else; false: no memory */
void instrument_close(void);
uint32_t method_function(uintptr_t function_id); /* id of a function that is hooked, else 0 */
/* FUNCTION_IS_… of a method that is being described; own: of helper_class, FUNCTION_IS_ASYNC, or FUNCTION_IS_EXTERN; its names are as in the record: type names, name. */
uint64_t instrument_class(uintptr_t module, uint32_t token, uint64_t own, const uint8_t *names, const uint8_t *end);
void instrument_forget_module(uintptr_t module);
hresult instrument_inlining(void *self, uintptr_t caller, uintptr_t callee, int32_t *should);
hresult instrument_compiled(void *self, uintptr_t function_id, hresult status, int32_t safe_to_block);

struct method *instrument_method(uintptr_t function_id, uint64_t value); /* what hooks and probes get; NULL: no memory */
uint64_t instrument_known(uintptr_t function_id); /* the same of one that has been compiled, with bit 0 set if it can be unloaded; 0: none */
uint32_t instrument_origin(uintptr_t module); /* WIRE_ORIGIN_…; without time: unknown */
bool instrument_is_mine(uintptr_t module); /* nothing is before instrument_init, or instrument_init_origins */
bool instrument_includes_module(uintptr_t module); /* its functions are instrumented, but for those that a rule excludes */
bool instrument_is_mine_by_path(const utf16 *path, uint32_t length, bool *is_there); /* of one that is not loaded */
bool instrument_may_include(const utf16 *name, uint32_t length);
uint64_t instrument_choose_actions(void *info); /* a bit for each WIRE_ACTION_… that some function can have */
uint64_t instrument_actions(uint64_t value); /* those of a function */
uint32_t instrument_decode(const char **text); /* one UTF-8 character; what is none is taken byte by byte */
bool instrument_may_mark(const utf16 *name, uint32_t length);
/* Of a function that is only declared, in a module with this path: is it outside of what is instrumented? Then its calls are recorded. */
bool instrument_is_outside(const utf16 *path, uint32_t length, bool is_mine, bool is_extern, const uint8_t *names, const uint8_t *end);

#endif
