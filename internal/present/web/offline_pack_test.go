package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"testing"
)

// TestPack: answers that are written one after the other are the JSON of all of them.
func TestPack(t *testing.T) {
	for _, o := range []*offline{
		{answers: map[string]json.RawMessage{}, binaries: map[string]string{}},
		{
			answers: map[string]json.RawMessage{
				"view?view=<types>&by=": json.RawMessage(`{"name": "List<\u003cT> & more",` + "\n" +
					`"rows": [1, 2.5, null]}`),
				"a\"b": json.RawMessage(`"  "`),
				"":     json.RawMessage(`null`),
			},
			binaries: map[string]string{"flame?": "AAEC/+==", "flame?up=1": ""},
		},
	} {
		want, err := json.Marshal(map[string]any{"answers": o.answers, "binaries": o.binaries})
		if err != nil {
			t.Fatal(err)
		}
		packed, err := o.pack()
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("packed is\n%s\nwant\n%s", got, want)
		}
	}
}
