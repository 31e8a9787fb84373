/** Answers that were given before, for as long as what they depend on stays the same; the oldest go first. */
export type KeptAnswers = {
  get(id: number, dependsOn: string): KeptAnswer | undefined
  set(id: number, dependsOn: string, answer: KeptAnswer): void
}

export type KeptAnswer = { body: Buffer; etag: string }

const MOST_BYTES = 16 * 1024 * 1024

export function createKeptAnswers(): KeptAnswers {
  const kept = new Map<number, { dependsOn: string; answer: KeptAnswer }>()
  let bytes = 0

  function remove(id: number): void {
    bytes -= kept.get(id)?.answer.body.length ?? 0
    kept.delete(id)
  }

  return {
    get(id, dependsOn) {
      const found = kept.get(id)
      return found?.dependsOn === dependsOn ? found.answer : undefined
    },
    set(id, dependsOn, answer) {
      remove(id)
      kept.set(id, { dependsOn, answer })
      bytes += answer.body.length
      for (const oldest of kept.keys()) {
        if (bytes <= MOST_BYTES) break
        remove(oldest)
      }
    },
  }
}
