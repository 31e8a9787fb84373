import { gateSchema, overridesField } from '#engine/gates/schemas.ts'
import { type ReleaseComparison, releaseComparisonSchema } from '#model/actions/changes-schemas.ts'
import { serverResourceSchema } from '#model/actions/summary-schemas.ts'
import type { VariableValue } from '#model/payload/coerce.ts'
import { stepCommandFields } from '#model/pipelines/schemas.ts'
import type { ReasonCode } from '#platform/database/tables.ts'
import * as t from '#platform/http/schemas.ts'

export const runBody = t.Exactly(
  t.optionalFields({
    servers: t.List(t.Id, {
      minItems: 1,
      maxItems: 10_000,
      uniqueItems: true,
      description: 'Ids of servers of the pipeline. Default: all of them.',
    }),
    type: t.Word(
      ['deploy', 'redeploy', 'rollback'] as const,
      'Deploy pipelines only. `redeploy` deploys the commit that is live on the servers again, `rollback` returns to the newest release before it, or to `release_name`. Default: `deploy`.',
    ),
    release_name: t.Text({
      minLength: 1,
      maxLength: 64,
      description:
        'For a rollback: the release to return to, one that completed before. Default: the newest that is older than the live release, whose run completed and was not reverted. Required when the servers have different live releases, or the live release of one of them is unknown.',
    }),
    rollback_from: t.described(
      t.Id,
      'For a rollback: the run to undo, an action of the application. If it is live on none of the servers, nothing is started: 409 `nothing_to_roll_back`. Default: whatever is live.',
    ),
    source_type: t.Word(['branch', 'tag', 'commit'] as const, 'For a deploy. Default: `branch`.'),
    source_ref: t.Text({
      minLength: 1,
      maxLength: 1_024,
      description: "For a deploy. Default: the application's default branch.",
    }),
    trigger_comment: t.Text({ maxLength: 255, description: 'The reason for the run.' }),
    override: overridesField,
    variables: t.Record(
      t.Text(),
      t.Unsafe<VariableValue>({ type: ['string', 'integer', 'boolean', 'array'], items: {} }),
      {
        maxProperties: 100,
        description:
          'Available to the steps as `GANTRY_VAR_<NAME>`. The same rules apply as for names of hook variables; values are limited to 64 KiB.',
      },
    ),
  }),
  { title: 'RunRequest' },
)

const source = {
  type: t.Text('`deploy`, `redeploy` or `rollback`.'),
  source_type: t.TextOrNull('What `source_ref` names: `branch`, `tag` or `commit`.'),
  source_ref: t.TextOrNull('The branch, tag or commit.'),
  repository: t.TextOrNull('The repository of the application.'),
  commit_hash: t.TextOrNull('The hash of the commit; null when it is resolved at the start.'),
  release_name: t.TextOrNull('The release to return to; null unless it is a rollback.'),
}

const rollbackReleaseSchema = t.namedObject('RollbackRelease', {
  release_name: t.Text('The name of the release.'),
  commit_hash: t.TextOrNull('The full hash of its commit; null if unknown.'),
  commit_message: t.TextOrNull(
    'The commit message; null when unknown, and for callers without `action:view`.',
  ),
  action_id: t.idOrNullOf(
    'action that made it live, or, of the release to return to, made it',
    'null for callers without `action:view`',
  ),
})

const rollbackSchema = t.namedObject('PlannedRollback', {
  from: t.refOrNull(
    rollbackReleaseSchema,
    'What is live on the servers; null when they have different live releases, or that of one of them is unknown.',
  ),
  to: t.ref(rollbackReleaseSchema, 'What would be live instead.'),
})

/** What a run would do. */
export const runPlanSchema = t.namedObject('RunPlan', {
  targets: t.List(
    t.Exactly({
      resource_type: t.Word(['server'] as const, 'The kind of resource: always `server`.'),
      resource_id: t.idOf('server'),
      resource_data: t.ref(serverResourceSchema, 'The server that the target would run on.'),
      batch: t.Integer({ minimum: 1, description: 'Its batch, from 1; batches run one after another.' }),
      steps: t.List(
        t.Exactly({
          order: t.Integer({ minimum: 1, description: 'Its position, from 1.' }),
          name: t.Text('The name of the step.'),
          description: t.TextOrNull('What the step does; null without a description.'),
          built_in: t.Flag('Whether it is one of the steps that every deploy has.'),
          ...stepCommandFields,
        }),
        'The steps that would run there, in order.',
      ),
    }),
    'One per server that the run would use.',
  ),
  source: t.Unsafe<t.Static<t.TObject<typeof source>> | null>({
    ...t.Exactly(source),
    type: ['object', 'null'],
    description:
      'The source of a deploy; null for other operations. The commit of a branch is resolved when the run starts.',
  }),
  rollback: t.refOrNull(rollbackSchema, 'What a rollback would undo; null for other runs.'),
  gates: t.List(
    t.ref(gateSchema),
    'The gates that would hold the run, in their order: `closed`, or `overridden` by this request.',
  ),
  would_wait: t.Unsafe<ReasonCode | null>({
    type: ['string', 'null'],
    description: 'Why the run would wait: a `status_reason_code`, or null when it would start immediately.',
  }),
  would_wait_human_readable: t.TextOrNull(
    '`would_wait` in words, for display; null when it would start immediately.',
  ),
  comparisons: t.Unsafe<ReleaseComparison[] | null>({
    type: ['array', 'null'],
    items: t.ref(releaseComparisonSchema),
    description:
      'With `include=changes`, for a deploy: what would ship to each server, compared with what is live there; `unknown_until_fetched` when the commit is still unknown. Otherwise null, also for callers without the permissions `pipeline:run` and `action:view` there, and when too many plans are compared at the same time.',
  }),
  variables: t.AnyObject('The variables of the run, by name.'),
})

export const runSchemas = [rollbackReleaseSchema, rollbackSchema, runPlanSchema]

export type RunPlan = t.Static<typeof runPlanSchema>
export type RunInput = t.Static<typeof runBody>

export const retryBody = t.Exactly(t.optionalFields({ override: overridesField }), { title: 'RetryRequest' })
export type RetryInput = t.Static<typeof retryBody>
