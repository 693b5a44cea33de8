package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/sheet"
	"github.com/clrprof/clrprof/internal/session"
)

// Limits of a page in a file. A browser opens tens of megabytes; more is for clrprof view.
const (
	offlineFrames  = 50_000 // of each flame graph
	offlineRows    = 2_000  // of each table
	offlineMetrics = 4      // that there is a flame graph of
	maxOffline     = 50 << 20
)

// errTooLarge means that a page would be larger than browsers like.
var errTooLarge = fmt.Errorf("the file would be larger than %d MB: a larger --min-share leaves out more of the "+
	"call tree", maxOffline>>20)

// offline collects answers to requests of the page.
type offline struct {
	server   *Server
	minShare float64 // percent
	answers  map[string]json.RawMessage
	binaries map[string]string // base64
	size     int
	colorsBy []string // what frames of flame graphs can be coloured by
}

// Write writes the page as one file with its data inside: a part of a session, without what has less than minShare
// percent of the call tree.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, minShare float64) error {
	server, err := New("127.0.0.1:80", s)
	if err != nil {
		return err
	}
	src, err := analysis.Open(s, sel)
	if err != nil {
		return err
	}
	views, err := report.NewReader(src, false)
	if err != nil {
		return err
	}
	server.most = 1 // each is asked for once
	// the selection is the whole that the page knows
	server.readers = []*reader{{key: readerKey(s, nil, false), source: src, views: views}}
	o := &offline{server: server, minShare: minShare, answers: map[string]json.RawMessage{},
		binaries: map[string]string{}}
	if err := o.collect(views); err != nil {
		return err
	}
	return o.write(w)
}

func (o *offline) collect(views *report.Reader) error {
	for _, path := range []string{"session", "timeline"} {
		if _, err := o.ask(path, nil); err != nil {
			return err
		}
	}
	if err := o.counters(); err != nil {
		return err
	}
	for _, all := range []string{"", "1"} {
		if _, err := o.ask("summary", map[string]string{"all": all}); err != nil {
			return err
		}
	}
	metrics, err := views.FlameMetrics()
	if err != nil {
		return err
	}
	if o.colorsBy, err = views.FlameColors(); err != nil {
		return err
	}
	for i, m := range metrics[:min(len(metrics), offlineMetrics)] {
		if err := o.flames(m.Key, i == 0); err != nil {
			return err
		}
	}
	for _, v := range report.Views() {
		if err := o.view(v); err != nil {
			return err
		}
	}
	return o.tree()
}

// counters keeps what each counter said.
func (o *offline) counters() error {
	list, err := o.server.sessions[0].Counters()
	if err != nil {
		return err
	}
	for _, c := range list {
		if _, err := o.ask("counter", map[string]string{"name": c.Name}); err != nil {
			return err
		}
	}
	return nil
}

// key names a request as the page does: parameters that are not empty, in the order of their names.
func key(path string, query map[string]string) string {
	var pairs []string
	for k, v := range query {
		if v != "" {
			pairs = append(pairs, k+"="+v)
		}
	}
	slices.Sort(pairs)
	return path + "?" + strings.Join(pairs, "&")
}

// answered is a response that is kept.
type answered struct {
	bytes.Buffer
	header http.Header
	code   int
}

// Header returns the header of the answer.
func (a *answered) Header() http.Header { return a.header }

// WriteHeader keeps the status of the answer.
func (a *answered) WriteHeader(code int) { a.code = code }

// request sends a request to the server's own answers.
func (o *offline) request(path string, query map[string]string) *answered {
	v := url.Values{}
	for k, value := range query {
		if value != "" {
			v.Set(k, value)
		}
	}
	a := &answered{header: http.Header{}, code: http.StatusOK}
	o.server.mux.ServeHTTP(a, &http.Request{Method: http.MethodGet,
		URL: &url.URL{Path: "/api/" + path, RawQuery: v.Encode()}, Header: http.Header{}, Body: http.NoBody})
	o.size += a.Len()
	return a
}

// ask keeps an answer, also one that says why there is none.
func (o *offline) ask(path string, query map[string]string) ([]byte, error) {
	return o.askFor(path, query, query)
}

func (o *offline) askFor(path string, asked, query map[string]string) ([]byte, error) {
	a := o.request(path, query)
	if o.size > 10*maxOffline { // it compresses to about a tenth
		return nil, errTooLarge
	}
	o.answers[key(path, asked)] = json.RawMessage(bytes.Clone(bytes.TrimSpace(a.Bytes())))
	if a.code != http.StatusOK {
		return nil, nil
	}
	return a.Bytes(), nil
}

// flames keeps the flame graphs of a metric, from both sides. The call tree of a colour is laid out once for both.
func (o *offline) flames(metric string, first bool) error {
	var queries []map[string]string
	var plain [][]byte
	for _, up := range []string{"", "1"} {
		query := map[string]string{"metric": metric, "up": up}
		if first { // what the page shows when it asks for no metric
			query["metric"] = ""
		}
		a := o.request("flame", map[string]string{"metric": metric, "up": up, "most": fmt.Sprint(offlineFrames)})
		if a.code != http.StatusOK {
			o.answers[key("flame", query)] = json.RawMessage(bytes.Clone(bytes.TrimSpace(a.Bytes())))
			continue
		}
		o.binaries[key("flame", query)] = base64.StdEncoding.EncodeToString(a.Bytes())
		queries, plain = append(queries, query), append(plain, a.Bytes())
	}
	for _, by := range o.colorsBy {
		for i, query := range queries {
			if err := o.color(query, metric, by, plain[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// coloredFrames is what the frames of a flame graph have with a colour, beside what they have without: see flame.
type coloredFrames struct {
	Colors []string `json:"colors"`
	Color  string   `json:"color"` // uint32, base64
	Share  string   `json:"share"` // uint8, base64
}

// color keeps the colours of the frames of a flame graph, which are the same whatever they are coloured by.
func (o *offline) color(query map[string]string, metric, by string, plain []byte) error {
	a := o.request("flame", map[string]string{"metric": metric, "up": query["up"], "most": fmt.Sprint(offlineFrames),
		"color": by})
	head, arrays, err := splitFlame(a.Bytes())
	if err != nil {
		return err
	}
	_, without, err := splitFlame(plain)
	if err != nil {
		return err
	}
	n := head.Sent
	if len(arrays) != 23*n || !bytes.Equal(arrays[:16*n], without[:16*n]) ||
		!bytes.Equal(arrays[20*n:22*n], without[16*n:]) {
		return fmt.Errorf("the frames of a flame graph differ by their colours: %s", by)
	}
	kept := coloredFrames{head.Colors, base64.StdEncoding.EncodeToString(arrays[16*n : 20*n]),
		base64.StdEncoding.EncodeToString(arrays[22*n:])}
	b, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("keeping colours: %w", err)
	}
	asked := maps.Clone(query)
	asked["color"] = by
	o.answers[key("flame", asked)] = b
	return nil
}

// splitFlame returns the head and the arrays of a flame graph.
func splitFlame(b []byte) (head flameHead, arrays []byte, err error) {
	if len(b) < 4 || len(b) < 4+int(binary.LittleEndian.Uint32(b)) {
		return head, nil, fmt.Errorf("reading a flame graph of %d bytes: it ends early", len(b))
	}
	length := 4 + int(binary.LittleEndian.Uint32(b))
	if err := json.Unmarshal(b[4:length], &head); err != nil {
		return head, nil, fmt.Errorf("reading a flame graph: %w", err)
	}
	return head, b[length:], nil
}

// part is what is read of an answer.
type part struct {
	Order   string
	Columns []sheet.Column
	Rows    []struct {
		Process, Path int64
		Hidden        int
		Values        []any
		Link          *report.Link
	}
}

// share is the position of the column that says how much of the whole a row is, -1: none.
func (p *part) share() int {
	return slices.IndexFunc(p.Columns, func(c sheet.Column) bool { return c.Key == p.Order+"_percent" })
}

// view keeps a view, and those that its rows lead to.
func (o *offline) view(v report.View) error {
	if v.Needs != report.NeedsNothing {
		return nil
	}
	groups := []string{""}
	for i, by := range v.Groups() {
		if !v.Shaped && (!v.Grouped || i > 0) { // the first is what its rows are about anyway
			groups = append(groups, by)
		}
	}
	for _, by := range groups {
		asked := map[string]string{"view": v.Name, "by": by}
		b, err := o.askFor("view", asked, map[string]string{"view": v.Name, "by": by, "limit": fmt.Sprint(offlineRows)})
		if err != nil || b == nil || by != "" || !v.Followed {
			if err != nil {
				return err
			}
			continue
		}
		var shown part
		if err := json.Unmarshal(b, &shown); err != nil {
			return fmt.Errorf("reading a view: %w", err)
		}
		for _, r := range shown.Rows {
			if share := shown.share(); r.Link == nil || r.Link.Limits() || share < 0 || !o.isShare(r.Values[share]) {
				continue
			}
			query := map[string]string{"view": r.Link.View, "argument": r.Link.Argument}
			if _, err := o.askFor("view", query, map[string]string{"view": r.Link.View, "argument": r.Link.Argument,
				"limit": fmt.Sprint(offlineRows)}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *offline) isShare(percent any) bool {
	n, ok := percent.(float64)
	return ok && n >= o.minShare
}

// tree keeps the call tree, level by level.
func (o *offline) tree() error {
	if _, err := o.ask("tree", map[string]string{"hot": "1"}); err != nil {
		return err
	}
	next := []map[string]string{{}}
	for len(next) > 0 {
		query := next[0]
		next = next[1:]
		b, err := o.ask("tree", query)
		if err != nil || b == nil {
			return err
		}
		var shown part
		if err := json.Unmarshal(b, &shown); err != nil {
			return fmt.Errorf("reading the call tree: %w", err)
		}
		for _, r := range shown.Rows {
			if share := shown.share(); share >= 0 && o.isShare(r.Values[share]) {
				next = append(next, map[string]string{"of_process": fmt.Sprint(r.Process),
					"of_path": fmt.Sprint(r.Path)})
			}
		}
	}
	return nil
}

// pack compresses what is kept, one answer after the other: all together, as JSON, would be another copy of all of it.
func (o *offline) pack() (*bytes.Buffer, error) {
	packed := &bytes.Buffer{}
	z := gzip.NewWriter(packed)
	out := bufio.NewWriter(z)
	out.WriteString(`{"answers":`)
	if err := putMembers(out, o.answers); err != nil {
		return nil, err
	}
	out.WriteString(`,"binaries":`)
	if err := putMembers(out, o.binaries); err != nil {
		return nil, err
	}
	out.WriteString("}")
	if err := errors.Join(out.Flush(), z.Close()); err != nil {
		return nil, fmt.Errorf("compressing a page: %w", err)
	}
	return packed, nil
}

// putMembers writes a map as json.Marshal does.
func putMembers[V any](out *bufio.Writer, of map[string]V) error {
	separator := byte('{')
	for _, name := range slices.Sorted(maps.Keys(of)) {
		key, err := json.Marshal(name)
		if err != nil {
			return fmt.Errorf("writing a page: %w", err)
		}
		value, err := json.Marshal(of[name])
		if err != nil {
			return fmt.Errorf("writing a page: %w", err)
		}
		out.WriteByte(separator)
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
		separator = ','
	}
	if len(of) == 0 {
		out.WriteByte('{')
	}
	return out.WriteByte('}')
}

// write writes the file.
func (o *offline) write(w io.Writer) error {
	packed, err := o.pack()
	if err != nil {
		return err
	}
	if packed.Len() > maxOffline {
		return errTooLarge
	}
	script, err := dist.ReadFile("dist/app.js")
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	style, err := dist.ReadFile("dist/app.css")
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	hash := func(b []byte) string {
		sum := sha256.Sum256(b)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	_, err = fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>clrprof</title>
<link rel="icon" href="data:,">
<style>%s</style>
</head>
<body><div id="app"><noscript>This page needs JavaScript.</noscript></div>
<script type="application/octet-stream" id="data">%s</script>
<script>%s</script>
</body>
</html>
`, hash(script), hash(style), style, base64.StdEncoding.EncodeToString(packed.Bytes()), script)
	if err != nil {
		return fmt.Errorf("writing a page: %w", err)
	}
	return nil
}
