// Command otlpread reads profiles of OTLP, as protobuf, with the package of the OpenTelemetry Collector that its
// receivers read them with, and prints the sum of each type of sample as JSON. It is a module of its own: only a test
// needs it. Usage, in its folder: go run . FILE
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "otlpread:", err)
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
	sums := map[string]int64{}
	words := request.Profiles().Dictionary().StringTable()
	for _, resource := range request.Profiles().ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, p := range scope.Profiles().All() {
				name := words.At(int(p.SampleType().TypeStrindex()))
				for _, sample := range p.Samples().All() {
					for _, value := range sample.Values().All() {
						sums[name] += value
					}
				}
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(sums)
}
