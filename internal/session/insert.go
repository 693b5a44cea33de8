package session

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	add     = "INSERT"
	replace = "INSERT OR REPLACE"
)

// put writes rows in a batch of their own, or in the one that is open.
func put[T any](w *Writer, verb string, t table[T], rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	return w.Batch(func() error {
		if isPacked(t.name) { // a row that is there is replaced when it is read
			return w.explain(insertPacked(w.Session, t, rows))
		}
		return w.explain(insert(w.conn, verb, t, rows))
	})
}

// InsertProcesses adds rows; an id that exists is an error, as in all Insert methods.
func (w *Writer) InsertProcesses(rows []Process) error { return put(w, add, processTable, rows) }

// ReplaceProcesses adds rows, or replaces those with the same id.
func (w *Writer) ReplaceProcesses(rows []Process) error { return put(w, replace, processTable, rows) }

// InsertThreads adds rows.
func (w *Writer) InsertThreads(rows []Thread) error { return put(w, add, threadTable, rows) }

// ReplaceThreads adds rows, or replaces those with the same id.
func (w *Writer) ReplaceThreads(rows []Thread) error { return put(w, replace, threadTable, rows) }

// ReplaceThreadScopes adds rows, or replaces those of the same thread.
func (w *Writer) ReplaceThreadScopes(rows []ThreadScope) error {
	return put(w, replace, threadScopeTable, rows)
}

// ReplaceTestCases adds rows, or replaces those of the same case.
func (w *Writer) ReplaceTestCases(rows []TestCase) error { return put(w, replace, testCaseTable, rows) }

// ReplaceInteractions adds rows, or replaces those with the same id.
func (w *Writer) ReplaceInteractions(rows []Interaction) error {
	return put(w, replace, interactionTable, rows)
}

// InsertInteractionFrames adds rows.
func (w *Writer) InsertInteractionFrames(rows []InteractionFrame) error {
	return put(w, replace, interactionFrameTable, rows)
}

// ReplaceThreadSets adds rows, or replaces those of the same thread.
func (w *Writer) ReplaceThreadSets(rows []ThreadSet) error {
	return put(w, replace, threadSetTable, rows)
}

// InsertModules adds rows.
func (w *Writer) InsertModules(rows []Module) error { return put(w, add, moduleTable, rows) }

// ReplaceModules adds rows, or replaces those with the same id.
func (w *Writer) ReplaceModules(rows []Module) error { return put(w, replace, moduleTable, rows) }

// InsertTypes adds rows.
func (w *Writer) InsertTypes(rows []Type) error { return put(w, add, typeTable, rows) }

// ReplaceTypes writes rows of the table type again: the runtime could not name a type at first.
func (w *Writer) ReplaceTypes(rows []Type) error { return put(w, replace, typeTable, rows) }

// InsertTypeArguments adds rows.
func (w *Writer) InsertTypeArguments(rows []TypeArgument) error {
	return put(w, add, typeArgumentTable, rows)
}

// InsertFunctions adds rows.
func (w *Writer) InsertFunctions(rows []Function) error { return put(w, add, functionTable, rows) }

// InsertFunctionArguments adds rows.
func (w *Writer) InsertFunctionArguments(rows []FunctionArgument) error {
	return put(w, add, functionArgumentTable, rows)
}

// InsertBodies adds rows.
func (w *Writer) InsertBodies(rows []Body) error { return put(w, add, bodyTable, rows) }

// InsertInstructions adds rows. A row that is not resolved has ILOffset -1 and Line 0.
func (w *Writer) InsertInstructions(rows []Instruction) error {
	return put(w, add, instructionTable, rows)
}

// InsertNodes adds rows.
func (w *Writer) InsertNodes(rows []Node) error { return put(w, add, nodeTable, rows) }

// InsertSites adds rows.
func (w *Writer) InsertSites(rows []Site) error { return put(w, add, siteTable, rows) }

// InsertSlices adds rows.
func (w *Writer) InsertSlices(rows []Slice) error { return put(w, add, sliceTable, rows) }

// ReplaceSlices adds rows, or replaces those with the same id.
func (w *Writer) ReplaceSlices(rows []Slice) error { return put(w, replace, sliceTable, rows) }

// InsertSiteValues adds rows. They are written fastest in the order of slice and site.
func (w *Writer) InsertSiteValues(rows []SiteValue) error { return put(w, add, siteValueTable, rows) }

// ReplaceSiteValues adds rows, or replaces those with the same slice and site:
// a slice that is still growing is written again as a whole.
func (w *Writer) ReplaceSiteValues(rows []SiteValue) error {
	return put(w, replace, siteValueTable, rows)
}

// ReplaceProcessLifetimes adds rows, or replaces those of the same process.
func (w *Writer) ReplaceProcessLifetimes(rows []ProcessLifetime) error {
	return put(w, replace, processLifetimeTable, rows)
}

// InsertProcessEndings adds rows.
func (w *Writer) InsertProcessEndings(rows []ProcessEnding) error {
	return put(w, add, endingTable, rows)
}

// InsertGCFreed adds rows.
func (w *Writer) InsertGCFreed(rows []GCFreed) error { return put(w, add, gcFreedTable, rows) }

// InsertSiteFreed adds rows.
func (w *Writer) InsertSiteFreed(rows []SiteFreed) error { return put(w, add, siteFreedTable, rows) }

// ReplaceLeftOut adds rows, or replaces those of the same process.
func (w *Writer) ReplaceLeftOut(rows []LeftOut) error { return put(w, replace, leftOutTable, rows) }

// InsertGCs adds rows.
func (w *Writer) InsertGCs(rows []GC) error { return put(w, add, gcTable, rows) }

// InsertGCGenerations adds rows.
func (w *Writer) InsertGCGenerations(rows []GCGeneration) error {
	return put(w, add, gcGenerationTable, rows)
}

// InsertGCDetails adds rows.
func (w *Writer) InsertGCDetails(rows []GCDetail) error { return put(w, add, gcDetailTable, rows) }

// InsertGCCallers adds rows.
func (w *Writer) InsertGCCallers(rows []GCCaller) error { return put(w, add, gcCallerTable, rows) }

// InsertGCHeaps adds rows.
func (w *Writer) InsertGCHeaps(rows []GCHeap) error { return put(w, add, gcHeapTable, rows) }

// InsertGCBirths adds rows. They are written fastest in the order of collection and site.
func (w *Writer) InsertGCBirths(rows []GCBirth) error { return put(w, add, gcBirthTable, rows) }

// InsertGCDeaths adds rows. They are written fastest in the order of collection, site and generation.
func (w *Writer) InsertGCDeaths(rows []GCDeath) error { return put(w, add, gcDeathTable, rows) }

// InsertSiteDeaths adds rows. They are written fastest in the order of slice, site and generation.
func (w *Writer) InsertSiteDeaths(rows []SiteDeath) error { return put(w, add, siteDeathTable, rows) }

// ReplaceSiteAges adds rows, or replaces those with the same key: ages are those of the whole run.
func (w *Writer) ReplaceSiteAges(rows []SiteAge) error { return put(w, replace, siteAgeTable, rows) }

// InsertSiteAlive adds rows.
func (w *Writer) InsertSiteAlive(rows []SiteAlive) error { return put(w, add, siteAliveTable, rows) }

// ReplaceSurvivals adds rows, or replaces those with the same collection and site.
func (w *Writer) ReplaceSurvivals(rows []Survival) error { return put(w, replace, survivalTable, rows) }

// ReplaceRoots adds rows, or replaces those with the same key.
func (w *Writer) ReplaceRoots(rows []Root) error { return put(w, replace, rootTable, rows) }

// ReplaceLosses adds rows, or replaces those with the same process and reason. A row without events removes that row:
// what was missing was found.
func (w *Writer) ReplaceLosses(rows []Loss) error {
	var kept []Loss
	for _, l := range rows {
		if l.Events != 0 {
			kept = append(kept, l)
			continue
		}
		err := sqlitex.Execute(w.conn, "DELETE FROM loss WHERE process_id = ? AND reason = ?",
			&sqlitex.ExecOptions{Args: []any{int64(l.Process), l.Reason}})
		if err != nil {
			return w.explain(err)
		}
	}
	return put(w, replace, lossTable, kept)
}

// InsertSourceFiles adds rows.
func (w *Writer) InsertSourceFiles(rows []SourceFile) error {
	return put(w, add, sourceFileTable, rows)
}

// InsertLines adds rows.
func (w *Writer) InsertLines(rows []Line) error { return put(w, add, lineTable, rows) }

// InsertParamsArrays adds rows.
func (w *Writer) InsertParamsArrays(rows []ParamsArray) error {
	return put(w, add, paramsArrayTable, rows)
}

// update changes columns of existing rows; bind sets the parameters of one row.
func update[T any](w *Writer, query string, rows []T, bind func(*sqlite.Stmt, *T)) error {
	return w.Batch(func() error {
		stmt, err := w.conn.Prepare(query)
		if err != nil {
			return w.explain(err)
		}
		for i := range rows {
			bind(stmt, &rows[i])
			err := step(stmt)
			if err == nil && w.conn.Changes() != 1 {
				err = fmt.Errorf("%q changed %d rows, want 1", query, w.conn.Changes())
			}
			if err != nil {
				return w.explain(err)
			}
		}
		return nil
	})
}

// ResolveModules stores ID → Symbols, SymbolsPath, Origin of the rows.
func (w *Writer) ResolveModules(rows []Module) error {
	return update(w, "UPDATE module SET symbols = ?, symbols_path = ?, origin = ? WHERE id = ?", rows,
		func(stmt *sqlite.Stmt, r *Module) {
			stmt.BindText(1, r.Symbols)
			stmt.BindText(2, r.SymbolsPath)
			stmt.BindText(3, r.Origin)
			stmt.BindInt64(4, int64(r.ID))
		})
}

// ResolveTypes stores ID → Name, Trait of the rows.
func (w *Writer) ResolveTypes(rows []Type) error {
	return update(w, "UPDATE type SET name = ?, trait = ? WHERE id = ?", rows,
		func(stmt *sqlite.Stmt, r *Type) {
			stmt.BindText(1, r.Name)
			stmt.BindText(2, r.Trait)
			stmt.BindInt64(3, int64(r.ID))
		})
}

// ResolveFunctions stores ID → Name, File, Line, Test, Route, ILHash of the rows.
func (w *Writer) ResolveFunctions(rows []Function) error {
	return update(w, "UPDATE function SET name = ?, file_id = ?, line = ?, test = ?, route = ?, il_hash = ? WHERE id = ?", rows,
		func(stmt *sqlite.Stmt, r *Function) {
			stmt.BindText(1, r.Name)
			stmt.BindInt64(2, int64(r.File))
			stmt.BindInt64(3, r.Line)
			stmt.BindText(4, r.Test)
			stmt.BindText(5, r.Route)
			stmt.BindText(6, r.ILHash)
			stmt.BindInt64(7, int64(r.ID))
		})
}

// ResolveInstructions stores ID → ILOffset, Line of the rows.
func (w *Writer) ResolveInstructions(rows []Instruction) error {
	return update(w, "UPDATE instruction SET il_offset = ?, line_id = ? WHERE id = ?", rows,
		func(stmt *sqlite.Stmt, r *Instruction) {
			stmt.BindInt64(1, r.ILOffset)
			stmt.BindInt64(2, int64(r.Line))
			stmt.BindInt64(3, int64(r.ID))
		})
}

// WriteDerived replaces the contents of all derived tables.
func (w *Writer) WriteDerived(d *Derived) error {
	return w.Batch(func() error {
		if err := w.WriteDerivedTimes(d, nil, func(string) {}); err != nil {
			return err
		}
		return w.WriteDerivedMemory(d)
	})
}

// WriteDerivedMemory replaces the contents of the derived tables that are not of times alone.
func (w *Writer) WriteDerivedMemory(d *Derived) error {
	return w.Batch(func() error {
		for _, write := range []func() error{
			func() error { return rewrite(w, pathValueTable, d.Paths) },
			func() error { return rewrite(w, callValueTable, d.Calls) },
			func() error { return rewrite(w, functionValueTable, d.Functions) },
			func() error { return rewrite(w, moduleValueTable, d.Modules) },
			func() error { return rewrite(w, lineValueTable, d.Lines) },
			func() error { return rewrite(w, instructionValueTable, d.Instructions) },
			func() error { return rewrite(w, typeValueTable, d.Types) },
			func() error { return rewrite(w, threadValueTable, d.Threads) },
			func() error { return rewrite(w, processValueTable, d.Processes) },
			func() error { return rewrite(w, processDeathTable, d.ProcessDeaths) },
			func() error { return rewrite(w, summarySectionTable, d.SummarySections) },
			func() error { return rewrite(w, summarySiteTable, d.SummarySites) },
			func() error { return rewrite(w, causeTotalTable, d.CauseTotals) },
			func() error { return rewrite(w, causeTable, d.Causes) },
			func() error { return rewrite(w, typeDeathTable, d.TypeDeaths) },
			func() error { return rewrite(w, typeLifetimeTable, d.TypeLifetimes) },
			func() error { return rewrite(w, functionLifetimeTable, d.FunctionLifetimes) },
			func() error { return rewrite(w, typePathTable, d.TypePaths) },
			func() error { return rewrite(w, ruleJudgedTable, d.RulesJudged) },
			func() error { return rewrite(w, findingTable, d.Findings) },
		} {
			if err := write(); err != nil {
				return err
			}
		}
		return nil
	})
}

// rewrite replaces all rows of a table.
func rewrite[T any](w *Writer, t table[T], rows []T) error {
	query := "DELETE FROM " + t.name
	if isPacked(t.name) {
		if err := w.settle(); err != nil {
			return w.explain(err)
		}
		query = "DELETE FROM chunk WHERE name = '" + t.name + "'"
		delete(w.lastIDs, t.name)
	}
	if err := sqlitex.Execute(w.conn, query, nil); err != nil {
		return w.explain(err)
	}
	return put(w, add, t, rows)
}
