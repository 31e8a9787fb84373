// The runs room: what people ask of runs. They start one, try one again, or cancel one. How a run then takes
// its turn is the business of scheduling, and what it does that of the runner.
import { type Static, Type } from 'typebox'
import { Exactly, Id, Word } from '#http/schemas.ts'
import type { VariableValue } from '#incoming/coerce.ts'

export const runBody = Exactly({
  servers: Type.Optional(
    Type.Array(Id, {
      minItems: 1,
      maxItems: 10_000,
      uniqueItems: true,
      description: 'Ids of servers of the pipeline; absent: all of them.',
    }),
  ),
  type: Type.Optional(
    Word(['deploy', 'redeploy', 'rollback'] as const, {
      description:
        'For a pipeline that deploys. `redeploy` takes the commit of the live release, `rollback` goes back to the release before it. Absent: `deploy`.',
    }),
  ),
  source_type: Type.Optional(
    Word(['branch', 'tag', 'commit'] as const, { description: 'For a deploy; absent: `branch`.' }),
  ),
  source_ref: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: "For a deploy; absent: the application's default branch.",
    }),
  ),
  trigger_comment: Type.Optional(Type.String({ maxLength: 255, description: 'Why this is done.' })),
  variables: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Unsafe<VariableValue>({ type: ['string', 'integer', 'boolean', 'array'] }),
      {
        maxProperties: 100,
        description:
          'Reach the steps as `GANTRY_VAR_<NAME>`. Names are as those of hook variables; values have at most 64 KiB.',
      },
    ),
  ),
})

export type RunWish = Static<typeof runBody>

/** Nothing can be said, but a body may be there. */
export const emptyBody = Exactly({})
