import { sql } from 'kysely'
import type { Comparison } from '#adapters/repositories/compare.ts'
import type { ShippedCommit } from '#adapters/repositories/compared-lists.ts'
import type { Database } from '#platform/database/connect.ts'

/** What templates see of what an action ships; null as long as it is not known. */
type ChangesContext = {
  from_sha: string | null
  to_sha: string | null
  rewritten: boolean | null
  commits_count: number | null
  removed_commits_count: number | null
  files_count: number | null
  commits: ShippedCommit[]
}

/** Requests stay small. */
const MAX_COMMITS = 50

/** Without what templates do not see: it may be a megabyte. */
type Widest = {
  fromCommit: string | null
  toCommit: string | null
  comparison: {
    commits: Comparison['commits']
    removedCommits: { total: number } | null
    files: { total: number }
    rewritten: boolean | null
  } | null
}

export async function readChangesContext(db: Database, actionId: number): Promise<ChangesContext> {
  // Where servers served different releases: the one that most of them did.
  const { rows } = await sql<Widest>`
    select from_commit as "fromCommit", to_commit as "toCommit",
      comparison #- '{files,items}' #- '{removedCommits,items}' as comparison
    from action_changes where action_id = ${actionId} order by cardinality(server_ids) desc, server_ids limit 1`.execute(
    db,
  )
  return summarizeChanges(rows[0])
}

export function summarizeChanges(widest: Widest | undefined): ChangesContext {
  const comparison = widest?.comparison
  return {
    from_sha: widest?.fromCommit ?? null,
    to_sha: widest?.toCommit ?? null,
    rewritten: comparison?.rewritten ?? null,
    commits_count: comparison?.commits?.total ?? null,
    removed_commits_count: comparison?.removedCommits?.total ?? null,
    files_count: comparison?.files.total ?? null,
    commits: comparison?.commits?.items.slice(0, MAX_COMMITS) ?? [],
  }
}
