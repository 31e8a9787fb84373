// What a `gantry.yaml` may contain, and what `POST /apply` accepts and returns.
import { applicationBody, variableBody } from '#manage/applications/schemas.ts'
import { credentialBody } from '#manage/credentials/schemas.ts'
import { weeklyFreeze } from '#manage/freezes/schemas.ts'
import { environmentBody, organizationBody, projectBody } from '#manage/organizations/schemas.ts'
import { serverBody } from '#manage/servers/schemas.ts'
import { incomingHookBody, outgoingHookBody } from '#model/hooks/schemas.ts'
import { approvalTerms } from '#model/inventory/schemas.ts'
import { pipelineBody, stepBody } from '#model/pipelines/schemas.ts'
import * as t from '#platform/http/schemas.ts'
import type { NamedApproval } from './approvers.ts'

const MAX_VALUES = 500
export const MAX_DOCUMENT_BYTES = 1024 * 1024
export const APPLY_BODY_LIMIT = 2 * 1024 * 1024

type Fields = Record<string, t.TSchema>

/** The fields of a request body that the document has too, under the same name. */
export function fieldsOf<Known extends Fields, Left extends keyof Known>(
  body: { properties: Known },
  ...left: Left[]
): Omit<Known, Left> {
  const entries = Object.entries(body.properties).filter(([field]) => !left.includes(field as Left))
  return Object.fromEntries(entries) as Omit<Known, Left>
}

/** Resources by name. An empty section equals a missing one. */
function ByName<Entry extends t.TSchema>(name: t.TSchema, entry: Entry, description?: string) {
  return t.Optional(
    t.Unsafe<Record<string, t.Static<Entry>> | null>({
      type: ['object', 'null'],
      propertyNames: name,
      additionalProperties: entry,
      ...(description && { description }),
    }),
  )
}

const resourceName = t.Text({ minLength: 1, maxLength: 255 })
const credential = t.Optional(
  t.TextOrNull({ minLength: 1, maxLength: 255, description: 'The name of a credential; null for none.' }),
)

const credentialEntry = t.Exactly(fieldsOf(credentialBody, 'name'))

const stepEntry = t.Exactly({
  ...fieldsOf(stepBody, 'command', 'trigger_after'),
  command: t.Optional(stepBody.properties.command),
  trigger_after: t.Optional(
    t.TextOrNull({
      minLength: 1,
      maxLength: 255,
      description:
        'The name of the step that it follows: a built-in step, an existing one, or one above it in this list; null makes it the first. If omitted, it follows the step above it; the first of the list goes to the end of the pipeline.',
    }),
  ),
})

/** Otherwise the URL is that of `create`, or that of the preset. */
const NEEDS_URL = {
  if: needs('settings', { anyOf: [needs('requests'), needs('preset')] }),
  else: needs('target_url'),
}

function needs(field: string, schema: object = {}) {
  return { required: [field], properties: { [field]: schema } }
}

const outgoingEntry = t.Exactly(
  { ...fieldsOf(outgoingHookBody, 'name', 'credential_id'), credential },
  NEEDS_URL,
)

const hooks = t.Optional(
  t.Exactly({
    incoming: ByName(incomingHookBody.properties.name, t.Exactly(fieldsOf(incomingHookBody, 'name'))),
    outgoing: ByName(outgoingHookBody.properties.name, outgoingEntry),
  }),
)

const runAfter = t.Unsafe<string | { application?: string; server?: string; pipeline: string }>({
  type: ['string', 'object'],
  minLength: 1,
  maxLength: 255,
  properties: { application: resourceName, server: resourceName, pipeline: resourceName },
  required: ['pipeline'],
  additionalProperties: false,
  maxProperties: 2,
  description:
    'The name of a pipeline of the same application or server, or `{application: shop, pipeline: Deploy}` for one of another.',
})

const pipelineEntry = t.Exactly({
  ...fieldsOf(pipelineBody, 'name', 'run_after'),
  run_after: t.Optional(t.List(runAfter, { maxItems: 100, uniqueItems: true })),
  steps: t.Optional(
    t.List(stepEntry, {
      maxItems: 200,
      description: 'In order. List a built-in step only to change its `timeout_seconds`.',
    }),
  ),
  hooks,
})

const pipelines = ByName(pipelineBody.properties.name, pipelineEntry)

const serverEntry = t.Exactly({ ...fieldsOf(serverBody, 'name', 'credential_id'), credential, pipelines })

const variableEntry = t.Unsafe<string | { value: string; hidden?: boolean }>({
  type: ['string', 'object'],
  maxLength: 65_536,
  properties: fieldsOf(variableBody, 'name'),
  required: ['value'],
  additionalProperties: false,
  description: 'The value, or `{value, hidden}`.',
})

const applicationEntry = t.Exactly({
  ...fieldsOf(applicationBody, 'name', 'credential_id', 'linked_resources'),
  credential,
  servers: t.Optional(
    t.List(resourceName, {
      maxItems: 1_000,
      uniqueItems: true,
      description: 'The names of the servers, in the same environment, that it is deployed to.',
    }),
  ),
  variables: ByName(variableBody.properties.name, variableEntry),
  pipelines,
})

/** One that happens once is an event of the day, and not in a document: it would lift it, or bring it back. */
const freezeEntry = t.Exactly(fieldsOf(weeklyFreeze, 'name'))

const names = (maxLength: number, description: string) => ({
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength },
  maxItems: 100,
  uniqueItems: true,
  description,
})

const namedApproval = t.Unsafe<NamedApproval | null>({
  ...approvalTerms,
  properties: {
    ...approvalTerms.properties,
    from: {
      ...approvalTerms.properties.from,
      properties: {
        users: names(320, 'Users, by their email addresses.'),
        roles: names(
          60,
          'Users with one of these roles there: built-in ones, or custom ones by their names.',
        ),
      },
    },
  },
  description: 'Who approves runs before they start. Null: no one has to.',
})

const environmentEntry = t.Exactly({
  ...fieldsOf(environmentBody, 'name', 'approval'),
  approval: t.Optional(namedApproval),
  freezes: ByName(
    weeklyFreeze.properties.name,
    freezeEntry,
    'Weekly freezes of the environment. Freezes that happen once are not part of the document, and are never removed by it.',
  ),
  servers: ByName(serverBody.properties.name, serverEntry),
  applications: ByName(applicationBody.properties.name, applicationEntry),
})

/** A `gantry.yaml`. An omitted field keeps its stored value. */
export const documentSchema = t.Exactly({
  organization: t.Text({
    ...organizationBody.properties.name,
    description: 'The name, or the `url_slug` if several organizations have that name.',
  }),
  project: projectBody,
  credentials: ByName(credentialBody.properties.name, credentialEntry, 'Credentials of the organization.'),
  environments: ByName(environmentBody.properties.name, environmentEntry),
})

export const applyBody = t.Exactly({
  document: t.Text({ minLength: 1, description: 'The document: YAML 1.2 or JSON, at most 1 MiB.' }),
  ...t.optionalFields({
    values: t.Unsafe<Record<string, string>>({
      type: 'object',
      maxProperties: MAX_VALUES,
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$', 'x-hint': 'has an invalid name' },
      additionalProperties: { type: 'string', maxLength: 65_536 },
      writeOnly: true,
      description: `Values for the \`\${NAME}\` placeholders of the document. Never returned.`,
    }),
    dry_run: t.Flag({
      default: false,
      description: 'Reports what would change without changing anything.',
    }),
    prune: t.Flag({
      default: false,
      description:
        'Removes resources of the project that the document does not list. Credentials belong to the organization and are kept.',
    }),
  }),
})

export const RESOURCE_KINDS = [
  'organization',
  'project',
  'credential',
  'environment',
  'freeze',
  'server',
  'application',
  'variable',
  'pipeline',
  'step',
  'hook',
] as const

export const appliedChangeSchema = t.namedObject('AppliedChange', {
  verb: t.Word(['create', 'change', 'delete'], 'What happens to the resource.'),
  type: t.Word(RESOURCE_KINDS, 'The kind of resource.'),
  name: t.Text('The name of the resource.'),
  path: t.Text('Its path in the document: `environments.production.servers.web-1`.'),
  fields: t.List(
    t.Exactly({
      field: t.Text('The name of the field.'),
      before: t.Anything('The value before. Null for a new resource; `********` for secrets.'),
      after: t.Anything('The value after. `********` for secrets and for anything filled in from `values`.'),
    }),
    'The fields that differ.',
  ),
})

export const appliedSchema = t.namedObject('Applied', {
  dry_run: t.Flag('Whether the changes were only computed.'),
  changes: t.List(
    t.ref(appliedChangeSchema),
    'What changed, or would change: in document order, removals last.',
  ),
  summary: t.Exactly(
    {
      create: t.Integer('How many resources are created.'),
      change: t.Integer('How many resources are changed.'),
      delete: t.Integer('How many resources are removed.'),
    },
    { description: 'The changes, counted.' },
  ),
  secrets: t.List(
    t.Exactly({
      path: t.Text('The path of the hook in the document.'),
      secret: t.TextOrNull('Its secret; null when it has none.'),
      url: t.TextOrNull('The URL to call; null for outgoing hooks.'),
    }),
    'Secrets of the hooks that were created. They are returned only once.',
  ),
  stopped_hooks: t.List(
    t.Exactly({
      hook_id: t.described(t.Uuid, 'The id of the hook.'),
      name: t.Text('The name of the hook.'),
      pipeline_id: t.idOf('pipeline that it belongs to'),
      origins: t.List(
        t.Text('An origin.'),
        "Where it sends the token, outside of the credential's provider.",
      ),
    }),
    'Active hooks that can no longer send, because the document sets `token_targets` of a credential to `provider`; those that you can view.',
  ),
  unused_values: t.List(t.Text(), 'Names in `values` that the document does not use.'),
})

export type GantryDocument = t.Static<typeof documentSchema>
export type FreezeEntry = t.Static<typeof freezeEntry>
export type ServerEntry = t.Static<typeof serverEntry>
export type ApplicationEntry = t.Static<typeof applicationEntry>
export type PipelineEntry = t.Static<typeof pipelineEntry>
export type OutgoingEntry = t.Static<typeof outgoingEntry>
export type StepEntry = t.Static<typeof stepEntry>
export type CredentialEntry = t.Static<typeof credentialEntry>
export type ApplyBody = t.Static<typeof applyBody>
export type AppliedChange = t.Static<typeof appliedChangeSchema>
export type Applied = t.Static<typeof appliedSchema>
export type ResourceKind = (typeof RESOURCE_KINDS)[number]

export const applySchemas = [appliedChangeSchema, appliedSchema]
