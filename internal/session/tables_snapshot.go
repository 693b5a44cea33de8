package session

var snapshotTable = tableOf("snapshot", func(c *cells, r *Snapshot) {
	integer(c, &r.Process)
	c.int64(&r.GCNumber)
	amount(c, &r.All)
	amount(c, &r.Reachable)
	amount(c, &r.Finalizable)
	amount(c, &r.Frozen)
	amount(c, &r.Unreachable)
	integer(c, &r.Outside)
	integer(c, &r.StaticsLeftOut)
})

var snapshotTypeTable = tableOf("snapshot_type", func(c *cells, r *SnapshotType) {
	integer(c, &r.Process)
	integer(c, &r.Type)
	amount(c, &r.Amount)
	integer(c, &r.Retained)
	integer(c, &r.Finalizable)
	integer(c, &r.Frozen)
	integer(c, &r.Unreachable)
	c.int64(&r.Static)
	integer(c, &r.StaticBytes)
})

var snapshotSiteTable = tableOf("snapshot_site", func(c *cells, r *SnapshotSite) {
	integer(c, &r.Site)
	amount(c, &r.Amount)
	integer(c, &r.Retained)
	c.int64(&r.Static)
	integer(c, &r.StaticBytes)
})

var snapshotRootTable = tableOf("snapshot_root", func(c *cells, r *SnapshotRoot) {
	integer(c, &r.Process)
	c.text(&r.Kind)
	c.int64(&r.Flags)
	integer(c, &r.Function)
	integer(c, &r.References)
	amount(c, &r.Amount)
})

var snapshotPathTable = tableOf("snapshot_path", func(c *cells, r *SnapshotPath) {
	integer(c, &r.Process)
	integer(c, &r.Type)
	c.int64(&r.Position)
	integer(c, &r.ObjectType)
	integer(c, &r.Bytes)
	integer(c, &r.Retained)
	c.text(&r.Kind)
	c.int64(&r.Flags)
	integer(c, &r.Function)
	c.int64(&r.Static)
})

var snapshotStaticTable = tableOf("snapshot_static", func(c *cells, r *SnapshotStatic) {
	integer(c, &r.Process)
	c.int64(&r.ID)
	integer(c, &r.Type)
	integer(c, &r.Token)
	c.text(&r.Name)
	integer(c, &r.ObjectType)
	integer(c, &r.Bytes)
	integer(c, &r.Retained)
	c.bool(&r.OfThread)
})

var snapshotHolderTable = tableOf("snapshot_holder", func(c *cells, r *SnapshotHolder) {
	integer(c, &r.Process)
	integer(c, &r.Type)
	integer(c, &r.Site)
	c.text(&r.Kind)
	c.int64(&r.Flags)
	integer(c, &r.Function)
	c.int64(&r.Static)
	integer(c, &r.Through)
	amount(c, &r.Amount)
})

// InsertSnapshots adds rows.
func (w *Writer) InsertSnapshots(rows []Snapshot) error { return put(w, add, snapshotTable, rows) }

// InsertSnapshotTypes adds rows.
func (w *Writer) InsertSnapshotTypes(rows []SnapshotType) error {
	return put(w, add, snapshotTypeTable, rows)
}

// InsertSnapshotSites adds rows.
func (w *Writer) InsertSnapshotSites(rows []SnapshotSite) error {
	return put(w, add, snapshotSiteTable, rows)
}

// InsertSnapshotRoots adds rows.
func (w *Writer) InsertSnapshotRoots(rows []SnapshotRoot) error {
	return put(w, add, snapshotRootTable, rows)
}

// InsertSnapshotPaths adds rows.
func (w *Writer) InsertSnapshotPaths(rows []SnapshotPath) error {
	return put(w, add, snapshotPathTable, rows)
}

// InsertSnapshotStatics adds rows.
func (w *Writer) InsertSnapshotStatics(rows []SnapshotStatic) error {
	return put(w, add, snapshotStaticTable, rows)
}

// InsertSnapshotHolders adds rows.
func (w *Writer) InsertSnapshotHolders(rows []SnapshotHolder) error {
	return put(w, add, snapshotHolderTable, rows)
}

// Snapshots returns the table snapshot in the order of process.
func (s *Session) Snapshots() ([]Snapshot, error) { return rows(s, snapshotTable) }

// SnapshotTypes returns the table snapshot_type in the order of process and type.
func (s *Session) SnapshotTypes() ([]SnapshotType, error) { return rows(s, snapshotTypeTable) }

// SnapshotSites returns the table snapshot_site in the order of site.
func (s *Session) SnapshotSites() ([]SnapshotSite, error) { return rows(s, snapshotSiteTable) }

// SnapshotRoots returns the table snapshot_root in the order of its key.
func (s *Session) SnapshotRoots() ([]SnapshotRoot, error) { return rows(s, snapshotRootTable) }

// SnapshotPaths returns the table snapshot_path in the order of process, type and position.
func (s *Session) SnapshotPaths() ([]SnapshotPath, error) { return rows(s, snapshotPathTable) }

// SnapshotStatics returns the table snapshot_static in the order of process and id.
func (s *Session) SnapshotStatics() ([]SnapshotStatic, error) { return rows(s, snapshotStaticTable) }

// SnapshotHolders returns the table snapshot_holder in the order of its key.
func (s *Session) SnapshotHolders() ([]SnapshotHolder, error) { return rows(s, snapshotHolderTable) }
