// How far somebody is on the way from an empty installation to the first deploy. Pure.
import type { NameEntry, Organization } from '#web/base/api/types.ts'

/** The one that Gantry creates at its first start. */
const SAMPLE_SLUG = 'sample-organization'

export function findSample(organizations: readonly Organization[]): Organization | undefined {
  return organizations.find(({ url_slug }) => url_slug === SAMPLE_SLUG)
}

export type Task = { name: string; description: string; isDone: boolean; to: string }

const SETUP = '/new'

/** `names` are servers, applications, pipelines and hooks, not those of the sample. */
export function setupTasks(names: readonly Pick<NameEntry, 'type'>[], hasDeployed: boolean): Task[] {
  const has = (...types: string[]) => names.some(({ type }) => types.includes(type))
  return [
    {
      name: 'Add a server',
      description: 'This machine, or one that Gantry reaches over SSH.',
      isDone: has('server'),
      to: SETUP,
    },
    {
      name: 'Add an application',
      description: 'A repository, its branch and the servers it runs on.',
      isDone: has('application'),
      to: SETUP,
    },
    {
      name: 'Create a pipeline',
      description: 'The steps that run on each server.',
      isDone: has('pipeline'),
      to: has('application') ? '/pipelines' : SETUP,
    },
    {
      name: 'Create a hook',
      description: 'A URL that deploys on each push.',
      isDone: has('incoming_hook'),
      to: has('pipeline') ? '/hooks/new?type=incoming' : SETUP,
    },
    {
      name: 'Deploy for the first time',
      description: 'By a push, or manually.',
      isDone: hasDeployed,
      to: has('pipeline') ? '/pipelines' : SETUP,
    },
  ]
}
