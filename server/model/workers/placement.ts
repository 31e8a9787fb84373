// Which worker may run a target. SSH servers are reached from everywhere; a local server is one machine, and only
// the workers on it, which share a name, can run its targets. Pure.

/** A worker that sends heartbeats; one of an older release has no name. */
export type LiveWorker = { name: string | null; draining: boolean }

export type PlacedServer = { isLocal: boolean; workerName: string | null }

/** `worker`: only workers of that name. */
export type Placement = { kind: 'anywhere' } | { kind: 'worker'; name: string } | { kind: 'none' }

const ANYWHERE: Placement = { kind: 'anywhere' }
const NONE: Placement = { kind: 'none' }

/** Where a target that has not started may run. */
export function placeTarget(server: PlacedServer, workers: readonly LiveWorker[]): Placement {
  if (!server.isLocal) return ANYWHERE
  // No worker has a name, so none can be told from another: the first one to take the job runs it.
  if (server.workerName === null && workers.every(({ name }) => name === null)) return ANYWHERE
  const name = server.workerName ?? sharedName(workers)
  const isThere = workers.some((worker) => worker.name === name && !worker.draining)
  return name !== null && isThere ? { kind: 'worker', name } : NONE
}

/** Whether a worker of this name may run a target; `ranOn` is where an earlier attempt at it ran. */
export function mayRun(
  worker: string,
  server: PlacedServer,
  ranOn: string | null,
  workers: readonly LiveWorker[],
): boolean {
  if (!server.isLocal) return true
  if (server.workerName !== null) return server.workerName === worker
  return ranOn === worker || workers.every(({ name }) => name === null || name === worker)
}

/** The one name of all workers; null when they have several. */
export function sharedName(workers: readonly LiveWorker[]): string | null {
  const names = new Set(workers.flatMap(({ name }) => name ?? []))
  return names.size === 1 ? [...names][0]! : null
}
