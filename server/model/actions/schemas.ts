// The actions room: runs of pipelines. Here is their JSON; status.ts has their states, start-actions.ts stores new
// ones, read-action.ts and assemble.ts build responses.
import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import { environmentSchema, organizationSchema, projectSchema } from '#model/inventory/schemas.ts'
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
  timestamps,
  Uuid,
  UuidOrNull,
} from '#platform/http/schemas.ts'
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

export const credentialSchema = namedObject('Credential', {
  id: idOf('credential'),
  name: Type.String({ description: 'The name of the credential.' }),
  provider: Exactly(
    {
      active: Type.Boolean({ description: 'Always true.' }),
      code: Type.String({
        description:
          'The provider: `github`, `gitlab`, `bitbucket`, `gitea`, `git`, `ssh`, `slack` or `discord`.',
      }),
      code_human_readable: humanReadable('code'),
      type: Type.String({ description: '`source_provider`, `ssh_key` or `chat`.' }),
      type_human_readable: humanReadable('type'),
    },
    { description: 'What the credential gives access to.' },
  ),
  provider_type: Type.String({ description: '`source_provider`, `ssh_key` or `chat`.' }),
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
        'The newest deployment that any of its servers serves; null without one.',
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

export const actionListItemSchema = namedObject('ActionListItem', {
  ...listItem,
  pipeline_id: Type.Optional(
    Type.Integer({ description: 'The id of the pipeline; only with `include=pipeline_id`.' }),
  ),
})
export type ActionListItem = Static<typeof actionListItemSchema>

export const actionRefSchema = namedObject('ActionRef', {
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
