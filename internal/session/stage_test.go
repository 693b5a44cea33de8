package session

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// expectStage checks what readers learn about a session, by its file and when they open it.
func expectStage(t *testing.T, path string, want Stage) {
	t.Helper()
	if got, err := StageOf(t.Context(), path); err != nil || got != want {
		t.Errorf("StageOf: %q, %v, want %q", got, err, want)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := s.Stage(); err != nil || got != want {
		t.Errorf("Stage: %q, %v, want %q", got, err, want)
	}
}

// TestStage: a session is being written from its first moment until the claim is released, also while no writer has it
// open; what is not complete then was cut off.
func TestStage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.clrprof")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageRecording)
	if err := w.SetState(Recorded); err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageCompleting)
	claim := w.PassClaim()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageCompleting)
	if w, err = Edit(path); err != nil {
		t.Fatal(err)
	}
	if err := w.SetState(Resolved); err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageCompleting)
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageCutOff)
	if err := w.SetState(Complete); err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageComplete)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageComplete)
}

// TestStageReplaced: the writer of a session that was replaced has no say about the new one.
func TestStageReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.clrprof")
	old, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Remove(path); err != nil { // Create does not replace it
		t.Fatal(err)
	}
	w, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageRecording)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageCutOff)
}

// TestStageOfReader: who may only read a session cannot make it look as if somebody wrote it.
func TestStageOfReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.clrprof")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: claimByte, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		t.Fatal(err)
	}
	expectStage(t, path, StageCutOff)
	lock.Type = unix.F_WRLCK
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err == nil {
		t.Error("a reader got an exclusive lock")
	}
}
