// How runs are shown.
import { type components, hasEnded } from '@gantry/client'
import { slugifyAnyScript as slug } from '@gantry/client/slug'
import { usage } from './ending.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import type { Style } from './screen.ts'

type Schemas = components['schemas']
export type Action = Schemas['Action']
export type ActionListItem = Schemas['ActionListItem']

/** '#42' or '42'. */
export function parseActionId(given: string): number {
  const id = /^#?([1-9][0-9]{0,15})$/.exec(given)?.[1]
  if (!id)
    throw usage(
      `"${given}" is not the number of a run.`,
      'Runs have numbers, such as 42; `gantry actions ls` lists them.',
    )
  return Number(id)
}

const STYLES: Record<Action['status'], Style | undefined> = {
  pending: 'dim',
  waiting: 'dim',
  queued: 'dim',
  'in-progress': 'blue',
  completed: 'green',
  failed: 'red',
  skipped: 'yellow',
}

export const styleOf = ({ status }: { status: Action['status'] }) => STYLES[status]

export const isOver = ({ status }: { status: Action['status'] }) => hasEnded(status)

/** 'shop/production/web' */
export const pathOf = ({
  project,
  environment,
  resource,
}: Pick<ActionListItem, 'project' | 'environment' | 'resource'>) =>
  [project.name, environment.name, resource.data.name].map(slug).join('/')

/** The reason says more than the status where they differ: 'Cancelled' rather than 'Failed'. */
export const stateOf = ({ status_reason_human_readable }: { status_reason_human_readable: string }) =>
  status_reason_human_readable

const KINDS: Record<string, string> = { rollback: 'Rollback', redeploy: 'Redeploy' }

/** ' (rollback)' behind the name of a run that deploys nothing new. */
export const kindSuffix = (deploymentType: string | null | undefined) =>
  deploymentType && Object.hasOwn(KINDS, deploymentType) ? ` (${deploymentType})` : ''

/** 'Rollback' rather than 'Deploy', which is what a rollback is to a pipeline. */
export const kindOf = ({
  type_human_readable,
  action_data: { deployment },
}: Pick<ActionListItem, 'type_human_readable' | 'action_data'>) =>
  KINDS[deployment?.type ?? ''] ?? type_human_readable

/** 'main @ 1a2b3c4'; for a rollback the release. */
export function sourceOf({
  action_data: { commit, deployment, release_name },
}: Pick<ActionListItem, 'action_data'>): string {
  if (deployment?.type === 'rollback') return `rollback to ${release_name ?? 'the previous release'}`
  const ref = deployment?.source_type === 'commit' ? null : deployment?.source_ref
  return [ref, commit?.hash?.slice(0, 7)].filter(Boolean).join(' @ ')
}

/** What `gantry run --wait` and the like end with. */
export function exitCodeFor({
  status,
  status_reason_code,
}: Pick<Action, 'status' | 'status_reason_code'>): ExitCode {
  if (status === 'completed') return EXIT.completed
  return status === 'skipped' || status_reason_code === 'FAILED_CANCELLED' ? EXIT.ended : EXIT.failed
}
