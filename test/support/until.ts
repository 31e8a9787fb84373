import { setTimeout as pause } from 'node:timers/promises'

/** Polls until `probe` returns a truthy value; errors of `probe` are thrown. */
export async function until<Result>(
  what: string,
  withinMs: number,
  probe: () => Promise<Result | false | undefined> | Result | false | undefined,
): Promise<Result> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const found = await probe()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs / 1_000} s: ${what}`)
    await pause(30)
  }
}
