package clrmeta

import "fmt"

// Company returns the value of the assembly's AssemblyCompanyAttribute, "" if it has none.
func (m *Metadata) Company() (string, error) {
	for row := uint32(1); row <= m.Rows(TableCustomAttribute); row++ {
		if m.codedCell(TableCustomAttribute, row, attributeParent) != MakeToken(TableAssembly, 1) {
			continue
		}
		name, err := m.attributeType(m.codedCell(TableCustomAttribute, row, attributeType))
		if err != nil || name.Namespace != "System.Reflection" || len(name.Path) != 1 ||
			name.Path[0] != "AssemblyCompanyAttribute" {
			continue // an attribute that cannot be read is not this one
		}
		blob, err := m.BlobAt(m.Cell(TableCustomAttribute, row, attributeValue))
		if err != nil {
			return "", fmt.Errorf("custom attribute %d: %w", row, err)
		}
		company, err := stringArgument(blob)
		if err != nil {
			return "", fmt.Errorf("custom attribute %d: %w", row, err)
		}
		return company, nil
	}
	return "", nil
}
