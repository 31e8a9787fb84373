import { NativeSelect } from '@mantine/core'
import { useLocation } from 'wouter'
import classes from './shell.module.css'
import { useEnvironments, useOrganizations, useProjects } from './tree.ts'
import { usePlace } from './use-place.ts'

/** Pages about one thing stand where that thing stands. */
const PAGES_OF_A_PLACE = /^\/(overview|actions|pipelines|hooks|members)$/

export function PlaceSwitcher() {
  const [location] = useLocation()
  const [place, choose] = usePlace()
  const organizations = useOrganizations().data ?? []
  // Where there is only one there is nothing to choose: what stands below it can be chosen at once.
  const organization = place.organization ?? onlyOne(organizations)
  const projects = useProjects(organization).data ?? []
  const project = place.project ?? onlyOne(projects)
  const environments = useEnvironments(project).data ?? []
  if (!PAGES_OF_A_PLACE.test(location)) return null
  return (
    <fieldset className={classes.places}>
      <legend className="hidden-words">Place</legend>
      <Level
        name="Organization"
        all="All organizations"
        chosen={place.organization}
        options={organizations}
        choose={(id) => choose({ organization: id })}
      />
      <Level
        name="Project"
        all="All projects"
        chosen={place.project}
        options={projects}
        choose={(id) => choose({ organization, project: id })}
      />
      <Level
        name="Environment"
        all="All environments"
        chosen={place.environment}
        options={environments}
        choose={(id) => choose({ organization, project, environment: id })}
      />
    </fieldset>
  )
}

function onlyOne(options: { id: number }[]): number | undefined {
  return options.length === 1 ? options[0]!.id : undefined
}

type LevelProps = {
  name: string
  all: string
  chosen: number | undefined
  options: { id: number; name: string }[]
  choose(id: number | undefined): void
}

function Level({ name, all, chosen, options, choose }: LevelProps) {
  if (options.length === 0 && chosen === undefined && name !== 'Organization') return null
  const isListed = chosen === undefined || options.some((option) => option.id === chosen)
  return (
    <NativeSelect
      size="xs"
      aria-label={name}
      value={chosen ?? ''}
      onChange={(event) => choose(Number(event.currentTarget.value) || undefined)}
      data={[
        { value: '', label: all },
        ...(isListed ? [] : [{ value: String(chosen), label: `#${chosen}` }]),
        ...options.map((option) => ({ value: String(option.id), label: option.name })),
      ]}
    />
  )
}
