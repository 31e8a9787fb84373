/**
 * Answers that were given before, for as long as what they depend on stays the same; the oldest go first. An
 * answer is good when nothing at all has changed since it was last found good (the state of the database), which
 * is known without asking, or else when its fingerprint is the same.
 */
export type KeptAnswers = {
  /** Without asking: undefined says only that one has to ask. */
  getUnchanged(id: number, sight: string, state: string): KeptAnswer | undefined
  get(id: number, proof: Proof): KeptAnswer | undefined
  set(id: number, proof: Proof, answer: KeptAnswer): void
}

export type KeptAnswer = { body: Buffer; etag: string }

/** Who it is for, what it depends on, and the state of the database in which that was so. */
export type Proof = { sight: string; fingerprint: string; state: string }

const MOST_BYTES = 16 * 1024 * 1024

export function createKeptAnswers(): KeptAnswers {
  const kept = new Map<number, { proof: Proof; answer: KeptAnswer }>()
  let bytes = 0

  function remove(id: number): void {
    bytes -= kept.get(id)?.answer.body.length ?? 0
    kept.delete(id)
  }

  return {
    getUnchanged(id, sight, state) {
      const found = kept.get(id)
      return found?.proof.state === state && found.proof.sight === sight ? found.answer : undefined
    },
    get(id, proof) {
      const found = kept.get(id)
      if (found?.proof.fingerprint !== proof.fingerprint || found.proof.sight !== proof.sight)
        return undefined
      found.proof = proof
      return found.answer
    },
    set(id, proof, answer) {
      remove(id)
      kept.set(id, { proof, answer })
      bytes += answer.body.length
      for (const oldest of kept.keys()) {
        if (bytes <= MOST_BYTES) break
        remove(oldest)
      }
    },
  }
}
