import type { LocalLaunch, LocalWay } from './local-tools.ts'
import type { LaunchedCommand } from './supervise.ts'

// What is mounted on the machine later is not seen in a namespace, so a spare one must not grow old.
const SPARE_FOR_MS = 5_000

/**
 * Keeps one bash ready while commands follow each other, for another one like the last. To start it takes several
 * times as long as a small command; and it knows nothing yet: what to do, and all values, come with the preamble.
 */
export function withSpare(way: LocalWay): LocalWay {
  const leaving = new Set<Promise<void>>()
  let spare:
    | { key: string; launching: Promise<LaunchedCommand | undefined>; timer: NodeJS.Timeout }
    | undefined

  function prepare(launch: LocalLaunch, key: string): void {
    if (spare) return
    // Why it did not work, the next command will learn by itself.
    const launching = way.launch(launch).then(
      (launched) => ('kind' in launched ? undefined : launched),
      () => undefined,
    )
    spare = { key, launching, timer: setTimeout(drop, SPARE_FOR_MS).unref() }
  }

  function take(): Promise<LaunchedCommand | undefined> | undefined {
    const taken = spare
    spare = undefined
    clearTimeout(taken?.timer)
    return taken?.launching
  }

  function drop(): void {
    const left: Promise<void> = dismiss(take()).finally(() => leaving.delete(left))
    leaving.add(left)
  }

  return {
    async launch(launch) {
      const key = JSON.stringify(launch)
      if (spare && spare.key !== key) drop()
      const ready = await take()
      prepare(launch, key)
      return ready && (await isAlive(ready)) ? ready : way.launch(launch)
    },
    async close() {
      drop()
      await Promise.all(leaving)
      await way.close()
    },
  }
}

async function isAlive(launched: LaunchedCommand): Promise<boolean> {
  return (await Promise.race([launched.ended, undefined])) === undefined
}

async function dismiss(launching: Promise<LaunchedCommand | undefined> | undefined): Promise<void> {
  const launched = await launching
  await launched?.kill()
  launched?.stdin.destroy()
  launched?.stdout.destroy()
  launched?.release?.()
}
