// Package top shows a running recording on a terminal: what allocates now, by function and by type, and collections as
// they happen.
//
// A Screen is what messages said up to a moment; Text lays it out for a width. Model is the program around it: keys, a
// pause in which the screen stands still while the recording goes on, and sizes.
package top
