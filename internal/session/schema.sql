-- The clrprof session file, format 1.
--
-- Three kinds of tables, in the order in which they are filled:
--   recorded  what the agent counted and the runtime said, as it was said;
--   resolved  names and source lines, from metadata and portable PDBs;
--   derived   sums over the recorded tables, stored so that a view opens at once.
-- Nothing in "derived" can disagree with "recorded": `clrprof check-session` and every test recompute it.
--
-- Ids are positive and belong to the whole session (two processes never share one). 0 means "none".
-- Times are nanoseconds of CLOCK_MONOTONIC since the session's start. Bytes are heap bytes: the object's size
-- rounded up to 8, as the runtime lays objects out.

PRAGMA application_id = 0x434C5250; -- 'CLRP'
PRAGMA user_version = 1;            -- the format

-- ── recorded ────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE info (                 -- one row per fact about the session; keys are listed in docs/session.md
  key    TEXT PRIMARY KEY,
  value  TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE process (
  id               INTEGER PRIMARY KEY,
  pid              INTEGER NOT NULL,
  parent_pid       INTEGER NOT NULL,
  name             TEXT NOT NULL,   -- the managed program if known (App for `dotnet App.dll`), else the executable
  path             TEXT NOT NULL,   -- /proc/PID/exe
  arguments        TEXT NOT NULL,   -- JSON array
  runtime_version  TEXT NOT NULL,   -- 9.0.7; 3.1 reports 4.0.30319
  begin_ns         INTEGER NOT NULL,
  end_ns           INTEGER NOT NULL,
  end_state        TEXT NOT NULL,   -- exited | died (ended without the runtime's shutdown) | running
  agent_bytes      INTEGER NOT NULL -- memory that the agent used for its tables
);

CREATE TABLE thread (
  id           INTEGER PRIMARY KEY,
  process_id   INTEGER NOT NULL,
  os_id        INTEGER NOT NULL,
  name         TEXT NOT NULL,       -- '' when the program gave none
  begin_ns     INTEGER NOT NULL,
  end_ns       INTEGER NOT NULL     -- the process's end when the thread's was not seen
);

CREATE TABLE module (
  id             INTEGER PRIMARY KEY,
  process_id     INTEGER NOT NULL,
  name           TEXT NOT NULL,     -- file name, or the scope name of a module without a file
  path           TEXT NOT NULL,     -- '' for a module without a file
  mvid           TEXT NOT NULL,     -- lower-case GUID, '' if unknown
  is_dynamic     INTEGER NOT NULL,  -- 1: no file (Reflection.Emit, Load(byte[]), dynamic methods)
  symbols        TEXT NOT NULL DEFAULT '', -- resolved: file | embedded | none | mismatch | unreadable
  symbols_path   TEXT NOT NULL DEFAULT ''
);

CREATE TABLE type (
  id               INTEGER PRIMARY KEY,
  process_id       INTEGER NOT NULL,
  module_id        INTEGER NOT NULL,
  token            INTEGER NOT NULL, -- TypeDef, 0 for arrays and unknown
  kind             TEXT NOT NULL,    -- class | array | other | unknown
  rank             INTEGER NOT NULL, -- arrays: 1 and up
  bounds           INTEGER NOT NULL, -- arrays of rank 1: 1 for int[*], which can have a lower bound, 0 for int[]
  element_type_id  INTEGER NOT NULL, -- arrays whose element is a known type
  element_code     INTEGER NOT NULL, -- arrays: CorElementType of the element (ECMA-335 II.23.1.16)
  raw_name         TEXT NOT NULL,    -- Namespace.Outer`1/Inner`1 as in metadata; '' for arrays
  name             TEXT NOT NULL DEFAULT '' -- resolved: Namespace.Outer<int>.Inner<string>[]
);

CREATE TABLE type_argument (
  type_id           INTEGER NOT NULL,
  position          INTEGER NOT NULL,
  argument_type_id  INTEGER NOT NULL, -- 0: the runtime could not say
  PRIMARY KEY (type_id, position)
) WITHOUT ROWID;

CREATE TABLE function (
  id           INTEGER PRIMARY KEY,
  process_id   INTEGER NOT NULL,
  module_id    INTEGER NOT NULL,
  token        INTEGER NOT NULL,    -- MethodDef, 0 for dynamic and pseudo functions
  type_id      INTEGER NOT NULL,    -- the exact declaring type, 0 if only the definition is known
  kind         TEXT NOT NULL,       -- method | dynamic | pseudo
  raw_type     TEXT NOT NULL,       -- declaring type as in metadata
  raw_name     TEXT NOT NULL,       -- method as in metadata: <Main>b__0_0
  signature    BLOB NOT NULL,       -- ECMA-335 II.23.2.1, empty if unknown
  name         TEXT NOT NULL DEFAULT '', -- resolved: Namespace.Type.Method<int>(string, int[])
  file_id      INTEGER NOT NULL DEFAULT 0, -- resolved
  line         INTEGER NOT NULL DEFAULT 0  -- resolved: first line of the body
);

CREATE TABLE function_argument (
  function_id       INTEGER NOT NULL,
  position          INTEGER NOT NULL,
  argument_type_id  INTEGER NOT NULL,
  PRIMARY KEY (function_id, position)
) WITHOUT ROWID;

CREATE TABLE body (                 -- one native compilation of a function: a tier, an OSR variant, precompiled code
  id           INTEGER PRIMARY KEY,
  function_id  INTEGER NOT NULL,
  address      INTEGER NOT NULL,
  size         INTEGER NOT NULL,    -- all ranges together
  il_map       BLOB NOT NULL        -- little-endian u32 pairs (native offset, IL offset), sorted; see docs/session.md
);

CREATE TABLE instruction (          -- a return address (the instruction after a call) that was on some stack
  id             INTEGER PRIMARY KEY,
  function_id    INTEGER NOT NULL,
  body_id        INTEGER NOT NULL,
  address        INTEGER NOT NULL,
  native_offset  INTEGER NOT NULL,  -- from the body's start
  il_offset      INTEGER NOT NULL DEFAULT -1, -- resolved; -1 unknown
  line_id        INTEGER NOT NULL DEFAULT 0   -- resolved; 0 unknown
);

CREATE TABLE node (                 -- the calling-context tree; a parent's id is always smaller than its children's
  id              INTEGER PRIMARY KEY,
  parent_id       INTEGER NOT NULL, -- 0: a root
  process_id      INTEGER NOT NULL,
  function_id     INTEGER NOT NULL,
  instruction_id  INTEGER NOT NULL  -- where in this function the call or allocation is; 0 for pseudo functions
);

CREATE TABLE site (                 -- who allocated what: thread × stack × type
  id         INTEGER PRIMARY KEY,
  thread_id  INTEGER NOT NULL,
  node_id    INTEGER NOT NULL,
  type_id    INTEGER NOT NULL,
  frozen     INTEGER NOT NULL       -- 1: on the runtime's frozen (non-GC) heap
);

CREATE TABLE slice (                -- a span of time; spans follow each other without a gap
  id        INTEGER PRIMARY KEY,
  begin_ns  INTEGER NOT NULL,
  end_ns    INTEGER NOT NULL
);

CREATE TABLE site_value (           -- what a site allocated within a slice
  slice_id     INTEGER NOT NULL,
  site_id      INTEGER NOT NULL,
  allocations  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  PRIMARY KEY (slice_id, site_id)
) WITHOUT ROWID;

CREATE TABLE loss (                 -- what is missing from the numbers above, and why; no rows: nothing
  process_id   INTEGER NOT NULL,
  reason       TEXT NOT NULL,       -- snake_case, listed in docs/session.md
  events       INTEGER NOT NULL,
  allocations  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  PRIMARY KEY (process_id, reason)
) WITHOUT ROWID;

-- ── resolved ────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE source_file (
  id    INTEGER PRIMARY KEY,
  path  TEXT NOT NULL UNIQUE
);

CREATE TABLE line (                 -- a statement: a sequence point of a function (ECMA-335 portable PDB)
  id            INTEGER PRIMARY KEY,
  function_id   INTEGER NOT NULL,
  file_id       INTEGER NOT NULL,
  line_begin    INTEGER NOT NULL,
  column_begin  INTEGER NOT NULL,
  line_end      INTEGER NOT NULL,
  column_end    INTEGER NOT NULL
);

-- ── derived ─────────────────────────────────────────────────────────────────────────────────────────────────
-- Inclusive values count an allocation once, however often the function, module, line or instruction is on its stack.

CREATE TABLE node_value (
  node_id                INTEGER PRIMARY KEY,
  inclusive_allocations  INTEGER NOT NULL,
  exclusive_allocations  INTEGER NOT NULL,
  inclusive_bytes        INTEGER NOT NULL,
  exclusive_bytes        INTEGER NOT NULL
);

CREATE TABLE path_value (           -- a node without its call sites: the functions from the root; what a call tree shows
  id                     INTEGER PRIMARY KEY, -- a parent's id is always smaller than its children's
  parent_id              INTEGER NOT NULL,    -- 0: a root
  level                  INTEGER NOT NULL,    -- 1 for a root (level 0 is the process)
  process_id             INTEGER NOT NULL,
  function_id            INTEGER NOT NULL,
  inclusive_allocations  INTEGER NOT NULL,
  exclusive_allocations  INTEGER NOT NULL,
  inclusive_bytes        INTEGER NOT NULL,
  exclusive_bytes        INTEGER NOT NULL
);

CREATE TABLE call_value (           -- what was allocated while callee, called by caller, was on the stack
  caller_id              INTEGER NOT NULL,    -- 0: the callee was a root
  callee_id              INTEGER NOT NULL,
  inclusive_allocations  INTEGER NOT NULL,
  exclusive_allocations  INTEGER NOT NULL,    -- the callee was the top of the stack and this caller called it there
  inclusive_bytes        INTEGER NOT NULL,
  exclusive_bytes        INTEGER NOT NULL,
  PRIMARY KEY (caller_id, callee_id)
) WITHOUT ROWID;

CREATE TABLE function_value (
  function_id            INTEGER PRIMARY KEY,
  inclusive_allocations  INTEGER NOT NULL,
  exclusive_allocations  INTEGER NOT NULL,
  inclusive_bytes        INTEGER NOT NULL,
  exclusive_bytes        INTEGER NOT NULL
);

CREATE TABLE module_value (
  module_id              INTEGER PRIMARY KEY, -- 0: the functions that belong to no module
  inclusive_allocations  INTEGER NOT NULL,
  exclusive_allocations  INTEGER NOT NULL,
  inclusive_bytes        INTEGER NOT NULL,
  exclusive_bytes        INTEGER NOT NULL
);

CREATE TABLE line_value (
  line_id      INTEGER PRIMARY KEY,
  allocations  INTEGER NOT NULL,    -- exclusive: a statement calls nothing
  bytes        INTEGER NOT NULL
);

CREATE TABLE instruction_value (
  instruction_id  INTEGER PRIMARY KEY,
  allocations     INTEGER NOT NULL,
  bytes           INTEGER NOT NULL
);

CREATE TABLE type_value (
  type_id    INTEGER PRIMARY KEY,
  instances  INTEGER NOT NULL,
  bytes      INTEGER NOT NULL
);

CREATE TABLE thread_value (
  thread_id    INTEGER PRIMARY KEY,
  allocations  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL
);

CREATE TABLE process_value (
  process_id   INTEGER PRIMARY KEY,
  allocations  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL
);

-- ── indices ─────────────────────────────────────────────────────────────────────────────────────────────────

CREATE INDEX path_value_by_parent ON path_value (parent_id);

-- ── views ───────────────────────────────────────────────────────────────────────────────────────────────────
-- For people: names instead of ids, percentages of the run's totals. Here process_id and thread_id are those of
-- the operating system; id is the id of the base table. Derived tables fill them: docs/session.md.

CREATE VIEW total AS
SELECT coalesce(sum(allocations), 0) AS allocations, coalesce(sum(bytes), 0) AS bytes FROM process_value;

CREATE VIEW header AS
SELECT key, value FROM info;

CREATE VIEW processes AS
SELECT p.id, p.pid AS process_id, p.parent_pid AS parent_process_id, p.name, p.path, p.arguments, p.runtime_version,
  p.begin_ns, p.end_ns, p.end_state, p.agent_bytes,
  coalesce(v.allocations, 0) AS allocations, 100.0 * coalesce(v.allocations, 0) / total.allocations AS allocations_percent,
  coalesce(v.bytes, 0) AS bytes, 100.0 * coalesce(v.bytes, 0) / total.bytes AS bytes_percent
FROM process p CROSS JOIN total LEFT JOIN process_value v ON v.process_id = p.id;

CREATE VIEW threads AS
SELECT t.id, t.os_id AS thread_id, t.name, p.pid AS process_id, p.name AS process, t.begin_ns, t.end_ns,
  coalesce(v.allocations, 0) AS allocations, 100.0 * coalesce(v.allocations, 0) / total.allocations AS allocations_percent,
  coalesce(v.bytes, 0) AS bytes, 100.0 * coalesce(v.bytes, 0) / total.bytes AS bytes_percent
FROM thread t CROSS JOIN total LEFT JOIN process p ON p.id = t.process_id LEFT JOIN thread_value v ON v.thread_id = t.id;

CREATE VIEW modules AS
SELECT v.module_id AS id, coalesce(m.name, '(no module)') AS name, coalesce(m.path, '') AS path, m.mvid, m.is_dynamic, m.symbols, m.symbols_path,
  p.pid AS process_id, p.name AS process,
  v.inclusive_allocations, 100.0 * v.inclusive_allocations / total.allocations AS inclusive_allocations_percent,
  v.exclusive_allocations, 100.0 * v.exclusive_allocations / total.allocations AS exclusive_allocations_percent,
  v.inclusive_bytes, 100.0 * v.inclusive_bytes / total.bytes AS inclusive_bytes_percent,
  v.exclusive_bytes, 100.0 * v.exclusive_bytes / total.bytes AS exclusive_bytes_percent
FROM module_value v CROSS JOIN total LEFT JOIN module m ON m.id = v.module_id LEFT JOIN process p ON p.id = m.process_id;

CREATE VIEW functions AS
SELECT v.function_id AS id, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS name, f.kind,
  coalesce(m.name, '') AS module, coalesce(m.path, '') AS module_path, coalesce(s.path, '') AS source_file, f.line,
  p.pid AS process_id, p.name AS process,
  v.inclusive_allocations, 100.0 * v.inclusive_allocations / total.allocations AS inclusive_allocations_percent,
  v.exclusive_allocations, 100.0 * v.exclusive_allocations / total.allocations AS exclusive_allocations_percent,
  v.inclusive_bytes, 100.0 * v.inclusive_bytes / total.bytes AS inclusive_bytes_percent,
  v.exclusive_bytes, 100.0 * v.exclusive_bytes / total.bytes AS exclusive_bytes_percent
FROM function_value v CROSS JOIN total JOIN function f ON f.id = v.function_id LEFT JOIN module m ON m.id = f.module_id
  LEFT JOIN source_file s ON s.id = f.file_id LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW types AS
SELECT v.type_id AS id, CASE WHEN t.name <> '' THEN t.name WHEN t.raw_name <> '' THEN t.raw_name
  WHEN e.id > 0 THEN coalesce(nullif(e.name, ''), e.raw_name) || '[' || substr(',,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,', 1, t.rank - 1) || ']'
  ELSE '(type ' || t.id || ')' END AS name, t.kind,
  coalesce(m.name, '') AS module, coalesce(m.path, '') AS module_path, p.pid AS process_id, p.name AS process,
  v.instances AS instances, 100.0 * v.instances / total.allocations AS instances_percent,
  v.bytes AS bytes, 100.0 * v.bytes / total.bytes AS bytes_percent
FROM type_value v CROSS JOIN total JOIN type t ON t.id = v.type_id LEFT JOIN type e ON e.id = t.element_type_id LEFT JOIN module m ON m.id = t.module_id
  LEFT JOIN process p ON p.id = t.process_id;

CREATE VIEW call_tree AS              -- parents come before children; the parent of a root is 0
SELECT v.id, v.parent_id, v.level, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
  v.inclusive_allocations, 100.0 * v.inclusive_allocations / total.allocations AS inclusive_allocations_percent,
  v.exclusive_allocations, 100.0 * v.exclusive_allocations / total.allocations AS exclusive_allocations_percent,
  v.inclusive_bytes, 100.0 * v.inclusive_bytes / total.bytes AS inclusive_bytes_percent,
  v.exclusive_bytes, 100.0 * v.exclusive_bytes / total.bytes AS exclusive_bytes_percent
FROM path_value v CROSS JOIN total JOIN function f ON f.id = v.function_id LEFT JOIN module m ON m.id = f.module_id
  LEFT JOIN process p ON p.id = v.process_id;

CREATE VIEW calls AS                  -- caller is '' where the callee was a root
SELECT coalesce(CASE WHEN c.name <> '' THEN c.name WHEN c.raw_type <> '' THEN c.raw_type || '.' || c.raw_name ELSE c.raw_name END, '') AS caller,
  CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS callee,
  v.caller_id, v.callee_id, p.pid AS process_id, p.name AS process,
  v.inclusive_allocations, 100.0 * v.inclusive_allocations / total.allocations AS inclusive_allocations_percent,
  v.exclusive_allocations, 100.0 * v.exclusive_allocations / total.allocations AS exclusive_allocations_percent,
  v.inclusive_bytes, 100.0 * v.inclusive_bytes / total.bytes AS inclusive_bytes_percent,
  v.exclusive_bytes, 100.0 * v.exclusive_bytes / total.bytes AS exclusive_bytes_percent
FROM call_value v CROSS JOIN total JOIN function f ON f.id = v.callee_id LEFT JOIN function c ON c.id = v.caller_id
  LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW lines AS
SELECT v.line_id AS id, coalesce(s.path, '') AS source_file, l.line_begin, l.column_begin, l.line_end, l.column_end,
  coalesce(s.path, '') || ';[' || l.line_begin || ',' || l.column_begin || ']->[' || l.line_end || ',' || l.column_end || ']' AS line_name,
  CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
  v.allocations AS exclusive_allocations, 100.0 * v.allocations / total.allocations AS exclusive_allocations_percent,
  v.bytes AS exclusive_bytes, 100.0 * v.bytes / total.bytes AS exclusive_bytes_percent
FROM line_value v CROSS JOIN total JOIN line l ON l.id = v.line_id JOIN function f ON f.id = l.function_id
  LEFT JOIN source_file s ON s.id = l.file_id LEFT JOIN module m ON m.id = f.module_id LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW instructions AS
SELECT v.instruction_id AS id, i.address, i.native_offset, i.il_offset, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(s.path, '') AS source_file, coalesce(l.line_begin, 0) AS line, coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
  v.allocations AS exclusive_allocations, 100.0 * v.allocations / total.allocations AS exclusive_allocations_percent,
  v.bytes AS exclusive_bytes, 100.0 * v.bytes / total.bytes AS exclusive_bytes_percent
FROM instruction_value v CROSS JOIN total JOIN instruction i ON i.id = v.instruction_id JOIN function f ON f.id = i.function_id
  LEFT JOIN line l ON l.id = i.line_id LEFT JOIN source_file s ON s.id = l.file_id LEFT JOIN module m ON m.id = f.module_id
  LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW allocations AS            -- who allocated what, where, when: one row for each site and slice
SELECT CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(src.path, '') AS source_file, coalesce(l.line_begin, 0) AS line, coalesce(m.name, '') AS module,
  CASE WHEN t.name <> '' THEN t.name WHEN t.raw_name <> '' THEN t.raw_name
  WHEN e.id > 0 THEN coalesce(nullif(e.name, ''), e.raw_name) || '[' || substr(',,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,', 1, t.rank - 1) || ']'
  ELSE '(type ' || t.id || ')' END AS type,
  h.name AS thread, h.os_id AS thread_id, p.name AS process, p.pid AS process_id, s.frozen, s.node_id,
  sl.begin_ns, sl.end_ns, v.allocations, v.bytes
FROM site_value v JOIN site s ON s.id = v.site_id JOIN node n ON n.id = s.node_id JOIN function f ON f.id = n.function_id
  JOIN type t ON t.id = s.type_id LEFT JOIN type e ON e.id = t.element_type_id JOIN thread h ON h.id = s.thread_id LEFT JOIN process p ON p.id = h.process_id
  LEFT JOIN slice sl ON sl.id = v.slice_id LEFT JOIN instruction i ON i.id = n.instruction_id LEFT JOIN line l ON l.id = i.line_id
  LEFT JOIN source_file src ON src.id = l.file_id LEFT JOIN module m ON m.id = f.module_id;

CREATE VIEW losses AS
SELECT p.pid AS process_id, p.name AS process, l.reason, l.events, l.allocations, l.bytes,
  l.reason NOT IN ('il_map_truncated', 'name_truncated', 'stack_truncated', 'type_unknown') AS missing -- or only less exact
FROM loss l LEFT JOIN process p ON p.id = l.process_id;
