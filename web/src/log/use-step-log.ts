// The log of one step: what is stored, then what the stream brings. The stream is only taken at its word where it goes
// on exactly at the end of what is here; otherwise the rest is read.
import { useEffect, useRef, useState } from 'react'
import { Away, Refusal } from '../api/api.ts'
import { useApi } from '../api/services.ts'
import type { LogText } from '../api-types.ts'
import { createLogLines, type LogLines } from './log-lines.ts'

export type StepAddress = { actionId: number; targetId: number; order: number }
/** Calls back with each piece of log that the stream of the action brings; the result stops it. */
export type ListenToLogs = (listener: (text: LogText) => void) => () => void

export type StepLogState = { lines: LogLines; version: number; isReading: boolean; fault: string | undefined }

const READ_AGAIN_AFTER_MS = 1_000

export function useStepLog(step: StepAddress, isRunning: boolean, listen: ListenToLogs): StepLogState {
  const api = useApi()
  const { actionId, targetId, order } = step
  const [state, setState] = useState<StepLogState>(() => emptyState())
  const kept = useRef({ of: '', lines: state.lines })

  // biome-ignore lint/correctness/useExhaustiveDependencies: when the step has ended its log is read to the end once more
  useEffect(() => {
    const address = `${actionId}/${targetId}/${order}`
    if (kept.current.of !== address) {
      kept.current = { of: address, lines: createLogLines() }
      setState({ ...emptyState(), lines: kept.current.lines })
    }
    const { lines } = kept.current
    const leaving = new AbortController()
    let reading: Promise<void> | undefined
    let frame: number | undefined
    let timer: ReturnType<typeof setTimeout> | undefined

    function show(more: Partial<StepLogState> = {}): void {
      if (more.fault !== undefined || more.isReading !== undefined)
        setState((now) => ({ ...now, ...more, lines, version: now.version + 1 }))
      else
        frame ??= requestAnimationFrame(() => {
          frame = undefined
          setState((now) => ({ ...now, lines, version: now.version + 1 }))
        })
    }

    async function read(): Promise<void> {
      try {
        const { step } = await api.ask('GET /actions/{action_id}/targets/{target_id}/steps/{order}/logs', {
          path: { action_id: actionId, target_id: targetId, order },
          query: { after: lines.size() },
          signal: leaving.signal,
        })
        lines.append(step.output)
        show({ isReading: false, fault: undefined })
      } catch (error) {
        if (leaving.signal.aborted) return
        if (error instanceof Refusal && error.status !== 401)
          return show({ isReading: false, fault: error.message })
        if (error instanceof Away || error instanceof Refusal)
          timer = setTimeout(readRest, READ_AGAIN_AFTER_MS)
      }
    }

    function readRest(): void {
      reading ??= read().finally(() => {
        reading = undefined
      })
    }

    const stop = listen((piece) => {
      if (piece.target_id !== targetId || piece.step_order !== order) return
      if (reading) return void reading.then(() => take(piece))
      take(piece)
    })

    function take({ offset, text }: LogText): void {
      if (offset > lines.size()) readRest()
      if (offset !== lines.size()) return
      lines.append(text)
      show()
    }

    readRest()
    return () => {
      leaving.abort()
      stop()
      clearTimeout(timer)
      if (frame !== undefined) cancelAnimationFrame(frame)
    }
  }, [api, actionId, targetId, order, listen, isRunning])

  return state
}

function emptyState(): StepLogState {
  return { lines: createLogLines(), version: 0, isReading: true, fault: undefined }
}
