import { objectOf } from './host.ts'

/** What was pushed: a branch or a tag, and the commit that it is at now; all zeros when it was deleted. */
export type Push = { ref: string; commit: string }

/** From the payload of a call, which may be anything. The hosts agree on these two fields, and no other event has both. Pure. */
export function readPush(payload: unknown): Push | null {
  const { ref, after } = objectOf(payload)
  if (typeof ref !== 'string' || typeof after !== 'string') return null
  return REF.test(ref) && ref.isWellFormed() && COMMIT.test(after) ? { ref, commit: after } : null
}

/** Without what git does not allow in names; hostile ones are as long as an index allows, and not longer. */
const REF = /^refs\/(?:heads|tags)\/[^\x00-\x20\x7f~^:?*[\\]{1,300}$/
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/
