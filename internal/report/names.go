package report

import (
	"github.com/clrprof/clrprof/internal/report/names"
	"github.com/clrprof/clrprof/internal/session"
)

// shortFunctionName is the name of a function without its namespace.
func (c *context) shortFunctionName(id session.FunctionID) string {
	f := c.functions.get(id)
	return names.ShortFunction(f.DisplayName(), names.Namespace(f.RawType))
}

// frameName is the short name of a function without its parameters.
func (c *context) frameName(id session.FunctionID) string {
	head, _ := names.CutParameters(c.shortFunctionName(id))
	return head
}

// shortTypeName is the name of a type without its namespace.
func (c *context) shortTypeName(id session.TypeID) string {
	return names.ShortType(c.typeName(id), names.Namespace(session.NamedType(id, c.types.get).RawName))
}

// WithoutParameters returns the name of a function up to its parameters, as it can be given to find it.
func WithoutParameters(function string) string {
	head, _ := names.CutParameters(function)
	return head
}
