import { fingerprint, parseHostKey } from '#adapters/executors/host-key.ts'
import { connectSsh } from '#adapters/executors/ssh-connect.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { Tried } from './ask-provider.ts'

export type SshPlace = {
  host: string
  port: number
  user: string
  hostKey: string | null
  /**
   * Somebody's word only, so it must be an address that Gantry may call for anybody. Servers have been set up by
   * those who may, and stand in private networks as a rule.
   */
  isGuarded: boolean
}

const WITHIN_MS = 10_000

/** Logs in with a key, runs nothing, and logs out. */
export async function tryKey(place: SshPlace, privateKey: string, guard: AddressGuard): Promise<Tried> {
  const verdict = place.isGuarded ? await guard.check(place.host) : undefined
  if (verdict && verdict.kind !== 'allowed') return { ok: false, message: verdict.message, details: {} }
  let shown: string | null = null
  const connection = await connectSsh({
    host: verdict?.addresses[0] ?? place.host,
    port: place.port,
    username: place.user,
    privateKey,
    hostKey: place.hostKey,
    onNewHostKey: async () => {},
    onShownHostKey: (hostKey) => {
      shown = fingerprintOf(hostKey)
    },
    connectTimeoutMs: WITHIN_MS,
  })
  const details = { host_key_fingerprint: shown }
  switch (connection.kind) {
    case 'connected':
      await connection.executor.close()
      return { ok: true, message: `${place.host} lets ${place.user} in with this key.`, details }
    case 'unreachable':
      return { ok: false, message: asSentence(connection.message), details }
    case 'cancelled':
      throw new Error('nobody has cancelled')
  }
}

function fingerprintOf(hostKey: string): string | null {
  const key = parseHostKey(hostKey)
  return key && fingerprint(key.blob)
}

/** Reasons of the executors begin small, for the middle of a sentence. */
export function asSentence(reason: string): string {
  const first = reason.charAt(0).toUpperCase() + reason.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
