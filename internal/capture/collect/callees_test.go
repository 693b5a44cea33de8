package collect_test

import (
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestCalleesUnknown: functions of which no file tells stay as the code names them, once for each name.
func TestCalleesUnknown(t *testing.T) {
	a := small()
	first := wire.Callee{ID: 2, Module: 1, Token: 0x0A000001, Assembly: "Other", TypeNames: []string{"O.List`1"},
		Name: "Get", Signature: []byte{0x20, 0, 8}}
	again := first
	again.ID, again.Token = 3, 0x0A000002 // of another instance of the type
	own := wire.Callee{ID: 4, Module: 1, Token: 0x06000009, TypeNames: []string{"N.Left"}, Name: "Out",
		Signature: []byte{0, 0, 1}}
	a.Add(first, again, own)
	s := record(t, a, collect.Filter{})
	equal(t, "modules", get[session.Module](t)(s.Modules())[1:],
		[]session.Module{{ID: 2, Process: 1, Name: "Other.dll"}})
	equal(t, "functions", get[session.Function](t)(s.Functions())[1:], []session.Function{
		{ID: 2, Process: 1, Module: 2, Kind: session.FunctionMethod, RawType: "O.List`1", RawName: "Get"},
		{ID: 3, Process: 1, Module: 1, Kind: session.FunctionMethod, RawType: "N.Left", RawName: "Out",
			Signature: []byte{0, 0, 1}},
	})
}

// TestCalleesOfFile: a function that is found is that of the file, and its module the one that the process has loaded.
func TestCalleesOfFile(t *testing.T) {
	path, err := filepath.Abs("../../dotnet/clrmeta/testdata/tiny.dll")
	if err != nil {
		t.Fatal(err)
	}
	const typeName, name = "Tiny`1/Nested", "Take"
	meta := metadataOf(t, path)
	id, err := meta.MVID()
	if err != nil {
		t.Fatal(err)
	}
	methods, err := meta.Methods(meta.Types()[typeName])
	if err != nil {
		t.Fatal(err)
	}
	method, err := meta.Method(methods[0])
	if err != nil || method.Name != name {
		t.Fatalf("%+v, %v", method, err)
	}
	a := wiretest.New()
	a.Add(wire.Process{Executable: []byte("/usr/bin/dotnet"), CommandLine: []byte("dotnet\x00/srv/App.dll\x00")},
		wire.Thread{ID: 1, OSID: 77, Managed: 0x1000, BeginNS: 1500},
		wire.Module{ID: 1, MVID: mvid, Path: "/srv/App.dll", Name: "App.dll"},
		wire.Module{ID: 2, MVID: id, Path: path, Name: "tiny.dll"})
	a.Add(wire.Callee{ID: 1, Module: 1, Token: 0x0A000001, Assembly: "tiny", TypeNames: []string{"Tiny`1", "Nested"},
		Name: name, Signature: []byte{0x7F}})
	s := record(t, a, collect.Filter{})
	equal(t, "functions", get[session.Function](t)(s.Functions()),
		[]session.Function{{ID: 1, Process: 1, Module: 2, Token: session.Token(method.Token),
			Kind: session.FunctionMethod, RawType: typeName, RawName: name, Signature: method.Signature}})
	if modules := get[session.Module](t)(s.Modules()); len(modules) != 2 {
		t.Errorf("modules: %+v", modules)
	}
}

func metadataOf(t *testing.T, path string) *clrmeta.Metadata {
	t.Helper()
	file, err := symbols.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	image, err := clrmeta.Open(file, file.Size())
	if err != nil {
		t.Fatal(err)
	}
	return image.Metadata()
}
