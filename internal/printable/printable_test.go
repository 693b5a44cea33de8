package printable

import "testing"

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"Shop.Orders.Load<int>()": "Shop.Orders.Load<int>()",
		"\x1b[2Jgone":             "\ufffd[2Jgone",
		"bell\a":                  "bell\ufffd",
		"a\n::set-output":         "a\ufffd::set-output",
		"a\r\nb\tc":               "a\ufffd\ufffdb\ufffdc",
		"c1 \u009b31m\u0085":      "c1 \ufffd31m\ufffd",
		"\x7f":                    "\ufffd",
		"lines\u2028\u2029":       "lines\ufffd\ufffd",
		"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c": "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd",
		"not UTF-8 \xff": "not UTF-8 \ufffd",
		"Größe 大きさ 👩‍💻":  "Größe 大きさ 👩‍💻",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
