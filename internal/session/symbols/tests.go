package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
)

// testAttributes make a method a test of xunit, NUnit, MSTest or TUnit; so do attributes that extend one of them.
var testAttributes = map[string]bool{
	"Xunit.FactAttribute":   true,
	"Xunit.TheoryAttribute": true,

	"NUnit.Framework.TestAttribute":           true,
	"NUnit.Framework.TestCaseAttribute":       true,
	"NUnit.Framework.TestCaseSourceAttribute": true,
	"NUnit.Framework.TheoryAttribute":         true,
	"NUnit.Framework.CombinatorialAttribute":  true,
	"NUnit.Framework.PairwiseAttribute":       true,
	"NUnit.Framework.SequentialAttribute":     true,

	"Microsoft.VisualStudio.TestTools.UnitTesting.TestMethodAttribute":     true,
	"Microsoft.VisualStudio.TestTools.UnitTesting.DataTestMethodAttribute": true,

	"TUnit.Core.TestAttribute": true,
}

// testOf returns the attribute that makes a function a test, or the method that it is the state machine of; "": none.
func (r *resolver) testOf(f *moduleFile, row *session.Function) string {
	if f.meta == nil || row.Kind != session.FunctionMethod {
		return ""
	}
	if f.tests == nil {
		f.tests = r.testsIn(f)
	}
	if len(f.tests) == 0 {
		return ""
	}
	return f.tests[f.written(row)]
}

// written returns the method that a person wrote: of the state machine of an async method that method.
func (f *moduleFile) written(row *session.Function) clrmeta.Token {
	token := clrmeta.Token(row.Token)
	if row.RawName == "MoveNext" {
		if owner, err := f.meta.DeclaringType(token); err == nil && f.machines[owner].Method != 0 {
			return f.machines[owner].Method
		}
	}
	return token
}

// testsIn finds the tests of a file. A method with several such attributes, as NUnit's TestCase, has its first.
func (r *resolver) testsIn(f *moduleFile) map[clrmeta.Token]string {
	tests, names := map[clrmeta.Token]string{}, map[clrmeta.Token]string{}
	f.meta.MethodAttributes(func(method, attribute clrmeta.Token) {
		name, known := names[attribute]
		if !known {
			name = r.testAttribute(f, attribute)
			names[attribute] = name
		}
		if name != "" && tests[method] == "" {
			tests[method] = name
		}
	})
	return tests
}

// testAttribute returns the name of an attribute if that, or one that it extends, makes a method a test, else "".
func (r *resolver) testAttribute(f *moduleFile, attribute clrmeta.Token) string {
	at, name, err := f.named(attribute)
	if err != nil {
		return ""
	}
	own := clean(name.String())
	for range maxBases {
		if testAttributes[name.String()] {
			return own
		}
		// the framework's are none, and whether they are is asked of most of its modules
		if name.Namespace == "System" || strings.HasPrefix(name.Namespace, "System.") {
			return ""
		}
		found, ok := r.define(f, at, name)
		if !ok {
			return ""
		}
		if at, name, err = baseOf(found); err != nil || at == 0 {
			return ""
		}
		f = found.file
	}
	return ""
}
