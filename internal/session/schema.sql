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
