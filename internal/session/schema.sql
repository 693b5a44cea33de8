-- The clrprof session file, format 2.
--
-- Three kinds of tables, in the order in which they are filled:
--   recorded  what the agent counted and the runtime said, as it was said;
--   resolved  names and source lines, from metadata and portable PDBs;
--   derived   sums over the recorded tables, stored so that a view opens at once.
-- Those with a row for each stack, or for each stack and span of time, are packed: in packed.sql is what they look like, in the
-- table chunk is what they hold.
--
-- Nothing in "derived" can disagree with "recorded": `clrprof check-session` and every test recompute it.
--
-- Ids are positive and belong to the whole session (two processes never share one). 0 means "none".
-- Times are nanoseconds of CLOCK_MONOTONIC since the session's start. Bytes are heap bytes: the object's size
-- rounded up to 8, as the runtime lays objects out.

PRAGMA application_id = 0x434C5250; -- 'CLRP'
PRAGMA user_version = 2;            -- the format

-- ── recorded ────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE info (                 -- one row per fact about the session; keys are listed in docs/session.md
  key    TEXT PRIMARY KEY,
  value  TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE chunk (                -- rows of a packed table, by column: docs/session.md
  id        INTEGER PRIMARY KEY,    -- in the order in which they were written
  name      TEXT NOT NULL,          -- of the packed table
  first     INTEGER NOT NULL,       -- least and greatest value of its first column
  last      INTEGER NOT NULL,
  rows      INTEGER NOT NULL,
  columns   INTEGER NOT NULL,       -- a later clrprof may add some at the end
  checksum  INTEGER NOT NULL,       -- CRC-32 of data (IEEE 802.3)
  data      BLOB NOT NULL           -- Zstandard
);

CREATE INDEX chunk_by_name ON chunk (name, first);

CREATE TABLE process (
  id               INTEGER PRIMARY KEY,
  pid              INTEGER NOT NULL,
  parent_pid       INTEGER NOT NULL,
  name             TEXT NOT NULL,   -- the managed program if known (App for `dotnet App.dll`), else the executable
  path             TEXT NOT NULL,   -- /proc/PID/exe
  arguments        TEXT NOT NULL,   -- JSON array
  runtime_version  TEXT NOT NULL,   -- 10.0.12, 3.1.2; 4.0.30319 is a .NET Core 2 or 3 that does not say which
  begin_ns         INTEGER NOT NULL,
  end_ns           INTEGER NOT NULL,
  end_state        TEXT NOT NULL,   -- exited | died (ended without the runtime's shutdown) | running
  agent_bytes      INTEGER NOT NULL, -- memory that the agent used for its tables
  agent_private    INTEGER NOT NULL DEFAULT 0, -- of these bytes, those that are no shared file: a part of the process's own memory. As all that follow 0 in an older session
  compiled         INTEGER NOT NULL DEFAULT 0, -- methods that were compiled while the program ran; 0 as all that follow where a running process was recorded
  compiled_ns      INTEGER NOT NULL DEFAULT 0, -- processor time that this took
  recompiled       INTEGER NOT NULL DEFAULT 0, -- others that the runtime compiled once more, in the background
  recompiled_ns    INTEGER NOT NULL DEFAULT 0, -- processor time that this took
  compiled_missed  INTEGER NOT NULL DEFAULT 0, -- in none of these: too many were compiled at once
  sampler          TEXT NOT NULL DEFAULT '' -- how small objects were sampled: random (AllocationSampled) | ticks (AllocationTick); '' where what is recorded is counted
);

CREATE TABLE thread (
  id           INTEGER PRIMARY KEY,
  process_id   INTEGER NOT NULL,
  os_id        INTEGER NOT NULL,    -- 0 for those in thread_set
  name         TEXT NOT NULL,       -- '' when the program gave none; words for those in thread_set
  begin_ns     INTEGER NOT NULL,
  end_ns       INTEGER NOT NULL     -- the process's end when the thread's was not seen
);

CREATE TABLE thread_set (           -- threads that share a row of `thread`: they ran one after the other, after many others had rows of their own
  thread_id    INTEGER PRIMARY KEY,
  threads      INTEGER NOT NULL,    -- how many
  name         TEXT NOT NULL        -- of each, '' when the program gave none; "several" names are told by the thread's
);

CREATE TABLE module (
  id             INTEGER PRIMARY KEY,
  process_id     INTEGER NOT NULL,
  name           TEXT NOT NULL,     -- file name, or the scope name of a module without a file
  path           TEXT NOT NULL,     -- '' for a module without a file
  mvid           TEXT NOT NULL,     -- lower-case GUID, '' if unknown
  is_dynamic     INTEGER NOT NULL,  -- 1: no file (Reflection.Emit, Load(byte[]), dynamic methods)
  symbols        TEXT NOT NULL DEFAULT '', -- resolved: file | embedded | none | mismatch | unreadable
  symbols_path   TEXT NOT NULL DEFAULT '',
  origin         TEXT NOT NULL DEFAULT ''  -- resolved: the user's own code if it is pattern | project | beside | memory | folder
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
  name             TEXT NOT NULL DEFAULT '', -- resolved: Namespace.Outer<int>.Inner<string>[]
  trait            TEXT NOT NULL DEFAULT '' -- resolved: value | exception | delegate | finalizer, by what a class extends; '' for others
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
  line         INTEGER NOT NULL DEFAULT 0, -- resolved: first line of the body
  test         TEXT NOT NULL DEFAULT '', -- resolved: the attribute that makes it a test, such as Xunit.FactAttribute; '' if it is none
  route        TEXT NOT NULL DEFAULT '', -- resolved: of requests that it answers: GET /orders/{id}; '' if none is known
  il_hash      TEXT NOT NULL DEFAULT '' -- resolved, of user code: 12-9f86d081884c7d65, see docs/session.md; '' if unknown
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

CREATE TABLE slice (                -- a span of time; spans follow each other without a gap
  id        INTEGER PRIMARY KEY,
  begin_ns  INTEGER NOT NULL,
  end_ns    INTEGER NOT NULL
);

CREATE TABLE pause (                -- when nothing was recorded: a level that was off
  id          INTEGER PRIMARY KEY,  -- in the order in which they began to be known
  level       TEXT NOT NULL,        -- global (all processes) | process | thread
  process_id  INTEGER NOT NULL,     -- 0 with global
  thread_id   INTEGER NOT NULL,     -- 0 but with thread
  begin_ns    INTEGER NOT NULL,
  end_ns      INTEGER NOT NULL      -- the recording's end if it was off then
);

CREATE TABLE thread_scope (         -- threads that were in functions of --record-inside or --record-outside
  thread_id      INTEGER PRIMARY KEY,
  inside_times   INTEGER NOT NULL,  -- how often it called one of --record-inside while it was in none; outside of them nothing of it is recorded
  inside_ns      INTEGER NOT NULL,  -- how long it was in one, pauses included
  outside_times  INTEGER NOT NULL,  -- the same of --record-outside; in them nothing of it is recorded
  outside_ns     INTEGER NOT NULL
);

CREATE TABLE test_case (            -- what calls of tests with equal arguments allocated (--test-cases)
  function_id  INTEGER NOT NULL,
  arguments    TEXT NOT NULL,       -- 10, "sku", null; ? for what is no number, text, character or boolean; … for what is not noted
  number       INTEGER NOT NULL,    -- 0; of calls whose arguments are not all known: 1, 2, … in the order of their ends
  call_count   INTEGER NOT NULL,    -- that ended
  allocations  INTEGER NOT NULL,    -- on the thread of the call, from its begin to its end: not what an async test did after it had waited
  bytes        INTEGER NOT NULL,
  PRIMARY KEY (function_id, arguments, number)
) WITHOUT ROWID;

CREATE TABLE interaction (          -- calls to databases and over HTTP (--interactions): those of one kind, with one text, from one stack
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL,
  kind        TEXT NOT NULL,        -- database (a command of System.Data.Common.DbCommand) | http (a request of System.Net.Http)
  text        TEXT NOT NULL,        -- of the command, cut after 4,096 characters; of a request: method and address without user, query and fragment
  has_text    INTEGER NOT NULL,     -- 0: there was no room for it
  stack_id    INTEGER NOT NULL,     -- of the caller, 0: not known
  call_count  INTEGER NOT NULL,     -- calls that began
  ended       INTEGER NOT NULL,     -- those of them that ended; the rest are of these
  failed      INTEGER NOT NULL,     -- by an exception, or their task failed or was cancelled
  unwaited    INTEGER NOT NULL,     -- the time lacks what their task took after they had returned it
  total_ns    INTEGER NOT NULL,     -- up to the return, or until the task that was returned is complete
  min_ns      INTEGER NOT NULL,
  max_ns      INTEGER NOT NULL
);

CREATE TABLE interaction_frame (    -- the stacks of their callers, and of those who asked for collections (gc_caller)
  stack_id        INTEGER NOT NULL,
  depth           INTEGER NOT NULL, -- 0: the function that made the call, of a collection that asked for it
  function_id     INTEGER NOT NULL,
  instruction_id  INTEGER NOT NULL,
  PRIMARY KEY (stack_id, depth)
) WITHOUT ROWID;

CREATE TABLE mark (                 -- moments that somebody marked
  id          INTEGER PRIMARY KEY,  -- in the order in which they came to be known
  time_ns     INTEGER NOT NULL,
  number      INTEGER NOT NULL,     -- that the program gave it, 0: none
  name        TEXT NOT NULL,
  text        TEXT NOT NULL,
  process_id  INTEGER NOT NULL,     -- 0: of the whole session
  thread_id   INTEGER NOT NULL,     -- 0: of no thread
  source      TEXT NOT NULL         -- program (its begin and end) | api | ctl | signal | run (a flag of it) | function (--mark-at) | request (--mark-requests)
);

CREATE TABLE function_not_probed (  -- functions whose calls should have been seen by probes in their IL, and were not (the loss not_probed)
  function_id INTEGER PRIMARY KEY,
  reason      TEXT NOT NULL         -- in words: it ends with the instruction jmp, …
);

CREATE TABLE process_lifetime (      -- processes whose objects were followed to their end (--lifetime)
  process_id   INTEGER PRIMARY KEY,
  gcs          INTEGER NOT NULL,    -- garbage collections that ended
  alive_known  INTEGER NOT NULL     -- 1: a last collection says what is reachable at the end (site_alive, process_ending)
);

CREATE TABLE process_left_out (      -- of the same processes: what shortens pauses, and what it costs
  process_id   INTEGER PRIMARY KEY,
  walked_gcs   INTEGER NOT NULL,    -- collections that took longer because the runtime walked generation 0 first
  objects      INTEGER NOT NULL,    -- not the program's, and in no other table: see docs/metrics.md
  bytes        INTEGER NOT NULL
);

CREATE TABLE process_ending (        -- of the same processes: those of which it was seen when they began to end. What is alive at the end was alive then
  process_id   INTEGER PRIMARY KEY,
  sign         TEXT NOT NULL,       -- by what it was seen: signal (one that the program handles) | host (a host was told to stop) | exit (Main had returned, or Environment.Exit was called)
  gc_number    INTEGER NOT NULL,    -- of the collection that says what was alive: gc.number
  begin_ns     INTEGER NOT NULL     -- its end
);

CREATE TABLE gc_freed (             -- what a later collection of such a process found dead that had been alive when it began to end: a part of gc_generation.dead, and no death of a site
  gc_id       INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  objects     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  PRIMARY KEY (gc_id, generation)
) WITHOUT ROWID;

CREATE TABLE site_freed (           -- the same by site: a part of what is alive of it
  site_id     INTEGER NOT NULL,
  generation  INTEGER NOT NULL,     -- in which it was found dead
  objects     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  PRIMARY KEY (site_id, generation)
) WITHOUT ROWID;

CREATE TABLE gc (                   -- a garbage collection that ended
  id           INTEGER PRIMARY KEY,
  process_id   INTEGER NOT NULL,
  number       INTEGER NOT NULL,    -- within the process, from 1
  generation   INTEGER NOT NULL,    -- the oldest of 0, 1 and 2 that was collected; 2 collects 3 and 4 too
  collected    INTEGER NOT NULL,    -- bit n: generation n was collected
  induced      INTEGER NOT NULL,    -- 1: the program asked for it, or clrprof at the end
  begin_ns     INTEGER NOT NULL,    -- the runtime began to stop the threads
  pause_ns     INTEGER NOT NULL,    -- until the agent was done; the threads go on right after
  agent_ns     INTEGER NOT NULL,    -- of these: the agent's own work
  finalizable  INTEGER NOT NULL     -- objects in the finalizer's queue
);

CREATE TABLE gc_generation (        -- what a collection found in a generation that it collected
  gc_id             INTEGER NOT NULL,
  generation        INTEGER NOT NULL, -- 0, 1, 2, 3 large object heap, 4 pinned object heap
  before_objects    INTEGER NOT NULL,
  before_bytes      INTEGER NOT NULL,
  dead_objects      INTEGER NOT NULL, -- of those before; the others survived
  dead_bytes        INTEGER NOT NULL,
  promoted_objects  INTEGER NOT NULL, -- of the survivors: in a higher generation afterwards
  promoted_bytes    INTEGER NOT NULL,
  PRIMARY KEY (gc_id, generation)
) WITHOUT ROWID;

CREATE TABLE gc_detail (            -- more about a collection
  gc_id   INTEGER PRIMARY KEY,
  pinned  INTEGER NOT NULL,         -- objects that roots pinned
  since   INTEGER NOT NULL          -- number of the collection since which gc_birth and gc_death hold what changed, 0: since the start; the own: a later one's do
);

CREATE TABLE gc_caller (            -- who asked for a collection (gc.induced): workstation GC; with server GC it is not known
  gc_id     INTEGER PRIMARY KEY,
  stack_id  INTEGER NOT NULL        -- interaction_frame
);

CREATE TABLE gc_heap (              -- what there was in a generation, collected or not
  gc_id           INTEGER NOT NULL,
  generation      INTEGER NOT NULL,
  before_objects  INTEGER NOT NULL, -- at the start of the collection
  before_bytes    INTEGER NOT NULL,
  after_objects   INTEGER NOT NULL, -- at its end
  after_bytes     INTEGER NOT NULL,
  extent_bytes    INTEGER NOT NULL DEFAULT 0, -- of its memory then: objects, and what is free between them; 0: not known, as in an older session
  PRIMARY KEY (gc_id, generation)
) WITHOUT ROWID;

CREATE TABLE snapshot (             -- the heap of a process after one collection (--snapshot); the objects themselves are not kept
  process_id           INTEGER PRIMARY KEY,
  gc_number            INTEGER NOT NULL, -- of the collection: gc.number
  objects              INTEGER NOT NULL,
  bytes                INTEGER NOT NULL,
  reachable_objects    INTEGER NOT NULL, -- of these: from a root that is neither weak nor the finalizer's queue
  reachable_bytes      INTEGER NOT NULL,
  finalizable_objects  INTEGER NOT NULL, -- only from the finalizer's queue
  finalizable_bytes    INTEGER NOT NULL,
  frozen_objects       INTEGER NOT NULL, -- on the frozen heap, and no root refers to them
  frozen_bytes         INTEGER NOT NULL,
  unreachable_objects  INTEGER NOT NULL, -- from no root that the runtime told of: weak references at most
  unreachable_bytes    INTEGER NOT NULL,
  outside_references   INTEGER NOT NULL, -- references and roots to no object of the snapshot
  statics_left_out     INTEGER NOT NULL  -- classes whose static fields are not known
);

CREATE TABLE snapshot_type (
  process_id           INTEGER NOT NULL,
  type_id              INTEGER NOT NULL, -- 0: the runtime did not say
  objects              INTEGER NOT NULL,
  bytes                INTEGER NOT NULL,
  retained_bytes       INTEGER NOT NULL, -- would go if these objects went: each byte once, their own included
  finalizable_objects  INTEGER NOT NULL, -- as in snapshot
  frozen_objects       INTEGER NOT NULL,
  unreachable_objects  INTEGER NOT NULL,
  static_id            INTEGER NOT NULL, -- the static field that retains most bytes of the type: snapshot_static.id; 0: none does
  static_bytes         INTEGER NOT NULL, -- how many
  PRIMARY KEY (process_id, type_id)
) WITHOUT ROWID;

CREATE TABLE snapshot_site (        -- frozen objects have none
  site_id         INTEGER PRIMARY KEY,
  objects         INTEGER NOT NULL,
  bytes           INTEGER NOT NULL,
  retained_bytes  INTEGER NOT NULL,
  static_id       INTEGER NOT NULL, -- as in snapshot_type
  static_bytes    INTEGER NOT NULL
);

CREATE TABLE snapshot_root (
  process_id       INTEGER NOT NULL,
  kind             TEXT NOT NULL,    -- as in root, also the flags
  flags            INTEGER NOT NULL,
  function_id      INTEGER NOT NULL,
  reference_count  INTEGER NOT NULL,
  objects          INTEGER NOT NULL, -- that these refer to, each once
  bytes            INTEGER NOT NULL,
  PRIMARY KEY (process_id, kind, flags, function_id)
) WITHOUT ROWID;

CREATE TABLE snapshot_path (        -- how a root holds the object of a type that retains most; for the types that retain most
  process_id      INTEGER NOT NULL,
  type_id         INTEGER NOT NULL, -- of the last object
  position        INTEGER NOT NULL, -- 0: the object that the root refers to; the middle of long paths is left out
  object_type_id  INTEGER NOT NULL,
  bytes           INTEGER NOT NULL,
  retained_bytes  INTEGER NOT NULL, -- by this object alone
  kind            TEXT NOT NULL,    -- of the root, as in root; position 0 only, else ''
  flags           INTEGER NOT NULL,
  function_id     INTEGER NOT NULL,
  static_id       INTEGER NOT NULL, -- the static field that holds this object: snapshot_static.id; at one position at most, else 0
  PRIMARY KEY (process_id, type_id, position)
) WITHOUT ROWID;

CREATE TABLE snapshot_static (      -- a static field, and the object that it held
  process_id      INTEGER NOT NULL,
  id              INTEGER NOT NULL, -- from 1 on in each process
  type_id         INTEGER NOT NULL, -- the class whose field it is, with its type arguments
  token           INTEGER NOT NULL,
  name            TEXT NOT NULL,    -- in metadata
  object_type_id  INTEGER NOT NULL,
  bytes           INTEGER NOT NULL,
  retained_bytes  INTEGER NOT NULL, -- by the object alone; 0 if no root holds it: it is frozen
  of_thread       INTEGER NOT NULL, -- 1: each thread has its own, which is a row
  PRIMARY KEY (process_id, id)
) WITHOUT ROWID;

CREATE TABLE snapshot_holder (      -- what holds the objects of a type and a site: each object once
  process_id       INTEGER NOT NULL,
  type_id          INTEGER NOT NULL,
  site_id          INTEGER NOT NULL, -- 0: none
  kind             TEXT NOT NULL,    -- static | handle | stack | finalizer | other: of root; dependent (handle) | several (together) | frozen | none
  flags            INTEGER NOT NULL, -- of a root, as in root
  function_id      INTEGER NOT NULL, -- whose frame holds it; 0: not known
  static_id        INTEGER NOT NULL, -- snapshot_static.id; 0: no static field
  through_type_id  INTEGER NOT NULL, -- what is held directly; dependent: the key; 0: not known, or a static field
  objects          INTEGER NOT NULL,
  bytes            INTEGER NOT NULL,
  PRIMARY KEY (process_id, type_id, site_id, kind, flags, function_id, static_id, through_type_id)
) WITHOUT ROWID;

CREATE TABLE process_time (          -- processes whose calls were timed (--time)
  process_id        INTEGER PRIMARY KEY,
  clock             TEXT NOT NULL,    -- tsc (the processor's time-stamp counter) | monotonic
  ticks_per_second  INTEGER NOT NULL, -- of that clock
  instrument        TEXT NOT NULL,    -- boundary | mine | all: which functions are hooked
  mechanism         TEXT NOT NULL,    -- how most threads learn that the system acted: rseq | perf | gap | '' (not asked)
  gap_ns            INTEGER NOT NULL, -- gap: shorter intervals are taken for free of it
  inside_ns         REAL NOT NULL,    -- what the probes add to the tail of each call, as measured in the process
  outside_ns        REAL NOT NULL,    -- and to the caller's time at each call
  cold_inside_ns    REAL NOT NULL,    -- the same when nothing is in the processor's caches
  cold_outside_ns   REAL NOT NULL,
  agent_time_ns     INTEGER NOT NULL, -- what the agent took for itself in the threads, beyond that: no part of any time
  ready_measured    INTEGER NOT NULL, -- 1: ready_ns are what the kernel says of each thread; 0: an estimate by the numbers of switches
  probes            TEXT NOT NULL DEFAULT '', -- how calls were seen: hooks (the runtime's) | il (put into the code of what was recorded); '': in an older session
  uncertain_ns      REAL NOT NULL DEFAULT 0, -- by so much inside_ns and outside_ns together may be wrong, up or down; 0: in an older session
  gc_pauses         INTEGER NOT NULL DEFAULT 0, -- pauses for garbage collections while it was recorded; 0: or in an older session
  gc_paused_ns      INTEGER NOT NULL DEFAULT 0, -- how long all of them took
  gc_longest_ns     INTEGER NOT NULL DEFAULT 0, -- and the longest
  measured          INTEGER NOT NULL DEFAULT 0, -- how often inside_ns and outside_ns were measured while the program ran; 0: only at the start
  least_ns          REAL NOT NULL DEFAULT 0, -- the least of these, both together
  most_ns           REAL NOT NULL DEFAULT 0, -- and the most
  first_inside_ns   REAL NOT NULL DEFAULT 0, -- as measured at the start, which is taken out of minima and maxima of calls; 0: inside_ns is
  first_outside_ns  REAL NOT NULL DEFAULT 0  -- and outside_ns
);

CREATE TABLE cpu_counter (        -- CPU counters that were read at each event of a thread (--cpu-counters): of which cpu_counter1_… are, and so on
  process_id  INTEGER NOT NULL,
  position    INTEGER NOT NULL,    -- from 1 on; the same in all processes
  name        TEXT NOT NULL,       -- instructions, page-faults, …: clrprof counters --cpu
  unit        TEXT NOT NULL,       -- count | ns
  inside      REAL NOT NULL,       -- what the probes add to the function's own at each call, as inside_ns
  outside     REAL NOT NULL,       -- and to the caller's, as outside_ns
  PRIMARY KEY (process_id, position)
) WITHOUT ROWID;

CREATE TABLE system_call (        -- system calls that were made: see system_event_call
  number  INTEGER PRIMARY KEY,
  name    TEXT NOT NULL            -- as in a manual, without a prefix: openat; '': this clrprof knows none
);

CREATE TABLE counter (            -- what the operating system, the runtime and the program count: see counter_value
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,         -- process.resident, or METER/INSTRUMENT
  unit     TEXT NOT NULL,         -- ns, bytes, count, or what the program calls it
  is_sum   INTEGER NOT NULL,      -- 1: it only grows; 0: it is a level
  meaning  TEXT NOT NULL,
  missing  TEXT NOT NULL,         -- why there are no values of it, '' if there are
  tags     TEXT NOT NULL DEFAULT '' -- of an instrument: NAME=VALUE,NAME=VALUE
);

CREATE TABLE loss (                 -- what is missing from the numbers above, and why; no rows: nothing
  process_id   INTEGER NOT NULL,
  reason       TEXT NOT NULL,       -- snake_case, listed in docs/session.md
  events       INTEGER NOT NULL,    -- the view losses says what they are
  allocations  INTEGER NOT NULL,    -- objects concerned, and their bytes; 0 for losses of time
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

CREATE TABLE params_array (         -- resolved: arrays and collections that user code makes for parameters with params
  function_id  INTEGER NOT NULL,    -- that makes them itself
  line_id      INTEGER NOT NULL,    -- 0: on whichever line, for objects whose line is not known
  type_id      INTEGER NOT NULL,    -- all objects of this type that the code of the line makes are of this kind
  PRIMARY KEY (function_id, line_id, type_id)
) WITHOUT ROWID;

-- ── derived ─────────────────────────────────────────────────────────────────────────────────────────────────
-- Inclusive values count an allocation once, however often the function, module, line or instruction is on its stack.

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

CREATE TABLE process_death (        -- what of a process's objects died, by generation
  process_id  INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  objects     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  PRIMARY KEY (process_id, generation)
) WITHOUT ROWID;

CREATE TABLE summary_section (      -- what a summary says of sites (stack and type): all of them
  section  TEXT PRIMARY KEY,        -- promotion_waste | short_lived | growing; these of user code: user_…; sites
  sites    INTEGER NOT NULL,
  objects  INTEGER NOT NULL,        -- that died in generation 2, or 0, or are alive; sites: that were allocated
  bytes    INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE summary_site (         -- and the first thousand of them
  section        TEXT NOT NULL,
  position       INTEGER NOT NULL,  -- from 1: those with most bytes
  process_id     INTEGER NOT NULL,
  node_id        INTEGER NOT NULL,
  type_id        INTEGER NOT NULL,
  function_id    INTEGER NOT NULL,
  line_id        INTEGER NOT NULL,
  objects        INTEGER NOT NULL,  -- as in summary_section
  bytes          INTEGER NOT NULL,
  allocations    INTEGER NOT NULL,
  allocated      INTEGER NOT NULL,  -- bytes
  gen0_objects   INTEGER NOT NULL,
  gen0_bytes     INTEGER NOT NULL,
  gen1_objects   INTEGER NOT NULL,
  gen1_bytes     INTEGER NOT NULL,
  gen2_objects   INTEGER NOT NULL,
  gen2_bytes     INTEGER NOT NULL,
  loh_objects    INTEGER NOT NULL,
  loh_bytes      INTEGER NOT NULL,
  poh_objects    INTEGER NOT NULL,
  poh_bytes      INTEGER NOT NULL,
  PRIMARY KEY (section, position)
) WITHOUT ROWID;

CREATE TABLE cause_total (          -- what was allocated by user code, and what outside of it
  part         TEXT PRIMARY KEY,    -- user_code | outside
  causes       INTEGER NOT NULL,    -- types, by the place in user code that made them or had them made
  allocations  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE cause (                -- and the first thousand causes
  position          INTEGER PRIMARY KEY, -- from 1: those with most bytes
  type_id           INTEGER NOT NULL,
  from_function_id  INTEGER NOT NULL, -- of user code
  from_line_id      INTEGER NOT NULL, -- 0: not known
  function_id       INTEGER NOT NULL, -- that allocated most of it: the same, or one that it called
  allocations       INTEGER NOT NULL,
  bytes             INTEGER NOT NULL
);

CREATE TABLE type_death (           -- what of a type's objects died, by generation
  type_id     INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  objects     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  PRIMARY KEY (type_id, generation)
) WITHOUT ROWID;

CREATE TABLE type_path (            -- on which path most of a type was made, of the hundred types with most bytes
  type_id      INTEGER NOT NULL,
  position     INTEGER NOT NULL,    -- from 1: the root
  function_id  INTEGER NOT NULL,
  times        INTEGER NOT NULL,    -- that the function is there in a row
  bytes        INTEGER NOT NULL,    -- of the type that were made there and below
  PRIMARY KEY (type_id, position)
) WITHOUT ROWID;

CREATE TABLE rule_judged (          -- the rules that the session was judged by when it was completed
  rule     TEXT PRIMARY KEY,
  edition  INTEGER NOT NULL,        -- of all rules: those of another one say something else
  hidden   INTEGER NOT NULL         -- findings that are not in the table finding
) WITHOUT ROWID;

CREATE TABLE finding (              -- and what they found
  position          INTEGER PRIMARY KEY, -- from 1: the gravest first
  rule              TEXT NOT NULL,
  from_function_id  INTEGER NOT NULL, -- of user code; 0: it is about the whole program
  from_line_id      INTEGER NOT NULL,
  function_id       INTEGER NOT NULL, -- that it called; 0: itself
  type_id           INTEGER NOT NULL, -- of most of the objects; 0: it is not about objects
  objects           INTEGER NOT NULL,
  bytes             INTEGER NOT NULL,
  calls             INTEGER NOT NULL,
  waited_ns         INTEGER NOT NULL, -- without a processor
  waits             INTEGER NOT NULL,
  text              TEXT NOT NULL,    -- of what is about the whole program
  type_objects      INTEGER NOT NULL DEFAULT 0, -- of these: objects of the type, and their bytes; 0: in an older session
  type_bytes        INTEGER NOT NULL DEFAULT 0
);

-- Times: what the probes added is taken out (overhead_…) and calls that had not ended are in it; exact sums of
-- corrected intervals. Inclusive counts an interval once, however often the function is on its stack.

CREATE TABLE call_time (            -- time of callee when caller called it
  caller_id INTEGER NOT NULL,           -- 0: the callee was a root
  callee_id INTEGER NOT NULL,
  calls INTEGER NOT NULL, running INTEGER NOT NULL,
  elapsed_inclusive INTEGER NOT NULL, elapsed_exclusive INTEGER NOT NULL,
  application_inclusive INTEGER NOT NULL, application_exclusive INTEGER NOT NULL,
  cpu_inclusive INTEGER NOT NULL, cpu_exclusive INTEGER NOT NULL,
  overhead_inclusive INTEGER NOT NULL, overhead_exclusive INTEGER NOT NULL,
  wait_intervals_inclusive INTEGER NOT NULL, wait_intervals_exclusive INTEGER NOT NULL,
  voluntary_inclusive INTEGER NOT NULL, voluntary_exclusive INTEGER NOT NULL,
  preempted_inclusive INTEGER NOT NULL, preempted_exclusive INTEGER NOT NULL,
  faults_inclusive INTEGER NOT NULL, faults_exclusive INTEGER NOT NULL,
  reads_inclusive INTEGER NOT NULL, reads_exclusive INTEGER NOT NULL,
  off_cpu_inclusive INTEGER NOT NULL, off_cpu_exclusive INTEGER NOT NULL,
  blocked_inclusive INTEGER NOT NULL, blocked_exclusive INTEGER NOT NULL,
  ready_inclusive INTEGER NOT NULL, ready_exclusive INTEGER NOT NULL,
  nodes_elapsed_inclusive INTEGER NOT NULL, nodes_application_inclusive INTEGER NOT NULL, nodes_cpu_inclusive INTEGER NOT NULL,
  min_elapsed_inclusive INTEGER NOT NULL, max_elapsed_inclusive INTEGER NOT NULL,
  min_elapsed_exclusive INTEGER NOT NULL, max_elapsed_exclusive INTEGER NOT NULL,
  min_application_inclusive INTEGER NOT NULL, max_application_inclusive INTEGER NOT NULL,
  min_application_exclusive INTEGER NOT NULL, max_application_exclusive INTEGER NOT NULL,
  min_cpu_inclusive INTEGER NOT NULL, max_cpu_inclusive INTEGER NOT NULL, min_cpu_exclusive INTEGER NOT NULL, max_cpu_exclusive INTEGER NOT NULL,
  cpu_counter1_inclusive INTEGER NOT NULL, cpu_counter1_exclusive INTEGER NOT NULL,
  cpu_counter2_inclusive INTEGER NOT NULL, cpu_counter2_exclusive INTEGER NOT NULL,
  cpu_counter3_inclusive INTEGER NOT NULL, cpu_counter3_exclusive INTEGER NOT NULL,
  cpu_counter4_inclusive INTEGER NOT NULL, cpu_counter4_exclusive INTEGER NOT NULL,
  cpu_counter5_inclusive INTEGER NOT NULL, cpu_counter5_exclusive INTEGER NOT NULL,
  cpu_counter6_inclusive INTEGER NOT NULL, cpu_counter6_exclusive INTEGER NOT NULL,
  PRIMARY KEY (caller_id, callee_id)
) WITHOUT ROWID;

CREATE TABLE function_time (
  function_id INTEGER PRIMARY KEY,
  calls INTEGER NOT NULL, running INTEGER NOT NULL,
  elapsed_inclusive INTEGER NOT NULL, elapsed_exclusive INTEGER NOT NULL,
  application_inclusive INTEGER NOT NULL, application_exclusive INTEGER NOT NULL,
  cpu_inclusive INTEGER NOT NULL, cpu_exclusive INTEGER NOT NULL,
  overhead_inclusive INTEGER NOT NULL, overhead_exclusive INTEGER NOT NULL,
  wait_intervals_inclusive INTEGER NOT NULL, wait_intervals_exclusive INTEGER NOT NULL,
  voluntary_inclusive INTEGER NOT NULL, voluntary_exclusive INTEGER NOT NULL,
  preempted_inclusive INTEGER NOT NULL, preempted_exclusive INTEGER NOT NULL,
  faults_inclusive INTEGER NOT NULL, faults_exclusive INTEGER NOT NULL,
  reads_inclusive INTEGER NOT NULL, reads_exclusive INTEGER NOT NULL,
  off_cpu_inclusive INTEGER NOT NULL, off_cpu_exclusive INTEGER NOT NULL,
  blocked_inclusive INTEGER NOT NULL, blocked_exclusive INTEGER NOT NULL,
  ready_inclusive INTEGER NOT NULL, ready_exclusive INTEGER NOT NULL,
  nodes_elapsed_inclusive INTEGER NOT NULL, nodes_application_inclusive INTEGER NOT NULL, nodes_cpu_inclusive INTEGER NOT NULL,
  min_elapsed_inclusive INTEGER NOT NULL, max_elapsed_inclusive INTEGER NOT NULL,
  min_elapsed_exclusive INTEGER NOT NULL, max_elapsed_exclusive INTEGER NOT NULL,
  min_application_inclusive INTEGER NOT NULL, max_application_inclusive INTEGER NOT NULL,
  min_application_exclusive INTEGER NOT NULL, max_application_exclusive INTEGER NOT NULL,
  min_cpu_inclusive INTEGER NOT NULL, max_cpu_inclusive INTEGER NOT NULL, min_cpu_exclusive INTEGER NOT NULL, max_cpu_exclusive INTEGER NOT NULL,
  cpu_counter1_inclusive INTEGER NOT NULL, cpu_counter1_exclusive INTEGER NOT NULL,
  cpu_counter2_inclusive INTEGER NOT NULL, cpu_counter2_exclusive INTEGER NOT NULL,
  cpu_counter3_inclusive INTEGER NOT NULL, cpu_counter3_exclusive INTEGER NOT NULL,
  cpu_counter4_inclusive INTEGER NOT NULL, cpu_counter4_exclusive INTEGER NOT NULL,
  cpu_counter5_inclusive INTEGER NOT NULL, cpu_counter5_exclusive INTEGER NOT NULL,
  cpu_counter6_inclusive INTEGER NOT NULL, cpu_counter6_exclusive INTEGER NOT NULL
);

CREATE TABLE function_await (         -- async methods that waited: of their state machines (MoveNext)
  function_id    INTEGER PRIMARY KEY,
  suspensions    INTEGER NOT NULL,
  resumptions    INTEGER NOT NULL,
  awaited_ns     INTEGER NOT NULL,    -- from each suspension to its resumption, or to the end of the process
  awaited_known  INTEGER NOT NULL     -- 0: not all was recorded that says it, awaited_ns is 0
);

CREATE TABLE module_time (
  module_id INTEGER PRIMARY KEY,        -- 0: the functions that belong to no module
  calls INTEGER NOT NULL, running INTEGER NOT NULL,
  elapsed_inclusive INTEGER NOT NULL, elapsed_exclusive INTEGER NOT NULL,
  application_inclusive INTEGER NOT NULL, application_exclusive INTEGER NOT NULL,
  cpu_inclusive INTEGER NOT NULL, cpu_exclusive INTEGER NOT NULL,
  overhead_inclusive INTEGER NOT NULL, overhead_exclusive INTEGER NOT NULL,
  wait_intervals_inclusive INTEGER NOT NULL, wait_intervals_exclusive INTEGER NOT NULL,
  voluntary_inclusive INTEGER NOT NULL, voluntary_exclusive INTEGER NOT NULL,
  preempted_inclusive INTEGER NOT NULL, preempted_exclusive INTEGER NOT NULL,
  faults_inclusive INTEGER NOT NULL, faults_exclusive INTEGER NOT NULL,
  reads_inclusive INTEGER NOT NULL, reads_exclusive INTEGER NOT NULL,
  off_cpu_inclusive INTEGER NOT NULL, off_cpu_exclusive INTEGER NOT NULL,
  blocked_inclusive INTEGER NOT NULL, blocked_exclusive INTEGER NOT NULL,
  ready_inclusive INTEGER NOT NULL, ready_exclusive INTEGER NOT NULL,
  nodes_elapsed_inclusive INTEGER NOT NULL, nodes_application_inclusive INTEGER NOT NULL, nodes_cpu_inclusive INTEGER NOT NULL,
  min_elapsed_inclusive INTEGER NOT NULL, max_elapsed_inclusive INTEGER NOT NULL,
  min_elapsed_exclusive INTEGER NOT NULL, max_elapsed_exclusive INTEGER NOT NULL,
  min_application_inclusive INTEGER NOT NULL, max_application_inclusive INTEGER NOT NULL,
  min_application_exclusive INTEGER NOT NULL, max_application_exclusive INTEGER NOT NULL,
  min_cpu_inclusive INTEGER NOT NULL, max_cpu_inclusive INTEGER NOT NULL, min_cpu_exclusive INTEGER NOT NULL, max_cpu_exclusive INTEGER NOT NULL,
  cpu_counter1_inclusive INTEGER NOT NULL, cpu_counter1_exclusive INTEGER NOT NULL,
  cpu_counter2_inclusive INTEGER NOT NULL, cpu_counter2_exclusive INTEGER NOT NULL,
  cpu_counter3_inclusive INTEGER NOT NULL, cpu_counter3_exclusive INTEGER NOT NULL,
  cpu_counter4_inclusive INTEGER NOT NULL, cpu_counter4_exclusive INTEGER NOT NULL,
  cpu_counter5_inclusive INTEGER NOT NULL, cpu_counter5_exclusive INTEGER NOT NULL,
  cpu_counter6_inclusive INTEGER NOT NULL, cpu_counter6_exclusive INTEGER NOT NULL
);

CREATE TABLE line_time (            -- calls: made from the line; inclusive: with what was called there
  function_id INTEGER NOT NULL,
  line_id     INTEGER NOT NULL,         -- 0: the body, after its last call: counts for the line of function
  calls INTEGER NOT NULL, running INTEGER NOT NULL,
  elapsed_inclusive INTEGER NOT NULL, elapsed_exclusive INTEGER NOT NULL,
  application_inclusive INTEGER NOT NULL, application_exclusive INTEGER NOT NULL,
  cpu_inclusive INTEGER NOT NULL, cpu_exclusive INTEGER NOT NULL,
  overhead_inclusive INTEGER NOT NULL, overhead_exclusive INTEGER NOT NULL,
  wait_intervals_inclusive INTEGER NOT NULL, wait_intervals_exclusive INTEGER NOT NULL,
  voluntary_inclusive INTEGER NOT NULL, voluntary_exclusive INTEGER NOT NULL,
  preempted_inclusive INTEGER NOT NULL, preempted_exclusive INTEGER NOT NULL,
  faults_inclusive INTEGER NOT NULL, faults_exclusive INTEGER NOT NULL,
  reads_inclusive INTEGER NOT NULL, reads_exclusive INTEGER NOT NULL,
  off_cpu_inclusive INTEGER NOT NULL, off_cpu_exclusive INTEGER NOT NULL,
  blocked_inclusive INTEGER NOT NULL, blocked_exclusive INTEGER NOT NULL,
  ready_inclusive INTEGER NOT NULL, ready_exclusive INTEGER NOT NULL,
  cpu_counter1_inclusive INTEGER NOT NULL, cpu_counter1_exclusive INTEGER NOT NULL,
  cpu_counter2_inclusive INTEGER NOT NULL, cpu_counter2_exclusive INTEGER NOT NULL,
  cpu_counter3_inclusive INTEGER NOT NULL, cpu_counter3_exclusive INTEGER NOT NULL,
  cpu_counter4_inclusive INTEGER NOT NULL, cpu_counter4_exclusive INTEGER NOT NULL,
  cpu_counter5_inclusive INTEGER NOT NULL, cpu_counter5_exclusive INTEGER NOT NULL,
  cpu_counter6_inclusive INTEGER NOT NULL, cpu_counter6_exclusive INTEGER NOT NULL,
  PRIMARY KEY (function_id, line_id)
) WITHOUT ROWID;

CREATE TABLE instruction_time (     -- a call site, as in line_time
  instruction_id INTEGER PRIMARY KEY,
  calls INTEGER NOT NULL, running INTEGER NOT NULL,
  elapsed_inclusive INTEGER NOT NULL, elapsed_exclusive INTEGER NOT NULL,
  application_inclusive INTEGER NOT NULL, application_exclusive INTEGER NOT NULL,
  cpu_inclusive INTEGER NOT NULL, cpu_exclusive INTEGER NOT NULL,
  overhead_inclusive INTEGER NOT NULL, overhead_exclusive INTEGER NOT NULL,
  wait_intervals_inclusive INTEGER NOT NULL, wait_intervals_exclusive INTEGER NOT NULL,
  voluntary_inclusive INTEGER NOT NULL, voluntary_exclusive INTEGER NOT NULL,
  preempted_inclusive INTEGER NOT NULL, preempted_exclusive INTEGER NOT NULL,
  faults_inclusive INTEGER NOT NULL, faults_exclusive INTEGER NOT NULL,
  reads_inclusive INTEGER NOT NULL, reads_exclusive INTEGER NOT NULL,
  off_cpu_inclusive INTEGER NOT NULL, off_cpu_exclusive INTEGER NOT NULL,
  blocked_inclusive INTEGER NOT NULL, blocked_exclusive INTEGER NOT NULL,
  ready_inclusive INTEGER NOT NULL, ready_exclusive INTEGER NOT NULL,
  cpu_counter1_inclusive INTEGER NOT NULL, cpu_counter1_exclusive INTEGER NOT NULL,
  cpu_counter2_inclusive INTEGER NOT NULL, cpu_counter2_exclusive INTEGER NOT NULL,
  cpu_counter3_inclusive INTEGER NOT NULL, cpu_counter3_exclusive INTEGER NOT NULL,
  cpu_counter4_inclusive INTEGER NOT NULL, cpu_counter4_exclusive INTEGER NOT NULL,
  cpu_counter5_inclusive INTEGER NOT NULL, cpu_counter5_exclusive INTEGER NOT NULL,
  cpu_counter6_inclusive INTEGER NOT NULL, cpu_counter6_exclusive INTEGER NOT NULL
);

CREATE TABLE thread_time (
  thread_id INTEGER PRIMARY KEY,
  calls INTEGER NOT NULL, running INTEGER NOT NULL,
  elapsed_inclusive INTEGER NOT NULL, elapsed_exclusive INTEGER NOT NULL,
  application_inclusive INTEGER NOT NULL, application_exclusive INTEGER NOT NULL,
  cpu_inclusive INTEGER NOT NULL, cpu_exclusive INTEGER NOT NULL,
  overhead_inclusive INTEGER NOT NULL, overhead_exclusive INTEGER NOT NULL,
  wait_intervals_inclusive INTEGER NOT NULL, wait_intervals_exclusive INTEGER NOT NULL,
  voluntary_inclusive INTEGER NOT NULL, voluntary_exclusive INTEGER NOT NULL,
  preempted_inclusive INTEGER NOT NULL, preempted_exclusive INTEGER NOT NULL,
  faults_inclusive INTEGER NOT NULL, faults_exclusive INTEGER NOT NULL,
  reads_inclusive INTEGER NOT NULL, reads_exclusive INTEGER NOT NULL,
  off_cpu_inclusive INTEGER NOT NULL, off_cpu_exclusive INTEGER NOT NULL,
  blocked_inclusive INTEGER NOT NULL, blocked_exclusive INTEGER NOT NULL,
  ready_inclusive INTEGER NOT NULL, ready_exclusive INTEGER NOT NULL,
  cpu_counter1_inclusive INTEGER NOT NULL, cpu_counter1_exclusive INTEGER NOT NULL,
  cpu_counter2_inclusive INTEGER NOT NULL, cpu_counter2_exclusive INTEGER NOT NULL,
  cpu_counter3_inclusive INTEGER NOT NULL, cpu_counter3_exclusive INTEGER NOT NULL,
  cpu_counter4_inclusive INTEGER NOT NULL, cpu_counter4_exclusive INTEGER NOT NULL,
  cpu_counter5_inclusive INTEGER NOT NULL, cpu_counter5_exclusive INTEGER NOT NULL,
  cpu_counter6_inclusive INTEGER NOT NULL, cpu_counter6_exclusive INTEGER NOT NULL
);

CREATE TABLE process_time_value (
  process_id INTEGER PRIMARY KEY,
  calls INTEGER NOT NULL, running INTEGER NOT NULL,
  elapsed_inclusive INTEGER NOT NULL, elapsed_exclusive INTEGER NOT NULL,
  application_inclusive INTEGER NOT NULL, application_exclusive INTEGER NOT NULL,
  cpu_inclusive INTEGER NOT NULL, cpu_exclusive INTEGER NOT NULL,
  overhead_inclusive INTEGER NOT NULL, overhead_exclusive INTEGER NOT NULL,
  wait_intervals_inclusive INTEGER NOT NULL, wait_intervals_exclusive INTEGER NOT NULL,
  voluntary_inclusive INTEGER NOT NULL, voluntary_exclusive INTEGER NOT NULL,
  preempted_inclusive INTEGER NOT NULL, preempted_exclusive INTEGER NOT NULL,
  faults_inclusive INTEGER NOT NULL, faults_exclusive INTEGER NOT NULL,
  reads_inclusive INTEGER NOT NULL, reads_exclusive INTEGER NOT NULL,
  off_cpu_inclusive INTEGER NOT NULL, off_cpu_exclusive INTEGER NOT NULL,
  blocked_inclusive INTEGER NOT NULL, blocked_exclusive INTEGER NOT NULL,
  ready_inclusive INTEGER NOT NULL, ready_exclusive INTEGER NOT NULL,
  cpu_counter1_inclusive INTEGER NOT NULL, cpu_counter1_exclusive INTEGER NOT NULL,
  cpu_counter2_inclusive INTEGER NOT NULL, cpu_counter2_exclusive INTEGER NOT NULL,
  cpu_counter3_inclusive INTEGER NOT NULL, cpu_counter3_exclusive INTEGER NOT NULL,
  cpu_counter4_inclusive INTEGER NOT NULL, cpu_counter4_exclusive INTEGER NOT NULL,
  cpu_counter5_inclusive INTEGER NOT NULL, cpu_counter5_exclusive INTEGER NOT NULL,
  cpu_counter6_inclusive INTEGER NOT NULL, cpu_counter6_exclusive INTEGER NOT NULL
);

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

CREATE VIEW interactions AS         -- by the innermost function of user code that made them, or who made them without any
WITH place AS (
  SELECT f.stack_id, coalesce(min(CASE WHEN m.origin IN ('pattern', 'project', 'beside', 'memory', 'folder') THEN f.depth END), 0) AS depth
  FROM interaction_frame f JOIN function u ON u.id = f.function_id LEFT JOIN module m ON m.id = u.module_id GROUP BY f.stack_id)
SELECT i.kind, CASE i.has_text WHEN 0 THEN '(other texts)' ELSE i.text END AS text,
  CASE WHEN u.name <> '' THEN u.name WHEN u.raw_type <> '' THEN u.raw_type || '.' || u.raw_name ELSE u.raw_name END AS function,
  coalesce(s.path, '') AS source_file, coalesce(l.line_begin, 0) AS line, coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
  sum(i.call_count) AS calls, sum(i.ended) AS ended, sum(i.failed) AS failed, sum(i.unwaited) AS unwaited,
  sum(i.total_ns) AS total_ns, min(CASE WHEN i.ended > 0 THEN i.min_ns END) AS min_ns, sum(i.total_ns) / nullif(sum(i.ended), 0) AS average_ns,
  max(CASE WHEN i.ended > 0 THEN i.max_ns END) AS max_ns
FROM interaction i LEFT JOIN place ON place.stack_id = i.stack_id
  LEFT JOIN interaction_frame f ON f.stack_id = place.stack_id AND f.depth = place.depth LEFT JOIN function u ON u.id = f.function_id
  LEFT JOIN module m ON m.id = u.module_id LEFT JOIN instruction n ON n.id = f.instruction_id LEFT JOIN line l ON l.id = n.line_id
  LEFT JOIN source_file s ON s.id = l.file_id LEFT JOIN process p ON p.id = i.process_id
GROUP BY i.kind, i.text, i.has_text, u.id, l.file_id, l.line_begin, p.id;

CREATE VIEW instructions AS
SELECT v.instruction_id AS id, i.address, i.native_offset, i.il_offset, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(s.path, '') AS source_file, coalesce(l.line_begin, 0) AS line, coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
  v.allocations AS exclusive_allocations, 100.0 * v.allocations / total.allocations AS exclusive_allocations_percent,
  v.bytes AS exclusive_bytes, 100.0 * v.bytes / total.bytes AS exclusive_bytes_percent
FROM instruction_value v CROSS JOIN total JOIN instruction i ON i.id = v.instruction_id JOIN function f ON f.id = i.function_id
  LEFT JOIN line l ON l.id = i.line_id LEFT JOIN source_file s ON s.id = l.file_id LEFT JOIN module m ON m.id = f.module_id
  LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW losses AS
SELECT p.pid AS process_id, p.name AS process, l.reason, l.events,
  CASE l.reason WHEN 'calls_folded' THEN 'call' WHEN 'calls_unmatched' THEN 'call' WHEN 'calls_cut' THEN 'call' WHEN 'calls_jumped' THEN 'call' WHEN 'calls_nested' THEN 'call' WHEN 'clock_backwards' THEN 'interval' WHEN 'waits_lost' THEN 'interval' WHEN 'cpu_counters_lost' THEN 'interval' WHEN 'system_events_lost' THEN 'interval'
    WHEN 'not_hooked' THEN 'function' WHEN 'async_not_hooked' THEN 'function' WHEN 'not_probed' THEN 'function' WHEN 'threads_folded' THEN 'thread' ELSE 'event' END AS unit, -- what events are
  l.allocations, l.bytes,
  l.reason NOT IN ('il_map_truncated', 'name_truncated', 'stack_truncated', 'type_unknown', 'lifetime_full', 'moves_lost', 'gc_cut', 'snapshot', 'changes_lost', 'survivors_lost',
    'calls_folded', 'calls_unmatched', 'calls_cut', 'calls_jumped', 'calls_nested', 'clock_backwards', 'waits_lost', 'cpu_counters_lost', 'system_events_lost', 'not_hooked', 'async_not_hooked', 'not_probed', 'threads_folded', 'stacks_lost', 'ages_lost', 'control_late', 'marks_lost', 'trace_lost', 'not_limited', 'interactions_lost', 'interaction_texts', 'counters_lost', 'meters_lost', 'meter_callbacks') AS missing -- or only less exact
FROM loss l LEFT JOIN process p ON p.id = l.process_id;

CREATE VIEW gcs AS                    -- before, dead, survived and promoted are those of the collected generations
SELECT g.id, g.number, p.pid AS process_id, p.name AS process, g.generation, g.collected, g.induced, g.begin_ns, g.pause_ns, g.agent_ns, g.finalizable,
  coalesce(sum(c.before_objects), 0) AS before_objects, coalesce(sum(c.before_bytes), 0) AS before_bytes,
  coalesce(sum(c.dead_objects), 0) AS dead_objects, coalesce(sum(c.dead_bytes), 0) AS dead_bytes,
  coalesce(sum(c.before_objects - c.dead_objects), 0) AS survived_objects, coalesce(sum(c.before_bytes - c.dead_bytes), 0) AS survived_bytes,
  coalesce(sum(c.promoted_objects), 0) AS promoted_objects, coalesce(sum(c.promoted_bytes), 0) AS promoted_bytes
FROM gc g LEFT JOIN process p ON p.id = g.process_id LEFT JOIN gc_generation c ON c.gc_id = g.id GROUP BY g.id;

CREATE VIEW gc_generations AS
SELECT g.id, g.number, p.pid AS process_id, p.name AS process, c.generation, c.before_objects, c.before_bytes, c.dead_objects, c.dead_bytes,
  c.before_objects - c.dead_objects AS survived_objects, c.before_bytes - c.dead_bytes AS survived_bytes, c.promoted_objects, c.promoted_bytes
FROM gc_generation c JOIN gc g ON g.id = c.gc_id LEFT JOIN process p ON p.id = g.process_id;

CREATE VIEW gc_heaps AS               -- what there was in each generation, collected or not
SELECT g.id, g.number, p.pid AS process_id, p.name AS process, h.generation, g.collected >> h.generation & 1 AS collected,
  h.before_objects, h.before_bytes, h.after_objects, h.after_bytes, max(h.extent_bytes - h.after_bytes, 0) AS free_bytes
FROM gc_heap h JOIN gc g ON g.id = h.gc_id LEFT JOIN process p ON p.id = g.process_id;

-- Times: nanoseconds. Percentages are of the whole run's elapsed or application time; avg_, min_ and max_ are of one call.

CREATE VIEW total_time AS
SELECT coalesce(sum(calls), 0) AS calls, coalesce(sum(elapsed_inclusive), 0) AS elapsed, coalesce(sum(application_inclusive), 0) AS application, coalesce(sum(cpu_inclusive), 0) AS cpu,
  coalesce(sum(overhead_inclusive), 0) AS overhead FROM process_time_value;

CREATE VIEW function_times AS
SELECT v.function_id AS id, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS name, f.kind,
  coalesce(m.name, '') AS module, coalesce(m.path, '') AS module_path, coalesce(s.path, '') AS source_file, f.line,
  p.pid AS process_id, p.name AS process,
  v.calls, v.running,
  v.elapsed_inclusive, 100.0 * v.elapsed_inclusive / total_time.elapsed AS elapsed_inclusive_percent,
  v.elapsed_exclusive, 100.0 * v.elapsed_exclusive / total_time.elapsed AS elapsed_exclusive_percent,
  v.application_inclusive, 100.0 * v.application_inclusive / total_time.application AS application_inclusive_percent,
  v.application_exclusive, 100.0 * v.application_exclusive / total_time.application AS application_exclusive_percent,
  v.cpu_inclusive, 100.0 * v.cpu_inclusive / total_time.cpu AS cpu_inclusive_percent,
  v.cpu_exclusive, 100.0 * v.cpu_exclusive / total_time.cpu AS cpu_exclusive_percent,
  iif(v.running = 0, max(1.0 * v.min_elapsed_inclusive, min(1.0 * v.max_elapsed_inclusive, 1.0 * v.nodes_elapsed_inclusive / v.calls)), 1.0 * v.nodes_elapsed_inclusive / v.calls) AS avg_elapsed_inclusive, v.min_elapsed_inclusive, v.max_elapsed_inclusive,
  iif(v.running = 0, max(1.0 * v.min_elapsed_exclusive, min(1.0 * v.max_elapsed_exclusive, 1.0 * v.elapsed_exclusive / v.calls)), 1.0 * v.elapsed_exclusive / v.calls) AS avg_elapsed_exclusive, v.min_elapsed_exclusive, v.max_elapsed_exclusive,
  iif(v.running = 0, max(1.0 * v.min_application_inclusive, min(1.0 * v.max_application_inclusive, 1.0 * v.nodes_application_inclusive / v.calls)), 1.0 * v.nodes_application_inclusive / v.calls) AS avg_application_inclusive, v.min_application_inclusive, v.max_application_inclusive,
  iif(v.running = 0, max(1.0 * v.min_application_exclusive, min(1.0 * v.max_application_exclusive, 1.0 * v.application_exclusive / v.calls)), 1.0 * v.application_exclusive / v.calls) AS avg_application_exclusive, v.min_application_exclusive, v.max_application_exclusive,
  iif(v.running = 0, max(1.0 * v.min_cpu_inclusive, min(1.0 * v.max_cpu_inclusive, 1.0 * v.nodes_cpu_inclusive / v.calls)), 1.0 * v.nodes_cpu_inclusive / v.calls) AS avg_cpu_inclusive, v.min_cpu_inclusive, v.max_cpu_inclusive,
  iif(v.running = 0, max(1.0 * v.min_cpu_exclusive, min(1.0 * v.max_cpu_exclusive, 1.0 * v.cpu_exclusive / v.calls)), 1.0 * v.cpu_exclusive / v.calls) AS avg_cpu_exclusive, v.min_cpu_exclusive, v.max_cpu_exclusive,
  v.overhead_inclusive, v.overhead_exclusive, v.wait_intervals_inclusive, v.wait_intervals_exclusive,
  v.voluntary_inclusive, v.voluntary_exclusive, v.preempted_inclusive, v.preempted_exclusive,
  v.faults_inclusive, v.faults_exclusive, v.reads_inclusive, v.reads_exclusive, v.off_cpu_inclusive, v.off_cpu_exclusive,
  v.blocked_inclusive, v.blocked_exclusive, v.ready_inclusive, v.ready_exclusive
FROM function_time v CROSS JOIN total_time JOIN function f ON f.id = v.function_id LEFT JOIN module m ON m.id = f.module_id
  LEFT JOIN source_file s ON s.id = f.file_id LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW module_times AS
SELECT v.module_id AS id, coalesce(m.name, '(no module)') AS name, coalesce(m.path, '') AS path, p.pid AS process_id, p.name AS process,
  v.calls, v.running,
  v.elapsed_inclusive, 100.0 * v.elapsed_inclusive / total_time.elapsed AS elapsed_inclusive_percent,
  v.elapsed_exclusive, 100.0 * v.elapsed_exclusive / total_time.elapsed AS elapsed_exclusive_percent,
  v.application_inclusive, 100.0 * v.application_inclusive / total_time.application AS application_inclusive_percent,
  v.application_exclusive, 100.0 * v.application_exclusive / total_time.application AS application_exclusive_percent,
  v.cpu_inclusive, 100.0 * v.cpu_inclusive / total_time.cpu AS cpu_inclusive_percent,
  v.cpu_exclusive, 100.0 * v.cpu_exclusive / total_time.cpu AS cpu_exclusive_percent,
  iif(v.running = 0, max(1.0 * v.min_elapsed_inclusive, min(1.0 * v.max_elapsed_inclusive, 1.0 * v.nodes_elapsed_inclusive / v.calls)), 1.0 * v.nodes_elapsed_inclusive / v.calls) AS avg_elapsed_inclusive, v.min_elapsed_inclusive, v.max_elapsed_inclusive,
  iif(v.running = 0, max(1.0 * v.min_elapsed_exclusive, min(1.0 * v.max_elapsed_exclusive, 1.0 * v.elapsed_exclusive / v.calls)), 1.0 * v.elapsed_exclusive / v.calls) AS avg_elapsed_exclusive, v.min_elapsed_exclusive, v.max_elapsed_exclusive,
  iif(v.running = 0, max(1.0 * v.min_application_inclusive, min(1.0 * v.max_application_inclusive, 1.0 * v.nodes_application_inclusive / v.calls)), 1.0 * v.nodes_application_inclusive / v.calls) AS avg_application_inclusive, v.min_application_inclusive, v.max_application_inclusive,
  iif(v.running = 0, max(1.0 * v.min_application_exclusive, min(1.0 * v.max_application_exclusive, 1.0 * v.application_exclusive / v.calls)), 1.0 * v.application_exclusive / v.calls) AS avg_application_exclusive, v.min_application_exclusive, v.max_application_exclusive,
  iif(v.running = 0, max(1.0 * v.min_cpu_inclusive, min(1.0 * v.max_cpu_inclusive, 1.0 * v.nodes_cpu_inclusive / v.calls)), 1.0 * v.nodes_cpu_inclusive / v.calls) AS avg_cpu_inclusive, v.min_cpu_inclusive, v.max_cpu_inclusive,
  iif(v.running = 0, max(1.0 * v.min_cpu_exclusive, min(1.0 * v.max_cpu_exclusive, 1.0 * v.cpu_exclusive / v.calls)), 1.0 * v.cpu_exclusive / v.calls) AS avg_cpu_exclusive, v.min_cpu_exclusive, v.max_cpu_exclusive,
  v.overhead_inclusive, v.overhead_exclusive, v.wait_intervals_inclusive, v.wait_intervals_exclusive,
  v.voluntary_inclusive, v.voluntary_exclusive, v.preempted_inclusive, v.preempted_exclusive,
  v.faults_inclusive, v.faults_exclusive, v.reads_inclusive, v.reads_exclusive, v.off_cpu_inclusive, v.off_cpu_exclusive,
  v.blocked_inclusive, v.blocked_exclusive, v.ready_inclusive, v.ready_exclusive
FROM module_time v CROSS JOIN total_time LEFT JOIN module m ON m.id = v.module_id LEFT JOIN process p ON p.id = m.process_id;

CREATE VIEW call_times AS             -- caller is '' where the callee was a root
SELECT coalesce(CASE WHEN c.name <> '' THEN c.name WHEN c.raw_type <> '' THEN c.raw_type || '.' || c.raw_name ELSE c.raw_name END, '') AS caller,
  CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS callee,
  v.caller_id, v.callee_id, p.pid AS process_id, p.name AS process,
  v.calls, v.running,
  v.elapsed_inclusive, 100.0 * v.elapsed_inclusive / total_time.elapsed AS elapsed_inclusive_percent,
  v.elapsed_exclusive, 100.0 * v.elapsed_exclusive / total_time.elapsed AS elapsed_exclusive_percent,
  v.application_inclusive, 100.0 * v.application_inclusive / total_time.application AS application_inclusive_percent,
  v.application_exclusive, 100.0 * v.application_exclusive / total_time.application AS application_exclusive_percent,
  v.cpu_inclusive, 100.0 * v.cpu_inclusive / total_time.cpu AS cpu_inclusive_percent,
  v.cpu_exclusive, 100.0 * v.cpu_exclusive / total_time.cpu AS cpu_exclusive_percent,
  iif(v.running = 0, max(1.0 * v.min_elapsed_inclusive, min(1.0 * v.max_elapsed_inclusive, 1.0 * v.nodes_elapsed_inclusive / v.calls)), 1.0 * v.nodes_elapsed_inclusive / v.calls) AS avg_elapsed_inclusive, v.min_elapsed_inclusive, v.max_elapsed_inclusive,
  iif(v.running = 0, max(1.0 * v.min_elapsed_exclusive, min(1.0 * v.max_elapsed_exclusive, 1.0 * v.elapsed_exclusive / v.calls)), 1.0 * v.elapsed_exclusive / v.calls) AS avg_elapsed_exclusive, v.min_elapsed_exclusive, v.max_elapsed_exclusive,
  iif(v.running = 0, max(1.0 * v.min_application_inclusive, min(1.0 * v.max_application_inclusive, 1.0 * v.nodes_application_inclusive / v.calls)), 1.0 * v.nodes_application_inclusive / v.calls) AS avg_application_inclusive, v.min_application_inclusive, v.max_application_inclusive,
  iif(v.running = 0, max(1.0 * v.min_application_exclusive, min(1.0 * v.max_application_exclusive, 1.0 * v.application_exclusive / v.calls)), 1.0 * v.application_exclusive / v.calls) AS avg_application_exclusive, v.min_application_exclusive, v.max_application_exclusive,
  iif(v.running = 0, max(1.0 * v.min_cpu_inclusive, min(1.0 * v.max_cpu_inclusive, 1.0 * v.nodes_cpu_inclusive / v.calls)), 1.0 * v.nodes_cpu_inclusive / v.calls) AS avg_cpu_inclusive, v.min_cpu_inclusive, v.max_cpu_inclusive,
  iif(v.running = 0, max(1.0 * v.min_cpu_exclusive, min(1.0 * v.max_cpu_exclusive, 1.0 * v.cpu_exclusive / v.calls)), 1.0 * v.cpu_exclusive / v.calls) AS avg_cpu_exclusive, v.min_cpu_exclusive, v.max_cpu_exclusive,
  v.overhead_inclusive, v.overhead_exclusive, v.wait_intervals_inclusive, v.wait_intervals_exclusive,
  v.voluntary_inclusive, v.voluntary_exclusive, v.preempted_inclusive, v.preempted_exclusive,
  v.faults_inclusive, v.faults_exclusive, v.reads_inclusive, v.reads_exclusive, v.off_cpu_inclusive, v.off_cpu_exclusive,
  v.blocked_inclusive, v.blocked_exclusive, v.ready_inclusive, v.ready_exclusive
FROM call_time v CROSS JOIN total_time JOIN function f ON f.id = v.callee_id LEFT JOIN function c ON c.id = v.caller_id
  LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW line_times AS             -- kind: call (calls are those made there) | body (what passed in the function outside its calls)
SELECT v.line_id AS id, iif(v.line_id = 0, 'body', 'call') AS kind, coalesce(s.path, '') AS source_file, coalesce(l.line_begin, f.line) AS line,
  CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function, coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
  v.calls, v.running,
  v.elapsed_inclusive, 100.0 * v.elapsed_inclusive / total_time.elapsed AS elapsed_inclusive_percent,
  v.elapsed_exclusive, 100.0 * v.elapsed_exclusive / total_time.elapsed AS elapsed_exclusive_percent,
  v.application_inclusive, 100.0 * v.application_inclusive / total_time.application AS application_inclusive_percent,
  v.application_exclusive, 100.0 * v.application_exclusive / total_time.application AS application_exclusive_percent,
  v.cpu_inclusive, 100.0 * v.cpu_inclusive / total_time.cpu AS cpu_inclusive_percent,
  v.cpu_exclusive, 100.0 * v.cpu_exclusive / total_time.cpu AS cpu_exclusive_percent,
  v.overhead_inclusive, v.overhead_exclusive, v.wait_intervals_inclusive, v.wait_intervals_exclusive,
  v.voluntary_inclusive, v.voluntary_exclusive, v.preempted_inclusive, v.preempted_exclusive,
  v.faults_inclusive, v.faults_exclusive, v.reads_inclusive, v.reads_exclusive, v.off_cpu_inclusive, v.off_cpu_exclusive,
  v.blocked_inclusive, v.blocked_exclusive, v.ready_inclusive, v.ready_exclusive
FROM line_time v CROSS JOIN total_time JOIN function f ON f.id = v.function_id LEFT JOIN line l ON l.id = v.line_id
  LEFT JOIN source_file s ON s.id = coalesce(l.file_id, f.file_id) LEFT JOIN module m ON m.id = f.module_id LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW instruction_times AS      -- return addresses of calls
SELECT v.instruction_id AS id, i.address, i.native_offset, i.il_offset, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(s.path, '') AS source_file, coalesce(l.line_begin, 0) AS line, coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
  v.calls, v.running,
  v.elapsed_inclusive, 100.0 * v.elapsed_inclusive / total_time.elapsed AS elapsed_inclusive_percent,
  v.elapsed_exclusive, 100.0 * v.elapsed_exclusive / total_time.elapsed AS elapsed_exclusive_percent,
  v.application_inclusive, 100.0 * v.application_inclusive / total_time.application AS application_inclusive_percent,
  v.application_exclusive, 100.0 * v.application_exclusive / total_time.application AS application_exclusive_percent,
  v.cpu_inclusive, 100.0 * v.cpu_inclusive / total_time.cpu AS cpu_inclusive_percent,
  v.cpu_exclusive, 100.0 * v.cpu_exclusive / total_time.cpu AS cpu_exclusive_percent,
  v.overhead_inclusive, v.overhead_exclusive, v.wait_intervals_inclusive, v.wait_intervals_exclusive,
  v.voluntary_inclusive, v.voluntary_exclusive, v.preempted_inclusive, v.preempted_exclusive,
  v.faults_inclusive, v.faults_exclusive, v.reads_inclusive, v.reads_exclusive, v.off_cpu_inclusive, v.off_cpu_exclusive,
  v.blocked_inclusive, v.blocked_exclusive, v.ready_inclusive, v.ready_exclusive
FROM instruction_time v CROSS JOIN total_time JOIN instruction i ON i.id = v.instruction_id JOIN function f ON f.id = i.function_id
  LEFT JOIN line l ON l.id = i.line_id LEFT JOIN source_file s ON s.id = l.file_id LEFT JOIN module m ON m.id = f.module_id
  LEFT JOIN process p ON p.id = f.process_id;

CREATE VIEW thread_times AS
SELECT t.id, t.os_id AS thread_id, t.name, p.pid AS process_id, p.name AS process,
  v.calls, v.running,
  v.elapsed_inclusive, 100.0 * v.elapsed_inclusive / total_time.elapsed AS elapsed_inclusive_percent,
  v.elapsed_exclusive, 100.0 * v.elapsed_exclusive / total_time.elapsed AS elapsed_exclusive_percent,
  v.application_inclusive, 100.0 * v.application_inclusive / total_time.application AS application_inclusive_percent,
  v.application_exclusive, 100.0 * v.application_exclusive / total_time.application AS application_exclusive_percent,
  v.cpu_inclusive, 100.0 * v.cpu_inclusive / total_time.cpu AS cpu_inclusive_percent,
  v.cpu_exclusive, 100.0 * v.cpu_exclusive / total_time.cpu AS cpu_exclusive_percent,
  v.overhead_inclusive, v.overhead_exclusive, v.wait_intervals_inclusive, v.wait_intervals_exclusive,
  v.voluntary_inclusive, v.voluntary_exclusive, v.preempted_inclusive, v.preempted_exclusive,
  v.faults_inclusive, v.faults_exclusive, v.reads_inclusive, v.reads_exclusive, v.off_cpu_inclusive, v.off_cpu_exclusive,
  v.blocked_inclusive, v.blocked_exclusive, v.ready_inclusive, v.ready_exclusive
FROM thread_time v CROSS JOIN total_time JOIN thread t ON t.id = v.thread_id LEFT JOIN process p ON p.id = t.process_id;

CREATE VIEW process_times AS          -- and how they were timed
SELECT p.id, p.pid AS process_id, p.name, h.clock, h.ticks_per_second, h.instrument, h.mechanism, h.gap_ns, h.inside_ns, h.outside_ns, h.agent_time_ns,
  v.calls, v.running,
  v.elapsed_inclusive, 100.0 * v.elapsed_inclusive / total_time.elapsed AS elapsed_inclusive_percent,
  v.elapsed_exclusive, 100.0 * v.elapsed_exclusive / total_time.elapsed AS elapsed_exclusive_percent,
  v.application_inclusive, 100.0 * v.application_inclusive / total_time.application AS application_inclusive_percent,
  v.application_exclusive, 100.0 * v.application_exclusive / total_time.application AS application_exclusive_percent,
  v.cpu_inclusive, 100.0 * v.cpu_inclusive / total_time.cpu AS cpu_inclusive_percent,
  v.cpu_exclusive, 100.0 * v.cpu_exclusive / total_time.cpu AS cpu_exclusive_percent,
  v.overhead_inclusive, v.overhead_exclusive, v.wait_intervals_inclusive, v.wait_intervals_exclusive,
  v.voluntary_inclusive, v.voluntary_exclusive, v.preempted_inclusive, v.preempted_exclusive,
  v.faults_inclusive, v.faults_exclusive, v.reads_inclusive, v.reads_exclusive, v.off_cpu_inclusive, v.off_cpu_exclusive,
  v.blocked_inclusive, v.blocked_exclusive, v.ready_inclusive, v.ready_exclusive
FROM process_time h CROSS JOIN total_time JOIN process p ON p.id = h.process_id LEFT JOIN process_time_value v ON v.process_id = p.id;

