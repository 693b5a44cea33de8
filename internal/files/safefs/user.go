package safefs

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// User is whose rights count when files are used. The zero User is not valid: see Self.
type User struct {
	UID    int
	GID    int
	groups []int
	caps   uint64
	own    bool // the rights of this process, as they are
}

// Self is who runs this process.
func Self() User { return User{UID: os.Geteuid(), GID: os.Getegid(), own: true} }

// Lend returns a user whose rights are those of ids and capabilities (capabilities(7), as a mask). Capabilities that
// this process lacks are not lent.
func Lend(uid, gid int, groups []int, capabilities uint64) User {
	return User{UID: uid, GID: gid, groups: groups, caps: capabilities}
}

// IsSelf reports whether the user's rights are those of this process.
func (u User) IsSelf() bool { return u.own }

// Do calls fn with the user's rights towards files, and with no others; descriptors that fn opens can be used
// afterwards. Fn must not start goroutines that rely on them. The error is that of fn, or says why the rights cannot be
// had: that needs CAP_SETUID and CAP_SETGID, as root has.
//
// The identity towards files (setfsuid(2)) is that of a thread. The thread ends with the call, so nothing has to be
// restored. Others cannot signal or trace it: the identities that count for that stay.
func (u User) Do(fn func() error) error {
	if u.own {
		return fn()
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: so the thread ends here
		if err := u.become(); err != nil {
			result <- fmt.Errorf("take the rights of user %d: %w", u.UID, err)
			return
		}
		result <- fn()
	}()
	return <-result
}

// become makes this thread the user's towards files.
func (u User) become() error {
	if err := unix.Setgroups(u.groups); err != nil {
		return err
	}
	// The calls do not fail: they return what the id was before. One that changes nothing tells what it is now.
	for _, set := range []struct {
		id   int
		call func(int) (int, error)
	}{{u.GID, unix.SetfsgidRetGid}, {u.UID, unix.SetfsuidRetUid}} {
		if _, err := set.call(set.id); err != nil {
			return err
		}
		if now, err := set.call(-1); err != nil || now != set.id {
			return unix.EPERM
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	data[0].Effective &= uint32(u.caps)
	data[1].Effective &= uint32(u.caps >> 32)
	return unix.Capset(&head, &data[0])
}
