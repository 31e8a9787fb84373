import type { ActionWatch, LogEnd } from '#model/actions/notifications.ts'
import { presentStatus } from '#model/actions/present.ts'
import { isEnd } from '#model/actions/status.ts'
import { isOutage } from '#platform/database/outages.ts'
import { type ActionCursor, encodeCursor, maxOpenTargets, type TargetCursor } from './action-cursor.ts'
import { includes, type Ranges, without } from './ranges.ts'
import type {
  LoadSnapshot,
  Move,
  ReadLogPage,
  RunSnapshot,
  TargetMove,
  TargetSnapshot,
} from './run-snapshot.ts'
import type { StreamDeps } from './settings.ts'
import { formatEvent, pause } from './sse.ts'

type ActionStreamDeps = StreamDeps & {
  loadSnapshot: LoadSnapshot
  readLogPage: ReadLogPage
  watch: ActionWatch
}

/**
 * The events of one action after `cursor`, until it has ended or the signal aborts. They are read on demand:
 * nothing is queued for a slow client, who later gets what the database still has.
 *
 * Moves of the action come in order, the last one after everything else. Moves of a target and of its steps come in
 * order, and a step's output comes before the end of the step.
 */
export async function* streamAction(
  { loadSnapshot, readLogPage, watch, signal, settings }: ActionStreamDeps,
  cursor: ActionCursor,
): AsyncGenerator<string> {
  /** Where logs end, as far as known: by the id of the target, then by the order of the step. */
  const logEnds = new Map<number, { target: TargetSnapshot; ends: number[] }>()
  let maxOpen = Number.POSITIVE_INFINITY
  let polledAt = Number.NEGATIVE_INFINITY

  while (!signal.aborted) {
    const wokenAt = performance.now()
    try {
      yield* sendChanges()
      if (cursor.isEnded) return
    } catch (error) {
      if (!isOutage(error)) throw error
      // The cursor has not moved: everything is sent when the database is back.
      watch.wake()
      await pause(settings.outageRetryMs, signal)
    }
    // Polls now and then, in case a notification was lost.
    await watch.wait(Math.max(0, polledAt + settings.pollMs - performance.now()))
    await pause(wokenAt + settings.batchMs - performance.now(), signal)
  }

  async function* sendChanges(): AsyncGenerator<string> {
    const { mayHaveMoved, logs } = watch.take()
    logs.forEach(noteLogEnd)
    if (mayHaveMoved || performance.now() >= polledAt + settings.pollMs) yield* sendMoves()
    else for (const { target } of logEnds.values()) if (hasUnsentLogs(target)) yield* sendLogs(target)
  }

  async function* sendMoves(): AsyncGenerator<string> {
    for (;;) {
      const isFull = cursor.open.size >= maxOpen
      // Targets that are not open could not be sent now, and would only take the room of those that can be.
      const snapshot = await loadSnapshot(isFull ? { ...cursor, unfinished: positions(cursor.open) } : cursor)
      if (!snapshot) throw new Error(`Action ${cursor.actionId} does not exist`)
      noteTargets(snapshot.targets)
      for (const event of snapshot.events) if (!isEnd(event.status)) yield formatAction(snapshot, event)
      for (const target of snapshot.targets) yield* sendTarget(target, snapshot)
      const someWait = isFull || snapshot.targets.some(isWaiting)
      if (!snapshot.isComplete || (someWait && cursor.open.size < maxOpen)) continue
      polledAt = performance.now()
      if (isEnd(snapshot.status) && !someWait) yield* sendEnd(snapshot)
      return
    }
  }

  async function* sendTarget(target: TargetSnapshot, snapshot: RunSnapshot): AsyncGenerator<string> {
    if (target.moves.length > 0 || hasUnsentLogs(target)) {
      const sent = openTarget(target)
      if (!sent) return
      for (const move of target.moves) {
        if (endsOutput(move)) yield* sendLogs(target, move.step_order)
        sent.moveId = move.id
        yield formatTargetMove(target, move)
      }
      if (!snapshot.isComplete) return
      yield* sendLogs(target)
    }
    // Ends are final, and in one snapshot with the moves and the logs: there is no more to come.
    if (snapshot.isComplete && (isEnd(target.status) || isEnd(snapshot.status))) {
      cursor.open.delete(target.position)
      cursor.unfinished = without(cursor.unfinished, target.position)
      logEnds.delete(target.id)
    }
  }

  /** The output of all steps of a target, or of one. */
  async function* sendLogs(target: TargetSnapshot, only: number | null = null): AsyncGenerator<string> {
    const sent = openTarget(target)
    if (!sent) return
    for (const [order, end] of endsOf(target)) {
      if (only !== null && order !== only) continue
      for (let from = offsetOf(sent, order); from < end; from = offsetOf(sent, order)) {
        const page = await readLogPage(target.id, order, from)
        sent.offsets[order - 1] = page?.end ?? end
        if (!page) continue
        const { start: offset, text } = page
        const data = { target_id: target.id, step_order: order, offset, omitted_bytes: offset - from, text }
        yield formatEvent('log', encodeCursor(cursor), data)
      }
    }
  }

  function* sendEnd(snapshot: RunSnapshot): Generator<string> {
    for (const event of snapshot.events) if (isEnd(event.status)) yield formatAction(snapshot, event)
    cursor.isEnded = true
    const state = presentStatus(snapshot.status, snapshot.status_reason_code)
    yield formatEvent('end', encodeCursor(cursor), { action_id: cursor.actionId, ...state })
  }

  function formatAction({ environment_id, pipeline_id }: RunSnapshot, event: Move): string {
    cursor.eventId = event.id
    const data = { action_id: cursor.actionId, environment_id, pipeline_id, ...presentMove(event) }
    return formatEvent('action', encodeCursor(cursor), data)
  }

  function formatTargetMove(target: TargetSnapshot, { step_order, ...move }: TargetMove): string {
    const [id, data] = [encodeCursor(cursor), { target_id: target.id, ...presentMove(move) }]
    return step_order === null
      ? formatEvent('target', id, data)
      : formatEvent('step', id, { ...data, step_order })
  }

  /** Undefined while too many others are open: it has to wait until one of them has ended. */
  function openTarget({ position }: TargetSnapshot): TargetCursor | undefined {
    const known = cursor.open.get(position)
    if (known || cursor.open.size >= maxOpen) return known
    const opened = { moveId: 0, offsets: [] }
    cursor.open.set(position, opened)
    return opened
  }

  function isWaiting(target: TargetSnapshot): boolean {
    const { position, moves } = target
    if (cursor.open.has(position) || !includes(cursor.unfinished, position)) return false
    return moves.length > 0 || hasUnsentLogs(target)
  }

  function noteTargets(targets: readonly TargetSnapshot[]): void {
    for (const target of targets) {
      maxOpen = Math.min(maxOpen, maxOpenTargets(target.steps))
      logEnds.set(target.id, { target, ends: logEnds.get(target.id)?.ends ?? [] })
      for (const { order, end } of target.logs) noteLogEnd({ targetId: target.id, stepOrder: order, end })
    }
  }

  function noteLogEnd({ targetId, stepOrder, end }: LogEnd): void {
    const ends = logEnds.get(targetId)?.ends
    if (ends) ends[stepOrder] = Math.max(ends[stepOrder] ?? 0, end)
  }

  function endsOf({ id }: TargetSnapshot): [order: number, end: number][] {
    return Object.entries(logEnds.get(id)?.ends ?? []).map(([order, end]) => [Number(order), end])
  }

  function hasUnsentLogs(target: TargetSnapshot): boolean {
    const sent = cursor.open.get(target.position)
    return endsOf(target).some(([order, end]) => offsetOf(sent, order) < end)
  }
}

function offsetOf(sent: TargetCursor | undefined, order: number): number {
  return sent?.offsets[order - 1] ?? 0
}

/** A step that runs no longer, or a target. */
function endsOutput({ step_order, status }: TargetMove): boolean {
  return step_order === null ? isEnd(status) : status !== 'in-progress'
}

export function presentMove<Previous>(move: Omit<Move, 'previous_status'> & { previous_status: Previous }) {
  const { previous_status, status, status_reason_code, occurred_at } = move
  return { previous_status, ...presentStatus(status, status_reason_code), occurred_at }
}

function positions(open: ActionCursor['open']): Ranges {
  return [...open.keys()].sort((one, other) => one - other).map((position) => [position, position])
}
