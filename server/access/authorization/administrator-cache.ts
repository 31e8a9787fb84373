import { mayBeToken } from '#platform/crypto/personal-token.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import type { Caller } from './caller.ts'

const KEEP_MS = 10 * 60_000
const MAX_TOKENS = 1_000

/**
 * The instance administrators of the last ten minutes, by the hash of their token. Diagnostics knows them by it while the
 * database cannot be asked; as long as it answers, it alone decides.
 */
export function createAdministratorCache(now: () => number = Date.now) {
  const known = new Map<string, { caller: Caller; until: number }>()

  return {
    /** What the database said about a token: also that it is no longer valid. */
    note(hash: string, caller: Caller | undefined): void {
      known.delete(hash)
      if (!caller?.is_instance_admin) return
      known.set(hash, { caller, until: now() + KEEP_MS })
      // Entries are in the order of their last use.
      if (known.size > MAX_TOKENS) known.delete(known.keys().next().value!)
    },

    find(token: string): Caller | undefined {
      if (!mayBeToken(token)) return undefined
      const found = known.get(hashToken(token).toString('hex'))
      if (found === undefined || found.until <= now()) return undefined
      const { expires_at } = found.caller.token
      return expires_at === null || Date.parse(expires_at) > now() ? found.caller : undefined
    },
  }
}
