package instrument_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/capture/probes"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
)

func list(s ...string) []string { return s }

func TestKeeps(t *testing.T) {
	for _, c := range []struct {
		include, exclude    []string
		module, typ, method string
		want                bool
	}{
		{nil, nil, "App.dll", "N.T", "M", true},
		{list("App"), nil, "App.dll", "N.T", "M", true},
		{list("App.dll"), nil, "App.dll", "N.T", "M", true},
		{list("app"), nil, "App.dll", "N.T", "M", true},
		{list("Ap"), nil, "App.dll", "N.T", "M", false},
		{list("A*"), nil, "App.dll", "N.T", "M", true},
		{list("*"), nil, "", "", "", false}, // nothing to compare with
		{list("M"), nil, "", "", "M", true}, // code without metadata
		{list("app"), nil, "App.exe", "N.T", "M", true},
		{list("App.Core"), nil, "App.Core.dll", "N.T", "M", true},
		{list("*É"), nil, "É", "", "", true},
		{list("é"), nil, "É", "", "", false}, // as in the agent
		{list("N"), nil, "App.dll", "N.T", "M", true},
		{list("N"), nil, "App.dll", "N.M.T", "M", false}, // a namespace is not those in it
		{list("N.*"), nil, "App.dll", "N.M.T", "M", true},
		{list("N.M"), nil, "App.dll", "N.M.T", "M", true},
		{list("N.T"), nil, "App.dll", "N.T/Inner", "M", true},
		{list("N.T/Inner"), nil, "App.dll", "N.T/Inner", "M", true},
		{list("Inner"), nil, "App.dll", "N.T/Inner", "M", false},
		{list("N.Tx"), nil, "App.dll", "N.T", "M", false},
		{list("N?T"), nil, "App.dll", "N.T", "M", false}, // only * is special
		{list("N.List`1"), nil, "App.dll", "N.List`1", "M", true},
		{nil, list("App"), "App.dll", "N.T", "M", false},
		{nil, list("Lib"), "App.dll", "N.T", "M", true},
		{list("App"), list("N.T"), "App.dll", "N.T", "M", false},
		{list("App"), list("N.T"), "App.dll", "N.U", "M", true},
		{list("Lib", "N.T"), nil, "App.dll", "N.T", "M", true},
		{nil, list("System.*"), "System.Private.CoreLib.dll", "Interop/Sys", "M", false},
		// Methods.
		{list("N.T.M"), nil, "App.dll", "N.T", "M", true},
		{list("n.t.m"), nil, "App.dll", "N.T", "M", true},
		{list("N.T.M"), nil, "App.dll", "N.T", "M2", false},
		{list("N.T.M*"), nil, "App.dll", "N.T", "M2", true},
		{list("*.M"), nil, "App.dll", "N.T", "M", true},
		{list("M"), nil, "App.dll", "N.T", "M", false}, // a method has its type before it
		{list("T.M"), nil, "App.dll", "N.T", "M", false},
		{list("T.M"), nil, "App.dll", "T", "M", true},
		{list("N.T.M"), nil, "App.dll", "N.T/Inner", "M", false},
		{list("N.T/Inner.M"), nil, "App.dll", "N.T/Inner", "M", true},
		{nil, list("*..ctor"), "App.dll", "N.T", ".ctor", false},
		{nil, list("*.get_*"), "App.dll", "N.T", "get_Count", false},
		{nil, list("N.T/<Run>*"), "App.dll", "N.T/<Run>d__1", "MoveNext", false},
		{list("N.T"), list("N.T.M"), "App.dll", "N.T", "M", false},
		{list("N.T"), list("N.T.M"), "App.dll", "N.T", "Other", true},
	} {
		if have := instrument.NewRules(c.include, c.exclude).Keeps(c.module, c.typ, c.method); have != c.want {
			t.Errorf("include %q, exclude %q: %s %s.%s: %v", c.include, c.exclude, c.module, c.typ, c.method, have)
		}
	}
	if !instrument.NewRules(nil, nil).Empty() || !(instrument.Rules{}).Empty() ||
		instrument.NewRules(nil, list("x")).Empty() {
		t.Error("Empty")
	}
}

func TestLines(t *testing.T) {
	have := instrument.NewRules(list("A*", "b"), list("C.D")).Lines()
	if diff := cmp.Diff(list("+A*", "+b", "-C.D"), have); diff != "" {
		t.Error(diff)
	}
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("x", instrument.MaxPattern)
	for _, c := range []struct {
		include, exclude []string
		ok               bool
	}{
		{nil, nil, true},
		{list("A"), list(long), true},
		{list(""), nil, false},
		{nil, list("a\nb"), false},
		{nil, list("a\x00"), false},
		{nil, list(long + "x"), false},
		{list("/x/"), nil, false}, // the agent knows no regular expressions
		{list("/x"), nil, true},
		{list(strings.Split(strings.Repeat("x", instrument.MaxPatterns-1), "")...), list("y"), true},
		{list(strings.Split(strings.Repeat("x", instrument.MaxPatterns), "")...), list("y"), false},
	} {
		if err := instrument.NewRules(c.include, c.exclude).Check(); (err == nil) != c.ok {
			t.Errorf("%d and %d: %v", len(c.include), len(c.exclude), err)
		}
	}
}

// wildcard is a matcher without regular expressions, for letters of one case.
func wildcard(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] != '*' {
		return name != "" && pattern[0] == name[0] && wildcard(pattern[1:], name[1:])
	}
	return wildcard(pattern[1:], name) || name != "" && wildcard(pattern, name[1:])
}

// TestReadable: a pattern that the agent cannot read leaves the others as they are.
func TestReadable(t *testing.T) {
	r := instrument.NewRules([]string{"Shop.*", "/^Web[.]/", "", "Tools.dll"},
		[]string{"Shop.Old.*", strings.Repeat("x", instrument.MaxPattern+1)})
	if diff := cmp.Diff([]string{"+Shop.*", "+Tools.dll", "-Shop.Old.*"}, r.Readable().Lines()); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
	many := instrument.NewRules(slices.Repeat([]string{"A.*"}, instrument.MaxPatterns-1),
		slices.Repeat([]string{"B.*"}, instrument.MaxPatterns))
	if n := len(many.Readable().Lines()); n != instrument.MaxPatterns {
		t.Errorf("%d patterns are left of too many, want %d", n, instrument.MaxPatterns)
	}
}

// TestWildcards: a module has two names, with its extension and without.
func TestWildcards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab.*/+(]{0,8}`).Draw(t, "pattern")
		module := rapid.StringMatching(`[ab.+(]{1,8}`).Draw(t, "module")
		want := wildcard(pattern, module)
		if n := len(module) - len(".dll"); n > 0 && module[n] == '.' {
			want = want || wildcard(pattern, module[:n])
		}
		if have := instrument.NewRules(list(pattern), nil).Keeps(module, "", ""); have != want {
			t.Fatalf("%q matches %q: %v", pattern, module, have)
		}
	})
}

// TestDecideRefused: what cannot have probes is recorded where the runtime's hooks are used, and says why where not.
func TestDecideRefused(t *testing.T) {
	jumps := instrument.Function{Module: "App.dll", Type: "N.T", Method: "M", IL: 20, Refused: probes.Jump}
	async := instrument.Function{Module: "App.dll", Type: "N.T", Method: "M", IL: 20, Async: true}
	const noProbes, suspended = "no probes: it ends with the instruction jmp",
		"the runtime suspends it itself (runtime-async)"
	for _, c := range []struct {
		f     instrument.Function
		plan  instrument.Plan
		class instrument.Class
		why   string
	}{
		{jumps, instrument.Plan{Mode: instrument.Boundary}, instrument.Out, noProbes},
		{jumps, instrument.Plan{Mode: instrument.Mine, Small: 10}, instrument.Out, noProbes},
		{jumps, instrument.Plan{Mode: instrument.Boundary, Small: 10}, instrument.Recorded, "your code"},
		{jumps, instrument.Plan{Mode: instrument.All}, instrument.Recorded, "all code"},
		{jumps, instrument.Plan{Mode: instrument.Mine, Rules: instrument.NewRules(nil, list("N.T"))}, instrument.Out,
			"excluded by N.T"},
		{async, instrument.Plan{Mode: instrument.Boundary}, instrument.Out, suspended},
		{async, instrument.Plan{Mode: instrument.All}, instrument.Out, suspended},
	} {
		if class, why := c.plan.Decide(c.f); class != c.class || why != c.why {
			t.Errorf("%+v of %+v: %v: %s", c.plan, c.f, class, why)
		}
	}
}

func TestDecide(t *testing.T) {
	user := instrument.Function{Module: "App.dll", Type: "N.T", Method: "M", IL: 20}
	framework := instrument.Function{Module: "System.Linq.dll", Type: "System.Linq.Enumerable", Method: "ToList",
		IL: 20, Foreign: usercode.Framework}
	helper := instrument.Function{Module: "System.Private.CoreLib.dll",
		Type: "System.Runtime.CompilerServices.CastHelpers", Method: "Box", IL: 20, Foreign: usercode.Framework}
	abstract := instrument.Function{Module: "App.dll", Type: "N.T", Method: "Open"}
	native := abstract
	native.Extern = true
	declared := instrument.Function{Module: "System.Private.CoreLib.dll", Type: "System.IDisposable", Method: "Dispose",
		Foreign: usercode.Framework}
	if have, why := (instrument.Plan{Mode: instrument.Boundary}).Decide(declared); have != instrument.CalledByMine ||
		why != "framework" {
		t.Errorf("a function of an interface: %v: %s", have, why)
	}
	if have, why := (instrument.Plan{Mode: instrument.Boundary, Small: 10}).Decide(declared); have != instrument.Out ||
		why != "no IL" {
		t.Errorf("a function of an interface, with hooks: %v: %s", have, why)
	}
	for _, c := range []struct {
		mode             instrument.Mode
		include, exclude []string
		small            int
		user, framework  instrument.Class
	}{
		{instrument.Boundary, nil, nil, 0, instrument.Recorded, instrument.CalledByMine},
		{instrument.Mine, nil, nil, 0, instrument.Recorded, instrument.Out},
		{instrument.All, nil, nil, 0, instrument.Recorded, instrument.Recorded},
		{instrument.Boundary, list("System.Linq"), nil, 0, instrument.CalledByMine, instrument.Recorded},
		{instrument.Boundary, list("App"), nil, 0, instrument.Recorded, instrument.CalledByMine},
		{instrument.Mine, list("System.Linq"), nil, 0, instrument.Out, instrument.Recorded},
		{instrument.Mine, list("App", "System.Linq.*"), nil, 0, instrument.Recorded, instrument.Recorded},
		{instrument.All, list("App"), nil, 0, instrument.Recorded, instrument.Out},
		{instrument.Boundary, nil, list("System.Linq.Enumerable.*"), 0, instrument.Recorded, instrument.Out},
		{instrument.All, list("*"), list("N.T.M"), 0, instrument.Out, instrument.Recorded},
		{instrument.All, list("*"), nil, 21, instrument.Out, instrument.Out},
		{instrument.All, nil, nil, 20, instrument.Recorded, instrument.Recorded},
	} {
		p := instrument.Plan{Mode: c.mode, Rules: instrument.NewRules(c.include, c.exclude), Small: c.small}
		if have, why := p.Decide(user); have != c.user {
			t.Errorf("%+v: %v: %s", c, have, why)
		}
		if have, why := p.Decide(framework); have != c.framework {
			t.Errorf("%+v: framework: %v: %s", c, have, why)
		}
		if have, why := p.Decide(helper); have != instrument.Out || why != "a helper of the runtime" {
			t.Errorf("%+v: helper: %v: %s", c, have, why)
		}
		wantNative, wantWhy := instrument.Out, "no IL"
		if c.mode == instrument.Boundary && c.user == instrument.CalledByMine {
			wantNative, wantWhy = instrument.CalledByMine, "not included"
		}
		if have, why := p.Decide(abstract); have != wantNative || why != wantWhy {
			t.Errorf("%+v: abstract: %v: %s", c, have, why)
		}
		if wantNative, wantWhy = instrument.Out, "no IL"; c.mode == instrument.Boundary {
			wantNative, wantWhy = instrument.CalledByMine, "no IL: recorded where it is called"
		}
		if have, why := p.Decide(native); have != wantNative || why != wantWhy {
			t.Errorf("%+v: native: %v: %s", c, have, why)
		}
	}
}
