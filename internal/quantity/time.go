package quantity

// Waits is what the operating system did to threads in the intervals of a profile in which it acted at all.
type Waits struct {
	Intervals Count       // in which it acted: they count in Time.Elapsed and not in Time.Application
	Voluntary Count       // context switches because the thread waited
	Preempted Count       // context switches because another thread was given the processor
	Faults    Count       // page faults that needed the disk
	Reads     Count       // reads of blocks
	OffCPU    Nanoseconds // without a processor, for whatever reason; an interval that never ended counts whole
	Blocked   Nanoseconds // of these: the thread waited
	Ready     Nanoseconds // of these: it could have run, but had no processor
}

// Add returns the sum of two.
func (w Waits) Add(o Waits) Waits {
	return Waits{w.Intervals + o.Intervals, w.Voluntary + o.Voluntary, w.Preempted + o.Preempted,
		w.Faults + o.Faults, w.Reads + o.Reads, w.OffCPU + o.OffCPU, w.Blocked + o.Blocked, w.Ready + o.Ready}
}

// Sub returns the difference of two.
func (w Waits) Sub(o Waits) Waits {
	return Waits{w.Intervals - o.Intervals, w.Voluntary - o.Voluntary, w.Preempted - o.Preempted,
		w.Faults - o.Faults, w.Reads - o.Reads, w.OffCPU - o.OffCPU, w.Blocked - o.Blocked, w.Ready - o.Ready}
}

// IsZero reports whether the operating system did nothing.
func (w Waits) IsZero() bool { return w == Waits{} }

// Time is the time that code took: a sum of intervals.
type Time struct {
	Elapsed     Nanoseconds // all intervals, without Overhead
	Application Nanoseconds // of these: in which the operating system did not act
	CPU         Nanoseconds // of Elapsed: with a processor
	Overhead    Nanoseconds // what the probes added to the intervals; Elapsed + Overhead is what was measured
	Waits
	Counters Counters // what CPU counters counted in them, without what the probes added
}

// MaxCounters is how many CPU counters are read at the events of threads, at most (wire.MaxCounters).
const MaxCounters = 6

// Counters are values of CPU counters, by position.
type Counters [MaxCounters]Count

// Add returns the sum of each.
func (c Counters) Add(o Counters) Counters {
	for i := range c {
		c[i] += o[i]
	}
	return c
}

// Sub returns the difference of each.
func (c Counters) Sub(o Counters) Counters {
	for i := range c {
		c[i] -= o[i]
	}
	return c
}

// IsZero reports whether nothing was counted.
func (c Counters) IsZero() bool { return c == Counters{} }

// Add returns the sum of two times.
func (t Time) Add(o Time) Time {
	return Time{t.Elapsed + o.Elapsed, t.Application + o.Application, t.CPU + o.CPU, t.Overhead + o.Overhead,
		t.Waits.Add(o.Waits), t.Counters.Add(o.Counters)}
}

// Sub returns the difference of two times.
func (t Time) Sub(o Time) Time {
	return Time{t.Elapsed - o.Elapsed, t.Application - o.Application, t.CPU - o.CPU, t.Overhead - o.Overhead,
		t.Waits.Sub(o.Waits), t.Counters.Sub(o.Counters)}
}

// IsZero reports whether it took no time and nothing happened in it.
func (t Time) IsZero() bool { return t == Time{} }

// Times is a time by the inclusive and by the exclusive rule.
type Times struct {
	Inclusive Time
	Exclusive Time
}

// Add returns the sum of both rules.
func (t Times) Add(o Times) Times {
	return Times{t.Inclusive.Add(o.Inclusive), t.Exclusive.Add(o.Exclusive)}
}

// IsZero reports whether both times are zero.
func (t Times) IsZero() bool { return t == Times{} }
