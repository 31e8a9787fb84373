import { setTimeout as pause } from 'node:timers/promises'

/** Polls for a truth; what is thrown on the way is the reason when it does not come. */
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
