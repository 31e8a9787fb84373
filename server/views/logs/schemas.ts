import { Type } from 'typebox'
import { runTimes, targetSchema } from '#model/actions/summary-schemas.ts'
import { described, Exactly, namedObject, ref, Timestamp } from '#platform/http/schemas.ts'

export const stepLogSchema = namedObject('StepLog', {
  step: Exactly(
    {
      order: Type.Integer({ minimum: 1, description: 'Its position among the steps of the target, from 1.' }),
      ...runTimes,
      output: Type.String({
        description:
          'The output of the step with secrets masked. Control characters are limited to `\\n`, `\\t` and colors (`ESC [ … m`).',
      }),
    },
    { description: 'The step and its output.' },
  ),
  target: described(ref(targetSchema), 'The target that the step belongs to.'),
  updated_at: described(Timestamp, 'When the step last changed its status or printed.'),
})
