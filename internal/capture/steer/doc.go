// Package steer lets people and scripts choose what is recorded while a program runs. It has the levels, the
// operations on them, and the requests of `clrprof ctl` with their answers.
//
// Requests come from clients of a socket, each in a goroutine of its own. Only the recorder's goroutine may change
// anything, so requests wait in a Queue until it handles them.
package steer
