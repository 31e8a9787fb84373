import { setTimeout as delay } from 'node:timers/promises'
import { presentStatus } from '#model/actions/present.ts'
import { isEnd } from '#model/actions/status.ts'
import { isOutage } from '#platform/database/outages.ts'
import { writeEvent } from './event-text.ts'
import type { Look, LookAtRun, LookedAtTarget, Move, TargetMove } from './look-at-run.ts'
import type { LogEnd, Watch } from './news.ts'
import { type Progress, roomForTargets, type TargetProgress, writeProgress } from './progress.ts'
import type { Ranges } from './ranges.ts'
import { includes, without } from './ranges.ts'
import type { ReadLogPage } from './read-log-page.ts'
import type { LiveSettings } from './settings.ts'

export type FollowedAction = {
  look: LookAtRun
  readLogPage: ReadLogPage
  watch: Watch
  signal: AbortSignal
  settings: Pick<LiveSettings, 'gatherMs' | 'lookMs' | 'awayMs'>
}

/**
 * The events of one action from `progress` on, until it has ended or the signal aborts. Read as they are taken:
 * nothing is queued for a slow receiver, who gets later what the database still has.
 *
 * Moves of the action come in their order, its last one after everything else. Moves of a target and of its steps
 * come in theirs, and before a step ends comes what it has printed.
 */
export async function* streamAction(
  { look, readLogPage, watch, signal, settings }: FollowedAction,
  progress: Progress,
): AsyncGenerator<string> {
  /** Where logs end, as far as we have heard: by the id of the target, then by the order of the step. */
  const logEnds = new Map<number, { target: LookedAtTarget; ends: number[] }>()
  let room = Number.POSITIVE_INFINITY
  let lookedAt = Number.NEGATIVE_INFINITY

  while (!signal.aborted) {
    const wokenAt = performance.now()
    try {
      yield* tellNews()
      if (progress.isOver) return
    } catch (error) {
      if (!isOutage(error)) throw error
      // Everything is where it was: it is sent when the database is back.
      watch.wake()
      await pause(settings.awayMs, signal)
    }
    // Looks by itself now and then, in case it was not told.
    await watch.wait(Math.max(0, lookedAt + settings.lookMs - performance.now()))
    await pause(wokenAt + settings.gatherMs - performance.now(), signal)
  }

  async function* tellNews(): AsyncGenerator<string> {
    const { mayHaveMoved, logs } = watch.take()
    logs.forEach(noteLogEnd)
    if (mayHaveMoved || performance.now() >= lookedAt + settings.lookMs) yield* tellMoves()
    else for (const { target } of logEnds.values()) if (hasLogs(target)) yield* tellLogs(target)
  }

  async function* tellMoves(): AsyncGenerator<string> {
    for (;;) {
      const isFull = progress.open.size >= room
      // Whatever is not open could not be sent now, and would only take the places of what can be.
      const seen = await look(isFull ? { ...progress, undone: positions(progress.open) } : progress)
      if (!seen) throw new Error(`Action ${progress.actionId} is gone`)
      noteTargets(seen.targets)
      for (const event of seen.events) if (!isEnd(event.status)) yield tellAction(seen, event)
      for (const target of seen.targets) yield* tellTarget(target, seen)
      const somebodyWaits = isFull || seen.targets.some(isLeftOut)
      if (!seen.isWhole || (somebodyWaits && progress.open.size < room)) continue
      lookedAt = performance.now()
      if (isEnd(seen.status) && !somebodyWaits) yield* tellEnd(seen)
      return
    }
  }

  async function* tellTarget(target: LookedAtTarget, seen: Look): AsyncGenerator<string> {
    if (target.moves.length > 0 || hasLogs(target)) {
      const sent = openTarget(target)
      if (!sent) return
      for (const move of target.moves) {
        if (endsOutput(move)) yield* tellLogs(target, move.step_order)
        sent.moveId = move.id
        yield tellMove(target, move)
      }
      if (!seen.isWhole) return
      yield* tellLogs(target)
    }
    // Ends are final, and of one snapshot with the moves and the logs: there is no more to come.
    if (seen.isWhole && (isEnd(target.status) || isEnd(seen.status))) {
      progress.open.delete(target.position)
      progress.undone = without(progress.undone, target.position)
      logEnds.delete(target.id)
    }
  }

  /** What the steps of a target have printed, or one of them. */
  async function* tellLogs(target: LookedAtTarget, only: number | null = null): AsyncGenerator<string> {
    const sent = openTarget(target)
    if (!sent) return
    for (const [order, end] of endsOf(target)) {
      if (only !== null && order !== only) continue
      for (let from = offsetOf(sent, order); from < end; from = offsetOf(sent, order)) {
        const page = await readLogPage(target.id, order, from)
        sent.offsets[order - 1] = page?.end ?? end
        if (!page) continue
        const { start: offset, text } = page
        const data = { target_id: target.id, step_order: order, offset, text }
        yield writeEvent('log', writeProgress(progress), data)
      }
    }
  }

  function* tellEnd(seen: Look): Generator<string> {
    for (const event of seen.events) if (isEnd(event.status)) yield tellAction(seen, event)
    progress.isOver = true
    const state = presentStatus(seen.status, seen.status_reason_code)
    yield writeEvent('end', writeProgress(progress), { action_id: progress.actionId, ...state })
  }

  function tellAction({ environment_id, pipeline_id }: Look, event: Look['events'][number]): string {
    progress.eventId = event.id
    const { previous_status, ...rest } = presentMove(event)
    const place = { action_id: progress.actionId, environment_id, pipeline_id }
    return writeEvent('action', writeProgress(progress), { ...place, previous_status, ...rest })
  }

  function tellMove(target: LookedAtTarget, { step_order, ...move }: TargetMove): string {
    const [id, data] = [writeProgress(progress), { target_id: target.id, ...presentMove(move) }]
    return step_order === null
      ? writeEvent('target', id, data)
      : writeEvent('step', id, { ...data, step_order })
  }

  /** Undefined while too many others are open: it has to wait until one of them is done. */
  function openTarget({ position }: LookedAtTarget): TargetProgress | undefined {
    const known = progress.open.get(position)
    if (known || progress.open.size >= room) return known
    const opened = { moveId: 0, offsets: [] }
    progress.open.set(position, opened)
    return opened
  }

  /** There was no room for it. */
  function isLeftOut(target: LookedAtTarget): boolean {
    const { position, moves } = target
    if (progress.open.has(position) || !includes(progress.undone, position)) return false
    return moves.length > 0 || hasLogs(target)
  }

  function noteTargets(targets: readonly LookedAtTarget[]): void {
    room = Math.min(room, ...targets.map(({ steps }) => roomForTargets(steps)))
    for (const target of targets) {
      const ends = logEnds.get(target.id)?.ends ?? []
      logEnds.set(target.id, { target, ends })
      for (const { order, end } of target.logs) ends[order] = Math.max(ends[order] ?? 0, end)
    }
  }

  function noteLogEnd({ targetId, stepOrder, end }: LogEnd): void {
    const ends = logEnds.get(targetId)?.ends
    if (ends) ends[stepOrder] = Math.max(ends[stepOrder] ?? 0, end)
  }

  function endsOf({ id }: LookedAtTarget): [order: number, end: number][] {
    return Object.entries(logEnds.get(id)?.ends ?? []).map(([order, end]) => [Number(order), end])
  }

  function hasLogs(target: LookedAtTarget): boolean {
    const sent = progress.open.get(target.position)
    return endsOf(target).some(([order, end]) => offsetOf(sent, order) < end)
  }
}

function offsetOf(sent: TargetProgress | undefined, order: number): number {
  return sent?.offsets[order - 1] ?? 0
}

/** A step that runs no longer, or a target. */
function endsOutput({ step_order, status }: TargetMove): boolean {
  return step_order === null ? isEnd(status) : status !== 'in-progress'
}

function presentMove<Previous>(move: Omit<Move, 'previous_status'> & { previous_status: Previous }) {
  const { previous_status, status, status_reason_code, occurred_at } = move
  return { previous_status, ...presentStatus(status, status_reason_code), occurred_at }
}

function positions(open: Progress['open']): Ranges {
  return [...open.keys()].sort((one, other) => one - other).map((position) => [position, position])
}

/** Resolves early when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await delay(ms, undefined, { signal }).catch(() => {})
}
