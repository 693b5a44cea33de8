/* The few parts of the CLR profiling API that the agent needs: types, codes and slots.
 *
 * An interface pointer points to a word that points to an array of functions (Itanium C++ ABI, no RTTI, no virtual
 * destructors), so slot n of an interface is entry n. Slots, IIDs and values were checked by running on .NET 9.0.7
 * and 3.1.2; they follow corprof.idl and cor.h of the runtime. */
#ifndef CLRPROF_CLR_H
#define CLRPROF_CLR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t hresult;
typedef uint16_t utf16;

#define HR_OK 0
#define HR_FALSE 1
#define HR_NO_INTERFACE ((hresult)0x80004002)
#define HR_FAIL ((hresult)0x80004005)
#define HR_CANCEL_ACTIVATION ((hresult)0x80131375) /* "not this process": the runtime goes on without a profiler */
#define HR_ASYNCHRONOUS_UNSAFE ((hresult)0x80131364) /* another thread holds a lock of the runtime */
#define HR_INVALID_ARGUMENT ((hresult)0x80070057)
#define HR_CLASS_IS_ARRAY ((hresult)0x80131365)
#define HR_CLASS_IS_COMPOSITE ((hresult)0x80131366)

struct guid {
    uint32_t d1;
    uint16_t d2, d3;
    uint8_t d4[8];
};

/* Event mask, low word. */
#define MONITOR_CLASS_LOADS 0x2u
#define MONITOR_MODULE_LOADS 0x4u
#define MONITOR_JIT_COMPILATION 0x20u
#define MONITOR_EXCEPTIONS 0x40u
#define MONITOR_GC 0x80u /* turns background GC off for the whole process */
#define MONITOR_OBJECT_ALLOCATED 0x100u
#define MONITOR_THREADS 0x200u
#define MONITOR_ENTERLEAVE 0x1000u /* code that was compiled beforehand is not used */
#define MONITOR_SUSPENDS 0x10000u
#define MONITOR_CACHE_SEARCHES 0x20000u
#define ENABLE_REJIT 0x40000u
#define ENABLE_OBJECT_ALLOCATED 0x800000u
#define ENABLE_STACK_SNAPSHOT 0x10000000u
/* High word. */
#define MEMORY_MASK (MONITOR_THREADS | MONITOR_MODULE_LOADS | ENABLE_OBJECT_ALLOCATED | MONITOR_OBJECT_ALLOCATED | ENABLE_STACK_SNAPSHOT)
#define IMMUTABLE_EVENTS (ENABLE_OBJECT_ALLOCATED | ENABLE_STACK_SNAPSHOT) /* of those that the agent uses: they can only be set at the start */
#define HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS 0x4u
#define HIGH_MONITOR_LARGE_OBJECTS 0x40u /* ObjectAllocated of those on the large object heap, also for who comes later */
#define HIGH_BASIC_GC 0x10u /* GarbageCollectionStarted and Finished without MONITOR_GC */
#define HIGH_MONITOR_EVENT_PIPE 0x80u
#define HIGH_MONITOR_GC_SKIP_ALLOCATED_BY_CLASS 0x200u /* .NET 11; unknown flags are ignored */

#define MODULE_FLAG_DISK 1u
#define MODULE_FLAG_DYNAMIC 4u
#define MODULE_FLAG_COLLECTIBLE 8u

#define STATIC_OF_THREAD 2u  /* COR_PRF_FIELD_THREAD_STATIC */

#define ROOT_KIND_STACK 1u /* COR_PRF_GC_ROOT_STACK */
#define ROOT_KIND_FINALIZER 2u
#define ROOT_KIND_HANDLE 3u
#define ROOT_FLAG_PINNING 1u /* COR_PRF_GC_ROOT_PINNING */
#define ROOT_FLAG_WEAK 2u  /* COR_PRF_GC_ROOT_WEAKREF */

/* Slots of ICorProfilerCallback11. */
enum {
    CALLBACK_INITIALIZE = 3,
    CALLBACK_SHUTDOWN = 4,
    CALLBACK_MODULE_LOAD_FINISHED = 14,
    CALLBACK_MODULE_UNLOAD_STARTED = 15,
    CALLBACK_MODULE_UNLOAD_FINISHED = 16,
    CALLBACK_CLASS_LOAD_FINISHED = 19,
    CALLBACK_JIT_STARTED = 23,
    CALLBACK_JIT_FINISHED = 24,
    CALLBACK_CACHE_SEARCH_STARTED = 25, /* JITCachedFunctionSearchStarted */
    CALLBACK_JIT_INLINING = 28,
    CALLBACK_THREAD_CREATED = 29,
    CALLBACK_THREAD_DESTROYED = 30,
    CALLBACK_RUNTIME_SUSPEND_STARTED = 42,
    CALLBACK_RUNTIME_SUSPEND_FINISHED = 43,
    CALLBACK_RUNTIME_RESUME_STARTED = 45,
    CALLBACK_RUNTIME_RESUME_FINISHED = 46,
    CALLBACK_RUNTIME_THREAD_SUSPENDED = 47,
    CALLBACK_RUNTIME_THREAD_RESUMED = 48,
    CALLBACK_OBJECT_ALLOCATED = 50,
    CALLBACK_OBJECTS_ALLOCATED_BY_CLASS = 51,
    CALLBACK_OBJECT_REFERENCES = 52,
    CALLBACK_EXCEPTION_THROWN = 54,
    CALLBACK_FILTER_ENTER = 57,
    CALLBACK_FILTER_LEAVE = 58,
    CALLBACK_CATCHER_FOUND = 59,
    CALLBACK_UNWIND_FUNCTION_ENTER = 62,
    CALLBACK_UNWIND_FUNCTION_LEAVE = 63,
    CALLBACK_FINALLY_ENTER = 64,
    CALLBACK_FINALLY_LEAVE = 65,
    CALLBACK_CATCHER_ENTER = 66,
    CALLBACK_CATCHER_LEAVE = 67,
    CALLBACK_THREAD_NAME_CHANGED = 72,
    CALLBACK_GC_STARTED = 73,
    CALLBACK_GC_FINISHED = 75,
    CALLBACK_FINALIZABLE_QUEUED = 76,
    CALLBACK_ROOT_REFERENCES2 = 77,
    CALLBACK_INITIALIZE_FOR_ATTACH = 80,
    CALLBACK_DETACH_SUCCEEDED = 82,
    CALLBACK_REJIT_STARTED = 83,
    CALLBACK_GET_REJIT_PARAMETERS = 84,
    CALLBACK_REJIT_FINISHED = 85,
    CALLBACK_REJIT_ERROR = 86,
    CALLBACK_MOVED_REFERENCES2 = 87,
    CALLBACK_SURVIVING_REFERENCES2 = 88,
    CALLBACK_DEPENDENT_REFERENCES = 89, /* ConditionalWeakTableElementReferences */
    CALLBACK_DYNAMIC_JIT_STARTED = 92, /* DynamicMethodJITCompilationStarted */
    CALLBACK_DYNAMIC_JIT_FINISHED = 93,
    CALLBACK_DYNAMIC_METHOD_UNLOADED = 94,
    CALLBACK_EVENT_DELIVERED = 95, /* EventPipeEventDelivered */
    CALLBACK_EVENT_PROVIDER_CREATED = 96, /* EventPipeProviderCreated */
    CALLBACK_SLOTS = 98,
    CALLBACK_INTERFACES = 11 /* Callback … Callback11 */
};

/* Slots of ICorProfilerInfo14. */
enum {
    INFO_GET_CLASS_FROM_OBJECT = 3,
    INFO_GET_FUNCTION_FROM_IP = 7,
    INFO_GET_FUNCTION_FROM_TOKEN = 8,
    INFO_IS_ARRAY_CLASS = 11,
    INFO_GET_CURRENT_THREAD_ID = 13,
    INFO_GET_FUNCTION_INFO = 15,
    INFO_GET_TOKEN_AND_METADATA = 19,
    INFO_GET_MODULE_META_DATA = 21,
    INFO_GET_IL_FUNCTION_BODY = 22,
    INFO_GET_IL_ALLOCATOR = 23, /* GetILFunctionBodyAllocator */
    INFO_SET_IL_FUNCTION_BODY = 24,
    INFO_GET_ASSEMBLY_INFO = 26,
    INFO_FORCE_GC = 28,
    INFO_SET_IL_CODE_MAP = 29, /* SetILInstrumentedCodeMap */
    INFO_DO_STACK_SNAPSHOT = 36,
    INFO_GET_FUNCTION_INFO2 = 38,
    INFO_GET_CLASS_ID_INFO2 = 41,
    INFO_GET_DOMAIN_STATIC_ADDRESS = 50, /* GetAppDomainStaticAddress */
    INFO_GET_STATIC_FIELD_INFO = 53,
    INFO_GET_GENERATION_BOUNDS = 54,
    INFO_GET_NOTIFIED_CLAUSE = 56, /* GetNotifiedExceptionClauseInfo */
    INFO_REQUEST_DETACH = 58, /* RequestProfilerDetach */
    INFO_SET_FUNCTION_ID_MAPPER2 = 59,
    INFO_SET_ENTER_LEAVE_HOOKS3 = 61,
    INFO_ENUM_MODULES = 66,
    INFO_GET_RUNTIME_INFORMATION = 67,
    INFO_GET_THREAD_STATIC_ADDRESS2 = 68,
    INFO_GET_MODULE_INFO2 = 70,
    INFO_ENUM_THREADS = 71,
    INFO_REQUEST_REJIT = 73,
    INFO_REQUEST_REVERT = 74,
    INFO_GET_OBJECT_SIZE2 = 80,
    INFO_SET_EVENT_MASK2 = 82,
    INFO_IS_FUNCTION_DYNAMIC = 87,
    INFO_GET_FUNCTION_FROM_IP3 = 88,
    INFO_GET_DYNAMIC_FUNCTION_INFO = 89,
    INFO_GET_NATIVE_CODE_STARTS = 90,
    INFO_GET_IL_TO_NATIVE_MAPPING3 = 91,
    INFO_GET_CODE_INFO4 = 92,
    INFO_ENUMERATE_OBJECT_REFERENCES = 93,
    INFO_REQUEST_REJIT_WITH_INLINERS = 96,
    INFO_SUSPEND_RUNTIME = 97,
    INFO_RESUME_RUNTIME = 98,
    INFO_EVENT_PIPE_START_SESSION = 101,
    INFO_EVENT_PIPE_STOP_SESSION = 103,
    INFO_EVENT_PIPE_GET_PROVIDER_INFO = 105,
    INFO_CREATE_HANDLE = 108,
    INFO_DESTROY_HANDLE = 109,
    INFO_GET_NON_GC_HEAP_BOUNDS = 112,
    INFO_EVENT_PIPE_CREATE_PROVIDER2 = 113
};

#define METHOD_IMPL_ASYNC 0x2000u /* of the implementation flags of a method: corhdr.h, miAsync */

/* Is it a function of a native library (DllImport), or one that the runtime makes (UnsafeAccessor)? Not one without a body, nor those
 * of delegates and of the runtime itself. ECMA-335 II.23.1.10 and 11. Methods of dynamic modules have no RVA either: then the
 * runtime knows if there is IL. */
bool method_is_extern(void *info, uintptr_t module, uint32_t token, uint32_t attributes, uint32_t rva, uint32_t implementation);
bool method_has_il(void *info, uintptr_t module, uint32_t token);
/* Of a method with metadata. False: it was made at run time. */
bool method_of_function(void *info, uintptr_t function_id, uintptr_t *module, uint32_t *token);

/* System.Reflection.Emit gives all its modules the same name. If this is that name, it becomes the assembly's; the length is that with
 * the zero at the end. */
void module_name_emitted(void *info, uintptr_t module, utf16 *name, uint32_t *length, uint32_t capacity);
/* The path of a module, of at most WIRE_MAX_NAME characters, and its COR_PRF_MODULE_FLAGS. False: the runtime does not say. */
bool module_path(void *info, uintptr_t module, utf16 *path, uint32_t *length, uint32_t *flags);

#define EMIT_DEFINE_MEMBER_REF 14 /* of IMetaDataEmit */
#define EMIT_GET_TOKEN_FROM_SIG 23
#define EMIT_GET_TOKEN_FROM_TYPE_SPEC 26
#define ALLOCATOR_ALLOC 3          /* of IMethodMalloc */
#define CONTROL_SET_IL_BODY 4      /* SetILFunctionBody of ICorProfilerFunctionControl */
#define CONTROL_SET_IL_MAP 5       /* SetILInstrumentedCodeMap of it */
#define ENUM_NEXT 7                /* of each enumerator: Next */
#define REJIT_BLOCK_INLINING 1u    /* COR_PRF_REJIT_BLOCK_INLINING: who has it inlined is compiled again, too, */
#define REJIT_INLINING_CALLBACKS 2u /* and is asked about */
#define OPEN_WRITE 1u              /* ofWrite */
#define TOKEN_TABLE 0xFF000000u    /* ECMA-335 II.22 */
#define TOKEN_MODULE 0x00000000u
#define TOKEN_TYPE_REF 0x01000000u
#define TOKEN_TYPE_DEF 0x02000000u
#define TOKEN_FIELD 0x04000000u
#define TOKEN_METHOD_DEF 0x06000000u
#define TOKEN_MEMBER_REF 0x0A000000u
#define TOKEN_SIGNATURE 0x11000000u
#define TOKEN_TYPE_SPEC 0x1B000000u
#define TOKEN_ASSEMBLY 0x20000001u /* a module has one at most */
#define TOKEN_ASSEMBLY_REF 0x23000000u
#define TOKEN_METHOD_SPEC 0x2B000000u
#define TYPE_VISIBILITY 7u         /* of the flags of a type, tdVisibilityMask; from TYPE_IS_NESTED on it is nested */
#define TYPE_IS_NESTED 2u
#define IL_NO_OFFSET 0xFFFFFFF0u   /* in an IL map: from here on no offsets, but prologues and the like */

/* Slots of IMetaDataImport and IMetaDataImport2, which begins with it. */
enum {
    IMPORT_CLOSE_ENUM = 3,
    IMPORT_FIND_TYPE_DEF = 9,
    IMPORT_GET_SCOPE_PROPS = 10,
    IMPORT_GET_TYPE_DEF_PROPS = 12,
    IMPORT_GET_TYPE_REF_PROPS = 14,
    IMPORT_ENUM_FIELDS = 20,
    IMPORT_FIND_METHOD = 27,
    IMPORT_FIND_FIELD = 28,
    IMPORT_GET_METHOD_PROPS = 30,
    IMPORT_GET_MEMBER_REF_PROPS = 31,
    IMPORT_GET_SIGNATURE = 41, /* GetSigFromToken */
    IMPORT_GET_TYPE_SPEC = 44,
    IMPORT_GET_FIELD_PROPS = 57,
    IMPORT_GET_CUSTOM_ATTRIBUTE = 60, /* GetCustomAttributeByName */
    IMPORT_GET_NESTED_CLASS_PROPS = 62,
    IMPORT_GET_METHOD_SPEC_PROPS = 67 /* of IMetaDataImport2 */
};
#define ASSEMBLIES_GET_REF_PROPS 4 /* of IMetaDataAssemblyImport */

struct clr_code_info { /* COR_PRF_CODE_INFO */
    uint64_t start, size;
};

struct clr_il_move { /* COR_IL_MAP */
    uint32_t old_at, new_at;
    int32_t exact;
};

struct clr_il_map { /* COR_DEBUG_IL_TO_NATIVE_MAP */
    uint32_t il, native_start, native_end;
};

struct clr_generation_range { /* COR_PRF_GC_GENERATION_RANGE */
    uint32_t generation;
    uint64_t start, length, reserved;
};

struct clr_clause { /* COR_PRF_EX_CLAUSE_INFO: the catch or finally block that is about to run */
    uint32_t type;
    uint64_t code, frame_pointer, shadow; /* frame_pointer: the stack pointer of the code that the block belongs to, in all runtimes that were tried */
};

struct clr_non_gc_range { /* COR_PRF_NONGC_HEAP_RANGE */
    uint64_t start, length, reserved;
};

struct clr_event_provider { /* COR_PRF_EVENTPIPE_PROVIDER_CONFIG */
    const utf16 *name;
    uint64_t keywords;
    uint32_t level;
    const utf16 *filter;
};

extern const struct guid IID_UNKNOWN, IID_CLASS_FACTORY, IID_METADATA_IMPORT, IID_METADATA_IMPORT2, IID_METADATA_ASSEMBLIES, IID_METADATA_EMIT;
extern const struct guid IID_CALLBACKS[CALLBACK_INTERFACES];
extern const struct guid IID_INFO9, IID_INFO10, IID_INFO12, IID_INFO13, IID_INFO14;

static inline bool guid_equal(const struct guid *a, const struct guid *b)
{
    return __builtin_memcmp(a, b, sizeof *a) == 0;
}

/* The function in a slot of an interface, to be called with the object as its first argument. */
#define SLOT(object, slot, ...) ((hresult (*)(void *, __VA_ARGS__))(*(void *const *const *)(object))[slot])

static inline hresult com_query(void *object, const struct guid *iid, void **out)
{
    return SLOT(object, 0, const struct guid *, void **)(object, iid, out);
}

static inline void com_release(void *object)
{
    ((uint32_t(*)(void *))(*(void *const *const *)object)[2])(object);
}

/* Memory for the IL of a method of a module, which the runtime keeps, aligned as a fat header must be (ECMA-335 II.25.4). NULL: there
 * is none. */
static inline uint8_t *runtime_il_memory(void *info, uintptr_t module, uint32_t bytes)
{
    void *allocator = NULL;
    if (SLOT(info, INFO_GET_IL_ALLOCATOR, uintptr_t, void **)(info, module, &allocator) < 0 || allocator == NULL)
        return NULL;
    uint8_t *memory = ((uint8_t *(*)(void *, uint32_t))(*(void *const *const *)allocator)[ALLOCATOR_ALLOC])(allocator, bytes);
    com_release(allocator);
    return ((uintptr_t)memory & 3) != 0 ? NULL : memory;
}

#endif
