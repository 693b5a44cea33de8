// Package control lets programs communicate with a running recording, by a socket beside its session.
//
// The socket is SESSION.sock, for its owner only. The peer is also checked by SO_PEERCRED, and must be the owner or
// root. A client sends one request, a line of JSON, {"request": NAME, "arguments": …}. The answer is lines of JSON:
// what the request's handler sends, one value in each line, and at the end {"done": true} or {"error": TEXT}.
//
// Limits: a request has at most maxRequest bytes and must arrive within requestTime. A client that does not read for
// writeTime is dropped. At most maxClients are served at once.
//
// A socket's address has at most 107 bytes, and a session's path can be longer. So the address is a name within the
// folder's entry in /proc/self/fd.
package control
