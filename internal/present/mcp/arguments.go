package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// argumentsOf are the kinds of the arguments of a request, by their names.
func argumentsOf(request reflect.Type) map[string]reflect.Kind {
	out := map[string]reflect.Kind{}
	for _, f := range reflect.VisibleFields(request) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || f.Anonymous {
			continue
		}
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		out[name] = t.Kind()
	}
	return out
}

// kindWords say what is wanted of an argument of a kind.
var kindWords = map[reflect.Kind]string{reflect.String: "a text", reflect.Slice: `a list of texts, such as ["Shop.*"]`,
	reflect.Bool: "true or false", reflect.Int: "a whole number, such as 20", reflect.Float64: "a number, such as 1.5"}

// fitting returns the arguments of a request as its tool takes them: a text in the place of a list is a list of one.
// The error says which argument is wrong and what would be right, where the SDK names the rule of a schema.
func fitting(tool string, known map[string]reflect.Kind, arguments json.RawMessage) (json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if len(arguments) == 0 {
		return arguments, nil
	}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, fmt.Errorf("the arguments of %s are no JSON object", tool)
	}
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	changed := false
	for name, value := range given {
		kind, ok := known[name]
		if !ok && len(names) == 0 {
			return nil, fmt.Errorf("%s takes no arguments, and got %q", tool, name)
		}
		if !ok {
			return nil, fmt.Errorf("%s has no argument %q: it has %s", tool, name, strings.Join(names, ", "))
		}
		if kind == reflect.Slice && len(value) > 0 && value[0] == '"' {
			given[name] = slices.Concat([]byte("["), value, []byte("]"))
			changed = true
		} else if !fits(kind, value) {
			return nil, fmt.Errorf("the argument %q of %s is %s", name, tool, kindWords[kind])
		}
	}
	if !changed {
		return arguments, nil
	}
	return json.Marshal(given)
}

// fits reports whether a value is one of a kind, or null.
func fits(kind reflect.Kind, value json.RawMessage) bool {
	switch kind {
	case reflect.String:
		return json.Unmarshal(value, new(string)) == nil
	case reflect.Slice:
		return json.Unmarshal(value, &[]string{}) == nil
	case reflect.Bool:
		return json.Unmarshal(value, new(bool)) == nil
	case reflect.Int:
		return json.Unmarshal(value, new(int)) == nil
	case reflect.Float64:
		return json.Unmarshal(value, new(float64)) == nil
	}
	return true
}

// fit makes the arguments of each call of a tool fitting, before the SDK checks them.
func (s *Server) fit(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		call, ok := r.(*mcp.CallToolRequest)
		if !ok || call.Params == nil {
			return next(ctx, method, r)
		}
		known, ok := s.arguments[call.Params.Name]
		if !ok {
			return next(ctx, method, r)
		}
		arguments, err := fitting(call.Params.Name, known, call.Params.Arguments)
		if err != nil {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
		}
		call.Params.Arguments = arguments
		return next(ctx, method, r)
	}
}
