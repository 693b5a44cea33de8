package report

import (
	"fmt"
	"path"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/names"
	"github.com/clrprof/clrprof/internal/session"
)

// shortFunctionName is the name of a function without its namespace. A lambda that answers requests is called by these,
// because the compiler's number of it says nothing: GET /orders/{id} λ Program.cs:12.
func (c *context) shortFunctionName(id session.FunctionID) string {
	f := c.functions.get(id)
	if name := c.endpointName(f); name != "" {
		return name
	}
	return names.ShortFunction(f.DisplayName(), names.Namespace(f.RawType))
}

// frameName is the short name of a function without its parameters.
func (c *context) frameName(id session.FunctionID) string {
	if name := c.endpointName(c.functions.get(id)); name != "" {
		return name
	}
	head, _ := names.CutParameters(c.shortFunctionName(id))
	return head
}

// endpointName is what a lambda that answers requests is called; "": the function is none.
func (c *context) endpointName(f *session.Function) string {
	if f.Route == "" || !isLambda(f) {
		return ""
	}
	return f.Route + " λ" + c.lineBehind(f)
}

// lineBehind is the line of a function as it stands behind a name: " Program.cs:12"; "": it is not known.
func (c *context) lineBehind(f *session.Function) string {
	if f.Line <= 0 {
		return ""
	}
	return fmt.Sprintf(" %s:%d", path.Base(c.files.get(f.File).Path), f.Line)
}

// rowFunctionName is the short name of a function where it stands without its place, as in trees: that of a lambda has
// its line, because nobody knows it by the compiler's number.
func (c *context) rowFunctionName(id session.FunctionID) string {
	name, f := c.shortFunctionName(id), c.functions.get(id)
	if isLambda(f) && c.endpointName(f) == "" {
		name += c.lineBehind(f)
	}
	return name
}

// shortTypeName is the name of a type without its namespace.
func (c *context) shortTypeName(id session.TypeID) string {
	return names.ShortType(c.typeName(id), names.Namespace(session.NamedType(id, c.types.get).RawName))
}

// callName is the short name of a function without its parameters, in sentences that have no place: that of a lambda
// has its line.
func (c *context) callName(id session.FunctionID) string {
	name, f := c.frameName(id), c.functions.get(id)
	if isLambda(f) && c.endpointName(f) == "" {
		name += c.lineBehind(f)
	}
	return name
}

// isLambda reports whether a function has no name but the compiler's number.
func isLambda(f *session.Function) bool { return strings.Contains(f.Name, "<lambda #") }

// WithoutParameters returns the name of a function up to its parameters, as it can be given to find it.
func WithoutParameters(function string) string {
	head, _ := names.CutParameters(function)
	return head
}
