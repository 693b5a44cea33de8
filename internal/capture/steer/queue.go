package steer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// maxName and maxText bound names, of marks and threads, and the text of a mark, in bytes: a name is a cell of a table
// and a word of a command, a text is a paragraph.
const (
	maxName = 1 << 10
	maxText = 4 << 10
)

// errEnded means that nobody answers any more.
var errEnded = errors.New("the recording has ended, and its session is being completed")

// Call is a request that waits for its answer.
type Call struct {
	Request
	answer chan Response
	gone   <-chan struct{}
}

// Gone reports whether nobody waits for the answer any more.
func (c *Call) Gone() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// Answer answers the call; once.
func (c *Call) Answer(r Response) { c.answer <- r }

// Queue is where requests wait until the recorder comes to them.
type Queue struct {
	calls chan *Call
	ended chan struct{}
	once  sync.Once
	last  *Report // how it was at the end; nil: nobody knows
}

// NewQueue returns a queue without requests.
func NewQueue() *Queue { return &Queue{calls: make(chan *Call), ended: make(chan struct{})} }

// Calls are the requests, to be answered by the recorder.
func (q *Queue) Calls() <-chan *Call { return q.calls }

// Close tells who waits, and whoever comes later, that nobody answers any more. Who asks for the status gets the last
// one, in StateCompleting, unless that is nil.
func (q *Queue) Close(last *Report) {
	q.once.Do(func() {
		q.last = last
		close(q.ended)
	})
}

// end answers a request after the end.
func (q *Queue) end(r Request) (Response, error) {
	if r.Command != Status || q.last == nil {
		return Response{}, errEnded
	}
	report := *q.last
	report.State, report.Recording = StateCompleting, false
	return Response{Report: report}, nil
}

// Ask waits for the answer to a request.
func (q *Queue) Ask(ctx context.Context, r Request) (Response, error) {
	if err := r.check(); err != nil {
		return Response{Error: err.Error(), Code: CodeUsage}, nil
	}
	call := &Call{r, make(chan Response, 1), ctx.Done()}
	select {
	case q.calls <- call:
	case <-ctx.Done():
		return Response{}, ctx.Err()
	case <-q.ended:
		return q.end(r)
	}
	select {
	case answer := <-call.answer:
		return answer, nil
	case <-ctx.Done():
		return Response{}, ctx.Err()
	case <-q.ended:
	}
	select {
	case answer := <-call.answer: // it came with the end
		return answer, nil
	default:
		return q.end(r)
	}
}

func (r *Request) check() error {
	switch r.Command {
	case string(Start), string(Stop), string(Suspend), string(Resume), Status, Flush, Collect, Snapshot, Detach:
	case Mark:
		if r.Name == "" || strings.ContainsAny(r.Name, "\n\r") {
			return errors.New("a mark needs a name of one line")
		}
	case NameThread:
		if r.Name == "" || r.Thread == 0 || strings.ContainsAny(r.Name, "\n\r") {
			return errors.New("a thread is named by its id, and needs a name of one line")
		}
	default:
		return fmt.Errorf("unknown command %.20q", r.Command)
	}
	switch {
	case len(r.Name) > maxName:
		return fmt.Errorf("a name has at most %d bytes, and this one has %d", maxName, len(r.Name))
	case len(r.Text) > maxText:
		return fmt.Errorf("the text of a mark has at most %d bytes, and this one has %d", maxText, len(r.Text))
	}
	return nil
}
