// Package sums adds up profiles of OpenTelemetry, as the Collector has them.
package sums

import "go.opentelemetry.io/collector/pdata/pprofile"

// Of returns the sums of all types of samples, by the name of the type.
func Of(profiles pprofile.Profiles) map[string]int64 {
	out := map[string]int64{}
	words := profiles.Dictionary().StringTable()
	for _, resource := range profiles.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, p := range scope.Profiles().All() {
				name := words.At(int(p.SampleType().TypeStrindex()))
				for _, sample := range p.Samples().All() {
					for _, value := range sample.Values().All() {
						out[name] += value
					}
				}
			}
		}
	}
	return out
}
