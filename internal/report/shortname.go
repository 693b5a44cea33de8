package report

import (
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// Names in text are short: Order.Sum(List<Item>) for Shop.Orders.Order.Sum(List<Item>). A reader knows the classes of his
// program; namespaces make half of a line and say little. Rows of one table that would have the same short name keep their
// full ones, and --full-names shows all of them in full. Other formats always have full names.
//
// Where even the short name is too long, parameters go first, then type arguments, then classes around the class.

// shortFunctionName is the name of a function without its namespace.
func (c *context) shortFunctionName(id session.FunctionID) string {
	f := c.functions.get(id)
	return shortenFunction(f.DisplayName(), namespaceOf(f.RawType))
}

// frameName is the short name of a function without its parameters.
func (c *context) frameName(id session.FunctionID) string {
	head, _ := cutParameters(c.shortFunctionName(id))
	return head
}

// shortTypeName is the name of a type without its namespace.
func (c *context) shortTypeName(id session.TypeID) string {
	t := c.types.get(id)
	for range maxElements {
		if t.RawName != "" || t.ElementType == 0 {
			break
		}
		t = c.types.get(t.ElementType)
	}
	return shortenType(c.typeName(id), namespaceOf(t.RawName))
}

// maxElements bounds arrays of arrays, whose nesting has no end in a damaged session.
const maxElements = 8

// namespaceOf returns the namespace of a type's metadata name, Ns.Outer+Inner or Ns.Outer/Inner.
func namespaceOf(raw string) string {
	if i := strings.IndexAny(raw, "+/`<"); i >= 0 {
		raw = raw[:i]
	}
	return raw[:max(0, strings.LastIndexByte(raw, '.'))]
}

// shortenFunction takes the namespace from a function's name. A name that does not begin with it keeps its last class.
func shortenFunction(name, namespace string) string {
	head, parameters := cutParameters(name)
	if rest, ok := strings.CutPrefix(head, namespace+"."); ok && namespace != "" {
		head = rest
	} else if namespace != "" {
		head = lastParts(head, 2)
	}
	return shortenArguments(head) + parameters
}

// shortenType does the same for a type.
func shortenType(name, namespace string) string {
	if rest, ok := strings.CutPrefix(name, namespace+"."); ok && namespace != "" {
		name = rest
	}
	return shortenArguments(name)
}

// cutParameters parts a function's name from its parameters and what follows them. An active pattern of F#, (|Even|Odd|),
// and a pseudo function, (truncated), are names.
func cutParameters(name string) (head, parameters string) {
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

// lastParts leaves the last n parts of a dotted name; dots in brackets do not part it, nor does the first of "..ctor".
func lastParts(name string, n int) string {
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

// namer returns what prints the cells of a column: with short names where it has them.
func (t *Table) namer(c Column, o TextOptions) func(row int) string {
	full := func(row int) string { return t.text(row, c, o.Unit) }
	if o.FullNames || c.short == nil {
		return func(row int) string { return full(row) + t.runningText(row, c) }
	}
	fulls := map[string]string{} // by short name; "" if there are several
	for row := range t.Rows {
		if short := Printable(c.short(t.context, &t.Rows[row])); short != "" {
			if one, ok := fulls[short]; ok && one != full(row) {
				fulls[short] = ""
			} else {
				fulls[short] = full(row)
			}
		}
	}
	return func(row int) string {
		short := Printable(c.short(t.context, &t.Rows[row]))
		if short == "" || fulls[short] == "" {
			short = full(row)
		}
		return short + t.runningText(row, c)
	}
}

// running marks the names of functions that had not ended.
const running = " (running)"

func (t *Table) runningText(row int, c Column) string {
	r := &t.Rows[row]
	return pick(c.Key == "name" && r.kind == rowFunction && r.time != nil && r.time.Running > 0, running, "")
}

// cutCell makes a printed cell at most width columns wide.
func cutCell(c Column, s string, width int) string {
	if c.cut == nil || width <= 0 || stringWidth(s) <= width {
		return shorten(s, width)
	}
	if name, ok := strings.CutSuffix(s, running); ok && width > len(running) {
		return c.cut(name, width-len(running)) + running
	}
	return c.cut(s, width)
}

// cutBefore leaves out the beginning of a text up to its last word: Program.cs:12 of "Worker.Run Program.cs:12".
func cutBefore(s string, width int) string {
	return shorten(s[strings.LastIndexByte(s, ' ')+1:], width)
}

// cutName makes a short name of a function or type at most width columns wide.
func cutName(name string, width int) string {
	if width <= 0 || stringWidth(name) <= width {
		return name
	}
	head, parameters := cutParameters(name)
	if parameters != "" {
		if end := strings.LastIndexByte(parameters, ')'); end > 1 {
			parameters = "(" + ellipsis + parameters[end:]
		}
		if name = head + parameters; stringWidth(name) <= width {
			return name
		}
	}
	if name = emptyArguments(head) + parameters; stringWidth(name) <= width {
		return name
	}
	head = emptyArguments(head)
	for n := strings.Count(head, "."); n >= 2; n-- {
		if name = lastParts(head, n) + parameters; stringWidth(name) <= width {
			return name
		}
	}
	return shorten(name, width)
}

// emptyArguments leaves out the type arguments of a name: List<…>.Add.
func emptyArguments(name string) string {
	var b strings.Builder
	depth := 0
	for _, r := range name {
		if r == '>' {
			depth = max(0, depth-1)
		}
		if depth == 0 {
			b.WriteRune(r)
		}
		if r == '<' {
			if depth++; depth == 1 {
				b.WriteString(ellipsis)
			}
		}
	}
	return b.String()
}
