// Package origin tells requests that are meant for a local server from those that a page of another site has made a
// browser send.
package origin

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
)

// IsFor reports whether a request for a host is meant for the server that listens on an address. A name that somebody
// else has made lead here (DNS rebinding) is not.
func IsFor(listen, host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "80"
	}
	own, ownPort, _ := net.SplitHostPort(listen)
	if port != ownPort {
		return false
	}
	ip := net.ParseIP(name)
	at := net.ParseIP(own)
	switch {
	case name == own:
		return true
	case at != nil && at.IsLoopback():
		return name == "localhost" || ip != nil && ip.IsLoopback()
	}
	machine, _ := os.Hostname()
	return ip != nil || name == machine || name == "localhost"
}

// IsSameSite reports whether a request comes from no page, or from one of this server.
func IsSameSite(r *http.Request) bool {
	return IsSameOrigin(r) && slices.Contains([]string{"", "same-origin", "none"}, r.Header.Get("Sec-Fetch-Site"))
}

// IsSameOrigin reports whether a request names no origin, or this server's.
func IsSameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}
