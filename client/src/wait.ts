import type { components } from './api-types.ts'
import { isTransient } from './errors.ts'
import { childController } from './pause.ts'
import { hasEnded } from './status.ts'
import type { ActionsEvent, createStreams } from './streams.ts'

type Action = components['schemas']['Action']

export type WaitOptions = {
  signal?: AbortSignal | undefined
  /** Rejects with a `TimeoutError` after this time. The action goes on. */
  timeoutMs?: number | undefined
  /** Called with the action when waiting begins, and whenever its status or the reason for it has changed. */
  onChange?: ((action: Action) => void) | undefined
}

type WaitDeps = {
  read(actionId: number, signal: AbortSignal): Promise<Action>
  followActions: ReturnType<typeof createStreams>['followActions']
}

/** While no stream is connected, and in case that an event got lost. */
const POLL_MS = 2_000
const POLL_BESIDE_STREAM_MS = 30_000
const GIVE_UP_AFTER_MS = 300_000

/**
 * The action once it has ended. It is read whenever the stream of all actions says that it changed: that stream has
 * no logs, unlike the action's own. Without a stream it is polled.
 */
export async function waitForAction(
  { read, followActions }: WaitDeps,
  actionId: number,
  { signal, timeoutMs, onChange }: WaitOptions,
): Promise<Action> {
  const over = childController(signal)
  const timeout = new DOMException(`Action ${actionId} did not finish in time.`, 'TimeoutError')
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => over.abort(timeout), timeoutMs)
  const change = createChange(over.signal)
  let isStreaming = false

  async function watch(pipelineId: number): Promise<void> {
    const query = { 'filter[pipeline_id]': String(pipelineId) }
    const onReconnect = () => {
      isStreaming = false
    }
    try {
      for await (const event of followActions({ query, signal: over.signal, onReconnect })) {
        isStreaming = true
        if (isAbout(event, actionId)) change.notify()
      }
    } catch {
      // Whatever it is, the next read finds out or does without.
      isStreaming = false
    }
  }

  try {
    let action = await read(actionId, over.signal)
    if (!hasEnded(action.status)) void watch(action.pipeline_id)
    onChange?.(action)
    let readAt = Date.now()
    while (!hasEnded(action.status)) {
      await change.wait(isStreaming ? POLL_BESIDE_STREAM_MS : POLL_MS)
      try {
        const previous = action
        action = await read(actionId, over.signal)
        readAt = Date.now()
        if (hasChanged(previous, action)) onChange?.(action)
      } catch (error) {
        if (!isTransient(error) || Date.now() - readAt > GIVE_UP_AFTER_MS) throw error
      }
    }
    return action
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}

/** Each connection begins with `ready`, or resumes without having missed anything. */
function isAbout(event: ActionsEvent, actionId: number): boolean {
  return event.type === 'ready' || event.data.action_id === actionId
}

function hasChanged(before: Action, after: Action): boolean {
  return before.status !== after.status || before.status_reason_code !== after.status_reason_code
}

/** Notifications that arrive while nobody waits are kept, as one. */
function createChange(signal: AbortSignal) {
  let isNotified = false
  let wake = () => {}
  return {
    notify() {
      isNotified = true
      wake()
    },
    async wait(ms: number): Promise<void> {
      if (!isNotified && !signal.aborted) {
        let timer: ReturnType<typeof setTimeout> | undefined
        await new Promise<void>((resolve) => {
          wake = resolve
          timer = setTimeout(resolve, ms)
          signal.addEventListener('abort', wake)
        })
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
      }
      isNotified = false
      signal.throwIfAborted()
    },
  }
}
