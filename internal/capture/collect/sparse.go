package collect

// sparse has a number for few rows, those next to each other at once or none of them: it takes no memory where none
// has one.
type sparse struct{ pages []*sparsePage }

// rowsOfPage is few: rows with numbers are often alone.
const rowsOfPage = 32

type sparsePage [rowsOfPage]int32 // 1 + the number; 0: none

// at returns the number of a row, or none.
func (s *sparse) at(row int) int32 {
	page := row / rowsOfPage
	if page >= len(s.pages) || s.pages[page] == nil {
		return none
	}
	return s.pages[page][row%rowsOfPage] - 1
}

// set gives a row a number, which is not math.MaxInt32.
func (s *sparse) set(row int, number int32) {
	page := row / rowsOfPage
	for page >= len(s.pages) {
		s.pages = append(s.pages, nil)
	}
	if s.pages[page] == nil {
		s.pages[page] = new(sparsePage)
	}
	s.pages[page][row%rowsOfPage] = number + 1
}
