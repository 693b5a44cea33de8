// Package policy holds no code: its tests keep the shape of the repository.
package policy
