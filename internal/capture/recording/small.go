package recording

import (
	"math"

	"github.com/clrprof/clrprof/internal/session/pieces"
)

// SmallTiming is what most timings count, in 8 bytes: their calls, all of which ended, or what they made, or both if
// they are few, and a time below 32 bits. Nothing was waited.
type SmallTiming [2]uint32

// The forms of a SmallTiming's first word.
const (
	formCalls = iota // calls
	formMade         // made
	formBoth         // calls, then made

	bothShift = pieces.FormShift / 2
	mostBoth  = 1<<bothShift - 1
)

// NewSmallTiming returns counters as a SmallTiming; false: they are not of that kind.
func NewSmallTiming(calls, ended, made, elapsed uint64) (SmallTiming, bool) {
	if calls != ended || elapsed > math.MaxUint32 {
		return SmallTiming{}, false
	}
	form, number := uint32(formCalls), calls
	switch {
	case made == 0:
	case calls == 0:
		form, number = formMade, made
	case max(calls, made) <= mostBoth:
		form, number = formBoth, calls<<bothShift|made
	default:
		return SmallTiming{}, false
	}
	return SmallTiming{form<<pieces.FormShift | uint32(number&pieces.MostSmall), uint32(elapsed)},
		number <= pieces.MostSmall
}

// Counters returns what it counts.
func (s SmallTiming) Counters() (calls, made, elapsed uint64) {
	number := uint64(s[0] & pieces.MostSmall)
	switch s[0] >> pieces.FormShift {
	case formCalls:
		return number, 0, uint64(s[1])
	case formMade:
		return 0, number, uint64(s[1])
	}
	return number >> bothShift, number & mostBoth, uint64(s[1])
}

// SmallInclusive is what most inclusive times of folded calls are, in 12 bytes: the number and the time of all calls
// each by itself are those of the outermost ones, or are not known here. Nothing was waited.
type SmallInclusive [3]uint32

// formEach is the form of a SmallInclusive in which each call by itself is counted; otherwise none is.
const formEach = 1

// NewSmallInclusive returns sums as a SmallInclusive; false: they are not of that kind.
func NewSmallInclusive(times, calls, elapsed, eachCalls, eachElapsed uint64) (SmallInclusive, bool) {
	form := uint32(0)
	switch {
	case max(times, elapsed) > math.MaxUint32 || calls > pieces.MostSmall:
		return SmallInclusive{}, false
	case eachCalls == 0 && eachElapsed == 0:
	case eachCalls == calls && eachElapsed == elapsed:
		form = formEach
	default:
		return SmallInclusive{}, false
	}
	return SmallInclusive{form<<pieces.FormShift | uint32(calls), uint32(times), uint32(elapsed)}, true
}

// Sums returns what it is.
func (s SmallInclusive) Sums() (times, calls, elapsed, eachCalls, eachElapsed uint64) {
	times, calls, elapsed = uint64(s[1]), uint64(s[0]&pieces.MostSmall), uint64(s[2])
	if s[0]>>pieces.FormShift == formEach {
		return times, calls, elapsed, calls, elapsed
	}
	return times, calls, elapsed, 0, 0
}
