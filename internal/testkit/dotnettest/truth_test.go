package dotnettest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTruth(t *testing.T) {
	const end = `{"truth":"end","ok":true}` + "\n"
	type test struct {
		name, in string
		want     []Truth
		err      error
	}
	for _, tt := range []test{
		{"empty", "", nil, errNoEnd},
		{"none", end, nil, nil},
		{"other lines", "hello\n{\"a\":1}\n" + end, nil, nil},
		{
			"function",
			`{"truth":"function","scope":"exclusive","name":"A.B","module":"A.dll","token":"0x0600002a","type":"X<Y,Z>","objects":3,"bytes":72}` + "\n" + end,
			[]Truth{{Kind: "function", Scope: "exclusive", Name: "A.B", Module: "A.dll", Token: 0x0600002a,
				Type: "X<Y,Z>", Objects: 3, Bytes: 72}}, nil,
		},
		{
			"line", `{"truth":"line","file":"P.cs","line":42,"function":"A.B","objects":1,"bytes":24}` + "\n" + end,
			[]Truth{{Kind: "line", File: "P.cs", Line: 42, Function: "A.B", Objects: 1, Bytes: 24}}, nil,
		},
		{
			"wrong", `{"truth":"wrong","name":"A.B","expected":24,"measured":32}` + "\n" + end,
			[]Truth{{Kind: "wrong", Name: "A.B", Expected: 24, Measured: 32}}, errWrong,
		},
		{"killed", `{"truth":"type","name":"A","objects":1,"bytes":24}` + "\n",
			[]Truth{{Kind: "type", Name: "A", Objects: 1, Bytes: 24}}, errNoEnd},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseTruth(strings.NewReader(tt.in))
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := ParseTruth(strings.NewReader(`{"truth":"type","token":"0x"}`)); err == nil {
		t.Error("a bad token was accepted")
	}
}
