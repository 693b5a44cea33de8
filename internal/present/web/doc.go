// Package web serves the page of `clrprof view`: a session, looked at in a browser.
//
// # Problem
//
// A page that shows what a program does must show the numbers that the terminal shows, work without a network, and let
// nobody else on the machine, and no other page in the browser, read the session. All names in a session come from the
// profiled program and may be made to harm.
//
// # Idea
//
// The page is one bundle (dist, made from web/src by tools/webbuild) in the binary. It asks for views as JSON with the
// selection flags of the command line as parameters, and draws what it gets: each number comes from package report,
// with its text. Big trees come as arrays (report.Flame). The address of the page is the state of the page.
//
// A recording that goes on has no sums yet: the page shows what the recorder tells its watchers (docs/live.md), as one
// stream of events for each page that is in sight, and loads itself anew when the session is there.
//
// # Invariants
//
//   - No request is answered without the cookie, which the address that the terminal prints is exchanged for once.
//   - Requests must come for this host and from this page: Host, Origin and Sec-Fetch-Site are checked.
//   - The policy of the page lets it run its own script alone, and no text become markup (Trusted Types).
//   - Nothing changes a session: queries are read-only and limited in time and rows.
//
// # Limits
//
// Sessions are read by one request at a time. The last maxReaders selections are kept, each with the call tree that
// was drawn last and the colours of its frames, and the last maxTables tables.
package web
