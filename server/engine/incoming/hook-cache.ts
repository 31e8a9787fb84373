import { LRUCache } from 'lru-cache'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { type CompiledHook, loadHook } from './compiled-hook.ts'

/** A hook and the tree version that it was compiled at. */
export type CachedHook = { hook: CompiledHook; version: number }

const MAX_HOOKS = 10_000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * Hooks by the last part of their URL, cached until the tree changes. A notification clears the cache within
 * milliseconds, in every process; a commit that meets a newer version clears it immediately. While notifications cannot
 * arrive, nothing is cached.
 */
export async function createHookCache(db: Database, box: SecretBox, listener: Listener) {
  const cache = new LRUCache<string, Promise<CachedHook | null>>({ max: MAX_HOOKS })
  /** Kept while nothing is cached: the log names hooks while the database is away, too. */
  const ids = new LRUCache<string, string>({ max: MAX_HOOKS })
  let isListening = true
  const clear = () => cache.clear()
  const setListening = (value: boolean) => () => {
    isListening = value
    clear()
  }
  await listener.subscribe('tree', {
    onNotify: clear,
    onDisconnect: setListening(false),
    onReconnect: setListening(true),
  })

  async function readVersion(): Promise<number> {
    const { version } = await db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
    return version
  }

  /** The version is read first: what is loaded after it is as new, or newer. */
  async function load(name: string): Promise<CachedHook | null> {
    const version = await readVersion()
    const address = UUID.test(name) ? { signedHookId: name } : { tokenHash: hashToken(name) }
    const hook = await loadHook(db, box, address)
    if (hook) ids.set(name, hook.id)
    return hook && { hook, version }
  }

  return {
    clear,
    /** For the log; null for a hook that no call has found yet. */
    idOf: (name: string): string | null => ids.get(name) ?? null,
    /** Whether the tree is unchanged: checked before a call is rejected without a commit. */
    isCurrent: async ({ version }: CachedHook) => version === (await readVersion()),
    find(name: string): Promise<CachedHook | null> {
      const cached = cache.get(name)
      if (cached) return cached
      const loading = load(name)
      loading.catch(() => {
        if (cache.peek(name) === loading) cache.delete(name)
      })
      if (isListening) cache.set(name, loading)
      return loading
    },
  }
}
