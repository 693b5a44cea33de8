package dotnettest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// rootsVariable names directories, separated by colons, each a DOTNET_ROOT whose
// runtimes and SDK tests use.
const rootsVariable = "CLRPROF_TEST_DOTNET"

// oldestMajor is the oldest version of a machine's own .NET that tests use. What
// is before 6 cannot be installed any more and is tested with 3.1.2.
const oldestMajor = 6

const (
	coreFramework = "Microsoft.NETCore.App"
	webFramework  = "Microsoft.AspNetCore.App"
)

// version is a version of .NET: major, minor, patch. Zero is none.
type version [3]int

// parseVersion reads "10.0.12". Of a preview, "11.0.0-rc.1.25451.107", and of
// everything else it returns zero.
func parseVersion(s string) version {
	var v version
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return version{}
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return version{}
		}
		v[i] = n
	}
	return v
}

func compareVersions(a, b string) int {
	va, vb := parseVersion(a), parseVersion(b)
	return slices.Compare(va[:], vb[:])
}

// installed is one version of something in a DOTNET_ROOT.
type installed struct{ version, root string }

// machineRoots returns the directories in which to look for the machine's .NET:
// those of CLRPROF_TEST_DOTNET, which must be there, then DOTNET_ROOT, then that
// of the dotnet command on the PATH.
func machineRoots() ([]string, error) {
	var roots []string
	add := func(root string) {
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	for _, root := range filepath.SplitList(os.Getenv(rootsVariable)) {
		found, err := realRoot(filepath.Join(root, "dotnet"))
		if err != nil {
			return nil, fmt.Errorf("%s names %s, which has no .NET: %w", rootsVariable, root, err)
		}
		add(found)
	}
	if root := os.Getenv("DOTNET_ROOT"); root != "" {
		if found, err := realRoot(filepath.Join(root, "dotnet")); err == nil {
			add(found)
		}
	}
	if dotnet, err := exec.LookPath("dotnet"); err == nil {
		if found, err := realRoot(dotnet); err == nil {
			add(found)
		}
	}
	return roots, nil
}

// realRoot returns the directory of the dotnet executable that path leads to. A
// script of that name has no runtimes beside it.
func realRoot(dotnet string) (string, error) {
	dotnet, err := filepath.EvalSymlinks(dotnet)
	if err != nil {
		return "", err
	}
	root, err := filepath.Abs(filepath.Dir(dotnet))
	if err != nil {
		return "", err
	}
	_, err = os.Stat(filepath.Join(root, "host", "fxr"))
	return root, err
}

// versions returns what lies in the subdirectory of the roots under a version for
// its name, newest first; of the same version the first root's. Previews are left
// out.
func versions(roots []string, sub string) ([]installed, error) {
	var all []installed
	for _, root := range roots {
		entries, err := os.ReadDir(filepath.Join(root, sub))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if parseVersion(e.Name()) != (version{}) {
				all = append(all, installed{e.Name(), root})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b installed) int { return compareVersions(b.version, a.version) })
	return slices.CompactFunc(all, func(a, b installed) bool { return a.version == b.version }), nil
}

// findMachine finds the machine's runtimes and its newest SDK, and makes the list
// of all runtimes.
func (in *Install) findMachine() error {
	roots, err := machineRoots()
	if err != nil {
		return err
	}
	found, err := versions(roots, filepath.Join("shared", coreFramework))
	if err != nil {
		return err
	}
	in.runtimes = []Runtime{in.Net9()}
	last := 0
	for _, f := range found {
		major := parseVersion(f.version)[0]
		if major < oldestMajor || major == last || f.version == version9 {
			continue
		}
		last = major
		root, err := in.oneVersion(f)
		if err != nil {
			return fmt.Errorf("making a DOTNET_ROOT of %s in %s: %w", f.version, f.root, err)
		}
		in.runtimes = append(in.runtimes, newRuntime(f.version, root))
	}
	slices.SortFunc(in.runtimes, func(a, b Runtime) int { return compareVersions(b.Name, a.Name) })
	sdks, err := versions(roots, "sdk")
	if err != nil {
		return err
	}
	for _, s := range sdks {
		sdk := SDK{Version: s.version, Root: s.root}
		if _, err := os.Stat(sdk.compiler(csharp)); err == nil && sdk.Major() >= oldestSDK {
			in.newestSDK = cmp.Or(in.newestSDK, &sdk)
		}
	}
	return nil
}

// oneVersion makes a DOTNET_ROOT in the cache in which one version of the runtime
// is alone, and returns it: whichever way a program is started, and whatever it
// starts, runs on that version. Its frameworks are links to those of the machine.
func (in *Install) oneVersion(of installed) (string, error) {
	fxr, err := versions([]string{of.root}, filepath.Join("host", "fxr"))
	if err != nil {
		return "", err
	}
	if len(fxr) == 0 {
		return "", errors.New("no host/fxr of a release")
	}
	links := []string{filepath.Join("host", "fxr", fxr[0].version), filepath.Join("shared", coreFramework, of.version)}
	web := filepath.Join("shared", webFramework, of.version)
	if _, err := os.Stat(filepath.Join(of.root, web)); err == nil {
		links = append(links, web)
	}
	key := sha256.Sum256([]byte(strings.Join(append(links, of.root), "\n")))
	parent := filepath.Join(in.cache, "roots")
	dir := filepath.Join(parent, of.version+"-"+hex.EncodeToString(key[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(parent, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for _, l := range links {
		if err := os.MkdirAll(filepath.Join(tmp, filepath.Dir(l)), 0o755); err != nil {
			return "", err
		}
		if err := os.Symlink(filepath.Join(of.root, l), filepath.Join(tmp, l)); err != nil {
			return "", err
		}
	}
	// The executable finds its root by where it lies itself: a link would lead back.
	if err := copyFile(filepath.Join(of.root, "dotnet"), filepath.Join(tmp, "dotnet")); err != nil {
		return "", err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}
