// The checks room: runs that wait until the checks of their commit are green. A worker finds the commit (prepare-checks), its
// host is asked (ask-commit, ask-host; commit-checks stores when and what), and what that means for the runs is decided
// (decide-runs). One that gets its slot later asks once more (recheck). This file is the loop.
import { createRemoveOldPins } from '#engine/gates/old-pins.ts'
import { createTurnTaking } from '#engine/gates/prepare-in-turns.ts'
import { repeat, within } from '#platform/queue/repeat.ts'
import { askCommit, type CommitDeps } from './ask-commit.ts'
import { claimCommit, forgetOld } from './commit-checks.ts'
import { decideAbout, expireDue } from './decide-runs.ts'
import { type PrepareDeps, prepareChecks } from './prepare-checks.ts'

/** How many commits one process asks about at a time, each with another credential. */
const AT_ONCE = 8
const LAST_WRITES_MS = 2_000

export type ChecksDeps = Omit<PrepareDeps, 'removeOldPins'> & CommitDeps & { onError: (error: Error) => void }

/** Any number of processes may do this side by side: claims are leases on rows. */
export function startChecking(options: ChecksDeps & { everyMs: number; isPaused: () => boolean }): {
  stop(): Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const checking = createChecking(options, signal)
  const onError = (error: unknown) => options.onError(error as Error)
  const work = async () => {
    if (options.isPaused()) return
    checking.begin()
    await expireDue(options)
    await forgetOld(options.db)
  }
  const polling = repeat(options.everyMs, signal, work, { onError })
  return {
    async stop() {
      stopping.abort()
      await polling
      await within(LAST_WRITES_MS, checking.idle())
    },
  }
}

/** Everything that is due, and nothing else: for tests, pass by pass. */
export async function checkDue(deps: ChecksDeps, signal: AbortSignal): Promise<void> {
  const checking = createChecking(deps, signal)
  checking.begin()
  await checking.idle()
  await expireDue(deps)
}

function createChecking(deps: ChecksDeps, signal: AbortSignal) {
  const { db, minMs, onError } = deps
  const prepareDeps = { ...deps, removeOldPins: createRemoveOldPins(deps) }
  const prepare = ([actionId]: readonly number[]) => prepareChecks(prepareDeps, actionId!, signal)
  const preparing = createTurnTaking(deps, { requests: 'check_requests', atOnce: 1 }, prepare, signal)
  /** One request at a time for each credential: checks must not use up what deliveries need. */
  const busy = new Map<number, Promise<void>>()
  let claiming: Promise<void> | undefined
  /** A credential has become free since the last claim was sent. */
  let isOutdated = false

  function begin(): void {
    preparing.begin()
    isOutdated = claiming !== undefined
    claiming ??= claim()
      .catch((error) => {
        if (!signal.aborted) onError(error as Error)
      })
      .finally(() => {
        claiming = undefined
        if (isOutdated) begin()
      })
  }

  async function claim(): Promise<void> {
    while (busy.size < AT_ONCE && !signal.aborted) {
      const claimed = await claimCommit(db, { minMs, busyCredentials: [...busy.keys()] })
      if (!claimed) return
      const { id, credentialId } = claimed
      const asking = askCommit(deps, claimed, signal)
        .then(() => (signal.aborted ? undefined : decideAbout(deps, id)))
        .catch((error) => {
          if (!signal.aborted) onError(error as Error)
        })
        .finally(() => {
          busy.delete(credentialId)
          // Others may wait for this credential.
          begin()
        })
      busy.set(credentialId, asking)
    }
  }

  return {
    begin,
    async idle(): Promise<void> {
      do {
        await preparing.idle()
        begin()
        await claiming
        await Promise.all(busy.values())
      } while (busy.size > 0 || claiming !== undefined)
    },
  }
}
