import type pg from 'pg'
import { Client } from './client.ts'
import { POOL_EXHAUSTED } from './outage-kinds.ts'

type Callback = (error: Error | undefined, client?: pg.PoolClient, done?: () => void) => void
// What `pg` keeps in its pools, and its types do not mention.
type Internals = { _clients: pg.Client[] }

/**
 * Gives the error of a request that waited in vain its code if every connection is in use. Without the code, the error
 * means that connections could not be opened: they count as the pool's as soon as they are attempted.
 */
export function nameExhaustion(pool: pg.Pool, onError?: (error: Error) => void): void {
  const connect = pool.connect.bind(pool)
  const examine = (error: Error): Error => {
    if (error.message !== 'timeout exceeded when trying to connect') return error
    const { _clients } = pool as unknown as Internals
    // A single connection is a reserved one, for quick statements: the server does not answer.
    const isInUse =
      _clients.length > 1 &&
      _clients.every((client) => client instanceof Client && client.session !== undefined)
    if (isInUse) Object.assign(error, { code: POOL_EXHAUSTED })
    onError?.(error)
    return error
  }
  const connectAndName = (callback?: Callback) =>
    callback
      ? connect((error, client, done) => callback(error && examine(error), client, done))
      : connect().catch((error: Error) => {
          throw examine(error)
        })
  pool.connect = connectAndName as typeof pool.connect
}
