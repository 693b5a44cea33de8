//go:build !linux

package dotnettest

import "errors"

func lock(string, func()) (func(), error) { return nil, errors.ErrUnsupported }
