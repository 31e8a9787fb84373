import type { SendOutcome } from '#adapters/http-client/client.ts'
import { readAnswer } from '#model/hooks/presets/read-answer.ts'
import type { PresetKind } from '#model/hooks/presets/schema.ts'
import type { RequestKind } from './choose-request.ts'

export type Judgement = {
  /** The status that decides what happens next: that of the answer, unless the service means another one. */
  status: number
  isLimited: boolean
  /** What the service says is wrong; null: nothing, or nothing that we know of. */
  error: string | null
}

/** What an answer means, which some services say in its body. Pure. */
export function judgeAnswer(preset: PresetKind | null, which: RequestKind, answer: SendOutcome): Judgement {
  const status = answer.kind === 'answered' ? answer.status : 0
  if (answer.kind !== 'answered') return { status, isLimited: false, error: null }
  const verdict = preset === null ? 'ok' : readAnswer(preset, which, answer)
  if (verdict === 'ok') return { status, isLimited: false, error: null }
  switch (verdict.kind) {
    case 'gone':
      return { status: 410, isLimited: false, error: 'What this hook created there no longer exists.' }
    case 'already':
      return { status: 200, isLimited: false, error: null }
    case 'limited':
      return { status: 429, isLimited: true, error: null }
    case 'refused':
      return { status: verdict.as, isLimited: false, error: verdict.reason }
  }
}
