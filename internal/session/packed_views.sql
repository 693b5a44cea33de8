-- The views that need packed tables, for "clrprof sql" and "clrprof export --format sqlite".

CREATE VIEW call_tree AS              -- parents come before children; the parent of a root is 0
SELECT v.id, v.parent_id, v.level, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
  v.inclusive_allocations, 100.0 * v.inclusive_allocations / total.allocations AS inclusive_allocations_percent,
  v.exclusive_allocations, 100.0 * v.exclusive_allocations / total.allocations AS exclusive_allocations_percent,
  v.inclusive_bytes, 100.0 * v.inclusive_bytes / total.bytes AS inclusive_bytes_percent,
  v.exclusive_bytes, 100.0 * v.exclusive_bytes / total.bytes AS exclusive_bytes_percent
FROM path_value v CROSS JOIN total JOIN function f ON f.id = v.function_id LEFT JOIN module m ON m.id = f.module_id
  LEFT JOIN process p ON p.id = v.process_id;

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

CREATE VIEW sites AS                  -- thread × stack × type, in words: what the views below join
SELECT s.id, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(src.path, '') AS source_file, coalesce(l.line_begin, 0) AS line, coalesce(m.name, '') AS module,
  CASE WHEN t.name <> '' THEN t.name WHEN t.raw_name <> '' THEN t.raw_name
  WHEN e.id > 0 THEN coalesce(nullif(e.name, ''), e.raw_name) || '[' || substr(',,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,', 1, t.rank - 1) || ']'
  ELSE '(type ' || t.id || ')' END AS type,
  h.name AS thread, h.os_id AS thread_id, p.name AS process, p.pid AS process_id, s.frozen, s.node_id
FROM site s JOIN node n ON n.id = s.node_id JOIN function f ON f.id = n.function_id
  JOIN type t ON t.id = s.type_id LEFT JOIN type e ON e.id = t.element_type_id JOIN thread h ON h.id = s.thread_id LEFT JOIN process p ON p.id = h.process_id
  LEFT JOIN instruction i ON i.id = n.instruction_id LEFT JOIN line l ON l.id = i.line_id
  LEFT JOIN source_file src ON src.id = l.file_id LEFT JOIN module m ON m.id = f.module_id;

CREATE VIEW lifetime AS               -- types: in which generation their objects died; instances = gen0 + … + poh + alive
SELECT t.id, t.name, t.kind, t.module, t.module_path, t.process_id, t.process,
  t.instances, t.instances_percent, t.bytes, t.bytes_percent,
  coalesce(d.gen0, 0) AS gen0_instances, coalesce(d.gen0_bytes, 0) AS gen0_bytes,
  coalesce(d.gen1, 0) AS gen1_instances, coalesce(d.gen1_bytes, 0) AS gen1_bytes,
  coalesce(d.gen2, 0) AS gen2_instances, coalesce(d.gen2_bytes, 0) AS gen2_bytes,
  coalesce(d.loh, 0) AS loh_instances, coalesce(d.loh_bytes, 0) AS loh_bytes,
  coalesce(d.poh, 0) AS poh_instances, coalesce(d.poh_bytes, 0) AS poh_bytes,
  t.instances - coalesce(d.dead, 0) AS alive_instances, t.bytes - coalesce(d.dead_bytes, 0) AS alive_bytes
FROM types t JOIN type base ON base.id = t.id JOIN process_lifetime pl ON pl.process_id = base.process_id LEFT JOIN (
  SELECT s.type_id, sum(f.objects) AS dead, sum(f.bytes) AS dead_bytes,
    sum(iif(f.generation = 0, f.objects, 0)) AS gen0, sum(iif(f.generation = 0, f.bytes, 0)) AS gen0_bytes,
    sum(iif(f.generation = 1, f.objects, 0)) AS gen1, sum(iif(f.generation = 1, f.bytes, 0)) AS gen1_bytes,
    sum(iif(f.generation = 2, f.objects, 0)) AS gen2, sum(iif(f.generation = 2, f.bytes, 0)) AS gen2_bytes,
    sum(iif(f.generation = 3, f.objects, 0)) AS loh, sum(iif(f.generation = 3, f.bytes, 0)) AS loh_bytes,
    sum(iif(f.generation = 4, f.objects, 0)) AS poh, sum(iif(f.generation = 4, f.bytes, 0)) AS poh_bytes
  FROM site_death f JOIN site s ON s.id = f.site_id GROUP BY s.type_id) d ON d.type_id = t.id;

CREATE VIEW deaths AS                 -- who made what died where, and when: one row for each site, slice and generation
SELECT s.function, s.source_file, s.line, s.module, s.type, s.thread, s.thread_id, s.process, s.process_id, s.node_id,
  f.generation, sl.begin_ns, sl.end_ns, f.objects, f.bytes
FROM site_death f JOIN sites s ON s.id = f.site_id LEFT JOIN slice sl ON sl.id = f.slice_id;

CREATE VIEW counters AS               -- what counters said, in words
SELECT v.time_ns, c.name, CASE WHEN v.fraction = 0 THEN v.value ELSE v.value + v.fraction END AS value, c.unit, c.is_sum, p.pid AS process_id,
  p.name AS process, c.tags
FROM counter_value v JOIN counter c ON c.id = v.counter_id LEFT JOIN process p ON p.id = v.process_id;

CREATE VIEW gc_births AS              -- what was allocated after the collection since, up to collection gc
SELECT g.number AS gc, d.since, s.type, s.function, s.source_file, s.line, s.module, s.thread, s.thread_id, s.process, s.process_id, s.node_id,
  b.allocations, b.bytes
FROM gc_birth b JOIN gc g ON g.id = b.gc_id JOIN gc_detail d ON d.gc_id = b.gc_id JOIN sites s ON s.id = b.site_id;

CREATE VIEW gc_deaths AS              -- what was found dead after the collection since, up to collection gc
SELECT g.number AS gc, d.since, s.type, s.function, s.source_file, s.line, s.module, s.thread, s.thread_id, s.process, s.process_id, s.node_id,
  b.generation, b.objects, b.bytes
FROM gc_death b JOIN gc g ON g.id = b.gc_id JOIN gc_detail d ON d.gc_id = b.gc_id JOIN sites s ON s.id = b.site_id;

CREATE VIEW ages AS                   -- how many collections, or how long, dead objects had survived
SELECT s.type, s.function, s.source_file, s.line, s.module, s.process, s.process_id, a.measure, a.bucket,
  CASE a.measure WHEN 'gcs' THEN CASE a.bucket WHEN 0 THEN '0' WHEN 1 THEN '1' WHEN 2 THEN '2' WHEN 3 THEN '3–4' WHEN 4 THEN '5–8' WHEN 5 THEN '9–16' WHEN 6 THEN '17–64' WHEN 7 THEN '65 and more' END
  ELSE CASE a.bucket WHEN 0 THEN 'less than 1 ms' WHEN 1 THEN '1–10 ms' WHEN 2 THEN '10–100 ms' WHEN 3 THEN '0.1–1 s' WHEN 4 THEN '1–10 s' WHEN 5 THEN '10–100 s' WHEN 6 THEN '100–1000 s' WHEN 7 THEN '1000 s and more' END END AS age, a.objects
FROM (SELECT site_id, measure, bucket, objects FROM site_age
  UNION ALL SELECT f.site_id, 'gcs', 0, f.objects - coalesce(a.objects, 0)
  FROM (SELECT site_id, sum(objects) AS objects FROM site_death GROUP BY site_id) f
  LEFT JOIN (SELECT site_id, sum(objects) AS objects FROM site_age WHERE measure = 'gcs' GROUP BY site_id) a ON a.site_id = f.site_id) a
  JOIN sites s ON s.id = a.site_id WHERE a.objects > 0;

CREATE VIEW alive AS                  -- what is reachable at the end; born: the number of the last collection before
SELECT s.type, s.function, s.source_file, s.line, s.module, s.thread, s.thread_id, s.process, s.process_id, s.node_id,
  a.generation, a.born, a.objects, a.bytes
FROM site_alive a JOIN sites s ON s.id = a.site_id;

CREATE VIEW survivors AS              -- why objects survived a collection
SELECT g.number AS gc, s.type, s.function, s.source_file, s.line, s.module, s.process, s.process_id, s.node_id,
  v.uncollected_objects, v.uncollected_bytes, v.rooted_objects, v.rooted_bytes, v.reachable_objects, v.reachable_bytes
FROM survival v JOIN gc g ON g.id = v.gc_id JOIN sites s ON s.id = v.site_id;

CREATE VIEW roots AS                  -- what held them
SELECT g.number AS gc, r.kind, r.flags & 1 <> 0 AS pinning, r.flags & 2 <> 0 AS weak, r.flags & 4 <> 0 AS interior, r.flags & 8 <> 0 AS ref_counted,
  coalesce(CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END, '') AS root_function,
  r.reference_count, s.type, s.function, s.source_file, s.line, s.module, s.process, s.process_id
FROM root r JOIN gc g ON g.id = r.gc_id JOIN sites s ON s.id = r.site_id LEFT JOIN function f ON f.id = r.function_id;

CREATE VIEW call_tree_times AS        -- ids are those of call_tree; parents come before children; the parent of a root is 0
SELECT v.id, v.parent_id, v.level, CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function,
  coalesce(m.name, '') AS module, p.pid AS process_id, p.name AS process,
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
FROM path_time v CROSS JOIN total_time JOIN function f ON f.id = v.function_id LEFT JOIN module m ON m.id = f.module_id
  LEFT JOIN process p ON p.id = v.process_id;

CREATE VIEW timings AS                -- what was measured: one row for each thread, node and slice; nothing is taken out
SELECT CASE WHEN f.name <> '' THEN f.name WHEN f.raw_type <> '' THEN f.raw_type || '.' || f.raw_name ELSE f.raw_name END AS function, iif(n.instruction_id = 0, 'body', 'call') AS kind,
  coalesce(src.path, '') AS source_file, coalesce(l.line_begin, 0) AS line, coalesce(m.name, '') AS module,
  h.name AS thread, h.os_id AS thread_id, p.name AS process, p.pid AS process_id, t.node_id, sl.begin_ns, sl.end_ns,
  v.calls, v.ended, v.made, v.elapsed_ns, v.waited_ns, v.wait_intervals, v.voluntary, v.preempted, v.faults, v.reads, v.off_cpu_ns,
  v.blocked_ns, v.ready_ns
FROM timing_value v JOIN timing t ON t.id = v.timing_id JOIN node n ON n.id = t.node_id JOIN function f ON f.id = n.function_id
  JOIN thread h ON h.id = t.thread_id LEFT JOIN process p ON p.id = h.process_id LEFT JOIN slice sl ON sl.id = v.slice_id
  LEFT JOIN instruction i ON i.id = n.instruction_id LEFT JOIN line l ON l.id = i.line_id LEFT JOIN source_file src ON src.id = l.file_id
  LEFT JOIN module m ON m.id = f.module_id;
