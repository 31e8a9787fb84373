// The actions room: runs of pipelines. Here is their JSON; status.ts has their states, start-actions.ts stores new
// ones, read-action.ts and assemble.ts build responses.
import { userSchema } from '#access/accounts/user-schema.ts'
import { environmentSchema, organizationSchema, projectSchema } from '#model/inventory/schemas.ts'
import * as t from '#platform/http/schemas.ts'
import {
  actionDataSchema,
  actionSummarySchema,
  commitSchema,
  deploymentSchema,
  permalinkField,
  resourceTypeFields,
  serverResourceSchema,
  statusFields,
  stepSchema,
  summaryFields,
  targetSchema,
  targetSummarySchema,
  triggeredFromSchema,
  typeFields,
} from './summary-schemas.ts'

export const credentialSchema = t.namedObject('Credential', {
  id: t.idOf('credential'),
  name: t.Text('The name of the credential.'),
  provider: t.Exactly(
    {
      active: t.Flag('Always true.'),
      code: t.Text(
        'The provider: `github`, `gitlab`, `bitbucket`, `gitea`, `git`, `ssh`, `slack` or `discord`.',
      ),
      code_human_readable: t.humanReadable('code'),
      type: t.Text('`source_provider`, `ssh_key` or `chat`.'),
      type_human_readable: t.humanReadable('type'),
    },
    { description: 'What the credential gives access to.' },
  ),
  provider_type: t.Text('`source_provider`, `ssh_key` or `chat`.'),
  provider_type_human_readable: t.humanReadable('provider_type'),
  provider_auth_type: t.Text('What it holds: `token`, `key` or `none`.'),
  provider_auth_type_human_readable: t.humanReadable('provider_auth_type'),
  active: t.Flag('Whether it may be used.'),
  organization: t.ref(organizationSchema, 'The organization that it belongs to.'),
  created_by_user: t.ref(userSchema, 'Who created it.'),
  last_action: t.refOrNull(
    actionSummarySchema,
    'The newest action that used it for its source, an SSH connection or a delivery; null without one, or when it is not visible to you.',
  ),
  ...t.timestamps,
})

export const applicationSchema = t.namedObject('Application', {
  id: t.idOf('application'),
  project_id: t.idOf('project'),
  environment_id: t.idOf('environment'),
  created_by: t.described(t.Id, 'The id of the user who created it.'),
  name: t.Text('The name of the application.'),
  repository: t.Text('The repository that it is deployed from, as configured.'),
  repository_name: t.TextOrNull('The last part of the path of the repository; null without one.'),
  repository_owner: t.TextOrNull('The part of the path before it; null without one.'),
  default_branch: t.Text('The branch that a deploy takes when none is named.'),
  programming_language: t.TextOrNull('The language that it is written in; null when not set.'),
  programming_language_human_readable: t.TextOrNull(
    '`programming_language` in words, for display; null when not set.',
  ),
  engine_version: t.TextOrNull('The version of the language or runtime; null when not set.'),
  framework: t.TextOrNull('The framework that it uses; null when not set.'),
  framework_human_readable: t.TextOrNull('`framework` in words, for display; null when not set.'),
  root_directory: t.TextOrNull('The folder of the repository that is deployed; null: the whole repository.'),
  install_dependencies_command: t.TextOrNull('Runs in every new release; null: nothing to run.'),
  build_command: t.TextOrNull('Runs after dependencies are installed; null: nothing to run.'),
  deployments_keep: t.Integer('How many releases to keep on each server.'),
  last_deployments: t.Exactly(
    {
      latest: t.refOrNull(
        actionSummarySchema,
        'The newest deployment, whatever its status; null without one.',
      ),
      live: t.refOrNull(
        actionSummarySchema,
        'The newest deployment that any of its servers serves; null without one.',
      ),
    },
    { description: 'Its latest deployments, as far as they are visible to you.' },
  ),
  credential: t.refOrNull(credentialSchema, 'Gives access to the repository; null without one.'),
  ...t.timestamps,
})
export type Application = t.Static<typeof applicationSchema>

const actionResourceSchema = t.namedObject('ActionResource', {
  id: t.idOf('resource'),
  type: t.described(resourceTypeFields.resource_type, 'The kind of resource.'),
  type_human_readable: t.humanReadable('type'),
  data: t.Unsafe<t.Static<typeof applicationSchema> | t.Static<typeof serverResourceSchema>>({
    anyOf: [{ $ref: 'Application#' }, { $ref: 'ServerResource#' }],
    description: 'The resource itself: `Application` or `ServerResource`, as `type` says.',
  }),
})
export type ActionResource = t.Static<typeof actionResourceSchema>

const listItem = {
  ...summaryFields,
  trigger_comment: t.TextOrNull('The reason that was given for the run; null without one.'),
  resource: t.ref(actionResourceSchema, 'What the pipeline of the action runs on.'),
  organization: t.ref(organizationSchema, 'The organization that it belongs to.'),
  project: t.ref(projectSchema, 'The project that it belongs to.'),
  environment: t.ref(environmentSchema, 'The environment that it runs in.'),
}

export const actionListItemSchema = t.namedObject('ActionListItem', {
  ...listItem,
  pipeline_id: t.Optional(t.Integer('The id of the pipeline; only with `include=pipeline_id`.')),
})
export type ActionListItem = t.Static<typeof actionListItemSchema>

export const actionRefSchema = t.namedObject('ActionRef', {
  id: t.idOf('action'),
  status: statusFields.status,
  status_human_readable: statusFields.status_human_readable,
  ...typeFields,
  resource_name: t.Text('The name of the resource that it runs on.'),
  resource_type: t.Text('The kind of resource: `application` or `server`.'),
  resource_type_human_readable: t.humanReadable('resource_type'),
  url_web_permalink: permalinkField,
})
export type ActionRef = t.Static<typeof actionRefSchema>

export const hookRequestSchema = t.namedObject('HookRequest', {
  id: t.described(t.Uuid, 'The id of the call or of the attempt at a delivery.'),
  hook_id: t.described(t.Uuid, 'The id of the hook.'),
  action_id: t.idOrNullOf('action that it started or reports on', 'null without one'),
  retry_of: t.described(
    t.UuidOrNull,
    'The id of the call that this one replays, or of the first attempt of the delivery; null for an original.',
  ),
  ip_address: t.TextOrNull('The network address of the sender or receiver; null when unknown.'),
  url: t.Text('The URL that was called, with secrets masked.'),
  response_status_code: t.IntegerOrNull('The status of the response; null when there was none.'),
  ...t.timestamps,
})
export type HookRequest = t.Static<typeof hookRequestSchema>

export const actionSchema = t.namedObject('Action', {
  ...listItem,
  pipeline_id: t.idOf('pipeline'),
  retry_of: t.idOrNullOf('action that this one retries', 'null unless it is a retry'),
  parent: t.refOrNull(actionRefSchema, 'The action after which this one runs; null without one.'),
  children: t.List(t.ref(actionRefSchema), 'The actions that run after this one.'),
  triggered_by_user: t.refOrNull(userSchema, 'The user who started it; null for hooks.'),
  hook_requests: t.Exactly(
    {
      incoming: t.refOrNull(hookRequestSchema, 'The call that started the action; null without one.'),
      outgoing: t.refOrNull(hookRequestSchema, 'The newest delivery about the action; null without one.'),
    },
    { description: 'The first call and the last delivery of the action.' },
  ),
})
export type Action = t.Static<typeof actionSchema>

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
