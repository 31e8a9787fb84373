import type { Caller } from '#access/authorization/caller.ts'
import { type ActionFilters, environmentsMatching } from '#model/actions/filters.ts'
import { presentStatus } from '#model/actions/present.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { environmentsWhere } from '#model/inventory/environment-scopes.ts'
import type { Environment } from '#model/inventory/schemas.ts'
import type { Tree, TreeSnapshot } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Page } from '#platform/http/pagination.ts'
import { findCardPipelines, findCardRuns, findCardServers } from './find-cards.ts'
import { readStandings, type Standing, sortByStanding } from './order-applications.ts'
import { summarizeServers } from './present-card.ts'
import type { ApplicationCard, CardRun } from './schemas.ts'

type Application = { id: number; name: string; environmentId: number }
type CardRequest = { filters: ActionFilters; q: string; page: Page }

/** Reads one page of cards: of applications in the environments where the caller has `application:view`. */
export function createCardReader({ db, tree }: { db: Database; tree: Tree }) {
  const applications = createApplicationList(db)

  return async (caller: Caller, { filters, q, page }: CardRequest) => {
    const visibility = await visibilityOf(tree, caller)
    const visible = environmentsMatching(
      filters,
      environmentsWhere(caller, 'application:view', visibility.scopes),
    )
    const environments = await visibility.tree.environments(visible)
    const byEnvironment = await applications(visibility.tree)
    const groups = sortEnvironments(visible.map((id) => environments.get(id)!)).map((environment) => ({
      environment,
      applications: (byEnvironment.get(environment.id) ?? []).filter(
        ({ id, name }) =>
          (filters.resource_id?.includes(id) ?? true) && (q === '' || matches(q, environment, name)),
      ),
    }))
    const standings = await readPageStandings(groups.map((group) => group.applications))
    const ordered = groups.flatMap((group) => sortByStanding(group.applications, standings))
    const shown = ordered.slice(page.offset, page.offset + page.limit)
    const extent = { total: ordered.length, hasMore: ordered.length > page.offset + page.limit }
    return { items: await readCards(shown, standings), extent }

    /** Only of environments that the page shows a part of: the position of all others is known without. */
    async function readPageStandings(all: Application[][]): Promise<Map<number, Standing>> {
      let position = 0
      const onPage = all.flatMap((some) => {
        const [from, to] = [position, position + some.length]
        position = to
        return from < page.offset + page.limit && to > page.offset ? some : []
      })
      const withHooks = idsWhere('hook:view', onPage)
      const seen = onPage.filter((one) => visibility.sees(one.environmentId)).map(({ id }) => id)
      if (onPage.length === 0) return new Map()
      const environmentIds = new Set(onPage.map((one) => one.environmentId))
      return readStandings(db, {
        ids: onPage.map(({ id }) => id),
        seen,
        withHooks,
        environmentIds: [...environmentIds],
      })
    }

    function idsWhere(permission: 'hook:view' | 'pipeline:view', some: readonly Application[]): number[] {
      const allowed = new Set(
        environmentsWhere(caller, permission, visibility.scopes).map((scope) => scope.environment_id),
      )
      return some.filter((one) => allowed.has(one.environmentId)).map(({ id }) => id)
    }

    async function readCards(
      some: readonly Application[],
      standings: ReadonlyMap<number, Standing>,
    ): Promise<ApplicationCard[]> {
      if (some.length === 0) return []
      const ids = some.map(({ id }) => id)
      const seen = some.filter((one) => visibility.sees(one.environmentId)).map(({ id }) => id)
      const [servers, pipelines, runs] = await Promise.all([
        findCardServers(db, ids).then(byApplication),
        findCardPipelines(db, ids).then(byApplication),
        findCardRuns(db, seen).then(byApplication),
      ])
      const named = new Set([...idsWhere('pipeline:view', some), ...seen])
      return some.map(({ id, name, environmentId }) => {
        const { project, ...environment } = environments.get(environmentId)!
        const { organization } = project
        const shownRuns = (runs.get(id) ?? []).map(
          ({ applicationId: _, status, reason, pipelineId, pipelineName, ...run }) => ({
            ...run,
            ...presentStatus(status, reason),
            pipeline: { id: pipelineId, name: pipelineName },
          }),
        )
        const deploying = (pipelines.get(id) ?? []).filter(({ operation }) => operation === 'deploy')
        return {
          id,
          name,
          environment: { id: environment.id, name: environment.name, type: environment.type },
          project: { id: project.id, name: project.name },
          organization: { id: organization.id, name: organization.name },
          ...summarizeServers(servers.get(id) ?? [], {
            isChecked: deploying.some(({ isChecked }) => isChecked),
            seesRuns: visibility.sees(environmentId),
          }),
          needs_attention: standings.get(id)!.needsAttention,
          deploy_pipeline: named.has(id) ? newestDeploying(deploying, shownRuns) : null,
          runs: shownRuns.slice(0, MAX_RUNS),
          running: shownRuns.filter(({ status }) => status === 'in-progress').slice(0, MAX_RUNS),
        }
      })
    }
  }
}

const MAX_RUNS = 10

function byApplication<Row extends { applicationId: number }>(rows: readonly Row[]): Map<number, Row[]> {
  return Map.groupBy(rows, (row) => row.applicationId)
}

/** The one with the newest run, else the oldest. */
function newestDeploying(deploying: readonly { id: number; name: string }[], runs: readonly CardRun[]) {
  const newest = runs.find((run) => deploying.some(({ id }) => id === run.pipeline.id))
  const pipeline = deploying.find(({ id }) => id === newest?.pipeline.id) ?? deploying[0]
  return pipeline ? { id: pipeline.id, name: pipeline.name } : null
}

type ByEnvironment = ReadonlyMap<number, Application[]>

/** Every application, by environment: loaded once for each version of the tree. */
function createApplicationList(db: Database) {
  const known = new WeakMap<TreeSnapshot, Promise<ByEnvironment>>()
  async function load(): Promise<ByEnvironment> {
    const rows = await db
      .selectFrom('applications')
      .select(['id', 'name', 'environment_id as environmentId'])
      .where('deleted_at', 'is', null)
      .execute()
    return Map.groupBy(rows, (row) => row.environmentId)
  }
  return (snapshot: TreeSnapshot) =>
    known.getOrInsertComputed(snapshot, () => {
      const loading = load()
      loading.catch(() => known.delete(snapshot))
      return loading
    })
}

function sortEnvironments(environments: readonly Environment[]): Environment[] {
  const pathOf = ({ project, name }: Environment) => [project.organization.name, project.name, name]
  return environments.toSorted((one, other) => {
    const [a, b] = [pathOf(one), pathOf(other)]
    const difference = a.findIndex((text, index) => text !== b[index])
    return difference === -1 ? one.id - other.id : a[difference]! < b[difference]! ? -1 : 1
  })
}

/** Whether every word of the text occurs in the name, or in that of the environment or the project. */
function matches(q: string, { name: environment, project }: Environment, name: string): boolean {
  const text = `${name}\n${environment}\n${project.name}`.toLowerCase()
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
