import { runTimes, targetSchema } from '#model/actions/summary-schemas.ts'
import * as t from '#platform/http/schemas.ts'

export const stepLogSchema = t.namedObject('StepLog', {
  step: t.Part('The step and its output.', {
    order: t.Integer({ minimum: 1, description: 'Its position among the steps of the target, from 1.' }),
    ...runTimes,
    output: t.Text(
      'The output of the step with secrets masked. Control characters are limited to `\\n`, `\\t` and colors (`ESC [ … m`).',
    ),
    gaps: t.List(
      t.Exactly({
        offset: t.Count('Where the omitted part starts, in bytes of UTF-8 from the start of the log.'),
        omitted_bytes: t.Integer({ minimum: 1, description: 'How many bytes are omitted there.' }),
      }),
      'Parts of the log that are not in `output`, because only the first and the last 5 MiB are stored.',
    ),
  }),
  target: t.described(t.ref(targetSchema), 'The target that the step belongs to.'),
  updated_at: t.Time('When the step last changed its status or printed.'),
})

export const stepLogSchemas = [stepLogSchema]
