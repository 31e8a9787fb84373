import { notifications } from '@mantine/notifications'
import { useServices } from '#web/base/api/services.ts'
import type { Action } from '#web/base/api/types.ts'
import type { Status } from '#web/base/ui/status.ts'
import { findBlockers } from './blockers.ts'
import { hasStarted, startMessage } from './start-message.ts'

/** The toast follows the run for this long. */
const FOLLOWED_FOR_MS = 8_000

/** Returns what shows a toast about a run that was just requested, and keeps it true until the run has started. */
export function useAnnounceRun(): (action: Action, pipelineName: string) => void {
  const { api, actionEvents } = useServices()
  return (action, pipelineName) => {
    const id = `run-${action.id}`
    const title = `${pipelineName} #${action.id}`
    let shown: Status = action.status

    function show(message: string): void {
      notifications.update({ id, message, color: 'teal' })
    }

    async function follow(status: Status, reason: string): Promise<void> {
      shown = status
      show(startMessage(title, status))
      if (hasStarted(status)) stop()
      if (status !== 'waiting') return
      const blockers = await findBlockers(api, {
        environmentId: action.environment.id,
        pipelineId: action.pipeline_id,
        serverIds: action.targets.map((target) => target.resource_id),
        reason,
      }).catch(() => [])
      if (shown === 'waiting') show(startMessage(title, status, blockers))
    }

    function stop(): void {
      clearTimeout(timer)
      unsubscribe()
    }

    /** An event from before the response was parsed is missed; one that came since is newer than this read. */
    async function readOnce(): Promise<void> {
      const read = await api.get('/actions/{action_id}', { params: { path: { action_id: action.id } } })
      if (shown === action.status && read.status !== shown) await follow(read.status, read.status_reason_code)
    }

    notifications.show({ id, message: startMessage(title, shown), color: 'teal' })
    const unsubscribe = actionEvents.subscribe({
      onEvents(events) {
        const last = events.findLast((event) => event.action_id === action.id)
        if (last && last.status !== shown) void follow(last.status, last.status_reason_code)
      },
      onGap() {},
    })
    const timer = setTimeout(stop, FOLLOWED_FOR_MS)
    if (hasStarted(shown)) return stop()
    if (shown === 'waiting') void follow(shown, action.status_reason_code)
    else readOnce().catch(() => {})
  }
}
