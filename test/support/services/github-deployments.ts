import { Type } from 'typebox'
import type { GithubStatus } from './github.ts'
import type { Arrived, Call, Reply } from './service.ts'

const Url = Type.Union([Type.Literal(''), Type.String({ pattern: '^https?://' })])
const NewDeployment = Type.Object(
  {
    ref: Type.String({ minLength: 1 }),
    task: Type.Optional(Type.String()),
    auto_merge: Type.Optional(Type.Boolean()),
    required_contexts: Type.Optional(Type.Array(Type.String())),
    payload: Type.Optional(Type.Union([Type.String(), Type.Object({})])),
    environment: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    description: Type.Optional(Type.Union([Type.Null(), Type.String({ maxLength: 140 })])),
    transient_environment: Type.Optional(Type.Boolean()),
    production_environment: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
const STATES = ['error', 'failure', 'inactive', 'in_progress', 'queued', 'pending', 'success']
const NewDeploymentStatus = Type.Object(
  {
    state: Type.Union(STATES.map((one) => Type.Literal(one))),
    target_url: Type.Optional(Url),
    log_url: Type.Optional(Url),
    description: Type.Optional(Type.String({ maxLength: 140 })),
    environment: Type.Optional(Type.String({ minLength: 1 })),
    environment_url: Type.Optional(Url),
    auto_inactive: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

export type DeploymentStatus = {
  id: number
  state: string
  description: string
  log_url: string
  environment_url: string
}

export type Deployment = {
  id: number
  repository: string
  ref: string
  task: string
  environment: string
  description: string | null
  transient_environment: boolean
  production_environment: boolean
  statuses: DeploymentStatus[]
}

type Deps = {
  at(request: Arrived, perform: (repository: string) => Reply): Reply
  path(rest: string): RegExp
  nextId(): number
  latest(repository: string, sha: string): GithubStatus[]
}

export function createDeployments({ at, path, nextId, latest }: Deps) {
  const deployments: Deployment[] = []
  const find = (repository: string, id: string) =>
    deployments.find((one) => one.repository === repository && String(one.id) === id)
  const stateOf = ({ statuses }: Deployment) => statuses.at(-1)?.state ?? 'pending'

  function create(repository: string, { json }: Arrived): Reply {
    const environment = json.environment ?? 'production'
    // Without required_contexts every status of the commit has to be a success.
    const pending = latest(repository, json.ref).filter(
      ({ context, state }) => state !== 'success' && (json.required_contexts?.includes(context) ?? true),
    )
    if (pending.length > 0) {
      const contexts = pending.map(({ context }) => ({ context, state: 'pending' }))
      const message = `Conflict: Commit status checks failed for ${json.ref}.`
      return {
        status: 409,
        body: { message, errors: [{ contexts, resource: 'Deployment', code: 'invalid' }] },
      }
    }
    if (json.auto_merge !== false && /^[0-9a-f]{40}$/.test(json.ref)) {
      return { status: 409, body: { message: `Conflict merging master into ${json.ref}.` } }
    }
    const created: Deployment = {
      id: nextId(),
      repository,
      ref: json.ref,
      task: json.task ?? 'deploy',
      environment,
      description: json.description ?? null,
      transient_environment: json.transient_environment ?? false,
      production_environment: json.production_environment ?? environment === 'production',
      statuses: [],
    }
    deployments.push(created)
    const { statuses: _, ...body } = created
    const url = `https://api.github.com/repos/${repository}/deployments/${created.id}`
    return { status: 201, body: { ...body, sha: created.ref, url, statuses_url: `${url}/statuses` } }
  }

  function addStatus(repository: string, { params, json }: Arrived): Reply {
    const deployment = find(repository, params.deployment!)
    if (!deployment) return { status: 404, body: { message: 'Not Found', status: '404' } }
    const status: DeploymentStatus = {
      id: nextId(),
      state: json.state,
      description: json.description ?? '',
      log_url: json.log_url ?? json.target_url ?? '',
      environment_url: json.environment_url ?? '',
    }
    deployment.statuses.push(status)
    deployment.environment = json.environment ?? deployment.environment
    if (status.state === 'success' && json.auto_inactive !== false) deactivateBefore(deployment)
    return { status: 201, body: { ...status, environment: deployment.environment } }
  }

  /** Earlier successful deployments to the same environment, unless it is transient or production. */
  function deactivateBefore(current: Deployment): void {
    for (const one of deployments) {
      if (one === current) return
      const isSame = one.repository === current.repository && one.environment === current.environment
      if (!isSame || one.transient_environment || one.production_environment) continue
      if (stateOf(one) === 'success') {
        one.statuses.push({
          id: nextId(),
          state: 'inactive',
          description: '',
          log_url: '',
          environment_url: '',
        })
      }
    }
  }

  const calls: Call[] = [
    {
      name: 'create deployment',
      method: 'POST',
      path: path('/deployments'),
      body: NewDeployment,
      perform: (request) => at(request, (repository) => create(repository, request)),
    },
    {
      name: 'create deployment status',
      method: 'POST',
      path: path('/deployments/(?<deployment>[^/]+)/statuses'),
      body: NewDeploymentStatus,
      perform: (request) => at(request, (repository) => addStatus(repository, request)),
    },
    {
      name: 'list deployment statuses',
      method: 'GET',
      path: path('/deployments/(?<deployment>[^/]+)/statuses'),
      perform: (request) =>
        at(request, (repository) => {
          const found = find(repository, request.params.deployment!)
          if (!found) return { status: 404, body: { message: 'Not Found', status: '404' } }
          return { status: 200, body: found.statuses.toReversed() }
        }),
    },
  ]
  return { deployments, calls }
}
