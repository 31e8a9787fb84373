// Pipelines and their steps in the API.
import { userSchema } from '#access/accounts/user-schema.ts'
import type { ChecksInput } from '#model/gates/checks-terms.ts'
import { MAX_GLOB_LENGTH } from '#model/payload/glob.ts'
import type { ChecksTerms } from '#platform/database/tables.ts'
import * as t from '#platform/http/schemas.ts'
import { OPERATIONS, type Operation, RESOURCE_TYPES } from '#platform/vocabulary.ts'
import { healthCheckInput, healthCheckOrNull, healthCheckSchema } from './health-check.ts'
import type { Rollout } from './rollout.ts'

const name = t.Name(255, 'The name of the pipeline.')
const stepName = t.Name(255, 'The name of the step, unique in the pipeline.')
const queuePolicy = t.Word(['queue', 'latest', 'reject'] as const, {
  default: 'queue',
  description:
    'What happens to a run when the pipeline is busy: `queue` waits; `latest` waits and skips older waiting hook runs; `reject` returns 409.',
})
const onFailure = t.Word(['revert', 'keep'] as const, {
  default: 'revert',
  description:
    'When a step of a deploy fails after the new release was activated: `revert` makes the release that was live before live again, unless an irreversible step has completed; `keep` leaves the new release live.',
})
const batch = t.Unsafe<number | string>({
  type: ['integer', 'string'],
  minimum: 1,
  maximum: 10_000,
  pattern: '^([1-9]\\d?|100)%$',
  'x-hint': 'must be a number of servers or a percentage such as "25%"',
  description: 'Servers per batch: a number such as `2`, or a percentage such as `"25%"`.',
})

const rolloutInput = t.Unsafe<(Pick<Rollout, 'batch'> & Partial<Rollout>) | null>({
  type: ['object', 'null'],
  additionalProperties: false,
  required: ['batch'],
  properties: {
    batch,
    max_failed: {
      type: 'integer',
      minimum: 0,
      maximum: 10_000,
      default: 0,
      description: 'How many servers may fail before the remaining batches are skipped.',
    },
    on_failure: {
      type: 'string',
      enum: ['stop', 'revert_all'],
      default: 'stop',
      description:
        'When more servers fail than `max_failed`: `stop` leaves those that are done as they are; `revert_all` takes the release back on all of them, in reverse order. It needs `on_failure: revert` of the pipeline.',
    },
  },
  description: 'In how many batches the servers are updated. Null: all servers at the same time.',
})

const checkNames = (more: object, description: string) => ({
  items: { type: 'string', minLength: 1, maxLength: MAX_GLOB_LENGTH, pattern: '^[^\\x00]*$' },
  maxItems: 100,
  uniqueItems: true,
  description,
  ...more,
})

const checksFields = {
  names: checkNames(
    { type: ['array', 'null'], minItems: 1, default: null },
    'The checks to wait for, as globs such as `build` or `test / **`; null: all. A name without a wildcard must be present.',
  ),
  ignore: checkNames({ type: 'array', default: [] }, 'Checks that do not count, as globs.'),
  timeout_minutes: {
    type: 'integer',
    minimum: 1,
    maximum: 1_440,
    default: 60,
    description: 'After how many minutes a run ends as `FAILED_CHECKS` whose checks are still not green.',
  },
  settle_seconds: {
    type: 'integer',
    minimum: 0,
    maximum: 3_600,
    default: 30,
    description:
      'For how many seconds nothing may change before the gate opens: hosts add checks one by one.',
  },
  without_checks: {
    type: 'string',
    enum: ['fail', 'proceed'],
    default: 'fail',
    description:
      'What happens when the commit has no checks: `fail` ends the run at the timeout, `proceed` opens the gate after `settle_seconds`.',
  },
}
const waitForChecks = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: checksFields,
  description:
    'Runs wait until the checks of their commit at the repository host are green; for `deploy`. Null: they do not. Loosening it requires `environment:edit`.',
}

const optionalFields = t.optionalFields({
  max_parallel_actions: t.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 1,
    description: 'How many of its actions may run at the same time; 0 = unlimited.',
  }),
  queue_policy: queuePolicy,
  rollout: rolloutInput,
  on_failure: onFailure,
  health_check: healthCheckInput(
    'How a new release is checked once it is live; for `deploy`. It replaces that of the application; null: that of the application.',
  ),
  wait_for_checks: t.Unsafe<ChecksInput | null>(waitForChecks),
  run_after: t.List(t.Id, {
    maxItems: 100,
    uniqueItems: true,
    description:
      'Pipelines of the same environment. When a run of one of them completes, this pipeline runs as its child.',
  }),
})
const operation = t.Word(
  Object.keys(OPERATIONS) as Operation[],
  'What the pipeline does. Only `deploy` has built-in steps; it is for applications.',
)

export const pipelineBody = t.Exactly(
  { name, operation, ...optionalFields },
  {
    title: 'CreatePipelineRequest',
  },
)
export type PipelineBody = t.Static<typeof pipelineBody>

export const pipelineChange = t.Exactly({
  name: t.Optional(name),
  operation: t.Optional(operation),
  ...optionalFields,
})
export type PipelineChange = t.Static<typeof pipelineChange>

const IRREVERSIBLE =
  'Whether a deploy must not be reverted once this step has completed, because the step changes something that cannot be undone, such as a database schema.'
const RUN_ON_REVERT =
  'Whether the step runs again, in the directory of the previous release, after a deploy was reverted to it.'

const stepFields = t.optionalFields({
  description: t.TextOrNull({ maxLength: 1_000, description: 'What the step does; null: no description.' }),
  run_as_user: t.TextOrNull({
    pattern: '^[a-z_][a-z0-9_-]{0,31}$',
    'x-hint': 'must be an account name: lowercase letters, digits, _ and -, at most 32 characters',
    description: 'The account on the server; null: the account of the connection.',
  }),
  timeout_seconds: t.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 600,
    description: 'After how many seconds the step is ended and fails.',
  }),
  idempotent: t.Flag({
    default: false,
    description: 'Whether the step may run again when its worker was lost.',
  }),
  irreversible: t.Flag({ default: false, description: IRREVERSIBLE }),
  run_on_revert: t.Flag({ default: false, description: `${RUN_ON_REVERT} It must be idempotent.` }),
  trigger_after: t.Unsafe<number | string | null>({
    type: ['integer', 'string', 'null'],
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    minLength: 1,
    maxLength: 255,
    description:
      'The step that it follows, by id or name; null: it runs first. A new step without it runs last.',
  }),
})
const command = t.Text({
  minLength: 1,
  maxLength: 65_536,
  pattern: '\\S',
  'x-hint': 'must not be blank',
  description: 'A bash script, at most 64 KiB. Values are passed only as environment variables.',
})

export const stepBody = t.Exactly({ name: stepName, command, ...stepFields })
export type StepBody = t.Static<typeof stepBody>

export const stepChange = t.Exactly({
  name: t.Optional(stepName),
  command: t.Optional(command),
  ...stepFields,
})
export type StepChange = t.Static<typeof stepChange>

export const stepCommandFields = {
  command: t.TextOrNull('The bash script that it runs; null for built-in steps.'),
  run_as_user: t.TextOrNull('The account on the server; null: the account of the connection.'),
  timeout_seconds: t.Integer('After how many seconds the step is ended and fails.'),
  idempotent: t.Flag('Whether the step may run again when its worker was lost.'),
  irreversible: t.Flag(IRREVERSIBLE),
  run_on_revert: t.Flag(RUN_ON_REVERT),
}

export const pipelineStepSchema = t.namedObject('PipelineStep', {
  id: t.Integer({ minimum: 1, description: 'The id of the step; does not change when it is edited.' }),
  name: t.Text('The name of the step.'),
  description: t.TextOrNull('What the step does; null without a description.'),
  built_in: t.Flag('Whether it is one of the steps that every deploy has.'),
  ...stepCommandFields,
  order: t.Integer({ minimum: 1, description: 'Its position in the pipeline, from 1.' }),
  ...t.timestamps,
})
export type PipelineStep = t.Static<typeof pipelineStepSchema>

export const pipelineSchema = t.namedObject('Pipeline', {
  id: t.idOf('pipeline'),
  name: t.Text('The name of the pipeline.'),
  operation: t.Word(Object.keys(OPERATIONS) as Operation[], 'What the pipeline does.'),
  operation_human_readable: t.humanReadable('operation'),
  resource_type: t.Word(Object.keys(RESOURCE_TYPES), 'The kind of resource that it runs on.'),
  resource_type_human_readable: t.humanReadable('resource_type'),
  resource_id: t.described(t.Id, 'The id of the application or server that it runs on.'),
  resource_name: t.TextOrNull(
    'The name of the application or server; null for callers who can read neither it (`application:view`, `server:view`) nor actions.',
  ),
  environment_id: t.idOf('environment'),
  project_id: t.idOf('project'),
  max_parallel_actions: t.Integer('How many of its actions may run at the same time; 0 = unlimited.'),
  queue_policy: queuePolicy,
  rollout: t.Unsafe<Rollout | null>({
    ...rolloutInput,
    required: ['batch', 'max_failed', 'on_failure'],
  }),
  on_failure: onFailure,
  health_check: healthCheckOrNull(
    'How a new release is checked once it is live, instead of by the health check of the application; null: by that one.',
  ),
  wait_for_checks: t.Unsafe<ChecksTerms | null>({ ...waitForChecks, required: Object.keys(checksFields) }),
  run_after: t.List(t.Id, 'The ids of the pipelines after whose runs it runs as a child.'),
  steps: t.List(t.ref(pipelineStepSchema), 'In execution order.'),
  created_by_user: t.ref(userSchema, 'Who created the pipeline.'),
  ...t.timestamps,
})
export type Pipeline = t.Static<typeof pipelineSchema>

export const pipelineSchemas = [healthCheckSchema, pipelineStepSchema, pipelineSchema]
