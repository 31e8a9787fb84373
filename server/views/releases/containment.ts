import { type ContainmentRequest, findContaining } from '#adapters/repositories/containment.ts'
import type { LiveServer } from './read-releases.ts'
import type { LiveRelease } from './schemas.ts'

const WITHIN_MS = 10_000

export async function withContainment(
  live: readonly LiveServer[],
  request: Omit<ContainmentRequest, 'hashes' | 'withinMs'>,
): Promise<LiveRelease[]> {
  const hashes = live.flatMap(({ commit }) => commit?.hash ?? [])
  const answers = await findContaining({ ...request, hashes, withinMs: WITHIN_MS })
  return live.map((one) => {
    const answer = one.commit === null ? unknownOf(one) : answers.get(one.commit.hash)!
    return typeof answer === 'boolean'
      ? { ...one, contains: answer, contains_reason: null }
      : { ...one, contains: null, contains_reason: answer }
  })
}

const UNKNOWN = { unknown: 'live_unknown', nothing: 'nothing_live', known: 'unknown_live_commit' } as const

const unknownOf = ({ state }: LiveServer) => UNKNOWN[state]
