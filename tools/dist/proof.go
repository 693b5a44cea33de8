package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checksumsName is what "sha256sum -c" reads.
const checksumsName = "SHA256SUMS"

// checksums writes the sums of all files that were written so far.
func (r *release) checksums() error {
	names, err := r.results()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, name := range names {
		sum, err := r.sum(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum, name)
	}
	return r.write(checksumsName, out.Bytes())
}

func (r *release) sum(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), nil
}

// billOfMaterials writes what is in the binary as CycloneDX: the Go modules, which Go wrote into the binary, Go's own
// library, and the npm packages in the page.
func (r *target) billOfMaterials() error {
	listed := filepath.Join(r.stage, "bom-"+r.name+".json")
	err := goCommand("tool", toolsModule, "cyclonedx-gomod", "bin", "-json", "-noserial", "-notimestamp", "-std",
		"-version", "v"+r.version, "-output", listed, r.binaryPath())
	if err != nil {
		return err
	}
	b, err := os.ReadFile(listed)
	if err != nil {
		return fmt.Errorf("reading the bill of materials: %w", err)
	}
	var bom map[string]any
	if err := json.Unmarshal(b, &bom); err != nil {
		return fmt.Errorf("reading the bill of materials: %w", err)
	}
	components, ok := bom["components"].([]any)
	metadata, isMetadata := bom["metadata"].(map[string]any)
	if !ok || !isMetadata {
		return fmt.Errorf("the bill of materials has no components: %.200s", b)
	}
	delete(metadata, "tools") // the hash of the program that wrote it depends on who built that
	packages, err := npmPackages()
	if err != nil {
		return err
	}
	for _, p := range packages {
		url := "pkg:npm/" + strings.Replace(p.Name, "@", "%40", 1) + "@" + p.Version
		components = append(components, map[string]any{"bom-ref": url, "type": "library", "name": p.Name,
			"version": p.Version, "purl": url, "scope": "required",
			"licenses": []any{map[string]any{"license": map[string]any{"id": p.Licence}}}})
	}
	bom["components"] = components
	return r.writeJSON(r.base()+".cdx.json", bom)
}

// digest names a file of the release, or what it is made of, in a statement.
type digest struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

// provenance writes how the files came about, as an in-toto statement with SLSA's predicate. It is not signed, and it
// names no commit if the checkout had changes.
func (r *release) provenance() error {
	names, err := r.results()
	if err != nil {
		return err
	}
	var subjects []digest
	for _, name := range names {
		sum, err := r.sum(name)
		if err != nil {
			return err
		}
		subjects = append(subjects, digest{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	goVersion, err := output("go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	tools := map[string]string{"go": strings.TrimSpace(goVersion)}
	for _, t := range r.targets {
		compiler, err := output(t.prefix+"gcc", "--version")
		if err != nil {
			return err
		}
		tools[t.prefix+"gcc"], _, _ = strings.Cut(compiler, "\n")
	}
	if r.sdk != "" {
		tools["dotnet"] = r.sdk
	}
	sources := []digest{}
	if !r.changed() {
		sources = append(sources, digest{URI: "git+" + homepage + "@" + r.commit,
			Digest: map[string]string{"gitCommit": r.commit}})
	}
	return r.writeJSON("clrprof-"+r.version+".intoto.json", map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            homepage + "/blob/" + r.commit + "/Makefile#dist",
				"externalParameters":   map[string]any{"version": r.version, "target": "dist"},
				"internalParameters":   map[string]any{"SOURCE_DATE_EPOCH": r.time.Unix()},
				"resolvedDependencies": sources,
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": homepage + "/blob/main/tools/dist",
				"version": tools}},
		},
	})
}

// writeJSON writes a file with keys in order.
func (r *release) writeJSON(name string, v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return r.write(name, b.Bytes())
}
