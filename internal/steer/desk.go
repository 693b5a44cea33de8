package steer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// maxText bounds the name and the text of a mark, in bytes.
const maxText = 4 << 10

// ErrEnded means that nobody answers any more.
var ErrEnded = errors.New("the recording has ended")

// Call is a request that waits for its answer.
type Call struct {
	Request
	answer chan Response
}

// Answer answers the call; once.
func (c *Call) Answer(r Response) { c.answer <- r }

// Desk is where requests wait until the recorder comes to them.
type Desk struct {
	calls chan *Call
	ended chan struct{}
	once  sync.Once
}

// NewDesk returns a desk without requests.
func NewDesk() *Desk { return &Desk{calls: make(chan *Call), ended: make(chan struct{})} }

// Calls are the requests, to be answered by the recorder.
func (d *Desk) Calls() <-chan *Call { return d.calls }

// Close tells who waits, and whoever comes later, that nobody answers any more.
func (d *Desk) Close() { d.once.Do(func() { close(d.ended) }) }

// Ask waits for the answer to a request.
func (d *Desk) Ask(ctx context.Context, r Request) (Response, error) {
	if err := r.check(); err != nil {
		return Response{Error: err.Error(), Code: CodeUsage}, nil
	}
	call := &Call{r, make(chan Response, 1)}
	select {
	case d.calls <- call:
	case <-ctx.Done():
		return Response{}, ctx.Err()
	case <-d.ended:
		return Response{}, ErrEnded
	}
	select {
	case answer := <-call.answer:
		return answer, nil
	case <-ctx.Done():
		return Response{}, ctx.Err()
	case <-d.ended:
	}
	select {
	case answer := <-call.answer: // it came with the end
		return answer, nil
	default:
		return Response{}, ErrEnded
	}
}

func (r *Request) check() error {
	switch r.Command {
	case string(Start), string(Stop), string(Suspend), string(Resume), Status, Flush:
	case Mark:
		if r.Name == "" || strings.ContainsAny(r.Name, "\n\r") {
			return errors.New("a mark needs a name of one line")
		}
	default:
		return fmt.Errorf("unknown command %.20q", r.Command)
	}
	if len(r.Name) > maxText || len(r.Text) > maxText {
		return fmt.Errorf("a mark's name and text have at most %d bytes each", maxText)
	}
	return nil
}
