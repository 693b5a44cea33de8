package mcp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// pages are the arguments of a request for a part of an answer.
type pages struct {
	Offset   int    `json:"offset,omitempty" jsonschema:"leave out so many rows: next_offset of the answer before"`
	Continue string `json:"continue,omitempty" jsonschema:"next of the answer before, for what follows it: the only argument then"`
}

func (p *pages) page() *pages { return p }

// paged is a request that has pages.
type paged interface{ page() *pages }

// token is what the text of a continuation stands for: which tool to ask, and what.
type token struct {
	Tool    string          `json:"tool"`
	Request json.RawMessage `json:"request"`
}

// nextOf is the continuation of a request to a tool for the rows from an offset on: a text that says nothing to a
// client but that there is more.
func nextOf[In any](tool string, in In, offset int) (string, error) {
	any(&in).(paged).page().Offset = offset
	request, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("writing a continuation: %w", err)
	}
	text, err := json.Marshal(token{tool, request})
	return base64.RawURLEncoding.EncodeToString(text), err
}

// continued puts the request that is continued in the place of a request; others are checked alone.
func continued[In any](tool string, in *In) error {
	p, ok := any(in).(paged)
	if !ok {
		return nil
	}
	page := p.page()
	if page.Offset < 0 {
		return fmt.Errorf("offset %d: it cannot be negative", page.Offset)
	}
	text := page.Continue
	if text == "" {
		return nil
	}
	var alone In
	any(&alone).(paged).page().Continue = text
	if !reflect.DeepEqual(*in, alone) {
		return errors.New("continue stands for all arguments of the answer before: leave the others out")
	}
	var t token
	var before In
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(decoded, &t)
	}
	if err == nil && t.Tool == tool {
		err = json.Unmarshal(t.Request, &before)
	}
	switch p := any(&before).(paged).page(); {
	case err != nil || p.Continue != "" || p.Offset < 0:
		return errors.New("continue is not the next of an answer: ask without it, and copy next as it is")
	case t.Tool != tool:
		return fmt.Errorf("continue is the next of an answer of %s: ask that tool", t.Tool)
	}
	*in = before
	return nil
}

// need refuses a request to a tool without an argument.
func need(tool, argument, value, what string) error {
	if value != "" {
		return nil
	}
	return fmt.Errorf("%s needs the argument %q: %s", tool, argument, what)
}
