// The apply room: one file says what a project of an organization consists of, and applying it makes it so. The
// file is read here, held against what is stored, and what differs is done by the rooms whose things they are.
import { type Static, type TSchema, Type } from 'typebox'
import { applicationBody, variableBody } from '#manage/applications/schemas.ts'
import { credentialBody } from '#manage/credentials/schemas.ts'
import { environmentBody, organizationBody, projectBody } from '#manage/organizations/schemas.ts'
import { serverBody } from '#manage/servers/schemas.ts'
import { incomingHookBody, outgoingHookBody } from '#model/hooks/schemas.ts'
import { pipelineBody, stepBody } from '#model/pipelines/schemas.ts'
import { Exactly, named, ref, TextOrNull, Word } from '#platform/http/schemas.ts'

const MOST_VALUES = 500
export const MOST_DOCUMENT_BYTES = 1024 * 1024
export const APPLY_BODY_LIMIT = 2 * 1024 * 1024

type Fields = Record<string, TSchema>

/** The fields of a body that the file writes in the same way. */
function fieldsOf<Known extends Fields, Left extends keyof Known>(
  body: { properties: Known },
  ...left: Left[]
): Omit<Known, Left> {
  const entries = Object.entries(body.properties).filter(([field]) => !left.includes(field as Left))
  return Object.fromEntries(entries) as Omit<Known, Left>
}

/** Things by their names. A section with nothing below it is as good as none. */
function ByName<Entry extends TSchema>(name: TSchema, entry: Entry, description?: string) {
  return Type.Optional(
    Type.Unsafe<Record<string, Static<Entry>> | null>({
      type: ['object', 'null'],
      propertyNames: name,
      additionalProperties: entry,
      ...(description && { description }),
    }),
  )
}

const nameOfThing = Type.String({ minLength: 1, maxLength: 255 })
const credential = Type.Optional(
  TextOrNull({ minLength: 1, maxLength: 255, description: 'The name of a credential; null: none.' }),
)

const credentialEntry = Exactly(fieldsOf(credentialBody, 'name'))

const stepEntry = Exactly({
  ...fieldsOf(stepBody, 'command', 'trigger_after'),
  command: Type.Optional(stepBody.properties.command),
  trigger_after: Type.Optional(
    TextOrNull({
      minLength: 1,
      maxLength: 255,
      description:
        'The name of the step that it follows: a built-in one, one that is there, or one above it in this list; null: it is the first. Left out: it follows the one above it, and the first of the list is the last of the pipeline.',
    }),
  ),
})

const hooks = Type.Optional(
  Exactly({
    incoming: ByName(incomingHookBody.properties.name, Exactly(fieldsOf(incomingHookBody, 'name'))),
    outgoing: ByName(outgoingHookBody.properties.name, Exactly(fieldsOf(outgoingHookBody, 'name'))),
  }),
)

const runAfter = Type.Unsafe<string | { application?: string; server?: string; pipeline: string }>({
  type: ['string', 'object'],
  minLength: 1,
  maxLength: 255,
  properties: { application: nameOfThing, server: nameOfThing, pipeline: nameOfThing },
  required: ['pipeline'],
  additionalProperties: false,
  maxProperties: 2,
  description:
    'A pipeline of the same application or server by its name, or one of another: `{application: shop, pipeline: Deploy}`.',
})

const pipelineEntry = Exactly({
  ...fieldsOf(pipelineBody, 'name', 'run_after'),
  run_after: Type.Optional(Type.Array(runAfter, { maxItems: 100, uniqueItems: true })),
  steps: Type.Optional(
    Type.Array(stepEntry, {
      maxItems: 200,
      description: 'In their order. A built-in step stands here only to have another `timeout_seconds`.',
    }),
  ),
  hooks,
})

const pipelines = ByName(pipelineBody.properties.name, pipelineEntry)

const serverEntry = Exactly({ ...fieldsOf(serverBody, 'name', 'credential_id'), credential, pipelines })

const variableEntry = Type.Unsafe<string | { value: string; hidden?: boolean }>({
  type: ['string', 'object'],
  maxLength: 65_536,
  properties: fieldsOf(variableBody, 'name'),
  required: ['value'],
  additionalProperties: false,
  description: 'The value, or `{value, hidden}`.',
})

const applicationEntry = Exactly({
  ...fieldsOf(applicationBody, 'name', 'credential_id', 'linked_resources'),
  credential,
  servers: Type.Optional(
    Type.Array(nameOfThing, {
      maxItems: 1_000,
      uniqueItems: true,
      description: 'The names of the servers of the same environment that it is deployed to.',
    }),
  ),
  variables: ByName(variableBody.properties.name, variableEntry),
  pipelines,
})

const environmentEntry = Exactly({
  ...fieldsOf(environmentBody, 'name'),
  servers: ByName(serverBody.properties.name, serverEntry),
  applications: ByName(applicationBody.properties.name, applicationEntry),
})

/** What `gantry.yaml` says. A field that is left out stays as it is stored. */
export const documentSchema = Exactly({
  organization: Type.String({
    ...organizationBody.properties.name,
    description: 'Its name, or its `url_slug` when several have that name.',
  }),
  project: projectBody,
  credentials: ByName(credentialBody.properties.name, credentialEntry, 'Of the organization.'),
  environments: ByName(environmentBody.properties.name, environmentEntry),
})

export const applyBody = Exactly(
  {
    document: Type.String({ minLength: 1, description: 'YAML 1.2 or JSON, at most 1 MiB.' }),
    values: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        maxProperties: MOST_VALUES,
        propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$', 'x-hint': 'has a name that is not one' },
        additionalProperties: { type: 'string', maxLength: 65_536 },
        writeOnly: true,
        description: `What \`\${NAME}\` stands for in the document. Never shown again.`,
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({ default: false, description: 'Tells what would change, and changes nothing.' }),
    ),
    prune: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Removes what the project has and the document does not name. Credentials, which belong to the organization, stay.',
      }),
    ),
  },
  {
    examples: [
      {
        document: `organization: Acme\nproject: {name: Shop}\ncredentials:\n  GitHub: {provider_code: github, token: "\${GITHUB_TOKEN}"}\n`,
        values: { GITHUB_TOKEN: 'ghp_example' },
        dry_run: true,
      },
    ],
  },
)

export const CHANGE_VERBS = ['create', 'change', 'delete'] as const
export const THING_TYPES = [
  'organization',
  'project',
  'credential',
  'environment',
  'server',
  'application',
  'variable',
  'pipeline',
  'step',
  'hook',
] as const

export const appliedChangeSchema = named(
  'AppliedChange',
  Exactly({
    verb: Word(CHANGE_VERBS),
    type: Word(THING_TYPES),
    name: Type.String(),
    path: Type.String({ description: 'Where it stands: `environments.production.servers.web-1`.' }),
    fields: Type.Array(
      Exactly({
        field: Type.String(),
        before: Type.Unknown({ description: 'Null for what is new; `********` for secrets.' }),
        after: Type.Unknown({ description: '`********` for secrets, and for what `values` filled in.' }),
      }),
    ),
  }),
)

export const appliedSchema = named(
  'Applied',
  Exactly({
    dry_run: Type.Boolean(),
    changes: Type.Array(ref(appliedChangeSchema), { description: 'In the order of the document.' }),
    summary: Exactly({ create: Type.Integer(), change: Type.Integer(), delete: Type.Integer() }),
    secrets: Type.Array(Exactly({ path: Type.String(), secret: TextOrNull(), url: TextOrNull() }), {
      description: 'Of the hooks that were made: this is the only answer that shows their secrets.',
    }),
    unused_values: Type.Array(Type.String(), {
      description: 'Names in `values` that the document does not use.',
    }),
  }),
)

export type GantryDocument = Static<typeof documentSchema>
export type ServerEntry = Static<typeof serverEntry>
export type ApplicationEntry = Static<typeof applicationEntry>
export type PipelineEntry = Static<typeof pipelineEntry>
export type StepEntry = Static<typeof stepEntry>
export type CredentialEntry = Static<typeof credentialEntry>
export type EnvironmentEntry = Static<typeof environmentEntry>
export type ApplyBody = Static<typeof applyBody>
export type AppliedChange = Static<typeof appliedChangeSchema>
export type Applied = Static<typeof appliedSchema>
export type ThingType = (typeof THING_TYPES)[number]

export const applySchemas = [appliedChangeSchema, appliedSchema]
