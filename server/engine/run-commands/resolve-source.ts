import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Commit, Deployment } from '#platform/database/tables.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { sourceOf } from './check-input.ts'
import {
  describeUnknownRelease,
  type EarlierRelease,
  findRelease,
  findReleaseBefore,
} from './find-release.ts'
import { judgeRollback } from './judge-rollback.ts'
import { type LiveOnServers, type LiveRelease, readLiveOn } from './live-on-servers.ts'
import { type DeployedApplication, deploymentOf, type RunnablePipeline } from './load-pipeline.ts'
import type { RunInput } from './schemas.ts'

/** What a deploy uses; all null for other operations. */
export type DeploySource = {
  deployment: Deployment | null
  commit: Commit | null
  release_name: string | null
}

/** `from`: what is live on all servers; null when they differ, or it is not known. */
export type Rollback = { from: LiveRelease | null; to: EarlierRelease }

/** `rollback`: null unless it is one. */
export type ResolvedSource = { source: DeploySource; rollback: Rollback | null }

export const NO_SOURCE: DeploySource = { deployment: null, commit: null, release_name: null }

/** On the servers of this pipeline: those that the run would use. */
export async function resolveSource(
  db: Database,
  input: RunInput,
  { application, definition: { servers } }: RunnablePipeline,
): Promise<ResolvedSource | HttpProblem> {
  const { type = 'deploy' } = input
  if (!application) return { source: NO_SOURCE, rollback: null }
  if (type === 'deploy') {
    const deployment = deploymentOf(application, type, sourceOf(input, application.defaultBranch))
    return { source: { ...NO_SOURCE, deployment }, rollback: null }
  }
  const live = await readLiveOn(db, application.id, servers)
  if (type === 'redeploy') {
    const commit = live.releases[0]?.commit
    if (!commit?.hash) return conflict('The servers have no live release, so there is nothing to redeploy.')
    return { source: earlierSource(application, type, commit, null), rollback: null }
  }
  const rollback = await findRollback(db, application, input, live)
  if ('kind' in rollback) return rollback
  const { commit, releaseName } = rollback.to
  return { source: earlierSource(application, type, commit, releaseName), rollback }
}

function earlierSource(
  application: DeployedApplication,
  type: string,
  commit: Commit,
  release_name: string | null,
): DeploySource {
  const source = { source_type: 'commit', source_ref: commit.hash! }
  return { deployment: deploymentOf(application, type, source), commit, release_name }
}

/** To the release that was named, or to the one before the live one. */
async function findRollback(
  db: Database,
  application: DeployedApplication,
  input: RunInput,
  live: LiveOnServers,
): Promise<Rollback | HttpProblem> {
  const start = judgeRollback(input, live)
  if (start.kind !== 'start') return start
  const { from } = start
  const { release_name: name } = input
  if (name === undefined) {
    const to = await findReleaseBefore(db, application, from!.releaseName)
    return to ? { from, to } : conflict('The application has no release before the live one to roll back to.')
  }
  const to = await findRelease(db, application, name)
  if (to && to.releaseName !== from?.releaseName) return { from, to }
  const liveName = from?.releaseName ?? null
  const message = await describeUnknownRelease(db, application, liveName, to?.releaseName ?? name)
  return { kind: 'invalid', errors: { release_name: [message] } }
}

/** The run in an input that is none of the application, or none that the caller may see, by field. */
export async function findUnknownRun(
  db: Database,
  { rollback_from }: RunInput,
  { application }: RunnablePipeline,
  { seesActions }: { seesActions: boolean },
): Promise<ErrorsByField> {
  if (rollback_from === undefined || !application) return {}
  const { rows } = await sql`
    select from actions a join pipelines p on p.id = a.pipeline_id
    where a.id = ${rollback_from} and p.application_id = ${application.id}`.execute(db)
  if (seesActions && rows.length > 0) return {}
  return { rollback_from: [`${rollback_from} is not a run of this application`] }
}
