import { asSentence, type Connect } from '#adapters/executors/connect.ts'
import { fingerprint, parseHostKey } from '#adapters/executors/host-key.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { ProbeResult } from './probe-token.ts'

export type SshLogin = {
  host: string
  port: number
  user: string
  hostKey: string | null
  /** The caller named the host, so it must be one that Gantry may connect to for anybody. */
  isGuarded: boolean
  /** Whether the host may be the machine that Gantry runs on. */
  allowLoopback: boolean
}

const TIMEOUT_MS = 10_000

/** Logs in with a key, runs nothing, and logs out. */
export async function probeKey(
  { host, port, user, hostKey, isGuarded, allowLoopback }: SshLogin,
  privateKey: string,
  { connect, guard }: { connect: Connect; guard: AddressGuard },
): Promise<ProbeResult> {
  let shownKey = ''
  const server = { name: host, kind: 'ssh' as const, host, port, loginName: user, hostKey, privateKey }
  const connection = await connect(
    { ...server, id: null, allowLoopback, rootDirectory: '/' },
    {
      onShownHostKey: (key) => {
        shownKey = key
      },
      connectTimeoutMs: TIMEOUT_MS,
      ...(isGuarded && { guard }),
    },
  )
  const key = parseHostKey(shownKey)
  const details = { host_key_fingerprint: key && fingerprint(key.blob) }
  switch (connection.kind) {
    case 'connected':
      await connection.executor.close()
      return { ok: true, message: `${host} accepts this key for ${user}.`, details }
    case 'unreachable':
      return { ok: false, message: asSentence(connection.message), details }
    case 'cancelled':
      throw new Error('cancelled without a signal')
  }
}
