import type { Log, QueueCore } from './core.ts'
import { reassignLostJobs } from './hand-back.ts'
import type { Outage } from './outage.ts'
import { repeat } from './repeat.ts'

export type UpkeepTimings = {
  upkeepMs: number
  /** After the database, or this process, was away: how long live workers have to say so. */
  returnGraceMs: number
}

/**
 * What some process of the cluster has to do for all: put periodic jobs into the queue, take over the
 * jobs of workers that fell silent, expire and delete old rows. Every worker process does it; the
 * database lets each thing happen once.
 */
export async function keepUp(options: {
  queue: QueueCore
  outage: Outage
  log: Log
  timings: UpkeepTimings
  signal: AbortSignal
}): Promise<void> {
  const { queue, log, timings, signal } = options
  let lastContact = performance.now()
  let graceUntil = 0

  async function once(): Promise<void> {
    await enqueuePeriodicJobs(queue)
    // When the database was away nobody's heartbeat came through. That says nothing about the workers.
    const now = performance.now()
    if (now - lastContact > 2 * timings.upkeepMs) graceUntil = now + timings.returnGraceMs
    lastContact = now
    if (now < graceUntil) return
    for (const { job, id } of await reassignLostJobs(queue)) {
      log.warn({ job, job_id: id }, 'job taken over from a silent worker')
    }
    await queue.boss.supervise()
  }

  await repeat(timings.upkeepMs, signal, () => options.outage.persist('upkeep', once, signal))
}

/** A period is a slot of the database's clock, and a slot takes one job. */
export async function enqueuePeriodicJobs(queue: QueueCore): Promise<void> {
  for (const [name, { everySeconds }] of Object.entries(queue.jobs)) {
    if (everySeconds) await queue.boss.insert(name, [{ data: {}, singletonSeconds: everySeconds }])
  }
}
