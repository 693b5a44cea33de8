package text

// Screen is how many lines a summary has, if that can be: as many as a terminal shows at once.
const Screen = 45

// Fit makes the name of a function or type at most width columns of a terminal wide, and printable.
func Fit(name string, width int) string { return cutName(Printable(name), width) }

// Align makes text that is printable width columns wide: cut, or filled up at its left or right side.
func Align(text string, width int, right bool) string { return pad(shorten(text, width), width, right) }

// Wrap breaks a sentence into lines of at most width columns, between words; 0: no limit.
func Wrap(s string, width int) string { return wrap(s, width) }
