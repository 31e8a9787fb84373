// The actions room: runs of pipelines. Here is their JSON; status.ts has their states, start-actions.ts stores new
// ones, read-action.ts and assemble.ts build responses.
import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import { environmentSchema, organizationSchema, projectSchema } from '#model/inventory/schemas.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import {
  described,
  Exactly,
  humanReadable,
  Id,
  IntegerOrNull,
  idOf,
  idOrNullOf,
  namedObject,
  ref,
  refOrNull,
  TextOrNull,
  TimestampOrNull,
  timestamps,
  Uuid,
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

const targetSummarySchema = namedObject('TargetSummary', {
  count: Type.Integer({ description: 'The number of targets.' }),
  pending: Type.Integer({ description: 'Targets that have not started: pending, waiting or queued.' }),
  in_progress: Type.Integer({ description: 'Targets that are running.' }),
  completed: Type.Integer({ description: 'Targets that completed.' }),
  failed: Type.Integer({ description: 'Targets that failed.' }),
})
export type TargetSummary = Static<typeof targetSummarySchema>

const commitSchema = namedObject('Commit', {
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

const deploymentSchema = namedObject('Deployment', {
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

const actionDataSchema = namedObject('ActionData', {
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

const triggeredFromSchema = namedObject('TriggeredFrom', {
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

const summaryFields = {
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
const actionSummarySchema = namedObject('ActionSummary', summaryFields)
export type ActionSummary = Static<typeof actionSummarySchema>

export const credentialSchema = namedObject('Credential', {
  id: idOf('credential'),
  name: Type.String({ description: 'The name of the credential.' }),
  provider: Exactly(
    {
      active: Type.Boolean({ description: 'Always true.' }),
      code: Type.String({
        description: 'The provider: `github`, `gitlab`, `bitbucket`, `gitea`, `git` or `ssh`.',
      }),
      code_human_readable: humanReadable('code'),
      type: Type.String({ description: '`source_provider` or `ssh_key`.' }),
      type_human_readable: humanReadable('type'),
    },
    { description: 'What the credential gives access to.' },
  ),
  provider_type: Type.String({ description: '`source_provider` or `ssh_key`.' }),
  provider_type_human_readable: humanReadable('provider_type'),
  provider_auth_type: Type.String({ description: 'What it holds: `token`, `key` or `none`.' }),
  provider_auth_type_human_readable: humanReadable('provider_auth_type'),
  active: Type.Boolean({ description: 'Whether it may be used.' }),
  organization: described(ref(organizationSchema), 'The organization that it belongs to.'),
  created_by_user: described(ref(userSchema), 'Who created it.'),
  last_action: described(
    refOrNull(actionSummarySchema),
    'The newest action that used it for its source, an SSH connection or a delivery; null without one, or when it is not visible to you.',
  ),
  ...timestamps,
})

export const applicationSchema = namedObject('Application', {
  id: idOf('application'),
  project_id: idOf('project'),
  environment_id: idOf('environment'),
  created_by: described(Id, 'The id of the user who created it.'),
  name: Type.String({ description: 'The name of the application.' }),
  repository: Type.String({ description: 'The repository that it is deployed from, as configured.' }),
  repository_name: TextOrNull({
    description: 'The last part of the path of the repository; null without one.',
  }),
  repository_owner: TextOrNull({ description: 'The part of the path before it; null without one.' }),
  default_branch: Type.String({ description: 'The branch that a deploy takes when none is named.' }),
  programming_language: TextOrNull({ description: 'The language that it is written in; null when not set.' }),
  programming_language_human_readable: TextOrNull({
    description: '`programming_language` in words, for display; null when not set.',
  }),
  engine_version: TextOrNull({ description: 'The version of the language or runtime; null when not set.' }),
  framework: TextOrNull({ description: 'The framework that it uses; null when not set.' }),
  framework_human_readable: TextOrNull({
    description: '`framework` in words, for display; null when not set.',
  }),
  root_directory: TextOrNull({
    description: 'The folder of the repository that is deployed; null: the whole repository.',
  }),
  install_dependencies_command: TextOrNull({
    description: 'Runs in every new release; null: nothing to run.',
  }),
  build_command: TextOrNull({ description: 'Runs after dependencies are installed; null: nothing to run.' }),
  deployments_keep: Type.Integer({ description: 'How many releases to keep on each server.' }),
  last_deployments: Exactly(
    {
      latest: described(
        refOrNull(actionSummarySchema),
        'The newest deployment, whatever its status; null without one.',
      ),
      live: described(
        refOrNull(actionSummarySchema),
        'The deployment that its servers currently serve; null without one.',
      ),
    },
    { description: 'Its latest deployments, as far as they are visible to you.' },
  ),
  credential: described(refOrNull(credentialSchema), 'Gives access to the repository; null without one.'),
  ...timestamps,
})
export type Application = Static<typeof applicationSchema>

const actionResourceSchema = namedObject('ActionResource', {
  id: idOf('resource'),
  type: described(resourceTypeFields.resource_type, 'The kind of resource.'),
  type_human_readable: humanReadable('type'),
  data: Type.Unsafe<Static<typeof applicationSchema> | Static<typeof serverResourceSchema>>({
    anyOf: [{ $ref: 'Application#' }, { $ref: 'ServerResource#' }],
    description: 'The resource itself: `Application` or `ServerResource`, as `type` says.',
  }),
})
export type ActionResource = Static<typeof actionResourceSchema>

const listItem = {
  ...summaryFields,
  trigger_comment: TextOrNull({ description: 'The reason that was given for the run; null without one.' }),
  resource: described(ref(actionResourceSchema), 'What the pipeline of the action runs on.'),
  organization: described(ref(organizationSchema), 'The organization that it belongs to.'),
  project: described(ref(projectSchema), 'The project that it belongs to.'),
  environment: described(ref(environmentSchema), 'The environment that it runs in.'),
}

export const actionListItemSchema = namedObject('ActionListItem', listItem)
export type ActionListItem = Static<typeof actionListItemSchema>

const actionRefSchema = namedObject('ActionRef', {
  id: idOf('action'),
  status: statusFields.status,
  status_human_readable: statusFields.status_human_readable,
  ...typeFields,
  resource_name: Type.String({ description: 'The name of the resource that it runs on.' }),
  resource_type: Type.String({ description: 'The kind of resource: `application` or `server`.' }),
  resource_type_human_readable: humanReadable('resource_type'),
  url_web_permalink: permalinkField,
})
export type ActionRef = Static<typeof actionRefSchema>

export const hookRequestSchema = namedObject('HookRequest', {
  id: described(Uuid, 'The id of the call or of the attempt at a delivery.'),
  hook_id: described(Uuid, 'The id of the hook.'),
  action_id: idOrNullOf('action that it started or reports on', 'null without one'),
  retry_of: described(
    UuidOrNull,
    'The id of the call that this one replays, or of the first attempt of the delivery; null for an original.',
  ),
  ip_address: TextOrNull({
    description: 'The network address of the sender or receiver; null when unknown.',
  }),
  url: Type.String({ description: 'The URL that was called, with secrets masked.' }),
  response_status_code: IntegerOrNull({
    description: 'The status of the response; null when there was none.',
  }),
  ...timestamps,
})
export type HookRequest = Static<typeof hookRequestSchema>

export const actionSchema = namedObject('Action', {
  ...listItem,
  pipeline_id: idOf('pipeline'),
  retry_of: idOrNullOf('action that this one retries', 'null unless it is a retry'),
  parent: described(refOrNull(actionRefSchema), 'The action after which this one runs; null without one.'),
  children: Type.Array(ref(actionRefSchema), { description: 'The actions that run after this one.' }),
  triggered_by_user: described(refOrNull(userSchema), 'The user who started it; null for hooks.'),
  hook_requests: Exactly(
    {
      incoming: described(
        refOrNull(hookRequestSchema),
        'The call that started the action; null without one.',
      ),
      outgoing: described(
        refOrNull(hookRequestSchema),
        'The newest delivery about the action; null without one.',
      ),
    },
    { description: 'The first call and the last delivery of the action.' },
  ),
})
export type Action = Static<typeof actionSchema>

export const actionSchemas = [
  stepSchema,
  targetSchema,
  targetSummarySchema,
  commitSchema,
  deploymentSchema,
  actionDataSchema,
  triggeredFromSchema,
  actionSummarySchema,
  credentialSchema,
  applicationSchema,
  serverResourceSchema,
  actionResourceSchema,
  actionListItemSchema,
  actionRefSchema,
  hookRequestSchema,
  actionSchema,
]
