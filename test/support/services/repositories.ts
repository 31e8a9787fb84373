/** Old names of repositories, and where they went. Every other name is a repository. */
export type Repositories = Map<string, { id: number; name: string }>

export type Found = { kind: 'here'; repository: string } | { kind: 'moved'; id: number; to: string }

/** By `owner` and `name`, or by the `id` of a renamed one. */
export function repositoryAt(moved: Repositories, params: Record<string, string | undefined>): Found {
  if (params.id !== undefined && params.owner === undefined) {
    const byId = [...moved.values()].find(({ id }) => String(id) === params.id)
    return { kind: 'here', repository: byId?.name ?? params.id }
  }
  const repository = `${params.owner}/${params.name}`
  const target = moved.get(repository)
  return target ? { kind: 'moved', id: target.id, to: target.name } : { kind: 'here', repository }
}
