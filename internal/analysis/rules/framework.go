package rules

import (
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// The conditions of this file are about what framework code made for user code. A name alone says too little: advice
// can be followed only where user code called what it is about (firstCall), or gave the object to what made it.

// firstCall is the name of the framework function that user code called; "": it made the object itself, or the compiler
// inlined what it called.
func (f *facts) firstCall(u *analysis.Use) string {
	if len(u.Chain) == 0 {
		return ""
	}
	return f.function(u.Chain[0])
}

// isEnumerator reports whether a type is an enumerator of the framework.
func isEnumerator(f *facts, u *analysis.Use) bool {
	name := f.typeName(u.Type)
	last := name[strings.LastIndexAny(name, "./")+1:]
	return strings.HasPrefix(name, "System.") && strings.Contains(last, "Enumerator")
}

// enumerators reports whether user code enumerates a collection through an interface, where its own type would need no
// object: a loop of the framework's is none of these, and some types have no other enumerator.
func enumerators(f *facts, u *analysis.Use) bool {
	first := f.firstCall(u)
	return isEnumerator(f, u) && !linq(f, u) && (first == "" || strings.HasSuffix(first, ".GetEnumerator")) &&
		(f.trait(u.Type) == session.TraitValue || isAvoidable(f.typeName(u.Type)))
}

// isAvoidable reports whether an enumerator is of a collection that can be enumerated without it: all but those of
// concurrent collections, which are classes, too, if the collection's own type is enumerated.
func isAvoidable(name string) bool {
	return prefixed("System.SZ", "System.ArrayEnumerator", "System.CharEnumerator", "System.Collections.")(name) &&
		!strings.HasPrefix(name, "System.Collections.Concurrent.")
}

// boxedKeys are boxes that collections make to compare their keys and elements.
func boxedKeys(f *facts, u *analysis.Use) bool {
	return f.trait(u.Type) == session.TraitValue && !isEnumerator(f, u) && !f.calls(u, isThrower) &&
		!f.calls(u, returnsBoxes) &&
		f.calls(u, prefixed("System.Collections.Generic.", "System.Collections.Hashtable.", "System.Array.Sort",
			"System.Array.IndexOf"))
}

// returnsBoxes reports whether a function is that of an interface for objects of any type, or makes a text of a pair:
// what these box they do not compare.
func returnsBoxes(name string) bool {
	return strings.Contains(name, ".System.Collections.I") ||
		strings.HasPrefix(name, "System.Collections.Generic.KeyValuePair")
}

// isThrower reports whether a function throws an exception for others.
func isThrower(name string) bool {
	return strings.HasPrefix(name[strings.LastIndex(name, ".")+1:], "Throw")
}

var isFormat = prefixed("System.String.Format", "System.Text.StringBuilder.AppendFormat",
	"System.Runtime.CompilerServices.DefaultInterpolatedStringHandler.",
	"System.Text.StringBuilder/AppendInterpolatedStringHandler.")

// formats reports whether user code formats a text, itself or as it writes or logs it.
func formats(f *facts, u *analysis.Use) bool {
	first := f.firstCall(u)
	return f.calls(u, isFormat) && !f.calls(u, isThrower) && !f.calls(u, prefixed("System.SR.")) &&
		(isFormat(first) || isWriting(first))
}

// isWriting reports whether a function takes what is formatted: a writer, or a logger of any library.
func isWriting(name string) bool {
	return prefixed("System.IO.", "System.Console.", "System.Text.", "System.String.", "System.FormattableString.",
		"System.Diagnostics.")(name) ||
		strings.Contains(name, ".Log.") || strings.Contains(name, "Logg") || strings.Contains(name, "ILog.")
}

var isSubstring = prefixed("System.String.Substring", "System.String.Split", "System.String.InternalSubString")

// substrings reports whether user code copies a part of a string: not the framework for it.
func substrings(f *facts, u *analysis.Use) bool {
	return f.calls(u, isSubstring) && strings.HasPrefix(f.firstCall(u), "System.String.")
}

// notReflected begin the names of functions that are named like reflection, or use it in a way that user code cannot
// change: they read assemblies as files, take names apart, make code, or describe stacks.
var notReflected = prefixed("System.Reflection.Metadata.", "System.Reflection.PortableExecutable.",
	"System.Reflection.Internal.", "System.Reflection.AssemblyName", "System.Reflection.Emit.",
	"System.Linq.Expressions.", "Microsoft.CSharp.RuntimeBinder.", "System.Diagnostics.Stack", "System.Exception.",
	"System.Runtime.InteropServices.")

var isReflection = prefixed("System.Reflection.", "System.RuntimeType.", "System.Activator.")

// reflects reports whether reflection made it. Activator.CreateInstance<T>() is what the compiler makes of new T().
func reflects(f *facts, u *analysis.Use) bool {
	for _, id := range u.Chain {
		name := f.function(id)
		if notReflected(name) {
			return false
		}
		if isReflection(name) {
			return name != "System.Activator.CreateInstance" || f.parameters.get(id) != ""
		}
	}
	return false
}

// grows reports whether a collection of user code made it to have more room: in a function for that, or if the compiler
// inlined this, an array in a function that adds to it.
func grows(f *facts, u *analysis.Use) bool {
	first := f.firstCall(u)
	if !isOfCollection(first) && !fills(first) {
		return false
	}
	if f.calls(u, isGrowth) {
		return true
	}
	last := len(u.Chain) - 1
	return last >= 0 && strings.HasSuffix(f.typeName(u.Type), "[]") && isAdding(f.function(u.Chain[last]))
}

// fills reports whether a function writes to a stream, a writer or a builder that user code made.
func fills(name string) bool {
	owner := name[:max(0, strings.LastIndex(name, "."))]
	return strings.HasPrefix(owner, "System.IO.") &&
		(strings.HasSuffix(owner, "Writer") || strings.HasSuffix(owner, "Stream"))
}

// isGrowth reports whether a function gives a collection more room.
func isGrowth(name string) bool {
	return ofCollection(name, []string{"AddWithResize", "Grow", "GrowForInsertion", "Resize", "EnsureCapacity",
		"set_Capacity", "SetCapacity", "ExpandByABlock", "MakeRoom",
		"IncreaseCapacity", "PushWithResize", "AddIfNotPresentWithResize"})
}

// isAdding reports whether a function adds to a collection.
func isAdding(name string) bool {
	return ofCollection(name, []string{"Add", "AddRange", "Insert", "TryInsert", "TryAdd", "set_Item",
		"AddIfNotPresent", "Push", "Enqueue", "Append", "Write", "WriteByte"})
}

// ofCollection reports whether a function is one of some methods of a collection.
func ofCollection(name string, methods []string) bool {
	i := strings.LastIndex(name, ".")
	return i >= 0 && slices.Contains(methods, name[i+1:]) && isOfCollection(name)
}

// isOfCollection reports whether a function is a method of what grows as one adds to it.
var isOfCollection = prefixed("System.Collections.", "System.Text.StringBuilder", "System.IO.MemoryStream")

// linq reports whether operators of LINQ made it. Expressions, and what "dynamic" does with them, are no queries.
func linq(f *facts, u *analysis.Use) bool {
	if f.calls(u, prefixed("System.Linq.Expressions.", "Microsoft.CSharp.RuntimeBinder.")) {
		return false
	}
	name := f.typeName(u.Type)
	return strings.HasPrefix(name, "System.Linq.") && !strings.HasPrefix(name, "System.Linq.Expressions.") ||
		f.calls(u, prefixed("System.Linq.Enumerable"))
}
