// An action without its resource: its status, what started it, what it deploys, its targets and their steps.
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import * as t from '#platform/http/schemas.ts'
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
  status: t.Word(
    Object.keys(STATUSES) as Status[],
    'The current state. `completed`, `failed` and `skipped` are final.',
  ),
  status_human_readable: t.humanReadable('status'),
  status_reason_code: t.Word(Object.keys(REASONS) as ReasonCode[], 'Why it has that status.'),
  status_reason_human_readable: t.humanReadable('status_reason_code'),
}

export const typeFields = {
  type: t.Word(
    Object.keys(OPERATIONS) as Operation[],
    'What the action does: the operation of its pipeline.',
  ),
  type_human_readable: t.humanReadable('type'),
}

export const resourceTypeFields = {
  resource_type: t.Word(Object.keys(RESOURCE_TYPES), 'The kind of resource.'),
  resource_type_human_readable: t.humanReadable('resource_type'),
}

export const permalinkField = t.Text({
  format: 'uri',
  description: 'The page of the action in the dashboard.',
})

export const runTimes = {
  started_at: t.TimeOrNull('When it started to run; null before.'),
  completed_at: t.TimeOrNull('When it ended, in whichever final status; null before.'),
}

const times = {
  ...runTimes,
  ...t.timestamps,
}

export const stepSchema = t.namedObject('Step', {
  id: t.described(t.Id, 'The id of the step in this run.'),
  action_id: t.idOf('action'),
  action_target_id: t.idOf('target'),
  name: t.Text('The name of the step.'),
  description: t.TextOrNull('What the step does; null without a description.'),
  order: t.Integer({ minimum: 1, description: 'Its position among the steps of the target, from 1.' }),
  ...statusFields,
  ...times,
})
export type Step = t.Static<typeof stepSchema>

export const serverProviderFields = {
  provider_type: t.Text('Always `server`.'),
  provider_code: t.Word(
    Object.keys(SERVER_KINDS) as ServerKind[],
    'How Gantry reaches the server: `ssh`, or `local` for the machine that it runs on.',
  ),
  provider_name: t.Text('The same as `provider_code`.'),
  provider_name_human_readable: t.humanReadable('provider_name'),
}

export const serverResourceSchema = t.namedObject('ServerResource', {
  id: t.idOf('server'),
  name: t.Text('The name of the server.'),
  ...serverProviderFields,
})

export const targetSchema = t.namedObject('Target', {
  id: t.idOf('target'),
  ...resourceTypeFields,
  resource_id: t.described(t.Id, 'The id of the server that the target runs on.'),
  ...statusFields,
  total_steps: t.Integer('The number of steps.'),
  current_step: t.refOrNull(
    stepSchema,
    'The step that runs, otherwise the last one that ran; null when none has run.',
  ),
  steps: t.List(t.ref(stepSchema), 'Its steps, in execution order.'),
  resource_data: t.ref(serverResourceSchema, 'The server that the target runs on.'),
  ...times,
})
export type Target = t.Static<typeof targetSchema>

export const targetSummarySchema = t.namedObject('TargetSummary', {
  count: t.Integer('The number of targets.'),
  pending: t.Integer('Targets that have not started: pending, waiting or queued.'),
  in_progress: t.Integer('Targets that are running.'),
  completed: t.Integer('Targets that completed.'),
  failed: t.Integer('Targets that failed.'),
})
export type TargetSummary = t.Static<typeof targetSummarySchema>

export const commitSchema = t.namedObject('Commit', {
  repository: t.TextOrNull('The repository that the commit is from, as configured.'),
  author_name: t.TextOrNull('The name of its author.'),
  author_email: t.TextOrNull('The email address of its author.'),
  committed_at: t.TimeOrNull('When it was committed.'),
  hash: t.TextOrNull('The full hash of the commit.'),
  message: t.TextOrNull('The commit message.'),
  url: t.TextOrNull('Its page at the provider; null when the provider has none.'),
  clone_url: t.TextOrNull('The URL to clone the repository from; null for local ones.'),
  download_url: t.TextOrNull('The URL of an archive of the commit; null when the provider has none.'),
})

export const deploymentSchema = t.namedObject('Deployment', {
  type: t.Text('`deploy`, `redeploy` or `rollback`.'),
  source_type: t.TextOrNull('What `source_ref` names: `branch`, `tag` or `commit`.'),
  source_ref: t.TextOrNull('The branch, tag or commit that was requested.'),
  repository: t.TextOrNull('The repository of the application.'),
  provider_name: t.TextOrNull(
    "The provider of the application's credential, such as `github`; null without one.",
  ),
  pipeline_id: t.idOf('pipeline'),
})

export const actionDataSchema = t.namedObject('ActionData', {
  release_name: t.TextOrNull(
    'The name of the release; null before the source is resolved, and for other operations than `deploy`.',
  ),
  commit: t.refOrNull(
    commitSchema,
    'The deployed commit; null before the source is resolved, and for other operations than `deploy`.',
  ),
  deployment: t.refOrNull(deploymentSchema, 'What was requested; null for other operations than `deploy`.'),
})

export const triggeredFromSchema = t.namedObject('TriggeredFrom', {
  origin: t.TextOrNull('The `Origin` header of the request, otherwise its `User-Agent`; null without both.'),
  trigger_type: t.Text(
    'What started the action: `hook`, `manual`, `retry`, or `pipeline` for another action.',
  ),
  name: t.TextOrNull('The name of the hook or of the user that started it.'),
  email: t.TextOrNull('The email address of the user that started it; null for hooks.'),
  ip_address: t.TextOrNull('The network address of the request that started it; null without one.'),
  user_id: t.idOrNullOf('user that started it', 'null for hooks'),
  hook_id: t.described(t.UuidOrNull, 'The id of the incoming hook that started it; null otherwise.'),
  hook_request_id: t.described(t.UuidOrNull, 'The id of the call that started it; null otherwise.'),
  hook_parsed_variables: t.Record(t.Text(), t.Anything(), {
    description:
      'Variables that the incoming hook extracted from its payload. An action that another one started has those of the first action of the chain. Empty when no hook started it.',
  }),
})

export const summaryFields = {
  id: t.idOf('action'),
  ...statusFields,
  ...typeFields,
  url_web_permalink: permalinkField,
  action_data: t.ref(actionDataSchema, 'What a deploy deploys.'),
  triggered_from: t.ref(triggeredFromSchema, 'Who or what started the action.'),
  summary: t.Exactly(
    { targets: t.ref(targetSummarySchema, 'How many targets are in which state.') },
    { description: 'The progress of the action.' },
  ),
  targets: t.List(t.ref(targetSchema), 'One per server that the action runs on.'),
  ...times,
}

/** An action embedded in its resource: it does not embed the resource again, so nesting ends here. */
export const actionSummarySchema = t.namedObject('ActionSummary', summaryFields)
export type ActionSummary = t.Static<typeof actionSummarySchema>
