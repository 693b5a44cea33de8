package quantity

import "strings"

// CutUnit parts a size, such as 512M, 512MB or 512MiB, which are the same, into its number as it stands and the power
// of two that its unit is: 0, 10, 20, 30 or 40.
func CutUnit(text string) (number string, shift int) {
	number = strings.TrimRight(strings.ToUpper(text), "IB")
	for i, unit := range []string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			return rest, 10 * (i + 1)
		}
	}
	return number, 0
}
