import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { type CompiledHook, type HookAddress, loadHook } from './compiled-hook.ts'

/** A hook and the version of the tree that it was compiled at. */
export type KnownHook = { hook: CompiledHook; version: number }

/**
 * Hooks by the last part of their address, kept in memory until the tree changes. A notification drops
 * them within milliseconds, in every process; a commit that meets a newer version drops them at once
 * (`forget`). While notifications cannot arrive, nothing is kept.
 */
export type HookCache = {
  find(name: string): Promise<KnownHook | null>
  forget(): void
  /** Whether the tree is still as it was: asked before a call is turned away without a commit. */
  isCurrent(known: KnownHook): Promise<boolean>
}

const MOST_KEPT = 10_000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export async function createHookCache(db: Database, box: SecretBox, listener: Listener): Promise<HookCache> {
  let kept = new Map<string, Promise<KnownHook | null>>()
  let hears = true
  const forget = () => {
    kept = new Map()
  }
  await listener.subscribe('tree', {
    onNotify: forget,
    onDisconnect() {
      hears = false
      forget()
    },
    onReconnect() {
      hears = true
      forget()
    },
  })

  async function readVersion(): Promise<number> {
    const { version } = await db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
    return version
  }

  /** The version is read first: what is loaded after it is as new, or newer. */
  async function load(name: string): Promise<KnownHook | null> {
    const version = await readVersion()
    const address: HookAddress = UUID.test(name) ? { signedHookId: name } : { tokenHash: hashToken(name) }
    const hook = await loadHook(db, box, address)
    return hook && { hook, version }
  }

  return {
    forget,
    isCurrent: async ({ version }) => version === (await readVersion()),
    find(name) {
      const here = kept
      const known = here.get(name)
      if (known) return known
      const loading = load(name)
      loading.catch(() => here.delete(name))
      if (hears && here.size < MOST_KEPT) here.set(name, loading)
      return loading
    },
  }
}
