package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGenerated fails when the header of the agent or the document is not what package wire says now.
func TestGenerated(t *testing.T) {
	files, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join("..", "..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(have)); diff != "" {
			t.Errorf("%s is stale, run go generate ./internal/wire:\n%s", name, diff)
		}
	}
}

// TestMacro has the names of Go of which each word is hard to find.
func TestMacro(t *testing.T) {
	for name, want := range map[string]string{"MaxILMap": "MAX_IL_MAP", "RegionIPs": "REGION_IPS", "IPOSR": "IP_OSR",
		"KindThreadEnd": "RECORD_THREAD_END", "AgeGCBuckets": "AGE_GC_BUCKETS", "InteractionHTTP": "INTERACTION_HTTP"} {
		if have := macro(name); have != want {
			t.Errorf("%s is %s in C, want %s", name, have, want)
		}
	}
}
