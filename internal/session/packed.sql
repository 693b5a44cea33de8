-- The packed tables: their rows are in the table chunk, as docs/session.md describes. "clrprof sql" shows them under these names and
-- with these columns, "clrprof export --format sqlite" writes a database that has them. The keys are said for readers; a later row
-- replaces an earlier one with the same key.

CREATE TABLE node (                 -- the calling-context tree; a parent's id is always smaller than its children's
  id              INTEGER PRIMARY KEY,
  parent_id       INTEGER NOT NULL, -- 0: a root
  process_id      INTEGER NOT NULL,
  function_id     INTEGER NOT NULL,
  instruction_id  INTEGER NOT NULL  -- where in this function the call or allocation is; 0 for pseudo functions, and for the function itself (timing)
);

CREATE TABLE site (                 -- who allocated what: thread × stack × type
  id         INTEGER PRIMARY KEY,
  thread_id  INTEGER NOT NULL,
  node_id    INTEGER NOT NULL,
  type_id    INTEGER NOT NULL,
  frozen     INTEGER NOT NULL,      -- 1: on the runtime's frozen (non-GC) heap
  weight     INTEGER NOT NULL       -- objects that each sample of it stands for: its numbers are estimates; 0: its objects were counted
);

CREATE TABLE site_value (           -- what a site allocated within a slice
  slice_id     INTEGER NOT NULL,
  site_id      INTEGER NOT NULL,
  allocations  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  PRIMARY KEY (slice_id, site_id)
) WITHOUT ROWID;

CREATE TABLE counter_value (        -- what a counter said at a moment
  time_ns     INTEGER NOT NULL,
  process_id  INTEGER NOT NULL,     -- 0: of the machine
  counter_id  INTEGER NOT NULL,
  value       INTEGER NOT NULL,     -- in its unit; of a sum, since the process, group or machine began
  fraction    REAL NOT NULL,        -- what is to be added to the value, with the same sign: of meters
  PRIMARY KEY (time_ns, process_id, counter_id)
) WITHOUT ROWID;

CREATE TABLE gc_birth (             -- what a site allocated since the collection gc_detail.since, up to this one
  gc_id        INTEGER NOT NULL,
  site_id      INTEGER NOT NULL,
  allocations  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  PRIMARY KEY (gc_id, site_id)
) WITHOUT ROWID;

CREATE TABLE gc_death (             -- objects of a site that were found dead after the collection gc_detail.since, up to this one
  gc_id       INTEGER NOT NULL,
  site_id     INTEGER NOT NULL,
  generation  INTEGER NOT NULL,     -- as in site_death
  objects     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  PRIMARY KEY (gc_id, site_id, generation)
) WITHOUT ROWID;

CREATE TABLE site_death (            -- objects of a site that were found dead within a slice
  slice_id    INTEGER NOT NULL,
  site_id     INTEGER NOT NULL,
  generation  INTEGER NOT NULL,     -- in which they were when they were found dead
  objects     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  PRIMARY KEY (slice_id, site_id, generation)
) WITHOUT ROWID;

CREATE TABLE site_age (             -- how old the dead objects of a site became; those that survived no collection are not in it
  site_id  INTEGER NOT NULL,
  measure  TEXT NOT NULL,           -- gcs (collections survived) | time (since the end of the first that they survived)
  bucket   INTEGER NOT NULL,        -- 0 to 7: the view ages says which ages
  objects  INTEGER NOT NULL,
  PRIMARY KEY (site_id, measure, bucket)
) WITHOUT ROWID;

CREATE TABLE site_alive (           -- objects that are reachable at the end, by when they were born
  site_id     INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  born        INTEGER NOT NULL,     -- number of the last collection before their birth, 0: none
  objects     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  PRIMARY KEY (site_id, generation, born)
) WITHOUT ROWID;

CREATE TABLE survival (             -- why objects of a site survived a collection (those that --roots chose)
  gc_id                INTEGER NOT NULL,
  site_id              INTEGER NOT NULL,
  uncollected_objects  INTEGER NOT NULL, -- in a generation that was not collected
  uncollected_bytes    INTEGER NOT NULL,
  rooted_objects       INTEGER NOT NULL, -- a root refers to them
  rooted_bytes         INTEGER NOT NULL,
  reachable_objects    INTEGER NOT NULL, -- only other objects refer to them
  reachable_bytes      INTEGER NOT NULL,
  PRIMARY KEY (gc_id, site_id)
) WITHOUT ROWID;

CREATE TABLE root (                 -- root references to objects of a site in a collection
  gc_id            INTEGER NOT NULL,
  site_id          INTEGER NOT NULL,
  kind             TEXT NOT NULL,    -- stack | finalizer | handle | other
  flags            INTEGER NOT NULL, -- 1 pinning, 2 weak, 4 interior, 8 reference-counted
  function_id      INTEGER NOT NULL, -- stack: whose frame; 0: not known
  reference_count  INTEGER NOT NULL,
  PRIMARY KEY (gc_id, site_id, kind, flags, function_id)
) WITHOUT ROWID;

CREATE TABLE timing (               -- thread × node: whose time it is, and where it passed; each pair once
  id         INTEGER PRIMARY KEY,
  thread_id  INTEGER NOT NULL,
  node_id    INTEGER NOT NULL       -- without an instruction: the function itself, after its last call; with one: before the call there
);

CREATE TABLE timing_value (         -- the exclusive time of a timing within a slice, as measured: with what the probes added
  slice_id        INTEGER NOT NULL,
  timing_id       INTEGER NOT NULL,
  calls           INTEGER NOT NULL, -- calls that began; nodes without an instruction only
  ended           INTEGER NOT NULL, -- calls that ended: intervals that the end of a call ended
  made            INTEGER NOT NULL, -- calls made from here: intervals that a call ended; nodes with an instruction, as a rule
  elapsed_ns      INTEGER NOT NULL,
  waited_ns       INTEGER NOT NULL, -- of these: in intervals in which the operating system acted
  wait_intervals  INTEGER NOT NULL, -- how many those are
  voluntary       INTEGER NOT NULL, -- context switches because the thread waited
  preempted       INTEGER NOT NULL, -- context switches because another thread was given the processor
  faults          INTEGER NOT NULL, -- page faults that needed the disk
  reads           INTEGER NOT NULL, -- reads of blocks
  off_cpu_ns      INTEGER NOT NULL, -- without a processor; an interval that never ended counts whole
  blocked_ns      INTEGER NOT NULL, -- of these: the thread waited
  ready_ns        INTEGER NOT NULL, -- of these: it could have run, but had no processor
  PRIMARY KEY (slice_id, timing_id)
) WITHOUT ROWID;

CREATE TABLE timing_inclusive (     -- the time of folded calls within a slice, as measured: docs/session.md
  slice_id         INTEGER NOT NULL,
  timing_id        INTEGER NOT NULL,
  times            INTEGER NOT NULL, -- calls whose time it is: not those within another one of them
  calls            INTEGER NOT NULL, -- these, and all calls within them
  elapsed_ns       INTEGER NOT NULL,
  waited_ns        INTEGER NOT NULL,
  wait_intervals   INTEGER NOT NULL,
  voluntary        INTEGER NOT NULL,
  preempted        INTEGER NOT NULL,
  faults           INTEGER NOT NULL,
  reads            INTEGER NOT NULL,
  off_cpu_ns       INTEGER NOT NULL,
  blocked_ns       INTEGER NOT NULL,
  ready_ns         INTEGER NOT NULL,
  each_calls       INTEGER NOT NULL, -- of a pair of functions, as the columns above, but for each call by itself
  each_elapsed_ns  INTEGER NOT NULL,
  each_waited_ns   INTEGER NOT NULL,
  each_off_cpu_ns  INTEGER NOT NULL,
  PRIMARY KEY (slice_id, timing_id)
) WITHOUT ROWID;

CREATE TABLE system_event (          -- intervals of threads in which the operating system acted, one by one (--events)
  id              INTEGER PRIMARY KEY,
  timing_id       INTEGER NOT NULL,  -- that has the interval
  end_ns          INTEGER NOT NULL,  -- when it ended
  length_ns       INTEGER NOT NULL,  -- without pauses
  voluntary       INTEGER NOT NULL,  -- as in timing_value, if sched is listed
  preempted       INTEGER NOT NULL,
  minor_faults    INTEGER NOT NULL,  -- page faults without the disk, if page-faults are listed
  major_faults    INTEGER NOT NULL,  -- with it; else those of intervals with waits
  reads           INTEGER NOT NULL,  -- blocks of 512 bytes, if io is listed; else those of intervals with waits
  writes          INTEGER NOT NULL,  -- likewise, if io is listed
  blocked_ns      INTEGER NOT NULL,  -- as in timing_value, if sched is listed
  ready_ns        INTEGER NOT NULL,
  system_calls    INTEGER NOT NULL,  -- if syscalls are listed
  migrations      INTEGER NOT NULL   -- to another processor, if migrations are listed
);

CREATE TABLE system_event_call (     -- which system calls there were in an event, as far as the kernel told; those that system_calls has beyond these have no name
  event_id  INTEGER NOT NULL,
  number    INTEGER NOT NULL,        -- of the machine's system calls: system_call has its name
  calls     INTEGER NOT NULL,
  PRIMARY KEY (event_id, number)
) WITHOUT ROWID;

CREATE TABLE timing_count (          -- what CPU counters counted in the exclusive time of a timing within a slice: with what the probes added
  slice_id      INTEGER NOT NULL,
  timing_id     INTEGER NOT NULL,
  cpu_counter1  INTEGER NOT NULL,    -- by position in cpu_counter; 0 of those that there are not
  cpu_counter2  INTEGER NOT NULL,
  cpu_counter3  INTEGER NOT NULL,
  cpu_counter4  INTEGER NOT NULL,
  cpu_counter5  INTEGER NOT NULL,
  cpu_counter6  INTEGER NOT NULL,
  PRIMARY KEY (slice_id, timing_id)
) WITHOUT ROWID;

CREATE TABLE timing_inclusive_count ( -- the same of the time of folded calls: of those that ended
  slice_id           INTEGER NOT NULL,
  timing_id          INTEGER NOT NULL,
  cpu_counter1       INTEGER NOT NULL,
  cpu_counter2       INTEGER NOT NULL,
  cpu_counter3       INTEGER NOT NULL,
  cpu_counter4       INTEGER NOT NULL,
  each_cpu_counter1  INTEGER NOT NULL, -- as each_elapsed_ns
  each_cpu_counter2  INTEGER NOT NULL,
  each_cpu_counter3  INTEGER NOT NULL,
  each_cpu_counter4  INTEGER NOT NULL,
  cpu_counter5       INTEGER NOT NULL, -- which came later
  cpu_counter6       INTEGER NOT NULL,
  each_cpu_counter5  INTEGER NOT NULL,
  each_cpu_counter6  INTEGER NOT NULL,
  PRIMARY KEY (slice_id, timing_id)
) WITHOUT ROWID;

CREATE TABLE timing_extreme (       -- of single calls that ended, without what the probes added; no row: none ended
  timing_id                     INTEGER PRIMARY KEY,
  min_elapsed_inclusive_ns      INTEGER NOT NULL,
  max_elapsed_inclusive_ns      INTEGER NOT NULL,
  min_elapsed_exclusive_ns      INTEGER NOT NULL,
  max_elapsed_exclusive_ns      INTEGER NOT NULL,
  min_application_inclusive_ns  INTEGER NOT NULL,
  max_application_inclusive_ns  INTEGER NOT NULL,
  min_application_exclusive_ns  INTEGER NOT NULL,
  max_application_exclusive_ns  INTEGER NOT NULL,
  min_cpu_inclusive_ns          INTEGER NOT NULL,
  max_cpu_inclusive_ns          INTEGER NOT NULL,
  min_cpu_exclusive_ns          INTEGER NOT NULL,
  max_cpu_exclusive_ns          INTEGER NOT NULL
);

CREATE TABLE timing_began (         -- when the calls began of functions that suspend and resume async methods
  timing_id  INTEGER PRIMARY KEY,
  calls      INTEGER NOT NULL,
  ticks      INTEGER NOT NULL       -- sum over these of the ticks from the beginning of the call to the end of the process, modulo 2^64
);

CREATE TABLE timing_running (       -- calls that had not ended at the end of the recording
  timing_id   INTEGER PRIMARY KEY,
  calls       INTEGER NOT NULL,
  elapsed_ns  INTEGER NOT NULL      -- from the thread's last call or end of a call to the end; counted in timing_value too
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

CREATE TABLE path_time (
  id                        INTEGER PRIMARY KEY, -- as in path_value: one tree for allocations and times
  parent_id                 INTEGER NOT NULL,
  level                     INTEGER NOT NULL,
  process_id                INTEGER NOT NULL,
  function_id               INTEGER NOT NULL,
  calls                     INTEGER NOT NULL, -- that began
  running                   INTEGER NOT NULL, -- of these: had not ended
  elapsed_inclusive         INTEGER NOT NULL, -- ns, as all times here
  elapsed_exclusive         INTEGER NOT NULL,
  application_inclusive     INTEGER NOT NULL,
  application_exclusive     INTEGER NOT NULL,
  cpu_inclusive             INTEGER NOT NULL,
  cpu_exclusive             INTEGER NOT NULL,
  overhead_inclusive        INTEGER NOT NULL,
  overhead_exclusive        INTEGER NOT NULL,
  wait_intervals_inclusive  INTEGER NOT NULL,
  wait_intervals_exclusive  INTEGER NOT NULL,
  voluntary_inclusive       INTEGER NOT NULL,
  voluntary_exclusive       INTEGER NOT NULL,
  preempted_inclusive       INTEGER NOT NULL,
  preempted_exclusive       INTEGER NOT NULL,
  faults_inclusive          INTEGER NOT NULL,
  faults_exclusive          INTEGER NOT NULL,
  reads_inclusive           INTEGER NOT NULL,
  reads_exclusive           INTEGER NOT NULL,
  off_cpu_inclusive         INTEGER NOT NULL,
  off_cpu_exclusive         INTEGER NOT NULL,
  blocked_inclusive         INTEGER NOT NULL,
  blocked_exclusive         INTEGER NOT NULL,
  ready_inclusive           INTEGER NOT NULL,
  ready_exclusive           INTEGER NOT NULL,
  nodes_elapsed_inclusive      INTEGER NOT NULL, -- each call's own inclusive time, also within itself: avg is this / calls
  nodes_application_inclusive  INTEGER NOT NULL,
  nodes_cpu_inclusive          INTEGER NOT NULL,
  min_elapsed_inclusive      INTEGER NOT NULL, -- of one call that ended; 0 where none did
  max_elapsed_inclusive      INTEGER NOT NULL,
  min_elapsed_exclusive      INTEGER NOT NULL,
  max_elapsed_exclusive      INTEGER NOT NULL,
  min_application_inclusive  INTEGER NOT NULL,
  max_application_inclusive  INTEGER NOT NULL,
  min_application_exclusive  INTEGER NOT NULL,
  max_application_exclusive  INTEGER NOT NULL,
  min_cpu_inclusive          INTEGER NOT NULL,
  max_cpu_inclusive          INTEGER NOT NULL,
  min_cpu_exclusive          INTEGER NOT NULL,
  max_cpu_exclusive          INTEGER NOT NULL,
  cpu_counter1_inclusive INTEGER NOT NULL, cpu_counter1_exclusive INTEGER NOT NULL,
  cpu_counter2_inclusive INTEGER NOT NULL, cpu_counter2_exclusive INTEGER NOT NULL,
  cpu_counter3_inclusive INTEGER NOT NULL, cpu_counter3_exclusive INTEGER NOT NULL,
  cpu_counter4_inclusive INTEGER NOT NULL, cpu_counter4_exclusive INTEGER NOT NULL,
  cpu_counter5_inclusive INTEGER NOT NULL, cpu_counter5_exclusive INTEGER NOT NULL,
  cpu_counter6_inclusive INTEGER NOT NULL, cpu_counter6_exclusive INTEGER NOT NULL
);

CREATE TABLE user_time (            -- the exclusive time of user code, and of what it calls: as in cause
  function_id        INTEGER NOT NULL, -- that of the place, or framework code that it called; 0: called by no user code
  from_function_id   INTEGER NOT NULL, -- the place in user code; 0: none
  from_line_id       INTEGER NOT NULL, -- 0: it is not known
  elapsed            INTEGER NOT NULL, -- ns, as all times here
  application        INTEGER NOT NULL,
  cpu                INTEGER NOT NULL,
  overhead           INTEGER NOT NULL,
  wait_intervals     INTEGER NOT NULL,
  voluntary          INTEGER NOT NULL,
  preempted          INTEGER NOT NULL,
  faults             INTEGER NOT NULL,
  reads              INTEGER NOT NULL,
  off_cpu            INTEGER NOT NULL,
  blocked            INTEGER NOT NULL,
  ready              INTEGER NOT NULL,
  cpu_counter1       INTEGER NOT NULL,
  cpu_counter2       INTEGER NOT NULL,
  cpu_counter3       INTEGER NOT NULL,
  cpu_counter4       INTEGER NOT NULL,
  cpu_counter5       INTEGER NOT NULL,
  cpu_counter6       INTEGER NOT NULL,
  PRIMARY KEY (function_id, from_function_id, from_line_id)
);

CREATE TABLE type_lifetime (        -- what became of the objects of each type, and how old they became
  position      INTEGER PRIMARY KEY, -- from 1: in the order of the first site of each
  process_id    INTEGER NOT NULL,
  type_id       INTEGER NOT NULL,
  born_objects  INTEGER NOT NULL, born_bytes  INTEGER NOT NULL,
  gen0_objects  INTEGER NOT NULL, gen0_bytes  INTEGER NOT NULL, -- of these died there
  gen1_objects  INTEGER NOT NULL, gen1_bytes  INTEGER NOT NULL,
  gen2_objects  INTEGER NOT NULL, gen2_bytes  INTEGER NOT NULL,
  loh_objects   INTEGER NOT NULL, loh_bytes   INTEGER NOT NULL,
  poh_objects   INTEGER NOT NULL, poh_bytes   INTEGER NOT NULL,
  gcs0 INTEGER NOT NULL, gcs1 INTEGER NOT NULL, -- objects that died, by the collections that they survived: the buckets of site_age, and in the first the rest
  gcs2 INTEGER NOT NULL, gcs3 INTEGER NOT NULL,
  gcs4 INTEGER NOT NULL, gcs5 INTEGER NOT NULL,
  gcs6 INTEGER NOT NULL, gcs7 INTEGER NOT NULL,
  time0 INTEGER NOT NULL, time1 INTEGER NOT NULL, -- by the time that they survived
  time2 INTEGER NOT NULL, time3 INTEGER NOT NULL,
  time4 INTEGER NOT NULL, time5 INTEGER NOT NULL,
  time6 INTEGER NOT NULL, time7 INTEGER NOT NULL,
  alive0 INTEGER NOT NULL, alive1 INTEGER NOT NULL, -- objects that are reachable at the end, by the collections that they survived
  alive2 INTEGER NOT NULL, alive3 INTEGER NOT NULL,
  alive4 INTEGER NOT NULL, alive5 INTEGER NOT NULL,
  alive6 INTEGER NOT NULL, alive7 INTEGER NOT NULL
);

CREATE TABLE function_lifetime (    -- the same of what each function allocated itself
  position      INTEGER PRIMARY KEY,
  process_id    INTEGER NOT NULL,
  function_id   INTEGER NOT NULL,
  born_objects  INTEGER NOT NULL, born_bytes  INTEGER NOT NULL,
  gen0_objects  INTEGER NOT NULL, gen0_bytes  INTEGER NOT NULL,
  gen1_objects  INTEGER NOT NULL, gen1_bytes  INTEGER NOT NULL,
  gen2_objects  INTEGER NOT NULL, gen2_bytes  INTEGER NOT NULL,
  loh_objects   INTEGER NOT NULL, loh_bytes   INTEGER NOT NULL,
  poh_objects   INTEGER NOT NULL, poh_bytes   INTEGER NOT NULL,
  gcs0 INTEGER NOT NULL, gcs1 INTEGER NOT NULL,
  gcs2 INTEGER NOT NULL, gcs3 INTEGER NOT NULL,
  gcs4 INTEGER NOT NULL, gcs5 INTEGER NOT NULL,
  gcs6 INTEGER NOT NULL, gcs7 INTEGER NOT NULL,
  time0 INTEGER NOT NULL, time1 INTEGER NOT NULL,
  time2 INTEGER NOT NULL, time3 INTEGER NOT NULL,
  time4 INTEGER NOT NULL, time5 INTEGER NOT NULL,
  time6 INTEGER NOT NULL, time7 INTEGER NOT NULL,
  alive0 INTEGER NOT NULL, alive1 INTEGER NOT NULL,
  alive2 INTEGER NOT NULL, alive3 INTEGER NOT NULL,
  alive4 INTEGER NOT NULL, alive5 INTEGER NOT NULL,
  alive6 INTEGER NOT NULL, alive7 INTEGER NOT NULL
);
