package eventpipe

import (
	"encoding/binary"
	"testing"
)

// description is what a runtime answers, with these texts.
func description(t testing.TB, skip int, texts ...string) []byte {
	t.Helper()
	b := make([]byte, skip+infoStart)
	for _, text := range texts {
		var err error
		if b, err = appendText(b, text); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestDecodeInfo: each of the three answers, and each end that is too early.
func TestDecodeInfo(t *testing.T) {
	texts := []string{"dotnet \"a b\".dll 😀", "Linux", "x64", "a b", "10.0.1", "linux-musl-x64"}
	for _, c := range infoCommands {
		b := description(t, c.skip, texts[:c.strings]...)
		got, err := decodeInfo(b, c.skip, c.strings)
		want := Info{CommandLine: texts[0], OS: texts[1], Architecture: texts[2]}
		if c.strings > 3 {
			want.Entry, want.Version = texts[3], texts[4]
		}
		if c.strings > 5 {
			want.RID = texts[5]
		}
		if err != nil || got != want {
			t.Errorf("%d texts: %+v, %v", c.strings, got, err)
		}
		for n := range b {
			if _, err := decodeInfo(b[:n], c.skip, c.strings); err == nil {
				t.Errorf("%d of %d bytes pass", n, len(b))
			}
		}
	}
	huge := binary.LittleEndian.AppendUint32(make([]byte, infoStart), 1<<32-1)
	if _, err := decodeInfo(huge, 0, 3); err == nil {
		t.Error("a text of 4 GiB passes")
	}
}

func FuzzDecodeInfo(f *testing.F) {
	for _, c := range infoCommands {
		f.Add(description(f, c.skip, []string{"dotnet a.dll", "Linux", "x64", "a", "10.0.1", "linux-x64"}[:c.strings]...))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, c := range infoCommands {
			_, _ = decodeInfo(b, c.skip, c.strings) // it ends, and reads nothing beyond
		}
	})
}
