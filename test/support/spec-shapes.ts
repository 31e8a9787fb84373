// The tables of the spec as data: each of its types with exactly its fields, by kind, in the wording of the spec. The
// API reference is generated from the schemas; this list is independent of them, to contradict them.
import assert from 'node:assert/strict'

const STATUS = 'status status_human_readable status_reason_code status_reason_human_readable'
const TYPE = 'type type_human_readable'
const TIMES = 'started_at completed_at created_at updated_at'

const actionShaped = {
  integer: 'id',
  text: `${STATUS} ${TYPE}`,
  url: 'url_web_permalink',
  ActionData: 'action_data',
  TriggeredFrom: 'triggered_from',
  Summary: 'summary',
  'Target[]': 'targets',
  time: TIMES,
}

const actionListItem = {
  ...actionShaped,
  text: `${actionShaped.text} trigger_comment`,
  ActionResource: 'resource',
  Organization: 'organization',
  Project: 'project',
  Environment: 'environment',
}

const SHAPES = {
  'Action (list item)': actionListItem,
  'Action (single)': {
    ...actionListItem,
    integer: 'id pipeline_id retry_of',
    ActionRef: 'parent',
    'ActionRef[]': 'children',
    User: 'triggered_by_user',
    HookRequests: 'hook_requests',
  },
  'Action-shaped': actionShaped,
  HookRequests: { HookRequest: 'incoming outgoing' },
  ActionRef: {
    integer: 'id',
    text: `status status_human_readable ${TYPE} resource_name resource_type resource_type_human_readable`,
    url: 'url_web_permalink',
  },
  ActionData: { text: 'release_name', Commit: 'commit', Deployment: 'deployment' },
  Commit: {
    text: 'repository author_name author_email hash message url clone_url download_url',
    time: 'committed_at',
  },
  Deployment: { text: 'type source_type source_ref repository provider_name', integer: 'pipeline_id' },
  TriggeredFrom: {
    text: 'origin trigger_type name email ip_address',
    integer: 'user_id',
    uuid: 'hook_id hook_request_id',
    variables: 'hook_parsed_variables',
  },
  Summary: { TargetSummary: 'targets' },
  TargetSummary: { integer: 'count pending in_progress completed failed' },
  Target: {
    integer: 'id resource_id total_steps',
    text: `resource_type resource_type_human_readable ${STATUS}`,
    Step: 'current_step',
    'Step[]': 'steps',
    ResourceData: 'resource_data',
    time: TIMES,
  },
  ResourceData: {
    integer: 'id',
    text: 'name provider_type provider_code provider_name provider_name_human_readable',
  },
  Step: {
    integer: 'id action_id action_target_id order',
    text: `name description ${STATUS}`,
    time: TIMES,
  },
  ActionResource: { integer: 'id', text: TYPE, data: 'data' },
  Application: {
    integer: 'id project_id environment_id created_by deployments_keep',
    text: `name repository repository_name repository_owner default_branch programming_language
      programming_language_human_readable engine_version framework framework_human_readable root_directory
      install_dependencies_command build_command`,
    LastDeployments: 'last_deployments',
    Credential: 'credential',
    time: 'created_at updated_at',
  },
  LastDeployments: { 'Action-shaped': 'latest live' },
  Credential: {
    integer: 'id',
    text: `name provider_type provider_type_human_readable provider_auth_type
      provider_auth_type_human_readable`,
    Provider: 'provider',
    boolean: 'active',
    Organization: 'organization',
    User: 'created_by_user',
    'Action-shaped': 'last_action',
    time: 'created_at updated_at',
  },
  Provider: { boolean: 'active', text: `code code_human_readable ${TYPE}` },
  Organization: {
    integer: 'id',
    text: 'name url_slug',
    'ResourceSummary[]': 'resource_summary',
    User: 'owner',
    time: 'created_at updated_at',
  },
  ResourceSummary: {
    text: `resource_type resource_type_plural resource_type_human_readable
      resource_type_human_readable_plural`,
    Count: 'summary',
  },
  Count: { integer: 'count' },
  User: {
    integer: 'id',
    text: 'name email url_slug language',
    boolean: 'active',
    time: 'created_at updated_at',
  },
  Project: {
    integer: 'id user_id used_credits',
    text: 'name logo_url',
    'ResourceSummary[]': 'resource_summary',
    'OsUser[]': 'os_users',
    Organization: 'organization',
    User: 'created_by_user',
    time: 'created_at updated_at',
  },
  OsUser: { text: 'name' },
  Environment: {
    integer: 'id used_credits',
    text: `${TYPE} name description`,
    'ResourceSummary[]': 'resource_summary',
    time: 'created_at updated_at archived_at',
    Project: 'project',
  },
  HookRequest: {
    uuid: 'id hook_id retry_of',
    integer: 'action_id response_status_code',
    text: 'ip_address url',
    time: 'created_at updated_at',
  },
} satisfies Record<string, Record<string, string>>

export type ShapeName = keyof typeof SHAPES

const KINDS: Record<string, (value: unknown) => boolean> = {
  integer: Number.isSafeInteger,
  text: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  url: (value) => URL.canParse(value as string),
  uuid: (value) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value as string),
  time: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value as string),
  variables: (value) => typeof value === 'object' && !Array.isArray(value),
}

/**
 * Demands that a value has exactly the fields that the spec lists for it, down to the last object, each of
 * its kind or null. Answers the paths of those that are null.
 */
export function nullsIn(name: ShapeName, value: unknown, path = ''): string[] {
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `${path} is a ${name}`)
  const fields = value as Record<string, unknown>
  const kindOf = new Map(
    Object.entries(SHAPES[name]).flatMap(([kind, names]) =>
      names.split(/\s+/).map((field): [string, string] => [field, kind]),
    ),
  )
  assert.deepEqual(Object.keys(fields).sort(), [...kindOf.keys()].sort(), `the fields of ${path} (${name})`)
  return [...kindOf].flatMap(([field, kind]) => {
    const here = path === '' ? field : `${path}.${field}`
    if (fields[field] === null) return [here]
    return nullsOfKind(kind === 'data' ? dataShape(fields.type) : kind, fields[field], here)
  })
}

function nullsOfKind(kind: string, value: unknown, path: string): string[] {
  if (kind.endsWith('[]')) {
    assert.ok(Array.isArray(value), `${path} is an array`)
    return value.flatMap((item, index) => nullsIn(kind.slice(0, -2) as ShapeName, item, `${path}.${index}`))
  }
  if (!(kind in KINDS)) return nullsIn(kind as ShapeName, value, path)
  assert.ok(KINDS[kind]!(value), `${path} is ${kind}: ${JSON.stringify(value)}`)
  return []
}

function dataShape(type: unknown): ShapeName {
  return type === 'application' ? 'Application' : 'ResourceData'
}
