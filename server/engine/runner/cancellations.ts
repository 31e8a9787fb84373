import { CANCEL_CHANNEL } from '#engine/scheduling/cancel-action.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'

/** Tells running targets that their action was cancelled, in whichever process it was. One per process. */
export type Cancellations = {
  watch(actionId: number): Watch
}

export type Watch = { signal: AbortSignal; stop(): void }

export async function createCancellations(
  db: Database,
  listener: Listener,
  onError: (error: Error) => void,
): Promise<Cancellations> {
  const watched = new Map<number, Set<AbortController>>()
  const cancel = (actionId: number) => {
    for (const controller of watched.get(actionId) ?? []) controller.abort()
  }

  /** What was told while nobody listened is still written down. */
  async function catchUp(): Promise<void> {
    if (watched.size === 0) return
    const rows = await db
      .selectFrom('actions')
      .select('id')
      .where('id', 'in', [...watched.keys()])
      .where('cancelled_at', 'is not', null)
      .execute()
    for (const { id } of rows) cancel(id)
  }

  await listener.subscribe(CANCEL_CHANNEL, {
    onNotify: (message) => cancel(Number(message)),
    onReconnect: () => void catchUp().catch(onError),
  })

  return {
    watch(actionId) {
      const controller = new AbortController()
      const here = watched.get(actionId) ?? new Set()
      watched.set(actionId, here.add(controller))
      return {
        signal: controller.signal,
        stop() {
          here.delete(controller)
          if (here.size === 0 && watched.get(actionId) === here) watched.delete(actionId)
        },
      }
    },
  }
}
