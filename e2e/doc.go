// Package e2e holds no code: its tests profile real .NET programs with the built binary, as a user would, and
// compare what it says with what the programs know about themselves, or do to it what goes wrong in the world.
package e2e
