import { applicationSchema } from '#model/actions/schemas.ts'
import { healthCheckInput, healthCheckOrNull } from '#model/pipelines/health-check.ts'
import * as t from '#platform/http/schemas.ts'
import { LANGUAGES } from './detect-build.ts'

const command = (description: string) =>
  t.Optional(t.TextOrNull({ maxLength: 65_536, description: `${description} Bash; at most 64 KiB.` }))

const SUBMODULES = ['fetch', 'ignore'] as const

export const linkedResourceSchema = t.namedObject('LinkedResource', {
  resource_type: t.Word(['server'] as const, 'The kind of resource: always `server`.'),
  resource_id: t.idOf('server'),
})
export type LinkedResource = t.Static<typeof linkedResourceSchema>

const fields = {
  name: t.Name(255, 'The name of the application.'),
  repository: t.Text({
    minLength: 1,
    maxLength: 2_048,
    description:
      'An https, http or ssh URL, `git@host:owner/name.git`, or `owner/name` at the provider of the credential. `file:` is for instance administrators.',
  }),
  ...t.optionalFields({
    default_branch: t.Text({
      minLength: 1,
      maxLength: 1_024,
      default: 'main',
      description: 'The branch that a deploy takes when none is named.',
    }),
    programming_language: t.TextOrNull({
      maxLength: 60,
      description: 'The language, such as `nodejs` or `php`; for display.',
    }),
    engine_version: t.TextOrNull({
      maxLength: 60,
      description: 'The version of the language or runtime; for display.',
    }),
    framework: t.TextOrNull({
      maxLength: 60,
      description: 'The framework, such as `nextjs` or `laravel`; for display.',
    }),
    root_directory: t.TextOrNull({
      maxLength: 255,
      description: 'The folder to deploy, relative to the repository; null: the whole repository.',
    }),
  }),
  install_dependencies_command: command('Runs in every new release.'),
  build_command: command('Runs after dependencies are installed.'),
  ...t.optionalFields({
    shared_paths: t.List(t.Text({ maxLength: 256 }), {
      maxItems: 100,
      description: 'Shared by all releases: `storage/` is a folder, `.env` a file.',
    }),
    deployments_keep: t.Integer({
      minimum: 1,
      maximum: 100,
      default: 5,
      description: 'How many releases to keep on each server.',
    }),
    submodules: t.Word(SUBMODULES, {
      default: 'fetch',
      description:
        'What happens to the submodules of the repository: `fetch` deploys their files, `ignore` leaves their folders empty and says so in the log.',
    }),
  }),
  health_check: healthCheckInput(
    'How every deploy checks a new release once it is live, before old releases are removed; null: not at all.',
  ),
  ...t.optionalFields({
    credential_id: t.described(
      t.IdOrNull,
      'Gives access to the source; from the same organization. Requires `credential:run`.',
    ),
    linked_resources: t.List(t.ref(linkedResourceSchema), {
      maxItems: 1_000,
      uniqueItems: true,
      description: 'Servers of the same environment to deploy to. Requires `server:run`.',
    }),
  }),
}

export const applicationBody = t.Exactly(fields)
export type ApplicationBody = t.Static<typeof applicationBody>

/** Each field that is given replaces what is stored. */
export const applicationChange = t.Partial(applicationBody, { additionalProperties: false })
export type ApplicationChange = t.Static<typeof applicationChange>

export const applicationRecordSchema = t.namedObject('ApplicationRecord', {
  ...applicationSchema.properties,
  folder: t.Text('Its folder below the root directory of its servers; never changes.'),
  shared_paths: t.List(t.Text(), 'Shared by all releases: `storage/` is a folder, `.env` a file.'),
  submodules: t.Word(
    SUBMODULES,
    'Whether the files of submodules are deployed, or their folders left empty.',
  ),
  health_check: healthCheckOrNull('How every deploy checks a new release once it is live; null: not at all.'),
  linked_resources: t.List(
    t.ref(linkedResourceSchema),
    'The servers that it is deployed to; empty for callers without `server:view`.',
  ),
})
export type ApplicationView = t.Static<typeof applicationRecordSchema>

export const variableBody = t.Exactly({
  name: t.Text({
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$',
    'x-hint': 'must begin with a letter or _, then letters, digits or _, at most 64 characters',
    description:
      'Unique in the application, ignoring case. Names that begin with `GANTRY_`, and names that the shell uses, are reserved.',
  }),
  value: t.Text({ maxLength: 65_536, description: 'The value, at most 64 KiB.' }),
  hidden: t.Optional(
    t.Flag({
      default: false,
      description: 'A hidden value is never returned, and masked in logs. It has at least 6 characters.',
    }),
  ),
})
export type VariableBody = t.Static<typeof variableBody>

export const variableChange = t.Partial(variableBody, { additionalProperties: false })
export type VariableChange = t.Static<typeof variableChange>

export const applicationVariableSchema = t.namedObject('ApplicationVariable', {
  id: t.idOf('variable'),
  name: t.Text('The name of the environment variable.'),
  value: t.Text('The value; `********` when hidden, and for callers without `application:edit`.'),
  hidden: t.Flag('Whether the value is never returned, and masked in logs.'),
  ...t.timestamps,
})
export type ApplicationVariable = t.Static<typeof applicationVariableSchema>

const { repository, credential_id } = applicationBody.properties

export const inspectionBody = t.Exactly(
  {
    repository,
    credential_id,
    environment_id: t.described(
      t.Id,
      'Where the application would be added. Requires `application:add` there.',
    ),
  },
  {
    title: 'InspectRepositoryRequest',
    examples: [{ repository: 'https://github.com/acme/shop.git', credential_id: null, environment_id: 1 }],
  },
)
export type InspectionBody = t.Static<typeof inspectionBody>

const PROBLEMS = [
  'not_found',
  'authentication',
  'unreachable',
  'timeout',
  'host_key',
  'certificate',
  'moved',
  'forbidden_address',
  'unsafe',
  'too_large',
  'storage',
  'other',
] as const

export const inspectionSchema = t.namedObject('RepositoryInspection', {
  reachable: t.Flag('Whether Gantry can list the branches.'),
  problem: t.Unsafe<(typeof PROBLEMS)[number] | null>({
    anyOf: [{ type: 'string', enum: [...PROBLEMS] }, { type: 'null' }],
    description:
      'Why the repository cannot be reached or, when `reachable` is true, why its files could not be read. `authentication`: the credential is missing, or is not accepted. `moved`: the host redirects to another URL. `forbidden_address`: Gantry may not connect there. `unsafe`: git rejects its contents. `storage`: Gantry has no space for it. Null: no problem.',
  }),
  message: t.Text('The result in a sentence.'),
  branches: t.List(t.Text(), 'The default branch first, then by name; at most 200.'),
  more_branches: t.Flag('Whether there are more branches than these.'),
  default_branch: t.TextOrNull('Null when the repository has no branches.'),
  language: t.Unsafe<(typeof LANGUAGES)[number] | null>({
    anyOf: [{ type: 'string', enum: [...LANGUAGES] }, { type: 'null' }],
    description: 'What the files of the default branch suggest; null: unknown. For `programming_language`.',
  }),
  framework: t.TextOrNull('Such as `nextjs`, `laravel` or `rails`; null: unknown.'),
  engine_version: t.TextOrNull(
    'The version of the language that the repository requires, in its own words; null: any.',
  ),
  package_manager: t.TextOrNull('Such as `npm`, `composer` or `bundler`; null: unknown.'),
  install_dependencies_command: t.TextOrNull(
    'A usual command for such a repository; null: none is needed, or none is known.',
  ),
  build_command: t.TextOrNull(
    'A usual command for such a repository; null: none is needed, or none is known.',
  ),
  shared_paths: t.List(t.Text(), 'Files and folders that releases of such an application usually share.'),
})
export type RepositoryInspection = t.Static<typeof inspectionSchema>
