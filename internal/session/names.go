package session

import (
	"fmt"
	"strings"
)

// MetadataName is the name in the metadata, with that of the type: System.String.Concat. It is "" where there is none.
func (f *Function) MetadataName() string {
	if f.RawType == "" {
		return f.RawName
	}
	return f.RawType + "." + f.RawName
}

// DisplayName returns the resolved name; in a session whose names were never
// resolved, one made from the metadata names.
func (f *Function) DisplayName() string {
	switch {
	case f.Name != "":
		return f.Name
	case f.RawName != "":
		return f.MetadataName()
	case f.ID == 0:
		return "(thread start)"
	}
	return fmt.Sprintf("(function %d)", f.ID)
}

// Label returns the name of a thread; of one without, what it is to its process, whose id is pid, or its number.
func (t *Thread) Label(pid int64) string {
	switch {
	case t.Name != "":
		return t.Name
	case t.OSID == pid: // Linux numbers the first thread of a process like the process
		return "main thread"
	}
	return fmt.Sprintf("thread %d", t.OSID)
}

// DisplayName returns the label of a thread of the process whose id is pid, in parentheses if it is only a number.
func (t *Thread) DisplayName(pid int64) string {
	label := t.Label(pid)
	if t.Name == "" && t.OSID != pid {
		return "(" + label + ")"
	}
	return label
}

// maxArrayNesting bounds arrays of arrays, whose nesting has no end in a damaged session.
const maxArrayNesting = 8

// ArraySuffix is what the name of an array type has after that of its element: [], [,], or [*] for a general array of
// one dimension.
func ArraySuffix(t *Type) string {
	if t.Bounds {
		return "[*]"
	}
	rank := min(max(t.Rank, 1), 32) // ECMA-335 has no limit, the runtime's is 32
	return "[" + strings.Repeat(",", int(rank)-1) + "]"
}

// NamedType returns the type whose metadata name is in the name of a type: itself, or of arrays that of their elements.
// get returns the type with an id, or an empty one.
func NamedType(id TypeID, get func(TypeID) *Type) *Type {
	t := get(id)
	for range maxArrayNesting {
		if t.RawName != "" || t.ElementType == 0 {
			break
		}
		t = get(t.ElementType)
	}
	return t
}

// TypeDisplayName returns the resolved name of a type, or one made from the metadata
// names. get returns the type with an id, or an empty one.
func TypeDisplayName(id TypeID, get func(TypeID) *Type) string {
	suffix := ""
	for range maxArrayNesting {
		t := get(id)
		switch {
		case t.Name != "":
			return t.Name + suffix
		case t.RawName != "":
			return t.RawName + suffix
		case t.Kind != TypeArray || t.ElementType == 0:
			return fmt.Sprintf("(type %d)", id) + suffix
		}
		suffix += ArraySuffix(t) // as in C#: of int[][,] each element is an int[,]
		id = t.ElementType
	}
	return fmt.Sprintf("(type %d)", id) + suffix
}
