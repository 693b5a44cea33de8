package symbols

import (
	"github.com/clrprof/clrprof/internal/clrmeta"
)

// addHub adds the methods of a hub of SignalR, which clients call by their names; a call gives its type for a type
// parameter.
func (m *methodCalls) addHub(call uint32, on builder, text string) {
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
		if !ok || name.Namespace == aspNetCore+"SignalR" {
			return
		}
		methods, _ := at.file.meta.Methods(at.token)
		for _, method := range methods {
			if at.file.isAnswering(method) {
				m.maps = append(m.maps, mapped{on: on, to: definition{at.file, method}, text: text,
					method: " " + at.file.hubMethod(method)})
			}
		}
		var base clrmeta.Token
		if base, name, err = baseOf(at); err != nil || base == 0 {
			return
		}
		at, ok = m.r.define(at.file, base, name)
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
