// Package sourceroot says where a source file is in a repository, given how the symbols of a program name it.
//
// Problem: symbols have the path of the machine that compiled, such as /home/build/shop/Orders.cs, or in deterministic
// builds /_/Orders.cs. Services that show a finding beside the code want the path within the repository.
package sourceroot

import (
	"path"
	"strings"
)

// Relative returns the path of a file below root, with slashes, and whether it is below it. Otherwise it returns the
// file as it is, with slashes. What deterministic builds write (/_/, and /_1/ and so on for submodules: property
// DeterministicSourcePaths of the .NET SDK) stands for the root of a repository, and so does a relative path. root is
// absolute; "": no directory is.
func Relative(file, root string) (string, bool) {
	file = strings.ReplaceAll(file, `\`, "/")
	if mapped, ok := cutMapped(file); ok && isBelow(mapped) {
		return mapped, true
	}
	if root != "" {
		if below, ok := strings.CutPrefix(path.Clean(file), strings.TrimSuffix(path.Clean(root), "/")+"/"); ok {
			return below, true
		}
	}
	return file, isBelow(file)
}

// isBelow reports whether a path is relative and leads nowhere else: a session can name any.
func isBelow(file string) bool {
	isDrive := len(file) > 1 && file[1] == ':'
	clean := path.Clean(file)
	return file != "" && !path.IsAbs(file) && !isDrive && clean != ".." && !strings.HasPrefix(clean, "../")
}

// cutMapped cuts /_/ and /_1/ off.
func cutMapped(file string) (string, bool) {
	rest, ok := strings.CutPrefix(file, "/_")
	if !ok {
		return "", false
	}
	number, below, ok := strings.Cut(rest, "/")
	return below, ok && below != "" && strings.Trim(number, "0123456789") == ""
}
