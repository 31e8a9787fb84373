// An action without its resource: its status, what started it, what it deploys, its targets and their steps.
import { type Static, Type } from 'typebox'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import {
  described,
  Exactly,
  humanReadable,
  Id,
  idOf,
  idOrNullOf,
  namedObject,
  ref,
  refOrNull,
  TextOrNull,
  TimestampOrNull,
  timestamps,
  UuidOrNull,
  Word,
} from '#platform/http/schemas.ts'
import {
  OPERATIONS,
  type Operation,
  REASONS,
  RESOURCE_TYPES,
  SERVER_KINDS,
  type ServerKind,
  STATUSES,
} from '#platform/vocabulary.ts'

export const statusFields = {
  status: Word(Object.keys(STATUSES) as Status[], {
    description: 'The current state. `completed`, `failed` and `skipped` are final.',
  }),
  status_human_readable: humanReadable('status'),
  status_reason_code: Word(Object.keys(REASONS) as ReasonCode[], { description: 'Why it has that status.' }),
  status_reason_human_readable: humanReadable('status_reason_code'),
}

export const typeFields = {
  type: Word(Object.keys(OPERATIONS) as Operation[], {
    description: 'What the action does: the operation of its pipeline.',
  }),
  type_human_readable: humanReadable('type'),
}

export const resourceTypeFields = {
  resource_type: Word(Object.keys(RESOURCE_TYPES), { description: 'The kind of resource.' }),
  resource_type_human_readable: humanReadable('resource_type'),
}

export const permalinkField = Type.String({
  format: 'uri',
  description: 'The page of the action in the dashboard.',
})

export const runTimes = {
  started_at: described(TimestampOrNull, 'When it started to run; null before.'),
  completed_at: described(TimestampOrNull, 'When it ended, in whichever final status; null before.'),
}

const times = {
  ...runTimes,
  ...timestamps,
}

export const stepSchema = namedObject('Step', {
  id: described(Id, 'The id of the step in this run.'),
  action_id: idOf('action'),
  action_target_id: idOf('target'),
  name: Type.String({ description: 'The name of the step.' }),
  description: TextOrNull({ description: 'What the step does; null without a description.' }),
  order: Type.Integer({ minimum: 1, description: 'Its position among the steps of the target, from 1.' }),
  ...statusFields,
  ...times,
})
export type Step = Static<typeof stepSchema>

export const serverProviderFields = {
  provider_type: Type.String({ description: 'Always `server`.' }),
  provider_code: Word(Object.keys(SERVER_KINDS) as ServerKind[], {
    description: 'How Gantry reaches the server: `ssh`, or `local` for the machine that it runs on.',
  }),
  provider_name: Type.String({ description: 'The same as `provider_code`.' }),
  provider_name_human_readable: humanReadable('provider_name'),
}

export const serverResourceSchema = namedObject('ServerResource', {
  id: idOf('server'),
  name: Type.String({ description: 'The name of the server.' }),
  ...serverProviderFields,
})

export const targetSchema = namedObject('Target', {
  id: idOf('target'),
  ...resourceTypeFields,
  resource_id: described(Id, 'The id of the server that the target runs on.'),
  ...statusFields,
  total_steps: Type.Integer({ description: 'The number of steps.' }),
  current_step: described(
    refOrNull(stepSchema),
    'The step that runs, otherwise the last one that ran; null when none has run.',
  ),
  steps: Type.Array(ref(stepSchema), { description: 'Its steps, in execution order.' }),
  resource_data: described(ref(serverResourceSchema), 'The server that the target runs on.'),
  ...times,
})
export type Target = Static<typeof targetSchema>

export const targetSummarySchema = namedObject('TargetSummary', {
  count: Type.Integer({ description: 'The number of targets.' }),
  pending: Type.Integer({ description: 'Targets that have not started: pending, waiting or queued.' }),
  in_progress: Type.Integer({ description: 'Targets that are running.' }),
  completed: Type.Integer({ description: 'Targets that completed.' }),
  failed: Type.Integer({ description: 'Targets that failed.' }),
})
export type TargetSummary = Static<typeof targetSummarySchema>

export const commitSchema = namedObject('Commit', {
  repository: TextOrNull({ description: 'The repository that the commit is from, as configured.' }),
  author_name: TextOrNull({ description: 'The name of its author.' }),
  author_email: TextOrNull({ description: 'The email address of its author.' }),
  committed_at: described(TimestampOrNull, 'When it was committed.'),
  hash: TextOrNull({ description: 'The full hash of the commit.' }),
  message: TextOrNull({ description: 'The commit message.' }),
  url: TextOrNull({ description: 'Its page at the provider; null when the provider has none.' }),
  clone_url: TextOrNull({ description: 'The URL to clone the repository from; null for local ones.' }),
  download_url: TextOrNull({
    description: 'The URL of an archive of the commit; null when the provider has none.',
  }),
})

export const deploymentSchema = namedObject('Deployment', {
  type: Type.String({ description: '`deploy`, `redeploy` or `rollback`.' }),
  source_type: TextOrNull({
    description: 'What `source_ref` names: `branch`, `tag` or `commit`.',
  }),
  source_ref: TextOrNull({ description: 'The branch, tag or commit that was requested.' }),
  repository: TextOrNull({ description: 'The repository of the application.' }),
  provider_name: TextOrNull({
    description: "The provider of the application's credential, such as `github`; null without one.",
  }),
  pipeline_id: idOf('pipeline'),
})

export const actionDataSchema = namedObject('ActionData', {
  release_name: TextOrNull({
    description:
      'The name of the release; null before the source is resolved, and for other operations than `deploy`.',
  }),
  commit: described(
    refOrNull(commitSchema),
    'The deployed commit; null before the source is resolved, and for other operations than `deploy`.',
  ),
  deployment: described(
    refOrNull(deploymentSchema),
    'What was requested; null for other operations than `deploy`.',
  ),
})

export const triggeredFromSchema = namedObject('TriggeredFrom', {
  origin: TextOrNull({
    description: 'The `Origin` header of the request, otherwise its `User-Agent`; null without both.',
  }),
  trigger_type: Type.String({
    description: 'What started the action: `hook`, `manual`, `retry`, or `pipeline` for another action.',
  }),
  name: TextOrNull({ description: 'The name of the hook or of the user that started it.' }),
  email: TextOrNull({ description: 'The email address of the user that started it; null for hooks.' }),
  ip_address: TextOrNull({
    description: 'The network address of the request that started it; null without one.',
  }),
  user_id: idOrNullOf('user that started it', 'null for hooks'),
  hook_id: described(UuidOrNull, 'The id of the incoming hook that started it; null otherwise.'),
  hook_request_id: described(UuidOrNull, 'The id of the call that started it; null otherwise.'),
  hook_parsed_variables: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'Variables that the incoming hook extracted from its payload. An action that another one started has those of the first action of the chain. Empty when no hook started it.',
  }),
})

export const summaryFields = {
  id: idOf('action'),
  ...statusFields,
  ...typeFields,
  url_web_permalink: permalinkField,
  action_data: described(ref(actionDataSchema), 'What a deploy deploys.'),
  triggered_from: described(ref(triggeredFromSchema), 'Who or what started the action.'),
  summary: Exactly(
    { targets: described(ref(targetSummarySchema), 'How many targets are in which state.') },
    { description: 'The progress of the action.' },
  ),
  targets: Type.Array(ref(targetSchema), { description: 'One per server that the action runs on.' }),
  ...times,
}

/** An action embedded in its resource: it does not embed the resource again, so nesting ends here. */
export const actionSummarySchema = namedObject('ActionSummary', summaryFields)
export type ActionSummary = Static<typeof actionSummarySchema>
