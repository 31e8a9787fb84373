import type { SshGuard, SshVerdict } from '#platform/addresses/ssh-guard.ts'
import { shownTo } from '#platform/addresses/verdict.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { ServerColumns } from './normalize-server.ts'

const MAX_LOOKUP_MS = 3_000

/** Resolves a host, which takes too long for a transaction. Undefined: nothing to check, or no answer in time. */
export async function checkHost(guard: SshGuard, host: string | null | undefined) {
  if (host == null) return undefined
  const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, MAX_LOOKUP_MS, undefined).unref())
  return Promise.race([guard.check(host), timeout])
}

type Destination = Pick<ServerColumns, 'host' | 'port'>

/**
 * Whether a server may have this destination, and whether it may be the machine that Gantry runs on: only an instance
 * administrator grants that, and for exactly the host and port that they saved. A name that cannot be resolved now
 * passes without the grant, because the host is checked again at every connection. Pure.
 */
export function judgeDestination(
  { host, port }: Destination,
  stored: (Destination & { allow_loopback: boolean }) | undefined,
  verdict: SshVerdict | undefined,
  { isInstanceAdmin }: { isInstanceAdmin: boolean },
): { allowLoopback: boolean; errors: ErrorsByField } {
  const isLoopback = verdict?.kind === 'allowed' && verdict.isLoopback
  if (host === null) return { allowLoopback: false, errors: {} }
  if (host === stored?.host) {
    const isGranted = stored.allow_loopback
    if (!isGranted || isInstanceAdmin || port === stored.port)
      return { allowLoopback: isGranted || (isLoopback && isInstanceAdmin), errors: {} }
    return { allowLoopback: false, errors: { port: [`can only be changed ${BY_ADMIN}`] } }
  }
  if (verdict?.kind === 'refused') {
    const { message } = shownTo({ is_instance_admin: isInstanceAdmin }, verdict)
    return { allowLoopback: false, errors: { host: [message] } }
  }
  if (!isLoopback || isInstanceAdmin) return { allowLoopback: isLoopback, errors: {} }
  return { allowLoopback: false, errors: { host: [`can only be set to ${host} ${BY_ADMIN}`] } }
}

const BY_ADMIN = 'by an instance administrator: it is the machine that Gantry runs on'
