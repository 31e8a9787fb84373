import pg from 'pg'
import { Client, withQueryTimeout } from './client.ts'
import type { ConnectionSettings } from './connect.ts'

const HEARTBEAT_MS = 5_000

export type Listener = Awaited<ReturnType<typeof openListener>>

export type Subscriber = {
  onNotify(payload: string): void
  /** From now on notifications are lost … */
  onDisconnect?(): void
  /** … until now. */
  onReconnect?(): void
}

/**
 * One dedicated LISTEN connection for a whole process. It reconnects until it is closed. Notifications sent while it
 * was disconnected are lost: `onReconnect` tells every subscriber to query for changes. A connection that hears nothing
 * looks the same whether there is no news or no network, so it asks regularly.
 */
export async function openListener(
  settings: ConnectionSettings,
  options: { onError: (error: Error) => void; retryMs?: number; heartbeatMs?: number },
) {
  const { heartbeatMs = HEARTBEAT_MS } = options
  const subscribers = new Map<string, Subscriber[]>()
  let client: Client | undefined
  let closed = false
  let retryTimer: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const next = new Client({
      ...settings,
      application_name: 'gantry listener',
      connectionTimeoutMillis: 3_000,
    })
    next.on('error', options.onError)
    next.on('notification', ({ channel, payload }) => {
      for (const subscriber of subscribers.get(channel) ?? []) subscriber.onNotify(payload ?? '')
    })
    try {
      await next.connect()
      for (const channel of subscribers.keys()) await next.query(`listen ${pg.escapeIdentifier(channel)}`)
      if (closed) throw new Error('The listener was closed while connecting')
    } catch (error) {
      void next.end()
      throw error
    }
    client = next
    // One that is not answered in time ends the connection.
    const beating = setInterval(() => {
      withQueryTimeout(heartbeatMs, () => next.query('select 1')).catch(options.onError)
    }, heartbeatMs)
    next.on('end', () => {
      clearInterval(beating)
      client = undefined
      for (const one of [...subscribers.values()].flat()) one.onDisconnect?.()
      scheduleReconnect()
    })
  }

  function scheduleReconnect(): void {
    if (closed) return
    retryTimer = setTimeout(async () => {
      try {
        await connect()
        for (const one of [...subscribers.values()].flat()) one.onReconnect?.()
      } catch (error) {
        if (!closed) options.onError(error as Error)
        scheduleReconnect()
      }
    }, options.retryMs ?? 500)
  }

  await connect()
  return {
    async subscribe(channel: string, subscriber: Subscriber): Promise<void> {
      const known = subscribers.get(channel)
      subscribers.set(channel, [...(known ?? []), subscriber])
      if (!known) await client?.query(`listen ${pg.escapeIdentifier(channel)}`)
    },
    async close(): Promise<void> {
      closed = true
      clearTimeout(retryTimer)
      await client?.end()
    },
  }
}
