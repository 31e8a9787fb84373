// The runner room runs actions on their targets. One target is one job: scheduling says when it may begin and
// stores every move (target-lifecycle.ts), executors run commands on the server, step-logs store what they print.
import { join } from 'node:path'
import type { Connect } from '#adapters/executors/connect.ts'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { openTargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import { allowRemote } from '#manage/applications/allow-remote.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { checkPaths } from './check-paths.ts'
import { checkTip } from './check-tip.ts'
import { runTarget } from './run-target.ts'
import type { Reach, RunnerDeps } from './running-target.ts'
import { createStepHandler } from './step-handlers.ts'

/** Builds what running targets takes; one per process. */
export async function openRunner(
  options: Pick<RunnerDeps, 'box' | 'log' | 'recheck' | 'reattachSeconds'> &
    Parameters<typeof openTargetLifecycle>[0] & {
      home: string
      /** Of a repository with its submodules. */
      maxSourceBytes: number
      connect: Connect
      guard: AddressGuard
      http: HttpClient
    },
) {
  const { db, box, log } = options
  const repositories = createRepositories({
    folder: join(options.home, 'repositories', 'mirrors'),
    allowRemote: (remote, applicationId) => allowRemote(db, options.guard, remote, applicationId),
    maxBytes: options.maxSourceBytes,
  })
  const lifecycle = await openTargetLifecycle(options)
  const deps: RunnerDeps = {
    db,
    box,
    log,
    lifecycle,
    recheck: options.recheck,
    async checkStart(targetId, job) {
      const checks = { db, box, log, lifecycle, repositories, http: options.http }
      const tip = await checkTip(checks, targetId, job)
      return tip.kind === 'skipped' ? tip : checkPaths(checks, targetId, job)
    },
    reattachSeconds: options.reattachSeconds,
    reach: createReach(db, options.connect),
    handleStep: createStepHandler({ db, repositories }),
  }
  return { run: (targetId: number, job: JobContext) => runTarget(deps, targetId, job) }
}

/** Connects, and pins the host key of a server that has none yet. */
function createReach(db: Database, connect: Connect): Reach {
  return async (server, signal) => {
    const connection = await connect(server, {
      onNewHostKey: (hostKey) => retryOutage(() => pinHostKey(db, server.id, hostKey), signal),
      signal,
    }).catch((error) => {
      if (error instanceof HostKeyConflict) return { kind: 'unreachable' as const, message: error.message }
      throw error
    })
    return connection.kind === 'connected' ? connection.executor : connection
  }
}

/** First contact: from now on no other key will do. Of two at the same time, the first to commit decides. */
async function pinHostKey(db: Database, serverId: number, hostKey: string): Promise<void> {
  await db
    .updateTable('servers')
    .set({ host_key: hostKey })
    .where('id', '=', serverId)
    .where('host_key', 'is', null)
    .execute()
  const { host_key } = await db
    .selectFrom('servers')
    .select('host_key')
    .where('id', '=', serverId)
    .executeTakeFirstOrThrow()
  if (host_key !== hostKey) throw new HostKeyConflict()
}

class HostKeyConflict extends Error {
  override name = 'HostKeyConflict'
  constructor() {
    super('Two first connections to this server, at the same time, saw different host keys.')
  }
}
