// Command read reads profiles of OTLP, as protobuf, with the package of the OpenTelemetry Collector that its receivers
// read them with, and prints the sum of each type of sample as JSON. Its module is one of its own: only tests need it.
// Usage, in its folder: go run . FILE
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/clrprof/clrprof/tools/otlp/sums"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "read:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one file, not %d", len(args))
	}
	file, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(file); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return json.NewEncoder(os.Stdout).Encode(sums.Of(request.Profiles()))
}
