package session

var snapshotTable = table[Snapshot]{
	"snapshot", "process_id, gc_number, objects, bytes, reachable_objects, reachable_bytes, finalizable_objects, finalizable_bytes, " +
		"frozen_objects, frozen_bytes, unreachable_objects, unreachable_bytes, outside_references", "process_id",
	func(c *cells, r *Snapshot) {
		integer(c, &r.Process)
		c.int64(&r.GCNumber)
		amount(c, &r.All)
		amount(c, &r.Reachable)
		amount(c, &r.Finalizable)
		amount(c, &r.Frozen)
		amount(c, &r.Unreachable)
		integer(c, &r.Outside)
	},
}

var snapshotTypeTable = table[SnapshotType]{
	"snapshot_type", "process_id, type_id, objects, bytes, retained_bytes, finalizable_objects, frozen_objects, unreachable_objects",
	"process_id, type_id",
	func(c *cells, r *SnapshotType) {
		integer(c, &r.Process)
		integer(c, &r.Type)
		amount(c, &r.Amount)
		integer(c, &r.Retained)
		integer(c, &r.Finalizable)
		integer(c, &r.Frozen)
		integer(c, &r.Unreachable)
	},
}

var snapshotSiteTable = table[SnapshotSite]{
	"snapshot_site", "site_id, objects, bytes, retained_bytes", "site_id",
	func(c *cells, r *SnapshotSite) {
		integer(c, &r.Site)
		amount(c, &r.Amount)
		integer(c, &r.Retained)
	},
}

var snapshotRootTable = table[SnapshotRoot]{
	"snapshot_root", "process_id, kind, flags, function_id, reference_count, objects, bytes", "process_id, kind, flags, function_id",
	func(c *cells, r *SnapshotRoot) {
		integer(c, &r.Process)
		c.text(&r.Kind)
		c.int64(&r.Flags)
		integer(c, &r.Function)
		integer(c, &r.References)
		amount(c, &r.Amount)
	},
}

var snapshotPathTable = table[SnapshotPath]{
	"snapshot_path", "process_id, type_id, position, object_type_id, bytes, retained_bytes, kind, flags, function_id", "process_id, type_id, position",
	func(c *cells, r *SnapshotPath) {
		integer(c, &r.Process)
		integer(c, &r.Type)
		c.int64(&r.Position)
		integer(c, &r.ObjectType)
		integer(c, &r.Bytes)
		integer(c, &r.Retained)
		c.text(&r.Kind)
		c.int64(&r.Flags)
		integer(c, &r.Function)
	},
}

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
