import * as t from '#platform/http/schemas.ts'
import { LANGUAGES } from './detect-node.ts'
import { applicationBody } from './schemas.ts'

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
