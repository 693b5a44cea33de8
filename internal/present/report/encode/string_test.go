package encode

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestAppendString: texts are written as encoding/json does, whatever is in them, and what is before them stays.
func TestAppendString(t *testing.T) {
	hard := []string{"Main › Work", `"`, `\`, "\n", "\x00", "\x1f", "\x7f", "\x80", "\xe2\x80", "\u2028", "\u2029",
		"\ufffd",
		"<T>&", "😀"}
	part := rapid.OneOf(rapid.String(), rapid.SampledFrom(hard))
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, p := range rapid.SliceOfN(part, 0, 5).Draw(t, "parts") {
			text += p
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(text); err != nil {
			t.Fatal(err)
		}
		got := string(appendString([]byte("before"), text)) + "\n"
		if got != "before"+want.String() {
			t.Fatalf("%q is written as %s, want %s", text, got, want.Bytes())
		}
		if bytes := string(appendString([]byte("before"), []byte(text))) + "\n"; bytes != got {
			t.Fatalf("%q is written as %s, the same bytes as %s", text, got, bytes)
		}
	})
}
