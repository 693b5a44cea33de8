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

// Counter says what is measured: an instrument of a meter with some tags, or a counter of an event source.
type Counter struct {
	Source  string // the meter or the event source
	Name    string // SOURCE/INSTRUMENT, and .count and the like of one that has several values
	Tags    string // NAME=VALUE,NAME=VALUE as the program has them
	Unit    string // as the program says; "": it does not
	Sum     bool   // it adds up; otherwise it is a level
	Meaning string // as the program says
}

// Point is a value at a moment.
type Point struct {
	Counter
	Time  quantity.Nanoseconds // of the clock MONOTONIC
	Value float64
}

// Limits of what the runtime, and we, keep of one process.
const (
	maxSeries     = 1000 // of instruments with tags: so many of dotnet-counters, too
	maxHistograms = 100  // each takes the process some kilobytes
	maxValues     = 8 * maxSeries
	maxReporting  = 10_000 // instruments
	maxTroubles   = 16     // different ones
)

// Names of the providers and events.
const (
	metricsProvider    = "System.Diagnostics.Metrics"
	eventCounters      = "EventCounters"
	collectionStart    = "CollectionStart"
	collectionStop     = "CollectionStop"
	counterPublished   = "CounterRateValuePublished"
	upDownPublished    = "UpDownCounterRateValuePublished"
	gaugePublished     = "GaugeValuePublished"
	histogramPublished = "HistogramValuePublished"
	beginReporting     = "BeginInstrumentReporting"
	instrumentMade     = "InstrumentPublished"
	enumerated         = "InitialInstrumentEnumerationComplete"
)

// Keywords and arguments of the provider System.Diagnostics.Metrics.
const (
	keywordValues      = 0x2
	keywordInstruments = 0x4  // tells all instruments that there are
	keywordNone        = 0x80 // of no event
)

// MetersProviders are the providers of a session that samples meters, each of which may end with *, and the counters
// of event sources, which may not. id tells this tool from others that look at the same process.
func MetersProviders(id string, meters, sources []string, interval quantity.Nanoseconds) []Provider {
	var out []Provider
	if len(meters) > 0 {
		keywords := uint64(keywordValues)
		if slices.ContainsFunc(meters, isPattern) {
			keywords |= keywordInstruments
		}
		out = append(out, metersProvider(id, meters, inSeconds(interval), keywords))
	}
	for _, name := range sources {
		if !isPattern(name) && name != metricsProvider {
			// Its events have no keyword, and are always sent.
			out = append(out, Provider{name, 0, Critical, "EventCounterIntervalSec=" + inSeconds(interval)})
		}
	}
	return out
}

func isPattern(name string) bool { return strings.Contains(name, "*") }

// MoreMeters are the providers of a session that makes another one, with a different id, sample more meters.
func MoreMeters(id string, names []string, interval quantity.Nanoseconds) []Provider {
	return []Provider{metersProvider(id, names, inSeconds(interval), keywordNone)}
}

// inSeconds is how a provider gets an interval. Some runtimes read it by the program's culture, which may have a
// comma in place of the point: there is none.
func inSeconds(interval quantity.Nanoseconds) string {
	return fmt.Sprintf("%dE-3", max(1, interval/1_000_000))
}

func metersProvider(id string, names []string, seconds string, keywords uint64) Provider {
	return Provider{metricsProvider, keywords, Verbose, fmt.Sprintf(
		"SessionId=SHARED;SharedIdentifier=%s;ClientId=%s;Metrics=%s;RefreshInterval=%s;MaxTimeSeries=%d;MaxHistograms=%d",
		id, id, strings.Join(names, ","), seconds, maxSeries, maxHistograms)}
}

// ValidName says whether a meter or an event source can be called so in a request: what separates arguments cannot be
// in it.
func ValidName(name string) bool {
	return name != "" && len(name) <= 256 && !strings.ContainsAny(name, ";,=\\\"'\r\n\x00") &&
		strings.TrimSpace(name) == name
}

// Meters makes points of the events of meters and of counters of event sources.
type Meters struct {
	wanted    func(source string) bool
	totals    map[seriesKey]float64
	grouped   map[string]bool // counters of event sources that are more than one value: their count is told
	begun     quantity.Nanoseconds
	points    map[seriesKey]Point // of the collection that goes on
	meanings  map[string]string   // of instruments
	reporting map[string]bool     // meters that are sampled
	missing   map[string]bool     // meters that are wanted, and are not sampled so far
	unsampled []string            // the same, at the last collection
	troubles  map[string]bool
	supported bool
}

type seriesKey struct{ name, tags string }

// NewMeters makes points of what is wanted.
func NewMeters(wanted func(source string) bool) *Meters {
	return &Meters{wanted: wanted, totals: map[seriesKey]float64{}, grouped: map[string]bool{},
		points: map[seriesKey]Point{}, meanings: map[string]string{}, reporting: map[string]bool{},
		missing: map[string]bool{}, troubles: map[string]bool{}}
}

// Troubles are what the runtime said that it could not do.
func (m *Meters) Troubles() []string { return slices.Sorted(maps.Keys(m.troubles)) }

// Supported says whether the process has meters, which .NET Core 3.1 by itself has not.
func (m *Meters) Supported() bool { return m.supported }

// Unsampled are meters that are wanted and that the runtime does not sample, each told once: before .NET 9 it knows
// no patterns.
func (m *Meters) Unsampled() []string {
	out := m.unsampled
	m.unsampled = nil
	return out
}

// Add takes an event, and returns the points that are complete.
func (m *Meters) Add(e *Event) []Point {
	switch {
	case e.Name == eventCounters:
		return m.eventCounter(e)
	case e.Provider == metricsProvider:
		return m.metric(e)
	}
	return nil
}

func (m *Meters) metric(e *Event) []Point {
	switch v := e.Values(); e.Name {
	case collectionStart:
		m.begun = e.Time
	case collectionStop:
		return m.collected()
	case counterPublished, upDownPublished:
		m.add(e, v, "", e.Name == counterPublished, v.text("rate"), v.text("value"))
	case gaugePublished:
		m.set(e, v, "", v.text("lastValue"))
	case histogramPublished:
		m.histogram(e, v)
	case beginReporting:
		m.supported = true
		if key := instrumentName(v); len(m.meanings) < maxReporting {
			m.meanings[key] = v.text("description")
			m.reporting[v.text("meterName")] = true
		}
	case instrumentMade: // if it is sampled, that is said next
		if name := v.text("meterName"); m.wanted(name) && len(m.missing) < maxReporting {
			m.missing[name] = true
		}
	case enumerated:
		m.supported = true
	default:
		m.trouble(e.Name, v)
	}
	return nil
}

// trouble notes what the runtime could not do.
func (m *Meters) trouble(event string, v Values) {
	text := ""
	switch event {
	case "Error", "ObservableInstrumentCallbackError":
		text, _, _ = strings.Cut(v.text("errorMessage"), "\n") // a stack follows
		if text = strings.TrimSpace(text); event != "Error" {
			text = "a callback of the program threw " + text
		}
	case "TimeSeriesLimitReached":
		text = fmt.Sprintf("there are more than %d combinations of instruments and tags: others are left out", maxSeries)
	case "HistogramLimitReached":
		text = fmt.Sprintf("there are more than %d histograms: others are left out", maxHistograms)
	case "MultipleSessionsNotSupportedError", "MultipleSessionsConfiguredIncorrectlyError":
		text = "another tool samples meters of the process with other settings"
	}
	m.note(text)
}

func (m *Meters) note(text string) {
	if text != "" && len(m.troubles) < maxTroubles {
		m.troubles[text] = true
	}
}

func instrumentName(v Values) string { return v.text("meterName") + "/" + v.text("instrumentName") }

// counter says what an event of a meter is about.
func (m *Meters) counter(v Values, part string, sum bool) Counter {
	name := instrumentName(v)
	return Counter{Source: v.text("meterName"), Name: name + part, Tags: v.text("tags"), Unit: v.text("unit"), Sum: sum,
		Meaning: m.meanings[name]}
}

// add takes by how much a value grew; the first time only what it is may be known. Several instruments can have the
// same name: what they say adds up.
func (m *Meters) add(e *Event, v Values, part string, sum bool, delta, value string) {
	text := delta
	if text == "" {
		text = value
	}
	if grown, ok := parse(text); ok {
		c := m.counter(v, part, sum)
		if total, ok := m.grow(c, grown); ok {
			m.put(e, c, total)
		}
	}
}

// set takes a level.
func (m *Meters) set(e *Event, v Values, part, text string) {
	if value, ok := parse(text); ok {
		m.put(e, m.counter(v, part, false), value)
	}
}

// histogram takes what one had since the last collection.
func (m *Meters) histogram(e *Event, v Values) {
	count := m.counter(v, ".count", true)
	count.Unit = ""
	if total, ok := m.grow(count, v.number("count")); ok {
		m.put(e, count, total)
	}
	sum := m.counter(v, ".sum", true)
	if total, ok := m.grow(sum, v.number("sum")); ok {
		m.put(e, sum, total)
	}
	// .NET 8 writes quantiles by the program's culture.
	for quantile := range strings.SplitSeq(v.text("quantiles"), ";") {
		at, value, _ := strings.Cut(strings.ReplaceAll(quantile, ",", "."), "=")
		if p, ok := parse(at); ok && p > 0 && p < 1 {
			m.set(e, v, ".p"+strconv.FormatFloat(math.Round(p*1e6)/1e4, 'f', -1, 64), value)
		}
	}
}

// grow adds to a sum. There is none if there are too many.
func (m *Meters) grow(c Counter, by float64) (total float64, ok bool) {
	key := seriesKey{c.Name, c.Tags}
	if _, known := m.totals[key]; !m.wanted(c.Source) || math.IsNaN(by) || math.IsInf(by, 0) || !known &&
		!m.room(len(m.totals)) {
		return 0, false
	}
	m.totals[key] += by
	return m.totals[key], true
}

func (m *Meters) room(n int) bool {
	if n < maxValues {
		return true
	}
	m.note(fmt.Sprintf("there are more than %d values: others are left out", maxValues))
	return false
}

// put keeps a value until the collection is complete.
func (m *Meters) put(e *Event, c Counter, value float64) {
	if m.wanted(c.Source) && m.room(len(m.points)) {
		m.points[seriesKey{c.Name, c.Tags}] = Point{c, cmp.Or(m.begun, e.Time), value}
	}
}

// collected returns what a collection said.
func (m *Meters) collected() []Point {
	for _, name := range slices.Sorted(maps.Keys(m.missing)) {
		if !m.reporting[name] {
			m.unsampled = append(m.unsampled, name)
		}
	}
	clear(m.missing)
	out := slices.SortedFunc(maps.Values(m.points), func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Tags, b.Tags))
	})
	clear(m.points)
	return out
}

// eventCounter takes the values of a counter of an event source.
func (m *Meters) eventCounter(e *Event) []Point {
	v := e.Values()
	if inner, ok := v[""].(Values); ok {
		v = inner
	}
	p, ok := v["Payload"].(Values)
	if !ok || !m.wanted(e.Provider) {
		return nil
	}
	c := Counter{Source: e.Provider, Name: e.Provider + "/" + p.text("Name"), Tags: p.text("Metadata"),
		Unit: p.text("DisplayUnits"), Meaning: p.text("DisplayName")}
	var out []Point
	add := func(part, unit string, sum bool, value float64) {
		x := c
		x.Name, x.Unit, x.Sum = c.Name+part, unit, sum
		if sum {
			if value, ok = m.grow(x, value); !ok {
				return
			}
		}
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			out = append(out, Point{x, e.Time, value})
		}
	}
	if p.text("CounterType") == "Sum" {
		add("", c.Unit, true, p.number("Increment"))
		return out
	}
	n := p.number("Count")
	if n > 0 {
		add("", c.Unit, false, p.number("Mean"))
	}
	if n != 1 && m.room(len(m.grouped)) { // of a level that is asked for there is one value each time
		m.grouped[c.Name] = true
	}
	counted := len(out)
	add(".count", "", true, n)
	if !m.grouped[c.Name] {
		return out[:counted]
	}
	if n > 0 {
		add(".min", c.Unit, false, p.number("Min"))
		add(".max", c.Unit, false, p.number("Max"))
	}
	return out
}

// parse reads a number as the runtime writes it.
func parse(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}
