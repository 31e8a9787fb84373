import { Type } from 'typebox'
import { targetSchema } from '#model/actions/schemas.ts'
import { Exactly, namedObject, ref, Timestamp, TimestampOrNull } from '#platform/http/schemas.ts'

export const stepLogSchema = namedObject('StepLog', {
  step: Exactly({
    order: Type.Integer({ minimum: 1 }),
    started_at: TimestampOrNull,
    completed_at: TimestampOrNull,
    output: Type.String({
      description:
        'The output of the step with secrets masked. Control characters are limited to `\\n`, `\\t` and colors (`ESC [ … m`).',
    }),
  }),
  target: ref(targetSchema),
  updated_at: { ...Timestamp, description: 'When the step last changed its status or printed.' },
})
