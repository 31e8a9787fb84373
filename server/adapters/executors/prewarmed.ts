// A prewarmed bash in front of a backend of local commands.

import type { LocalBackend, LocalLaunch } from './local-backend.ts'
import type { LaunchedCommand } from './supervise.ts'

// A namespace does not see what is mounted on the machine later, so a prewarmed one must not grow old.
const PREWARMED_FOR_MS = 5_000
/** Servers that take turns should not discard what the others have ready. */
const MAX_PREWARMED = 4

type Prewarmed = { launching: Promise<LaunchedCommand | undefined>; timer: NodeJS.Timeout }

/**
 * Keeps one bash ready while commands follow each other, for another one like the last. Starting it takes several
 * times as long as a small command; and it knows nothing yet: script and values come with the preamble.
 */
export function withPrewarmed(backend: LocalBackend): LocalBackend {
  const discarding = new Set<Promise<void>>()
  const prewarmed = new Map<string, Prewarmed>()

  function prewarm(launch: LocalLaunch, key: string): void {
    if (prewarmed.has(key)) return
    const [oldest] = prewarmed.keys()
    if (prewarmed.size >= MAX_PREWARMED) discard(oldest!)
    // The next command will find out on its own why it did not work.
    const launching = backend.launch(launch).then(
      (launched) => ('kind' in launched ? undefined : launched),
      () => undefined,
    )
    prewarmed.set(key, { launching, timer: setTimeout(discard, PREWARMED_FOR_MS, key).unref() })
  }

  function take(key: string): Promise<LaunchedCommand | undefined> | undefined {
    const taken = prewarmed.get(key)
    prewarmed.delete(key)
    clearTimeout(taken?.timer)
    return taken?.launching
  }

  function discard(key: string): void {
    const discarded: Promise<void> = end(take(key)).finally(() => discarding.delete(discarded))
    discarding.add(discarded)
  }

  return {
    async launch(launch) {
      const key = JSON.stringify(launch)
      const ready = await take(key)
      prewarm(launch, key)
      return ready && (await isAlive(ready)) ? ready : backend.launch(launch)
    },
    async close() {
      for (const key of [...prewarmed.keys()]) discard(key)
      await Promise.all(discarding)
      await backend.close()
    },
  }
}

async function isAlive(launched: LaunchedCommand): Promise<boolean> {
  return (await Promise.race([launched.ended, undefined])) === undefined
}

async function end(launching: Promise<LaunchedCommand | undefined> | undefined): Promise<void> {
  const launched = await launching
  await launched?.kill()
  launched?.stdin.destroy()
  launched?.stdout.destroy()
  launched?.release?.()
}
