package sessiontest

import (
	"github.com/clrprof/clrprof/internal/session"
)

// Broken is a session of a program that breaks some of the rules, in one process whose objects were followed.
func Broken() *Builder {
	b := New()
	p := b.Process("Till", 500)
	main := b.Thread(p, "main")
	app, core := b.Module(p, "Till.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
	named := func(id session.FunctionID, typ, name string) session.FunctionID {
		b.Functions[id-1].RawType, b.Functions[id-1].RawName = typ, name
		return id
	}
	entry := named(b.Function(app, "Till.Program.Main()", "/src/Till/Program.cs", 10), "Till.Program", "Main")
	build := named(b.Function(app, "Till.Receipt.Build(int)", "/src/Till/Receipt.cs", 20), "Till.Receipt", "Build")
	hash := named(b.Function(app, "Till.Item.GetHashCode()", "/src/Till/Item.cs", 5), "Till.Item", "GetHashCode")
	concat := named(b.Function(core, "string.Concat(string, string)", "", 0), "System.String", "Concat")
	find := named(b.Function(core, "System.Collections.Generic.Dictionary<Till.Key, int>.FindValue(Till.Key)", "", 0),
		"System.Collections.Generic.Dictionary`2", "FindValue")
	str, number, key := b.Type(core, "System.String"), b.Type(core, "System.Int32"), b.Type(app, "Till.Key")
	failure, buffer := b.Type(app, "Till.Failure"), b.Type(core, "System.Byte[]")
	for typ, trait := range map[session.TypeID]string{number: session.TraitValue, key: session.TraitValue,
		failure: session.TraitException} {
		b.Types[typ-1].Trait = trait
	}
	b.Followed(p, false)
	top := Frame{entry, 12}
	text := b.Allocate(1, main, str, 5000, 2_000_000, top, Frame{build, 22}, Frame{concat, 0})
	b.Allocate(1, main, number, 2000, 48_000, top, Frame{build, 24})
	b.Allocate(1, main, number, 10, 240, top, Frame{build, 25}) // too few
	b.Allocate(1, main, key, 3000, 96_000, Frame{entry, 13}, Frame{find, 0})
	b.Allocate(1, main, str, 1500, 60_000, Frame{entry, 13}, Frame{find, 0}, Frame{hash, 7})
	b.Allocate(1, main, failure, 150, 18_000, Frame{entry, 14})
	b.Allocate(1, main, b.Type(core, "sbyte[]"), 150, 15_000, Frame{entry, 14}) // where they were thrown
	old := b.Allocate(1, main, buffer, 20, 1_720_000, Frame{entry, 15})
	gc := b.Collect(p, 2, false, 500_000_000, 300_000_000)
	b.Die(1, text, gc, 0, 4000, 1_600_000)
	b.Die(1, old, gc, 2, 15, 1_290_000)
	return b
}
