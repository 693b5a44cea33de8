package eventpipe

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/quantity"
)

// Meters is the event source that publishes what the instruments of meters measure.
const Meters = "System.Diagnostics.Metrics"

// Keywords of the event source.
const (
	keywordValues      = 2 // values at the end of each interval
	keywordInstruments = 4 // instruments of all meters, once there are any
	keywordNothing     = 8 // no event has it
)

// Ids of its events.
const (
	eventCollected      = 3 // an interval is over, and all its values were sent
	eventCounter        = 4
	eventGauge          = 5
	eventHistogram      = 6
	eventBegin          = 7 // an instrument is published from now on
	eventEnd            = 8 // and no more: its meter was disposed of
	eventError          = 9
	eventListed         = 10 // all instruments that there are were reported
	eventInstrument     = 11 // there is an instrument, which may not have been asked for
	eventSeriesLimit    = 12
	eventHistogramLimit = 13
	eventCallback       = 14 // callbacks of observable instruments threw
	eventOtherSession   = 15
	eventUpDown         = 16
	eventOtherLimits    = 17
)

// Limits of what the runtime publishes, in the process. A set of tags takes about a kilobyte each time that it is
// published, and a histogram a table of 32 KB.
const (
	maxSeries     = 2000 // instruments with their tags
	maxHistograms = 100  // of these
)

// Limits of a request: the runtime cuts no texts, but the protocol does.
const (
	maxNames      = 2000 // that are asked for one by one
	maxNamesBytes = 8000 // in one request
	maxMeterText  = 1024 // of a name, or of tags: those of a session
)

// The runtime sends what a thread has written before what another one has, from time to time. So a value can come
// before the event that its instrument begins, or after the one that it ends, which other threads write.
const (
	apart      = quantity.Nanoseconds(10_000_000_000) // at most, by the time of the events
	maxTooSoon = 4096                                 // values that wait for their instruments
)

// shared is the name of the one session that several tools can have, and to which names can be added.
const shared = "SHARED"

// InstrumentKind is what an instrument measures.
type InstrumentKind int

// The kinds of instruments. Those of which nothing is known are none.
const (
	Added    InstrumentKind = iota + 1 // a counter
	UpDown                             // an up-down counter
	Set                                // a gauge, or an observable up-down counter
	Total                              // an observable counter
	Measured                           // a histogram
)

// Series is an instrument with its tags.
type Series struct {
	Kind                           InstrumentKind
	Meter, Name, Unit, Description string // as the program has them
	Tags                           string // NAME=VALUE,NAME=VALUE in the order of names, those of the meter too
}

// Quantile is a value that so many of the measurements do not exceed.
type Quantile struct {
	Of    string // 0.5 and the like, as the runtime writes it
	Value float64
}

// Published is what is known of a series at a moment: since the session began, if it adds up.
type Published struct {
	*Series
	Time      quantity.Nanoseconds // of the clock MONOTONIC
	Count     int64                // measurements, of a histogram
	Sum       float64              // of Added, UpDown and Measured
	Last      float64              // of Set and Total
	Quantiles []Quantile           // of what a histogram measured in the last interval
}

// Instruments makes values of the events of [Meters].
type Instruments struct {
	wants     func(meter string) bool
	client    string
	interval  quantity.Nanoseconds
	asked     []string // exact names, and names that end with *
	unasked   []string // that are to be asked for, too
	requests  int
	byID      map[int64]*Series
	byName    map[instrumentName]*Series
	ended     map[int64]quantity.Nanoseconds // when those of byID ended
	tooSoon   []tooSoon
	now       quantity.Nanoseconds // of the newest event
	looked    quantity.Nanoseconds // when forget looked last
	series    map[Series]*seriesState
	complete  bool // all instruments that there are have been reported
	refused   bool
	heard     bool
	lost      uint64
	callbacks uint64
	troubles  map[string]bool
}

// instrumentName is what an instrument is called in events without ids.
type instrumentName struct{ meter, version, name, unit string }

// tooSoon is a value whose instrument has not begun yet.
type tooSoon struct {
	Event
	values Values
}

// seriesState is what is known of a series.
type seriesState struct {
	Published
	seen bool // Last is known
}

// NewInstruments makes values of the instruments of meters with these names, in which * is any text: those that are
// wanted. The client is what the session is called in the process.
func NewInstruments(names []string, wants func(meter string) bool, client string,
	interval quantity.Nanoseconds) *Instruments {
	x := &Instruments{wants: wants, client: client, interval: interval, byID: map[int64]*Series{},
		byName: map[instrumentName]*Series{}, ended: map[int64]quantity.Nanoseconds{},
		series: map[Series]*seriesState{}, troubles: map[string]bool{}}
	for _, name := range names {
		// Newer runtimes take a * at the end, and no other one.
		if prefix := strings.TrimSuffix(name, "*"); !strings.Contains(prefix, "*") && prefix != "" {
			x.unasked = append(x.unasked, name)
		}
	}
	return x
}

// First is the provider of the session whose events Add takes.
func (x *Instruments) First() Provider {
	p := x.request()
	p.Keywords = keywordValues | keywordInstruments
	return p
}

// More is the provider of a session that asks for more names, and can be closed at once. There is none if no names are
// known that were not asked for, and at most one in an interval, because the runtime reports all instruments each time.
func (x *Instruments) More() (p Provider, ok bool) {
	if len(x.unasked) == 0 || x.refused || !x.complete {
		return Provider{}, false
	}
	x.complete = false
	return x.request(), true
}

// request asks for the next names.
func (x *Instruments) request() Provider {
	n, size := 0, 0
	for n < len(x.unasked) && size+len(x.unasked[n]) < maxNamesBytes {
		size += len(x.unasked[n]) + 1
		n++
	}
	names := x.unasked[:n]
	x.requests++
	x.asked, x.unasked = append(x.asked, names...), x.unasked[n:]
	// As with CounterProviders, no number may have a decimal point. The event source ends when as many sessions have
	// ended as there were clients, or when there is none: so each has its own name.
	return Provider{Meters, keywordNothing, Informational, fmt.Sprintf(
		"SessionId=%s;ClientId=%s-%d;RefreshInterval=%dE-3;MaxTimeSeries=%d;MaxHistograms=%d;Metrics=%s",
		shared, x.client, x.requests, max(1, x.interval/1_000_000), maxSeries, maxHistograms, strings.Join(names, ","))}
}

// Refused reports whether the process publishes nothing to this session, because another tool has one.
func (x *Instruments) Refused() bool { return x.refused }

// Heard reports whether the event source has sent anything.
func (x *Instruments) Heard() bool { return x.heard }

// Lost is how many published values could not be taken, or measurements of which a value was made that is no number.
func (x *Instruments) Lost() uint64 { return x.lost }

// Callbacks is how often callbacks of observable instruments threw.
func (x *Instruments) Callbacks() uint64 { return x.callbacks }

// Troubles say what is missing.
func (x *Instruments) Troubles() []string { return slices.Sorted(maps.Keys(x.troubles)) }

// Trouble notes what is missing, for Troubles.
func (x *Instruments) Trouble(text string) {
	if len(x.troubles) < maxTroubles {
		x.troubles[text] = true
	}
}

// Add takes an event, and returns the values that are known by it.
func (x *Instruments) Add(e *Event) []Published {
	if e.Provider != Meters {
		return nil
	}
	v := e.Values()
	x.heard = true
	x.forget(e.Time)
	switch e.ID {
	case eventOtherSession:
		x.refused = x.refused || v.text("runningSessionId") != shared // else it is the other one that is refused
	case eventOtherLimits:
		x.refused = x.refused || strings.HasPrefix(v.text("clientId"), x.client+"-")
	}
	if x.refused || v.text("sessionId") != shared {
		return nil
	}
	switch e.ID {
	case eventCollected, eventListed:
		x.complete = true
	case eventInstrument:
		x.found(v)
	case eventBegin:
		return x.begin(v)
	case eventEnd:
		x.end(v)
	case eventError:
		x.Trouble("the runtime reports an error while it reads meters: " + firstLine(v.text("errorMessage")))
	case eventSeriesLimit:
		x.Trouble(fmt.Sprintf("its meters have more than %d sets of tags: others are left out", maxSeries))
	case eventHistogramLimit:
		x.Trouble(fmt.Sprintf("its meters have more than %d sets of tags of histograms: others are left out",
			maxHistograms))
	case eventCallback:
		x.callbacks++
	case eventCounter, eventUpDown, eventGauge, eventHistogram:
		return x.value(e, v)
	}
	return nil
}

// forget forgets what can be no more than a lost event's.
func (x *Instruments) forget(now quantity.Nanoseconds) {
	x.now = max(x.now, now)
	if x.now-x.looked < apart/10 {
		return
	}
	x.looked = x.now
	maps.DeleteFunc(x.ended, func(id int64, at quantity.Nanoseconds) bool {
		old := x.now-at > apart
		if old {
			delete(x.byID, id)
		}
		return old
	})
	x.tooSoon = slices.DeleteFunc(x.tooSoon, func(t tooSoon) bool {
		old := x.now-t.Time > apart
		if old {
			x.lost++
		}
		return old
	})
}

// Finish notes that no event follows: what waits for its instrument is lost.
func (x *Instruments) Finish() {
	x.lost += uint64(len(x.tooSoon))
	x.tooSoon = nil
}

// firstLine is the first line of a text, of which an error's has many.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), 200)], "")
}

// found notes that there is an instrument. Its meter is asked for if it is wanted, and the names that the runtime knows
// do not cover it: .NET 8, whose instruments have no ids, compares them exactly.
func (x *Instruments) found(v Values) {
	meter := v.text("meterName")
	_, newer := v["instrumentId"]
	covers := func(name string) bool {
		prefix, isPrefix := strings.CutSuffix(name, "*")
		return name == meter || newer && isPrefix && len(meter) >= len(prefix) &&
			strings.EqualFold(meter[:len(prefix)], prefix)
	}
	if !x.wants(meter) || slices.ContainsFunc(x.asked, covers) || slices.ContainsFunc(x.unasked, covers) {
		return
	}
	switch {
	case !ValidName(meter) || strings.HasSuffix(meter, "*"):
		x.Trouble(fmt.Sprintf("the meter %.100q has a name that the runtime cannot be asked for", meter))
	case len(x.asked)+len(x.unasked) >= maxNames:
		x.Trouble(fmt.Sprintf("more than %d meters match: others are left out", maxNames))
	default:
		x.unasked = append(x.unasked, meter)
	}
}

func nameOf(v Values) instrumentName {
	return instrumentName{v.text("meterName"), v.text("meterVersion"), v.text("instrumentName"), v.text("unit")}
}

// begin notes an instrument that is published, and returns its values that came before. Known ones are reported again
// when names are added.
func (x *Instruments) begin(v Values) (out []Published) {
	kind, known := kinds[v.text("instrumentType")]
	if !known || !x.wants(v.text("meterName")) {
		return nil
	}
	of := &Series{kind, v.text("meterName"), v.text("instrumentName"), v.text("unit"), v.text("description"),
		joinTags(v.text("meterTags"), v.text("instrumentTags"))}
	if len(x.byID)+len(x.byName) >= 2*maxValues {
		return nil // what it publishes is lost, and counted
	}
	if id, ok := v["instrumentId"].(int64); ok {
		x.byID[id] = of
	} else {
		x.byName[nameOf(v)] = of
	}
	x.tooSoon = slices.DeleteFunc(x.tooSoon, func(t tooSoon) bool {
		its := x.instrument(t.values)
		if its != nil {
			out = append(out, x.take(its, &t.Event, t.values)...)
		}
		return its != nil
	})
	return out
}

// kinds are the instruments that the runtime publishes, by the names of their types.
var kinds = map[string]InstrumentKind{"Counter`1": Added, "UpDownCounter`1": UpDown, "Gauge`1": Set,
	"ObservableGauge`1": Set, "ObservableUpDownCounter`1": Set, "ObservableCounter`1": Total, "Histogram`1": Measured}

// end notes that an instrument is published no more: without what it measured since the last time. One that is made
// again begins anew, in the same rows.
func (x *Instruments) end(v Values) {
	of := x.instrument(v)
	if of == nil {
		return
	}
	if of.Kind != Set && of.Kind != Total { // these are not added up
		x.Trouble(fmt.Sprintf("%.200s/%.200s was disposed of: what it measured since its last sample is missing",
			of.Meter, of.Name))
	}
	if id, ok := v["instrumentId"].(int64); ok {
		x.ended[id] = x.now // no other one has its id
		return
	}
	delete(x.byName, nameOf(v))
	for key, s := range x.series {
		if key.Meter == of.Meter && key.Name == of.Name {
			s.seen = false
		}
	}
}

// value takes a value, or keeps it for its instrument.
func (x *Instruments) value(e *Event, v Values) []Published {
	of := x.instrument(v)
	switch {
	case of != nil:
		return x.take(of, e, v)
	case !x.wants(v.text("meterName")):
	case len(x.tooSoon) >= maxTooSoon:
		x.lost++
	default:
		x.tooSoon = append(x.tooSoon, tooSoon{Event{ID: e.ID, Time: e.Time}, v})
	}
	return nil
}

// take takes a value of an instrument.
func (x *Instruments) take(of *Series, e *Event, v Values) []Published {
	s := x.find(of, v)
	if s == nil {
		x.lost++
		return nil
	}
	s.Time = e.Time
	ok := false
	switch s.Kind {
	case Added, UpDown:
		ok = x.grow(s, v.text("rate"), 1)
	case Set, Total:
		ok = x.level(e, s, v)
	case Measured:
		ok = x.histogram(s, v)
	}
	if !ok {
		return nil
	}
	return []Published{s.Published}
}

// instrument is the one that an event is about, nil if it is not published.
func (x *Instruments) instrument(v Values) *Series {
	if id, ok := v["instrumentId"].(int64); ok {
		return x.byID[id]
	}
	return x.byName[nameOf(v)]
}

// find is the series of a value of an instrument, nil if there is no room for it.
func (x *Instruments) find(of *Series, v Values) *seriesState {
	key := *of
	key.Tags = joinTags(of.Tags, v.text("tags"))
	key.Description = "" // it distinguishes nothing
	if s := x.series[key]; s != nil {
		return s
	}
	if len(x.series) >= maxValues || max(len(key.Tags), len(key.Name), len(key.Meter), len(key.Unit)) > maxMeterText {
		return nil
	}
	series := key
	series.Description = of.Description[:min(len(of.Description), maxMeterText)]
	s := &seriesState{Published: Published{Series: &series}}
	x.series[key] = s
	return s
}

// grow adds to a sum what was measured in an interval. The runtime's own sum begins anew with each instrument.
func (x *Instruments) grow(s *seriesState, by string, measurements uint64) bool {
	n, ok := number(by)
	if !ok {
		x.lost += measurements
		return false
	}
	s.Sum += n
	return true
}

// level takes the value of an instrument that has one each time. That of observable counters is wrong on .NET 8, where
// it is the sum of all values that were read: there, how much it changed is added to the first.
func (x *Instruments) level(e *Event, s *seriesState, v Values) bool {
	text, rate := v.text("lastValue"), v.text("rate")
	_, newer := v["instrumentId"]
	if e.ID != eventGauge {
		text = v.text("value")
	}
	n, ok := number(text)
	switch {
	case text == "":
		return false // nothing was measured yet
	case e.ID == eventGauge || newer || rate == "":
	case !s.seen:
		x.Trouble(fmt.Sprintf("%.200s/%.200s was read for another tool before: its value is not known", s.Meter, s.Name))
		x.lost++
		return false
	default:
		n, ok = number(rate)
		n += s.Last
	}
	if !ok {
		x.lost++
		return false
	}
	s.Last, s.seen = n, true
	return true
}

// histogram takes what a histogram measured in an interval.
func (x *Instruments) histogram(s *seriesState, v Values) bool {
	n, _ := v["count"].(int64)
	sum, _ := v["sum"].(float64)
	if n < 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		x.lost += uint64(max(n, 1))
		return false
	}
	s.Count += n
	s.Sum += sum
	s.Quantiles = nil
	for text := range strings.SplitSeq(v.text("quantiles"), ";") {
		of, value, _ := strings.Cut(text, "=")
		if n, ok := number(value); ok && len(s.Quantiles) < maxFields {
			s.Quantiles = append(s.Quantiles, Quantile{of, n})
		}
	}
	return true
}

// number reads a number as the runtime writes it, whatever the program's culture.
func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// joinTags joins lists of tags into one in the order of names. A comma can also be in a value: what has no = belongs to
// the value before.
func joinTags(lists ...string) string {
	var tags []string
	for _, list := range lists {
		first := len(tags)
		for part := range strings.SplitSeq(list, ",") {
			switch {
			case list == "":
			case len(tags) > first && !strings.Contains(part, "="):
				tags[len(tags)-1] += "," + part
			default:
				tags = append(tags, part)
			}
		}
	}
	slices.SortStableFunc(tags, cmp.Compare[string])
	return strings.Join(tags, ",")
}
