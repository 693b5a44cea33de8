// Package steer is how people and scripts choose what is recorded while a program runs: the levels and what can be done
// to them, and the requests of `clrprof ctl` with their answers.
//
// Requests come from clients of a socket, each in a goroutine of its own, and only the recorder's may change anything:
// so they wait at a Queue until it comes to them.
package steer
