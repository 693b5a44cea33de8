package clrmeta

import "strconv"

// AppendText writes a signature so that it can be compared with those of other modules, whose tokens are others: types
// have the names that name gives them.
func (sig *MethodSig) AppendText(b []byte, name func(Token) string) []byte {
	b = strconv.AppendInt(b, int64(sig.Generics), 10)
	b = append(strconv.AppendBool(b, sig.HasThis), ' ')
	b = append(sig.Return.AppendText(b, name), '(')
	for i := range sig.Params {
		b = append(sig.Params[i].AppendText(b, name), ',')
	}
	return append(b, ')')
}

// AppendText writes a type of a signature: see MethodSig.AppendText.
func (t *TypeSig) AppendText(b []byte, name func(Token) string) []byte {
	b = append(strconv.AppendInt(b, int64(t.Kind), 16), ':')
	switch t.Kind {
	case Class, ValueType, GenericInst:
		b = append(b, name(t.Token)...)
		for i := range t.Args {
			b = t.Args[i].AppendText(append(b, '<'), name)
		}
	case Var, MVar:
		b = strconv.AppendInt(b, int64(t.Index), 10)
	case Array:
		b = strconv.AppendInt(b, int64(t.Rank), 10)
	case FnPtr:
		b = t.Method.AppendText(b, name)
	}
	if t.Elem != nil {
		b = t.Elem.AppendText(b, name)
	}
	return b
}
