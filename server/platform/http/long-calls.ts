import type { FastifyInstance, FastifyReply } from 'fastify'
import { unavailable } from './errors.ts'

type Limits = { perProcess: number; perUser: number }

/** `ifBusy`: what is answered when no slot is free. */
type LongCall<Answer> = { userId: number; reply: FastifyReply; ifBusy: () => Answer }

/**
 * Calls that take something scarce for seconds: a connection, a process, some disk. Only so many run at the same time, and
 * each is given up when its caller has left, or when the process stops.
 */
export function limitLongCalls(app: FastifyInstance, limits: Limits) {
  const slots = createSlots(limits)
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort())

  return async <Answer>(
    { userId, reply, ifBusy }: LongCall<Answer>,
    run: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> => {
    const release = slots.acquire(userId)
    if (!release) return ifBusy()
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const signal = AbortSignal.any([stop.signal, left.signal])
    try {
      const answer = await run(signal)
      // Something that was cut short may look like a result.
      if (signal.aborted) throw unavailable()
      return answer
    } catch (error) {
      throw signal.aborted ? unavailable() : error
    } finally {
      release()
    }
  }
}

function createSlots(limits: Limits) {
  const byUser = new Map<number, number>()
  let taken = 0
  return {
    /** Returns how to release the slot; undefined when there is none. */
    acquire(userId: number): (() => void) | undefined {
      const own = byUser.get(userId) ?? 0
      if (taken >= limits.perProcess || own >= limits.perUser) return undefined
      taken += 1
      byUser.set(userId, own + 1)
      return () => {
        taken -= 1
        const left = byUser.get(userId)! - 1
        if (left === 0) byUser.delete(userId)
        else byUser.set(userId, left)
      }
    },
  }
}
