import type { Connect, ConnectOptions } from '#adapters/executors/connect.ts'
import type { Executor } from '#adapters/executors/executor.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ServerRow } from './read-servers.ts'
import { loadAddress } from './server-address.ts'

export type ReachDeps = {
  db: Database
  box: SecretBox
  connect: Connect
  /** The name of workers on this machine. */
  workerName?: string
}

/** In lower case, for the middle of a sentence. */
export type Failed = { kind: 'failed'; message: string }

type Limits = Pick<ConnectOptions, 'onNewHostKey' | 'onShownHostKey'> & {
  connectMs: number
  totalMs: number
  signal?: AbortSignal
}

/** Connects to a server as a run does, and closes the connection. Never takes longer than `totalMs`. */
export async function withServer<Result>(
  deps: ReachDeps,
  server: ServerRow,
  { connectMs, totalMs, signal: left, ...hostKeys }: Limits,
  use: (executor: Executor, signal: AbortSignal) => Promise<Result>,
): Promise<Result | Failed> {
  const late = AbortSignal.timeout(totalMs)
  const signal = left ? AbortSignal.any([late, left]) : late
  // Some hosts accept connections and then do nothing, in ways that only a clock ends.
  const over = new Promise<Failed>((resolve) => signal.addEventListener('abort', () => resolve(TOO_SLOW)))
  return Promise.race([connectAndUse(), over])

  async function connectAndUse(): Promise<Result | Failed> {
    const { worker_name } = server
    if (deps.workerName !== undefined && worker_name !== null && worker_name !== deps.workerName)
      return failed(
        `it is the machine of the worker ${worker_name}, which cannot be checked from ${deps.workerName}`,
      )
    const address = await loadAddress(deps, server)
    if ('message' in address) return failed(address.message)
    const connection = await deps.connect(address, { ...hostKeys, connectTimeoutMs: connectMs, signal })
    if (connection.kind === 'cancelled') return TOO_SLOW
    if (connection.kind === 'unreachable') return failed(connection.message)
    const { executor } = connection
    try {
      return await use(executor, signal)
    } finally {
      // A host may take any time to close the connection; the caller does not wait for it.
      executor.close().catch(() => {})
    }
  }
}

const failed = (message: string): Failed => ({ kind: 'failed', message })

export const TOO_SLOW = failed('the server did not answer in time')
