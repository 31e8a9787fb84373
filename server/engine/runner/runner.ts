import { join } from 'node:path'
import type { Connect } from '#adapters/executors/connect.ts'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import type { EnqueueTargets } from '#engine/scheduling/settle.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import type { Log } from '#platform/queue/core.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { allowRemotes } from './allow-remotes.ts'
import { createCancellations } from './cancellations.ts'
import type { RunnerDeps } from './deps.ts'
import { createPerform } from './perform.ts'
import { createDeploySteps } from './perform-deploy.ts'
import { createReach } from './reach.ts'
import { runTarget } from './run-target.ts'

export type Runner = {
  run(targetId: number, context: JobContext): Promise<void>
}

/** Puts together what running targets needs; one per process. */
export async function openRunner(options: {
  db: Database
  box: SecretBox
  listener: Listener
  home: string
  connect: Connect
  guard: AddressGuard
  enqueueTargets: EnqueueTargets
  log: Log
  onError: (error: Error) => void
}): Promise<Runner> {
  const { db, box, listener } = options
  const repositories = createRepositories({
    folder: join(options.home, 'repositories', 'mirrors'),
    allowRemote: allowRemotes(db, options.guard),
  })
  const parts: RunnerDeps = {
    db,
    box,
    log: options.log,
    enqueueTargets: options.enqueueTargets,
    cancellations: await createCancellations(db, listener, options.onError),
    reach: createReach({ db, connect: options.connect }),
    perform: createPerform(createDeploySteps({ db, repositories })),
  }
  return { run: (targetId, context) => runTarget(parts, targetId, context) }
}
