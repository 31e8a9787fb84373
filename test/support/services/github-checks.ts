// GitHub's check suites, check runs and workflow runs of a commit, as its REST API describes them.
import { apiUrl, appOf, commitOf, repositoryOf } from './github-shapes.ts'
import type { Arrived, Call, Reply } from './service.ts'
import { pageOf } from './webhooks.ts'

export type GithubSuite = {
  id: number
  repository: string
  sha: string
  app: string
  status: string
  conclusion: string | null
}
export type GithubCheckRun = {
  id: number
  suite: GithubSuite
  name: string
  status: string
  conclusion: string | null
  html_url: string | null
}

type Deps = {
  at: (request: Arrived, perform: (repository: string) => Reply) => Reply
  path: (rest: string) => RegExp
  nextId: () => number
}

export const PAGES = { size: 'per_page', max: 100, standard: 30 }

const APPS: Record<string, { id: number; name: string }> = {
  'github-actions': { id: 15_368, name: 'GitHub Actions' },
  codecov: { id: 254, name: 'Codecov' },
}
const shownApp = (slug: string) => appOf({ ...(APPS[slug] ?? { id: 99, name: slug }), slug })

export function createChecks({ at, path, nextId }: Deps) {
  const suites: GithubSuite[] = []
  const runs: GithubCheckRun[] = []
  const time = '2026-11-18T20:00:00Z'

  /** What each of a suite of this name reported last. */
  const latestOf = (sha: string, repository: string) => {
    const ofCommit = runs.filter(({ suite }) => suite.sha === sha && suite.repository === repository)
    return [...new Map(ofCommit.map((run) => [`${run.suite.id} ${run.name}`, run])).values()]
  }
  const list = (
    name: string,
    rest: string,
    field: string,
    find: (sha: string, repository: string) => object[],
  ): Call => ({
    name,
    method: 'GET',
    path: path(rest),
    perform: (request) =>
      at(request, (repository) => {
        const all = find(request.params.sha ?? request.query.head_sha!, repository)
        const { body, ...reply } = pageOf(all, request, PAGES)
        return { ...reply, body: { total_count: all.length, [field]: body } }
      }),
  })

  const calls: Call[] = [
    list(
      'list check suites',
      '/commits/(?<sha>[0-9a-f]{40})/check-suites',
      'check_suites',
      (sha, repository) =>
        suites
          .filter((suite) => suite.sha === sha && suite.repository === repository)
          .map(({ id, app, status, conclusion }) => ({
            ...{ id, node_id: `suite ${id}`, head_branch: 'main', head_sha: sha, before: sha, after: sha },
            ...{ status, conclusion, app: shownApp(app), created_at: time, updated_at: time },
            ...{
              url: apiUrl(`${repository}/check-suites/${id}`),
              head_commit: commitOf(sha),
              pull_requests: [],
            },
            ...{ repository: repositoryOf(repository) },
            check_runs_url: apiUrl(`${repository}/check-suites/${id}/check-runs`),
            latest_check_runs_count: runs.filter(({ suite }) => suite.id === id).length,
          })),
    ),
    list('list check runs', '/commits/(?<sha>[0-9a-f]{40})/check-runs', 'check_runs', (sha, repository) =>
      latestOf(sha, repository).map(({ id, suite, name, status, conclusion, html_url }) => ({
        ...{
          id,
          node_id: `run ${id}`,
          name,
          head_sha: sha,
          status,
          conclusion,
          html_url,
          details_url: html_url,
        },
        ...{ started_at: time, completed_at: status === 'completed' ? time : null },
        ...{ url: apiUrl(`${repository}/check-runs/${id}`), external_id: '', pull_requests: [] },
        ...{ app: shownApp(suite.app), check_suite: { id: suite.id } },
        output: {
          ...{ title: null, summary: null, text: null, annotations_count: 0 },
          annotations_url: apiUrl(`${repository}/check-runs/${id}/annotations`),
        },
      })),
    ),
    list('list workflow runs', '/actions/runs', 'workflow_runs', (sha, repository) =>
      suites
        .filter(
          (suite) => suite.app === 'github-actions' && suite.sha === sha && suite.repository === repository,
        )
        .map(({ id, status, conclusion }) => ({
          ...{ id, name: 'CI', path: '.github/workflows/ci.yml', head_sha: sha, status, conclusion },
          ...{ node_id: `workflow run ${id}`, head_branch: 'main', run_number: 1, display_title: 'A change' },
          ...{ event: 'push', workflow_id: 1, check_suite_id: id, created_at: time, updated_at: time },
          ...{ head_commit: commitOf(sha), head_repository: repositoryOf(repository), pull_requests: [] },
          ...{ repository: repositoryOf(repository), url: apiUrl(`${repository}/actions/runs/${id}`) },
          html_url: `https://github.com/${repository}/actions/runs/${id}`,
          workflow_url: apiUrl(`${repository}/actions/workflows/1`),
          check_suite_url: apiUrl(`${repository}/check-suites/${id}`),
          ...Object.fromEntries(
            ['jobs', 'logs', 'cancel', 'rerun', 'artifacts'].map((what) => [
              `${what}_url`,
              apiUrl(`${repository}/actions/runs/${id}/${what}`),
            ]),
          ),
        })),
    ),
  ]

  return {
    calls,
    suites,
    runs,
    /** Of GitHub Actions, unless it says otherwise. */
    addSuite(suite: Pick<GithubSuite, 'repository' | 'sha'> & Partial<GithubSuite>): GithubSuite {
      const added = { id: nextId(), app: 'github-actions', status: 'queued', conclusion: null, ...suite }
      suites.push(added)
      return added
    },
    /** `success` and the like are conclusions, everything else is a status. */
    addRun(suite: GithubSuite, name: string, state: string, link: string | null = null): GithubCheckRun {
      const run = { id: nextId(), suite, name, ...stateOf(state), html_url: link }
      runs.push(run)
      return run
    },
  }
}

const OPEN = ['queued', 'in_progress', 'waiting', 'requested', 'pending']

export const stateOf = (state: string) =>
  OPEN.includes(state) ? { status: state, conclusion: null } : { status: 'completed', conclusion: state }
