// The log of one step: what is stored, then what the stream adds. Text from the stream is used only if it continues
// exactly where the log ends; otherwise the rest is read.
import { useEffect, useState } from 'react'
import { GantryError, UnreachableError } from '#client/index.ts'
import { useApi } from '#web/base/api/queries.ts'
import type { LogText } from '#web/base/api/types.ts'
import { appendWithGaps, createLogLines, type LogLines } from './log-lines.ts'

type StepPath = { actionId: number; targetId: number; order: number }
/** Calls back with each chunk of log text on the action's stream, until unsubscribed. */
export type SubscribeToLogs = (listener: (text: LogText) => void) => () => void

export type StepLogState = { lines: LogLines; version: number; isLoading: boolean; error: string | undefined }

const RETRY_DELAY_MS = 1_000

/** Of one step for as long as the component is mounted: key it by the step. */
export function useStepLog(step: StepPath, isRunning: boolean, subscribe: SubscribeToLogs): StepLogState {
  const api = useApi()
  const { actionId, targetId, order } = step
  const [state, setState] = useState<StepLogState>(() => ({
    lines: createLogLines(),
    /** Counts changes: the lines grow in place. */
    version: 0,
    isLoading: true,
    error: undefined,
  }))
  const { lines } = state

  // biome-ignore lint/correctness/useExhaustiveDependencies: when the step has ended, its log is read to the end once more
  useEffect(() => {
    const aborting = new AbortController()
    let reading: Promise<void> | undefined
    let frame: number | undefined
    let timer: ReturnType<typeof setTimeout> | undefined

    function show(more: Partial<StepLogState> = {}): void {
      if (more.error !== undefined || more.isLoading !== undefined)
        setState((now) => ({ ...now, ...more, version: now.version + 1 }))
      else
        frame ??= requestAnimationFrame(() => {
          frame = undefined
          setState((now) => ({ ...now, version: now.version + 1 }))
        })
    }

    async function read(): Promise<void> {
      try {
        const { step } = await api.get('/actions/{action_id}/targets/{target_id}/steps/{order}/logs', {
          params: {
            path: { action_id: actionId, target_id: targetId, order },
            query: { after: lines.size() },
          },
          signal: aborting.signal,
        })
        appendWithGaps(lines, step)
        show({ isLoading: false, error: undefined })
      } catch (error) {
        if (aborting.signal.aborted) return
        if (error instanceof GantryError && error.status !== 401)
          return show({ isLoading: false, error: error.message })
        if (error instanceof UnreachableError || error instanceof GantryError)
          timer = setTimeout(readRest, RETRY_DELAY_MS)
      }
    }

    function readRest(): void {
      reading ??= read().finally(() => {
        reading = undefined
      })
    }

    const unsubscribe = subscribe((chunk) => {
      if (chunk.target_id !== targetId || chunk.step_order !== order) return
      if (reading) return void reading.then(() => append(chunk))
      append(chunk)
    })

    function append({ offset, omitted_bytes, text }: LogText): void {
      const from = offset - omitted_bytes
      if (from > lines.size()) readRest()
      if (from !== lines.size()) return
      if (omitted_bytes > 0) lines.omit(omitted_bytes)
      lines.append(text)
      show()
    }

    readRest()
    return () => {
      aborting.abort()
      unsubscribe()
      clearTimeout(timer)
      if (frame !== undefined) cancelAnimationFrame(frame)
    }
  }, [api, lines, actionId, targetId, order, subscribe, isRunning])

  return state
}
