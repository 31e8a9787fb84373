import { Select } from '@mantine/core'
import { type Resource, resourceKey } from './new-pipeline.ts'
import type { KnownResources, OfferedResource } from './offered-resources.ts'

type ResourceSelectProps = {
  resources: KnownResources
  chosen: OfferedResource | undefined
  choose(key: string): void
  error: string | null | undefined
}

export function ResourceSelect({ resources, chosen, choose, error }: ResourceSelectProps) {
  const isOffered = resources.offered.some(({ type, id }) => type === chosen?.type && id === chosen.id)
  const offered = chosen && !isOffered ? [chosen, ...resources.offered] : resources.offered
  return (
    <Select
      label="Runs on"
      openOnFocus={false}
      placeholder="An application or a server"
      searchable
      searchValue={resources.search}
      onSearchChange={resources.setSearch}
      allowDeselect={false}
      nothingFoundMessage="No application or server found"
      data={groupsOf(offered)}
      // The API has found what matches.
      filter={({ options }) => options}
      value={chosen ? resourceKey(chosen) : null}
      onChange={(key) => key !== null && choose(key)}
      error={error}
    />
  )
}

function groupsOf(offered: readonly OfferedResource[]) {
  const ofType = (type: Resource['type']) =>
    offered.filter((one) => one.type === type).map((one) => ({ value: resourceKey(one), label: one.label }))
  return [
    { group: 'Applications', items: ofType('application') },
    { group: 'Servers', items: ofType('server') },
  ].filter(({ items }) => items.length > 0)
}
