package wire

import "strings"

// CoreLibrary is the name, in metadata, of the module that holds the helpers.
const CoreLibrary = "System.Private.CoreLib.dll"

// Helpers lists the runtime's own functions among those of the core library, as Namespace.Type.Method in metadata; a
// `*` at the end stands for any rest. Compiled code calls them where the program has a cast, a box, an array of several
// dimensions, an access to a static field, a generic or virtual call, or a tail call; nobody wrote these calls. Older
// runtimes have them in C++. So they have no frames in stacks, and their calls are not recorded.
//
// They are the managed ones among the JIT's helpers (jithelpers.h, corelib.h of 5 to 10), with what these consist of.
// Functions that programs call themselves, too, such as Monitor.Enter, are not here.
func Helpers() []string {
	return []string{
		// 5: casts, elements of arrays; 10: boxes
		"System.Runtime.CompilerServices.CastHelpers*",
		"System.Runtime.CompilerServices.InitHelpers*",    // 10: runs static constructors
		"System.Runtime.CompilerServices.StaticsHelpers*", // 10: bases of static fields
		// 10: what generic code looks up at run time
		"System.Runtime.CompilerServices.GenericsHelpers*",
		// 10: the targets of generic virtual calls
		"System.Runtime.CompilerServices.VirtualDispatchHelpers*",
		// 9: throw what an instruction throws
		"Internal.Runtime.CompilerHelpers.ThrowHelpers*",
		// 10: the state of a runtime-async method
		"System.Runtime.CompilerServices.AsyncHelpers.AllocContinuation*",
		"System.Runtime.CompilerServices.RuntimeHelpers.DispatchTailCalls",        // 5: explicit tail calls
		"System.Runtime.CompilerServices.RuntimeHelpers.AllocTailCallArgBuffer*",  // 5: their arguments
		"System.Runtime.CompilerServices.RuntimeHelpers.<AllocTailCallArgBuffer*", // 10: its slow part
		"System.RuntimeTypeHandle.InternalAlloc*",                                 // 10: allocates for these helpers
		"System.RuntimeTypeHandle.<InternalAlloc*",                                // 10: its slow part
		"System.RuntimeTypeHandle.GetRuntimeTypeFromHandle*",                      // 10: typeof
		"System.Array.CreateInstanceMDArray",                                      // 10: new int[2, 3]
		// delegates of methods that are not compiled yet
		"System.Delegate.DelegateConstruct",
		"System.Math.ConvertTo*",          // 9: checked conversions of floating-point numbers
		"System.TypedReference.GetRefAny", // 10: __refvalue
	}
}

// IsHelper says whether a function of the core library is one of Helpers: typ is its type, as in metadata, with /
// before nested types.
func IsHelper(typ, method string) bool {
	name := typ + "." + method
	for _, h := range Helpers() {
		prefix, any := strings.CutSuffix(h, "*")
		if name == h || any && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
