// Package names shortens the readable names of functions and types.
//
// Names in text are short: Order.Sum(List<Item>) for Shop.Orders.Order.Sum(List<Item>). A reader knows the classes of
// his program; namespaces make half of a line and say little. Where even the short name is too long, parameters go
// first, then type arguments, then classes around the class.
package names

import "strings"

// Namespace returns the namespace of a type's metadata name, Ns.Outer+Inner or Ns.Outer/Inner.
func Namespace(raw string) string {
	if i := strings.IndexAny(raw, "+/`<"); i >= 0 {
		raw = raw[:i]
	}
	return raw[:max(0, strings.LastIndexByte(raw, '.'))]
}

// ShortFunction takes the namespace from a function's name. A name that does not begin with it keeps its last class.
func ShortFunction(name, namespace string) string {
	head, parameters := CutParameters(name)
	if rest, ok := strings.CutPrefix(head, namespace+"."); ok && namespace != "" {
		head = rest
	} else if namespace != "" {
		head = LastParts(head, 2)
	}
	return shortenArguments(head) + parameters
}

// ShortType does the same for a type.
func ShortType(name, namespace string) string {
	if rest, ok := strings.CutPrefix(name, namespace+"."); ok && namespace != "" {
		name = rest
	}
	return shortenArguments(name)
}

// CutParameters parts a function's name from its parameters and what follows them. An active pattern of F#,
// (|Even|Odd|), and a pseudo function, (truncated), are names.
func CutParameters(name string) (head, parameters string) {
	depth := 0
	for i, r := range name {
		switch r {
		case '<', '[':
			depth++
		case '>', ']':
			depth = max(0, depth-1)
		case '(':
			if depth == 0 && i > 0 && name[i-1] != '.' {
				return name[:i], name[i:]
			}
		}
	}
	return name, ""
}

// LastParts leaves the last n parts of a dotted name; dots in brackets do not part it, nor does the first of "..ctor".
func LastParts(name string, n int) string {
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case '>', ']', ')':
			depth++
		case '<', '[', '(':
			depth--
		case '.':
			if depth != 0 || name[i-1] == '.' {
				continue
			}
			if n--; n == 0 {
				return name[i+1:]
			}
		}
	}
	return name
}

// shortenArguments takes the namespaces from the type arguments in a name: List<Ns.Order> becomes List<Order>. What the
// compiler named, <lambda #0_1>, has no dots.
func shortenArguments(name string) string {
	if !strings.ContainsRune(name, '<') {
		return name
	}
	var b strings.Builder
	depth, begin := 0, 0 // of the identifier that is being read, in b
	for _, r := range name {
		switch r {
		case '<':
			depth++
		case '>':
			depth = max(0, depth-1)
		}
		if r == '.' && depth > 0 && !strings.HasSuffix(b.String()[begin:], ">") {
			cut := b.String()[:begin]
			b.Reset()
			b.WriteString(cut)
			continue
		}
		b.WriteRune(r)
		if strings.ContainsRune("<>,[]( ", r) && r != '>' {
			begin = b.Len()
		}
	}
	return b.String()
}
