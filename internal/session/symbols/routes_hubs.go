package symbols

import (
	"iter"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// addHub adds the methods of a hub of SignalR, which clients call by their names; a call gives its type for a type
// parameter.
func (m *methodCalls) addHub(call uint32, on builder, text string) {
	for class, name := range m.given(call) {
		if name.Namespace == aspNetCore+"SignalR" {
			return
		}
		methods, _ := class.file.meta.Methods(class.token)
		for _, method := range methods {
			if class.file.isAnswering(method) {
				m.maps = append(m.maps, mapped{on: on, to: definition{class.file, method}, text: text,
					method: " " + class.file.hubMethod(method)})
			}
		}
	}
}

// given lists the class that a call gives for its only type parameter, and its base classes, as far as their files can
// be read.
func (m *methodCalls) given(call uint32) iter.Seq2[definition, clrmeta.TypeName] {
	return func(yield func(definition, clrmeta.TypeName) bool) {
		args, err := m.f.meta.TypeArguments(clrmeta.Token(call))
		if err != nil || len(args) != 1 || args[0].Kind != clrmeta.Class {
			return
		}
		token, name, err := m.f.named(args[0].Token)
		if err != nil {
			return
		}
		at, ok := m.r.define(m.f, token, name)
		for range maxBases {
			if !ok || !yield(at, name) {
				return
			}
			if token, name, err = baseOf(at); err != nil || token == 0 {
				return
			}
			at, ok = m.r.define(at.file, token, name)
		}
	}
}

// hubMethod is the name by which clients call a method.
func (f *moduleFile) hubMethod(method clrmeta.Token) string {
	for _, a := range f.meta.TextAttributes(method) {
		_, name, err := f.named(a.Type)
		if err == nil && name.String() == aspNetCore+"SignalR.HubMethodNameAttribute" {
			return a.Text
		}
	}
	row, _ := f.meta.Method(method) // which was read before
	return row.Name
}
