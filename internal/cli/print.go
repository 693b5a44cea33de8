package cli

import (
	"io"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/text"
)

// asText is the format of what a person reads: text, or Markdown.
const asText encode.Format = ""

func writeTable(w io.Writer, t *report.Table, f encode.Format, o text.Options) error {
	if f == asText {
		return text.WriteTable(w, t, o)
	}
	return encode.WriteTable(w, t, f)
}

func writeSummary(w io.Writer, s *report.Summary, f encode.Format, o text.Options) error {
	if f == asText {
		return text.WriteSummary(w, s, o)
	}
	return encode.WriteSummary(w, s, f)
}

func writeRecords(w io.Writer, r *report.Records, f encode.Format, o text.Options) error {
	if f == asText {
		return text.WriteRecords(w, r, o)
	}
	return encode.WriteRecords(w, r, f)
}
