package report

import "io"

// Writers are those of the packages text, encode and sheet, which import this one: its external tests set them.
var Writers struct {
	JSON, Text, Narrow                   func(io.Writer, *Table) error
	SummaryJSON, SummaryText, SummaryCSV func(io.Writer, *Summary) error
	Records                              func(io.Writer, *Records) error
	Words                                func([]Note) []string
	Sheet                                func(*Summary) any
}

// Complete is complete for external tests.
var Complete = complete
