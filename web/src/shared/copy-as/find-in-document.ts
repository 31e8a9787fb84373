// Where a resource is in the document of its project. Documents contain names, pages know ids.
import type { Api } from '#web/base/api/api.ts'
import type { CopiedResource } from './resource.ts'

/** Undefined where there is no document: a credential in an organization without projects. */
export async function findInDocument(
  api: Api,
  { type, id, name, organizationId }: CopiedResource,
): Promise<{ project: string; path: string[] } | undefined> {
  if (type === 'project') return { project: name, path: [] }
  if (type === 'credential') {
    // Every document of an organization lists its credentials.
    const params = { path: { id: organizationId }, query: { per_page: 1 } }
    const [project] = (await api.page('/organizations/{id}/projects', { params })).items
    return project && { project: project.name, path: ['credentials', name] }
  }
  const entry = await readName(api, type, id)
  if (!entry) return undefined
  const { project_id, environment_id, resource_type, resource_id, pipeline_id } = entry
  const above = (kind: string, aboveId: number | null) =>
    aboveId === null ? undefined : readName(api, kind, aboveId)
  const [project, environment, resource, pipeline] = await Promise.all([
    above('project', project_id),
    above('environment', environment_id),
    above(resource_type ?? '', resource_id),
    above('pipeline', pipeline_id),
  ])
  if (!project || !environment) return undefined
  const path = ['environments', environment.name]
  if (resource) path.push(`${resource_type}s`, resource.name)
  if (pipeline) path.push('pipelines', pipeline.name)
  if (type.endsWith('_hook')) path.push('hooks', type.replace('_hook', ''), entry.name)
  else if (type !== 'environment') path.push(`${type}s`, entry.name)
  return { project: project.name, path }
}

async function readName(api: Api, type: string, id: number | string) {
  const query = { type, 'filter[id]': String(id) }
  return (await api.page('/names', { params: { query } })).items[0]
}
