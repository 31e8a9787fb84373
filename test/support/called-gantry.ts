// A process of Gantry with a hook, on a database of its own that is reached over TCP.
import { administer, createTestDatabase } from './database.ts'
import { later } from './later.ts'
import { ADMIN_ENVIRONMENT, call, logInAsAdmin, startGantry, temporaryHome } from './process.ts'

type Closer = { after(fn: () => Promise<void>): void }

export async function ownDatabase(t: Closer): Promise<string> {
  const { settings, drop } = await createTestDatabase({ empty: true })
  later(t, drop)
  return settings.database!
}

export const urlAt = (port: number, database: string, query = '') =>
  `postgres://gantry@127.0.0.1:${port}/${database}?sslmode=disable${query}`

/** Ends every connection to a database, as a server that restarts does. */
export const disconnectAll = (database: string) =>
  administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)

export async function startCalled(t: Closer, databaseUrl: string, more: Record<string, string> = {}) {
  const gantry = await startGantry(t, {
    GANTRY_HOME: await temporaryHome(t),
    DATABASE_URL: databaseUrl,
    ...ADMIN_ENVIRONMENT,
    ...more,
  })
  const token = await logInAsAdmin(gantry)
  const hook = await call(gantry, 'POST', '/pipelines/1/hooks/incoming', {
    token,
    body: { name: 'Push', requires_secret: false },
  })
  const path = new URL(hook.body.url).pathname
  return {
    gantry,
    token,
    get: (url: string) => call(gantry, 'GET', url, { token }),
    /** A call of the hook; `took` is in milliseconds. */
    async callHook(delivery: string) {
      const began = performance.now()
      const response = await fetch(`${gantry.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-github-delivery': delivery },
        body: '{}',
      })
      // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
      const body = (await response.json()) as any
      return { status: response.status, body, took: performance.now() - began }
    },
  }
}
