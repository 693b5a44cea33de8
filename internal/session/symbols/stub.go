package symbols

import "strings"

// stubs are the runtime's own dynamic methods (dllimport.cpp, ilstubresolver.cpp, asynccontinuations.cpp), named after
// what they are for.
var stubs = map[string]string{
	"PInvoke": "P/Invoke", "ReversePInvoke": "callback from native code", "DelegateInvoke": "delegate",
	"MulticastDelegate_Invoke": "multicast delegate",
	"StructMarshal":            "marshalling of a struct", "UnboxingStub": "unboxing",
	"InstantiatingStub": "generic instantiation", "Array": "element of an array",
	"TailCallStoreArgs": "tail call", "TailCallCallTarget": "tail call", "CLRtoCOM": "COM",
	"COMtoCLR": "callback from COM",
}

// stubText names a stub of the runtime as a person would: (stub: P/Invoke). It reports whether the name is one's.
func stubText(name string) (string, bool) {
	what, ok := strings.CutPrefix(name, "IL_STUB")
	if !ok || what != "" && what[0] != '_' {
		return "", false
	}
	what = strings.TrimPrefix(what, "_")
	if method, ok := strings.CutPrefix(what, "AsyncResume_"); ok {
		if i := strings.LastIndexByte(method, '_'); i > 0 {
			method = method[:i] // the tier
		}
		return "(stub: resumption of " + method + ")", true
	}
	if text, ok := stubs[what]; ok {
		what = text
	}
	if what == "" {
		return "(stub)", true
	}
	return "(stub: " + what + ")", true
}
