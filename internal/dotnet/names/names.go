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
	for i := 0; i < len(name); i++ {
		i += symbolLength(name, i)
		if i == len(name) {
			break
		}
		switch name[i] {
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

// operatorWord comes before the characters of an operator in a function's name, and operatorCharacters are those that
// an operator of C#, Visual Basic or F# can have.
const (
	operatorWord       = "operator "
	operatorCharacters = "!%&*+-./<=>?@^|~$#:\\"
)

// symbolLength returns the length of an operator's characters that begin at an index of a name, 0 if none do: they are
// no brackets and part nothing. A < after them opens type arguments, or the name of a lambda, if a name follows:
// operator <|><a, u>, but operator <(Money, Money).
func symbolLength(name string, at int) int {
	if !strings.HasSuffix(name[:at], operatorWord) {
		return 0
	}
	rest := strings.TrimLeft(name[at:], operatorCharacters)
	n := len(name) - at - len(rest)
	if n > 1 && name[at+n-1] == '<' && rest != "" && rest[0] != '(' && rest[0] != ' ' {
		n--
	}
	return n
}

// lambdaOfRoute stands in names of lambdas that answer requests, behind the route and before the file: they are no
// dotted names, whatever dots are in them.
const lambdaOfRoute = " λ"

// LastParts leaves the last n parts of a dotted name; dots in brackets and in operators do not part it, nor does the
// first of "..ctor". GET /a.b λ Program.cs:12 has no parts.
func LastParts(name string, n int) string {
	if strings.Contains(name, lambdaOfRoute) {
		return name
	}
	depth := 0
	var parts []int // where they begin
	for i := 0; i < len(name); i++ {
		i += symbolLength(name, i)
		if i == len(name) {
			break
		}
		switch name[i] {
		case '<', '[', '(':
			depth++
		case '>', ']', ')':
			depth = max(0, depth-1)
		case '.':
			if depth == 0 && i > 0 && name[i-1] != '.' {
				parts = append(parts, i+1)
			}
		}
	}
	if n < 1 || n > len(parts) {
		return name
	}
	return name[parts[len(parts)-n]:]
}

// shortenArguments takes the namespaces from the type arguments in a name: List<Ns.Order> becomes List<Order>. What the
// compiler named, <lambda #0_1>, has no namespace; the dot of <closure .ctor @48> is of the name.
func shortenArguments(name string) string {
	if !strings.ContainsRune(name, '<') {
		return name
	}
	var b strings.Builder
	depth, begin := 0, 0 // of the identifier that is being read, in b
	after := 0           // the end of an operator's characters, which are written as they are
	for i, r := range name {
		after = max(after, i+symbolLength(name, i))
		if i < after {
			b.WriteRune(r)
			continue
		}
		switch r {
		case '<':
			depth++
		case '>':
			depth = max(0, depth-1)
		}
		if r == '.' && depth > 0 && b.Len() > begin && !strings.HasSuffix(b.String()[begin:], ">") {
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
