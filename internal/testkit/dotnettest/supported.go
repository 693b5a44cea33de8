//go:build linux && amd64

package dotnettest

// supported reports whether the packages hold binaries for this platform.
const supported = true
