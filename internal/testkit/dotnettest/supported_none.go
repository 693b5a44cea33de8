//go:build !(linux && amd64)

package dotnettest

const supported = false
