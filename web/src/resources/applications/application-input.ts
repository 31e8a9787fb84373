// What the form of an application holds, and what it sends. Pure.
import type { components } from '#client/index.ts'
import { changedFields } from '#web/base/form/changes.ts'
import {
  HEALTH_LABELS,
  type HealthValues,
  healthBody,
  healthValues,
  NO_HEALTH_CHECK,
} from '#web/resources/pipelines/health-check-input.ts'

export type ApplicationRecord = components['schemas']['ApplicationRecord']
export type ApplicationBody = components['schemas']['CreateApplicationRequest']
export type ApplicationChange = components['schemas']['ChangeApplicationRequest']
export type Inspection = components['schemas']['RepositoryInspection']

/** Named like the fields of the API, so that its errors find their inputs. */
export type ApplicationValues = HealthValues & {
  name: string
  repository: string
  /** The value of a select: the id as text; empty without one. */
  credential_id: string
  default_branch: string
  programming_language: string
  framework: string
  engine_version: string
  root_directory: string
  install_dependencies_command: string
  build_command: string
  /** One in each line. */
  shared_paths: string
  deployments_keep: number | ''
  submodules: ApplicationRecord['submodules']
  /** The ids of servers, as text. */
  linked_resources: string[]
}

export const SUBMODULES = {
  fetch: 'Deploy their files',
  ignore: 'Leave their folders empty',
} as const

export const APPLICATION_LABELS = {
  credential_id: 'Credential',
  default_branch: 'Branch',
  programming_language: 'Language',
  root_directory: 'Folder',
  install_dependencies_command: 'Install command',
  deployments_keep: 'Releases to keep',
  linked_resources: 'Servers',
  ...HEALTH_LABELS,
}

export const NEW_APPLICATION: ApplicationValues = {
  name: '',
  repository: '',
  credential_id: '',
  default_branch: '',
  programming_language: '',
  framework: '',
  engine_version: '',
  root_directory: '',
  install_dependencies_command: '',
  build_command: '',
  shared_paths: '',
  deployments_keep: 5,
  submodules: 'fetch',
  ...NO_HEALTH_CHECK,
  linked_resources: [],
}

/** What an inspection fills in. */
const DETECTED = [
  'default_branch',
  'programming_language',
  'framework',
  'engine_version',
  'install_dependencies_command',
  'build_command',
  'shared_paths',
] as const

type Detected = Record<(typeof DETECTED)[number], string>

function detectedValues(found: Inspection): Detected {
  return {
    default_branch: found.default_branch ?? '',
    programming_language: found.language ?? '',
    framework: found.framework ?? '',
    engine_version: found.engine_version ?? '',
    install_dependencies_command: found.install_dependencies_command ?? '',
    build_command: found.build_command ?? '',
    shared_paths: found.shared_paths.join('\n'),
  }
}

/** Fills in what was detected, except where the person wrote something else than the last inspection found. */
export function withDetected(
  values: ApplicationValues,
  found: Inspection,
  last: Inspection | undefined,
  typing?: keyof ApplicationValues,
  /** The repository that the last inspection was about: a name that came from it follows. */
  before = '',
): ApplicationValues {
  const after = { ...values }
  if (found.reachable) {
    const [now, earlier] = [detectedValues(found), last && detectedValues(last)]
    for (const name of DETECTED)
      if (values[name].trim() === '' || values[name] === earlier?.[name]) after[name] = now[name]
  }
  if (after.name.trim() === '' || after.name === nameOf(before)) after.name = nameOf(values.repository)
  // The field that the person is in stays as it is.
  return typing === undefined ? after : { ...after, [typing]: values[typing] }
}

/** `https://github.com/acme/shop.git` → `shop`. */
export function nameOf(repository: string): string {
  const path = repository
    .trim()
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
  const last = path.split(/[/:]/).at(-1) ?? ''
  return last.replace(/\.git$/, '').slice(0, 255)
}

export function applicationValues(application: ApplicationRecord): ApplicationValues {
  return {
    name: application.name,
    repository: application.repository,
    credential_id: application.credential === null ? '' : String(application.credential.id),
    default_branch: application.default_branch,
    programming_language: application.programming_language ?? '',
    framework: application.framework ?? '',
    engine_version: application.engine_version ?? '',
    root_directory: application.root_directory ?? '',
    install_dependencies_command: application.install_dependencies_command ?? '',
    build_command: application.build_command ?? '',
    shared_paths: application.shared_paths.join('\n'),
    deployments_keep: application.deployments_keep,
    submodules: application.submodules,
    ...healthValues(application.health_check),
    linked_resources: application.linked_resources.map(({ resource_id }) => String(resource_id)),
  }
}

export function applicationBody(values: ApplicationValues): ApplicationBody {
  const orNull = (text: string) => text.trim() || null
  return {
    name: values.name.trim(),
    repository: values.repository.trim(),
    credential_id: values.credential_id === '' ? null : Number(values.credential_id),
    default_branch: values.default_branch.trim() || 'main',
    programming_language: orNull(values.programming_language),
    framework: orNull(values.framework),
    engine_version: orNull(values.engine_version),
    root_directory: orNull(values.root_directory),
    install_dependencies_command: orNull(values.install_dependencies_command),
    build_command: orNull(values.build_command),
    shared_paths: values.shared_paths
      .split('\n')
      .map((path) => path.trim())
      .filter((path) => path !== ''),
    deployments_keep: values.deployments_keep === '' ? 5 : values.deployments_keep,
    submodules: values.submodules,
    health_check: healthBody(values),
    linked_resources: values.linked_resources.map((id) => ({
      resource_type: 'server' as const,
      resource_id: Number(id),
    })),
  }
}

type Identified = readonly { id: number }[]

/** Without the servers and the credential that are not among these. */
export function withKnownOnly(
  values: ApplicationValues,
  servers: Identified,
  credentials: Identified,
): ApplicationValues {
  const isIn = (list: Identified) => (id: string) => list.some((one) => String(one.id) === id)
  return {
    ...values,
    linked_resources: values.linked_resources.filter(isIn(servers)),
    credential_id: isIn(credentials)(values.credential_id) ? values.credential_id : '',
  }
}

/** Only what was changed: some fields take more permissions than others. */
export function applicationChange(base: ApplicationValues, values: ApplicationValues): ApplicationChange {
  return changedFields(applicationBody(base), applicationBody(values))
}
